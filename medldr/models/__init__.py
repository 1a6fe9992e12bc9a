"""Plug-ins: networks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch

from medldr import plugins
from medldr.config import PluginSection
from medldr.errors import InputError
from medldr.models._published import Published, data_folders, find, present, require
from medldr.models._weights import load_published, load_weights
from medldr.models.base import FeatureModel, ModelConfig
from medldr.types import DataSpec

__all__ = ["build_model", "require_weights"]


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
    supported = _supported_dims(config.name)
    if spec.spatial_dims not in supported:
        others = [n for n in plugins.names("models") if spec.spatial_dims in _supported_dims(n)]
        raise InputError(
            f"model.name: {config.name} is for {_axes(supported)} images, but these are "
            f"{spec.spatial_dims}D, of size {spec.spatial_size}. "
            f"Models that fit: {', '.join(others)}"
        )
    if config.head == "corn" and spec.task != "ordinal":
        raise InputError(
            f"model.head: corn is for ordered classes, but the labels are {spec.task}. Set "
            "data.ordinal: true if the classes are grades, or else model.head: linear and another "
            "algorithm.loss than corn"
        )
    published = _chosen(config)
    start = None
    if published is not None:
        with _naming_the_key():
            start = present(published, data_folders(root), download=config.allow_download)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: FeatureModel = module.build(config, spec)
        _check_dropout(model, config)
        model.take_views(spec.views)
        if published is not None and start is not None:
            path, sha256 = start
            getattr(module, "load_published", load_published)(model, path)
            model.notes.append(
                f"the network starts from {published.id}, {path.name} (sha256 {sha256}); the head "
                "is newly initialised"
            )
            if published.pixels:
                model.notes.append(
                    f"{published.id} was trained on pixels normalised by {published.pixels}"
                )
    if config.weights is not None and not load_weights(model, config.weights):
        model.notes.append(f"the head is newly initialised: {config.weights} has none of its shape")
    if config.batch_norm == "frozen":
        model.freeze_batch_norm()
    return model


def require_weights(config: ModelConfig, root: Path | None) -> None:
    """Check that published weights exist or may be downloaded, if any are requested.

    Raises:
        InputError: If not, or if they are of another network.
    """
    published = _chosen(config)
    if published is not None:
        with _naming_the_key():
            require(published, data_folders(root), download=config.allow_download)


def _check_dropout(model: FeatureModel, config: ModelConfig) -> None:
    """Refuse dropout that an outside network, built without its help, would leave out."""
    own = type(model).features is not FeatureModel.features
    if config.dropout and (own or model.dropout != config.dropout):
        raise InputError(
            f"model.dropout: the network {config.name} would leave it out, because it "
            + ("overrides `features`" if own else "does not pass its Config to FeatureModel")
            + ". Set model.dropout: 0, or let the network implement `latents` and call "
            "FeatureModel.__init__ with config=config"
        )


def _chosen(config: ModelConfig) -> Published | None:
    """The published weights that a configuration names, of its own network."""
    if config.pretrained is None:
        return None
    with _naming_the_key():
        published = find(config.pretrained, config.name)
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


@contextlib.contextmanager
def _naming_the_key() -> Iterator[None]:
    try:
        yield
    except InputError as error:
        if type(error) is not InputError:  # an absent extra, a full disk
            raise
        raise InputError(f"model.pretrained: {error}") from error


def _supported_dims(name: str) -> tuple[int, ...]:
    """A network's ``SPATIAL_DIMS``; one without it takes pictures and volumes."""
    dims: tuple[int, ...] = getattr(plugins.load("models", name), "SPATIAL_DIMS", (2, 3))
    return dims


def _axes(dims: Iterable[int]) -> str:
    return " and ".join(f"{n}D" for n in dims)
