"""Scores while training: of the splits that select, and never of the test split but for oracles."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from lightning_fabric import Fabric

from medldr.config import RunConfig
from medldr.data import Data
from medldr.evaluation import predict, score
from medldr.models.base import FeatureModel
from medldr.training.processes import Processes
from medldr.training.rng import undisturbed
from medldr.training.selection import Rule, scored_splits


class Validation:
    """Scores a network on the splits that the selection rules need.

    Args:
        config: The run.
        data: Its images, split.
        rules: The rules asked for.
        splits: Splits that have rows.
        fabric: Gives precision, device and processes.
        processes: Each scores its part of the rows.
    """

    def __init__(
        self,
        config: RunConfig,
        data: Data,
        rules: Sequence[Rule],
        splits: set[str],
        fabric: Fabric,
        processes: Processes,
    ) -> None:
        self._data = data
        self._fabric = fabric
        self._processes = processes
        self._loaders = {
            column: (
                split,
                data.eval_loader(
                    split,
                    config,
                    device=fabric.device,
                    rank=processes.rank,
                    world=processes.world,
                ),
            )
            for column, split in scored_splits(rules, splits).items()
        }

    def scores(self, model: FeatureModel) -> dict[str, Any]:
        """Metrics by column, such as ``val/auc``; None where undefined, equal on all processes."""
        self._processes.equal_buffers(model)
        row: dict[str, Any] = {}
        for column, (split, loader) in self._loaders.items():
            predictions = predict(
                model,
                undisturbed(iter(loader)),
                spec=self._data.spec,
                table=self._data.table,
                split=split,
                fabric=self._fabric,
            )
            row |= {f"{column}/{name}": value for name, value in score(predictions).items()}
        shared: dict[str, Any] = self._processes.from_first(row)
        return shared
