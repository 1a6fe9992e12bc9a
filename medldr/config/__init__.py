"""Configurations: sections, YAML files, overrides and the identity of a run."""

from medldr.config.schema import (
    CONFIG_VERSION,
    PLUGIN_SECTIONS,
    AlgorithmSection,
    AveragingConfig,
    EvaluationConfig,
    LossSection,
    MachineConfig,
    PluginSection,
    RunConfig,
    Section,
    TrainingConfig,
)

__all__ = [
    "CONFIG_VERSION",
    "PLUGIN_SECTIONS",
    "AlgorithmSection",
    "AveragingConfig",
    "EvaluationConfig",
    "LossSection",
    "MachineConfig",
    "PluginSection",
    "RunConfig",
    "Section",
    "TrainingConfig",
]
