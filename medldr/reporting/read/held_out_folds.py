"""Runs of a fold that leaves a domain out: to a report they are runs that held that domain out.

Their configuration names a manifest, which a report need not have. What it does have is what the
run recorded of its data: a fold that has the name of a domain which no training image came from.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from medldr.config.sections import held_out, section
from medldr.folders.run_record import RunRecord

Config = Mapping[str, Any]


def with_held_out(config: Config, record: RunRecord | None) -> Config:
    """The configuration of a run with the domain of its fold as `data.held_out`, where it left one.

    Args:
        config: The resolved configuration.
        record: Its `run.json`; None where it is absent.

    Example:
        >>> from medldr.types import DataSpec
        >>> spec = DataSpec("binary", (), (), 1, (28, 28), ("east", "west"), ("east",))
        >>> record = RunRecord(status="done", spec=spec)
        >>> config = {"data": {"name": "x", "manifest": "splits.json", "fold": "west"}}
        >>> with_held_out(config, record)["data"]["held_out"]
        ['west']
    """
    fold, spec = _fold(config), None if record is None else record.spec
    if fold is None or spec is None or held_out(config):
        return config
    left_out = fold in spec.domains and fold not in spec.train_domains
    return _holding_out(config, fold) if left_out else config


def also_planned(finished: Iterable[Config], planned: Config) -> Config:
    """The configuration of a run without a result, which others of its manifest explain.

    Args:
        finished: Configurations of runs with a result, from `with_held_out`.
        planned: The one to explain.
    """
    fold, manifest = _fold(planned), section(planned, "data").get("manifest")
    leaving = fold is not None and any(
        section(config, "data").get("manifest") == manifest and held_out(config) == (_fold(config),)
        for config in finished
    )
    return _holding_out(planned, fold) if fold is not None and leaving else planned


def _fold(config: Config) -> str | None:
    data = section(config, "data")
    fold = data.get("fold")
    return None if fold is None or not data.get("manifest") else str(fold)


def _holding_out(config: Config, domain: str) -> dict[str, Any]:
    return {**config, "data": {**section(config, "data"), "held_out": [domain]}}
