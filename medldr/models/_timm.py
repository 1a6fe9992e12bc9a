"""What we need from timm: its networks by name, their arguments, and its weights' addresses."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from medldr import offline
from medldr.errors import InputError, MissingExtraError, did_you_mean


@dataclass(frozen=True)
class TimmWeights:
    """Published weights of a timm network.

    Attributes:
        name: Network and tag.
        network: The network alone.
        url: Address of the safetensors file.
    """

    name: str
    network: str
    url: str


_OURS: Final = {
    "num_classes": "the head is our own",
    "in_chans": "it follows from the images",
    "features_only": "latents are what the classifier would see",
}


def library() -> Any:
    """The package timm; its import opens no connection.

    Raises:
        MissingExtraError: If it is not installed.
    """
    if importlib.util.find_spec("timm") is None:
        raise MissingExtraError("timm", "timm", "a network or weights of timm")
    return offline.load("timm")


def check_network(name: str, key: str = "model.network") -> None:
    """Refuse anything that is not a network of timm.

    Args:
        name: The network.
        key: Where it was named.

    Raises:
        InputError: Naming the nearest, or where a tag belongs.
    """
    timm = library()
    network, _, tag = name.partition(".")
    if timm.is_model(name) and not tag:
        return
    if timm.is_model(network):
        raise InputError(
            f"{key}: {name} also names weights. Set model.network: {network}, and for the "
            f"weights model.pretrained: timm/{name}"
        )
    raise InputError(
        f"{key}: timm has no network {name!r}.{did_you_mean(name, timm.list_models())} "
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
    url = hub_url(repository, "model.safetensors", revision or None)
    return TimmWeights(name, name.partition(".")[0], url)


def hub_url(repository: str, file: str, revision: str | None) -> str:
    """The address of a file on the Hugging Face Hub.

    Raises:
        MissingExtraError: If timm is not installed, which brings the client of the hub.
    """
    library()
    url: str = offline.load("huggingface_hub").hf_hub_url(repository, file, revision=revision)
    return url


def usual_weights(network: str) -> str:
    """Timm's own choice among the weights of a network.

    Raises:
        InputError: If there are none.
    """
    check_network(network)
    config = library().get_pretrained_cfg(network)
    if config is None or not config.tag or not config.has_weights:
        raise InputError(
            f"model.pretrained: true means published weights, and timm has none of {network}. "
            "Name a file, or leave model.pretrained out"
        )
    return f"timm/{network}.{config.tag}"


def arguments_of(network: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of a network as timm takes them; a layer is named as timm or torch names it.

    Raises:
        InputError: If the network does not take one of them, naming the nearest.
    """
    if not given:
        return {}
    timm = library()
    made: type[Any] = type(timm.create_model(network))
    known = {
        name
        for parent in made.__mro__
        if parent.__module__.startswith("timm.")
        for name, one in inspect.signature(parent).parameters.items()
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and name != "self"
    } - _OURS.keys()
    found = {}
    for name, value in given.items():
        if name in _OURS:
            raise InputError(f"model.arguments: {name} cannot be set: {_OURS[name]}")
        if name not in known:
            raise InputError(
                f"model.arguments: {network} takes no {name!r}.{did_you_mean(name, known)} It "
                f"takes {', '.join(sorted(known))}"
            )
        layer = isinstance(value, str) and name.endswith("_layer")
        found[name] = getattr(timm.layers, value, value) if layer else value
    return found
