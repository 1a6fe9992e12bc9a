"""Configurations: sections, YAML files, overrides and the identity of a run.

The names are loaded when they are first used: a report reads configurations without checking them,
and starts sooner without pydantic's models of every section.
"""
# mypy: implicit-reexport
# ruff: noqa: F401

from __future__ import annotations

from typing import TYPE_CHECKING

from medldr.lazy import lazily

if TYPE_CHECKING:
    from medldr.config.editor_schema import json_schema
    from medldr.config.identity import dump_config, identify, run_hash, run_name
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

__getattr__ = lazily(
    __name__,
    {
        "editor_schema": "json_schema",
        "identity": "dump_config identify run_hash run_name",
        "load": "find_config load_config load_part",
        "packaged": "packaged_configs packaged_names",
        "schema": "CONFIG_VERSION EvaluationConfig MachineConfig RunConfig TrainingConfig",
        "section": "PLUGIN_SECTIONS AlgorithmSection LossSection PluginSection Section",
    },
)
