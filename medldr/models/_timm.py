"""What we need from timm: its networks by name, and the addresses of its weights."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Any

from medldr import offline
from medldr.errors import InputError, MissingExtraError, did_you_mean


@dataclass(frozen=True)
class TimmWeights:
    """Published weights of a timm network.

    Attributes:
        name: Network and tag.
        network: The network alone.
        url: Address of the safetensors file.
        pixels: The normalisation of the pixels they were trained on, in words.
    """

    name: str
    network: str
    url: str
    pixels: str


def library() -> Any:
    """The package timm; its import opens no connection.

    Raises:
        MissingExtraError: If it is not installed.
    """
    if importlib.util.find_spec("timm") is None:
        raise MissingExtraError("timm", "timm", "a network or weights of timm")
    return offline.load("timm")


def check_network(name: str) -> None:
    """Refuse anything that is not a network of timm.

    Raises:
        InputError: Naming the nearest, or where a tag belongs.
    """
    timm = library()
    network, _, tag = name.partition(".")
    if timm.is_model(name) and not tag:
        return
    if timm.is_model(network):
        raise InputError(
            f"model.network: {name} also names weights. Set model.network: {network}, and for the "
            f"weights model.pretrained: timm/{name}"
        )
    raise InputError(
        f"model.network: timm has no network {name!r}.{did_you_mean(name, timm.list_models())} "
        "timm.list_models() lists them"
    )


def find_weights(name: str) -> TimmWeights:
    """The published weights ``<network>.<tag>``.

    Raises:
        InputError: If timm has none of that name, or none published as safetensors.
    """
    timm = library()
    names = {known.lower(): known for known in timm.list_pretrained()}
    if name.lower() not in names:
        tags = [known for known in names.values() if known.partition(".")[0] == name.lower()]
        there = f" Known for {name.lower()}: timm/{', timm/'.join(tags)}." if tags else ""
        near = did_you_mean(f"timm/{name.lower()}", [f"timm/{known}" for known in names])
        if tags:
            near = ""
        raise InputError(
            f"there are no published weights 'timm/{name}'.{near}{there} "
            "timm.list_pretrained() lists them"
        )
    name = names[name.lower()]
    config = timm.get_pretrained_cfg(name)
    if not config.hf_hub_id:
        raise InputError(
            f"timm/{name}: these weights are not published as safetensors, and other formats can "
            "execute code when read. Choose other weights"
        )
    repository, _, revision = config.hf_hub_id.partition("@")
    hub = offline.load("huggingface_hub")
    url = hub.hf_hub_url(repository, "model.safetensors", revision=revision or None)
    mean, std = (tuple(round(v, 3) for v in values) for values in (config.mean, config.std))
    return TimmWeights(name, name.partition(".")[0], url, f"mean {mean}, standard deviation {std}")
