"""Plug-ins: networks."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch

from medldr import plugins
from medldr.config import PluginSection
from medldr.errors import InputError
from medldr.folders.files import checksum, reading
from medldr.models._published import (
    HUB,
    Published,
    data_folders,
    find,
    naming_the_key,
    present,
    require,
    usual,
)
from medldr.models._slices import of_one_slice
from medldr.models._weights import load_published, load_weights
from medldr.models.base import FeatureModel, ModelConfig
from medldr.types import DataSpec

__all__ = ["build_model", "pixel_notes", "require_weights"]


def build_model(
    config: PluginSection, spec: DataSpec, seed: int, root: Path | None = None
) -> FeatureModel:
    """The network that a configuration names, ready to train on these data.

    Initial weights come from a separate generator, so they depend on the seed only and the
    caller's random state is unchanged.

    Args:
        config: A network's `Config`; with ``weights``, the network starts from that file, and
            with ``pretrained`` from published weights, without their head.
        spec: What the network must fit: channels, axes, size and classes.
        seed: Seed of the initial weights.
        root: ``data.root``, in whose ``weights/`` published weights are looked for, before the
            usual data folder's.

    Raises:
        InputError: If the network does not fit the data, or the weights are absent or do not fit
            the network.
    """
    if not isinstance(config, ModelConfig):
        raise InputError(f"model.name: the Config of {config.name} is not a ModelConfig")
    module = plugins.load("models", config.name)
    config = _complete(module, config, root)
    supported = _supported_dims(config.name)
    if config.slices is not None and spec.spatial_dims != 3:
        raise InputError(
            f"model.slices: {config.slices} is for volumes, and these are {_kind(spec)}. Leave "
            "model.slices out"
        )
    seen = spec if config.slices is None else of_one_slice(spec)
    if seen.spatial_dims not in supported:
        others = [n for n in plugins.names("models") if spec.spatial_dims in _supported_dims(n)]
        slices = ""
        if spec.spatial_dims == 3 and 2 in supported:
            slices = (
                f"; or set model.slices: attention, and {config.name} sees each slice as a picture"
            )
        raise InputError(
            f"model.name: {config.name} is for {_kinds(supported)}, but these are {_kind(spec)}. "
            f"Models that fit: {', '.join(others)}{slices}"
        )
    if config.head == "corn" and spec.task != "ordinal":
        raise InputError(
            f"model.head: corn is for ordered classes, but the labels are {spec.task}. Set "
            "data.ordinal: true if the classes are grades, or else model.head: linear and another "
            "algorithm.loss than corn"
        )
    start = _start(config, root)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: FeatureModel = module.build(config, seen)
        _check_added(model, config)
        if config.slices is not None:
            model.take_slices(config.slices, spec.spatial_size[2])
        model.take_views(spec.views)
        if start is not None:
            source, path, sha256 = start
            getattr(module, "load_published", load_published)(model, path)
            model.notes.append(
                f"the network starts from {source}, {path.name} (sha256 {sha256}); the head is "
                "newly initialised"
            )
    if config.weights is not None and not load_weights(model, config.weights):
        model.notes.append(f"the head is newly initialised: {config.weights} has none of its shape")
    if config.batch_norm == "frozen":
        model.freeze_batch_norm()
    if config.freeze != "none":
        stages = None if config.freeze == "all" else int(config.freeze)
        model.freeze_encoder(stages, torch.zeros(1, spec.channels, *spec.spatial_size))
    return model


def _complete(module: Any, config: ModelConfig, root: Path | None) -> ModelConfig:
    """The section with what follows from ``pretrained``, where a network says so."""
    complete = getattr(module, "complete", None)
    made: ModelConfig = config if complete is None else complete(config, root)
    return made


def _start(config: ModelConfig, root: Path | None) -> tuple[str, Path, str] | None:
    """What the network starts from: its name, its file and the sha256 of that."""
    if isinstance(config.pretrained, Path):
        with naming_the_key(), reading(config.pretrained):
            return "a file", config.pretrained, checksum(config.pretrained)
    published = _chosen(config)
    if published is None:
        return None
    with naming_the_key():
        path, sha256 = present(published, data_folders(root), download=config.allow_download)
    return published.id, path, sha256


def require_weights(config: ModelConfig, root: Path | None) -> None:
    """Check that the weights to start from exist or may be downloaded, if any are requested.

    Raises:
        InputError: If not, or if they are of another network.
    """
    if isinstance(config.pretrained, Path):
        with naming_the_key(), reading(config.pretrained):
            config.pretrained.stat()
        return
    published = _chosen(config)
    if published is not None:
        with naming_the_key():
            require(published, data_folders(root), download=config.allow_download)


def pixel_notes(config: PluginSection, transform: PluginSection, root: Path | None) -> list[str]:
    """Whether the pixel rule is that with which the network was trained, for readers of the run.

    Args:
        config: A network's `Config`.
        transform: The pixel rule's.
        root: ``data.root``.
    """
    own_pixels = getattr(plugins.load("models", config.name), "own_pixels", None)
    own: dict[str, Any] = {} if own_pixels is None else own_pixels(config, root)
    own.pop("channels", None)
    other = {key: getattr(transform, key, None) for key in own}
    differ = [k for k, value in own.items() if other[k] != value and {other[k]} != {*_each(value)}]
    if not own:
        return []
    text = "the network was trained on pixels of " + _listed(own)
    if not differ:
        return [f"{text}, and sees such pixels here"]
    return [f"{text}; transform ({transform.name}) gives {_listed({k: other[k] for k in differ})}"]


def _each(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


def _listed(pixels: dict[str, Any]) -> str:
    said = {k: "its own" if v is None else v for k, v in pixels.items()}
    return ", ".join(f"{k} {', '.join(map(str, _each(v)))}" for k, v in said.items())


def _check_added(model: FeatureModel, config: ModelConfig) -> None:
    """Refuse dropout or an adapter that an outside network, built without us, would leave out."""
    own = type(model).features is not FeatureModel.features
    adapted = config.adapter != "none"
    for key, plain, asked, left_out in (
        ("dropout", "0", config.dropout > 0, model.dropout != config.dropout),
        ("adapter", "none", adapted, adapted != (model.adapter is not None)),
    ):
        if asked and (own or left_out):
            raise InputError(
                f"model.{key}: the network {config.name} would leave it out, because it "
                + ("overrides `features`" if own else "does not pass its Config to FeatureModel")
                + f". Set model.{key}: {plain}, or let the network implement `latents` and call "
                "FeatureModel.__init__ with config=config"
            )


def _chosen(config: ModelConfig) -> Published | None:
    """The published weights that a configuration names, of its own network."""
    if config.pretrained is None or isinstance(config.pretrained, Path):
        return None
    with naming_the_key():
        wanted = usual(config.name) if config.pretrained is True else str(config.pretrained)
        published = find(wanted, config.name)
    if published.id.startswith(HUB) and config.name == "timm":
        return published
    network = getattr(config, "network", None)  # timm's
    ours = config.name if network is None else f"timm with model.network: {network}"
    of = f"timm with model.network: {published.network}" if published.timm else published.network
    if of != ours:
        raise InputError(
            f"model.pretrained: {published.id} belongs to the network {of}, but this is {ours}. "
            "Set model.name" + (" and model.network" if published.timm else "") + " to that, or "
            "choose weights of this network"
        )
    return published


def _supported_dims(name: str) -> tuple[int, ...]:
    """A network's ``SPATIAL_DIMS``; one without it takes pictures and volumes."""
    dims: tuple[int, ...] = getattr(plugins.load("models", name), "SPATIAL_DIMS", (2, 3))
    return dims


def _kinds(dims: Iterable[int]) -> str:
    return " and ".join(f"{n}D images" if n else "stored latents" for n in dims)


def _kind(spec: DataSpec) -> str:
    """What the data are, in words."""
    if not spec.spatial_dims:
        return f"stored latents of {spec.channels} numbers"
    return f"{spec.spatial_dims}D images, of size {spec.spatial_size}"
