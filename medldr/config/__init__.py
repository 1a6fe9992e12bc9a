"""Configurations: sections, YAML files, overrides and the identity of a run."""

from medldr.config.averaging import AveragingConfig
from medldr.config.editor_schema import json_schema
from medldr.config.identity import (
    diff_from_defaults,
    dump_config,
    identify,
    run_hash,
    run_name,
    write_config,
)
from medldr.config.load import find_config, load_config, load_part
from medldr.config.packaged import packaged_configs, packaged_names
from medldr.config.schema import (
    CONFIG_VERSION,
    EvaluationConfig,
    MachineConfig,
    RunConfig,
    TrainingConfig,
)
from medldr.config.section import (
    PLUGIN_SECTIONS,
    AlgorithmSection,
    LossSection,
    PluginSection,
    Section,
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
    "diff_from_defaults",
    "dump_config",
    "find_config",
    "identify",
    "json_schema",
    "load_config",
    "load_part",
    "packaged_configs",
    "packaged_names",
    "run_hash",
    "run_name",
    "write_config",
]
