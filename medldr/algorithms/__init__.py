"""Plug-ins: training algorithms, one file each."""

from __future__ import annotations

import torch

from medldr import plugins
from medldr.algorithms.base import Algorithm, AlgorithmConfig, Step, require_domains
from medldr.config import PluginSection
from medldr.errors import InputError
from medldr.models.base import FeatureModel
from medldr.types import DataSpec

__all__ = ["Algorithm", "AlgorithmConfig", "Step", "build_algorithm"]

_OWN_STREAM = 0x616C67
"""Keeps an algorithm's initial weights apart from those of a model made from the same seed."""


def build_algorithm(
    config: PluginSection, spec: DataSpec, model: FeatureModel, seed: int
) -> Algorithm:
    """The algorithm that a configuration names, with initial weights that depend only on the seed.

    The global generator is left unchanged, so methods compared under one seed start from the same
    model and see the same batches.

    Args:
        config: The section ``algorithm`` of a run.
        spec: Description of the data.
        model: The network to be trained; it is read, and may be copied, but not changed.
        seed: The run's seed.

    Raises:
        InputError: If the algorithm is unknown, or does not fit the data or its own options.
    """
    cls: type[Algorithm] = plugins.load("algorithms", config.name).ALGORITHM
    if not isinstance(config, AlgorithmConfig):
        raise InputError(
            f"algorithm {config.name}: its Config should be a subclass of "
            f"medldr.algorithms.AlgorithmConfig, but is {type(config).__name__}"
        )
    if cls.needs_domains:
        require_domains(config.name, spec)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed ^ _OWN_STREAM)
        return cls(config, spec, model)
