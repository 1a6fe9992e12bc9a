"""Configurations: sections, YAML files, overrides and the identity of a run.

The names are loaded when they are first used: a report reads configurations without checking them,
and starts sooner without pydantic's models of every section.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medldr.config.averaging import AveragingConfig as AveragingConfig
    from medldr.config.editor_schema import json_schema as json_schema
    from medldr.config.identity import diff_from_defaults as diff_from_defaults
    from medldr.config.identity import dump_config as dump_config
    from medldr.config.identity import identify as identify
    from medldr.config.identity import run_hash as run_hash
    from medldr.config.identity import run_name as run_name
    from medldr.config.identity import write_config as write_config
    from medldr.config.load import find_config as find_config
    from medldr.config.load import load_config as load_config
    from medldr.config.load import load_part as load_part
    from medldr.config.packaged import packaged_configs as packaged_configs
    from medldr.config.packaged import packaged_names as packaged_names
    from medldr.config.schema import CONFIG_VERSION as CONFIG_VERSION
    from medldr.config.schema import EvaluationConfig as EvaluationConfig
    from medldr.config.schema import MachineConfig as MachineConfig
    from medldr.config.schema import RunConfig as RunConfig
    from medldr.config.schema import TrainingConfig as TrainingConfig
    from medldr.config.section import PLUGIN_SECTIONS as PLUGIN_SECTIONS
    from medldr.config.section import AlgorithmSection as AlgorithmSection
    from medldr.config.section import LossSection as LossSection
    from medldr.config.section import PluginSection as PluginSection
    from medldr.config.section import Section as Section

_HOME = {
    "AlgorithmSection": "section",
    "AveragingConfig": "averaging",
    "CONFIG_VERSION": "schema",
    "EvaluationConfig": "schema",
    "LossSection": "section",
    "MachineConfig": "schema",
    "PLUGIN_SECTIONS": "section",
    "PluginSection": "section",
    "RunConfig": "schema",
    "Section": "section",
    "TrainingConfig": "schema",
    "diff_from_defaults": "identity",
    "dump_config": "identity",
    "find_config": "load",
    "identify": "identity",
    "json_schema": "editor_schema",
    "load_config": "load",
    "load_part": "load",
    "packaged_configs": "packaged",
    "packaged_names": "packaged",
    "run_hash": "identity",
    "run_name": "identity",
    "write_config": "identity",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'medldr.config' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"medldr.config.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
