"""Plug-ins: networks."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from medldr import plugins
from medldr.config import PluginSection
from medldr.errors import InputError
from medldr.models._weights import load_weights
from medldr.models.base import FeatureModel, ModelConfig
from medldr.types import DataSpec

__all__ = ["build_model"]


def build_model(config: PluginSection, spec: DataSpec, seed: int) -> FeatureModel:
    """The network that a configuration names, ready to train on these data.

    Initial weights come from a generator of their own, so that they depend on the seed only and
    the caller's random state stays as it was.

    Args:
        config: A network's `Config`; with ``weights``, the network starts from that file.
        spec: What the network must fit: channels, axes, size and classes.
        seed: Seed of the initial weights.

    Raises:
        InputError: If the network does not fit the data or the weights do not fit the network.
    """
    if not isinstance(config, ModelConfig):
        raise InputError(f"model.name: the Config of {config.name} is no ModelConfig")
    module = plugins.load("models", config.name)
    supported = _supported_dims(config.name)
    if spec.spatial_dims not in supported:
        others = [n for n in plugins.names("models") if spec.spatial_dims in _supported_dims(n)]
        raise InputError(
            f"model.name: {config.name} is for {_axes(supported)} images, and these are "
            f"{spec.spatial_dims}D, of size {spec.spatial_size}. "
            f"Models that fit: {', '.join(others)}"
        )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model: FeatureModel = module.build(config, spec)
    if config.weights is not None and not load_weights(model, config.weights):
        model.notes.append(f"the head starts fresh: {config.weights} has none of its shape")
    return model


def _supported_dims(name: str) -> tuple[int, ...]:
    """A network's ``SPATIAL_DIMS``; one that says nothing takes pictures and volumes."""
    dims: tuple[int, ...] = getattr(plugins.load("models", name), "SPATIAL_DIMS", (2, 3))
    return dims


def _axes(dims: Iterable[int]) -> str:
    return " and ".join(f"{n}D" for n in dims)
