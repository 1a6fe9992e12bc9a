"""Scores during training, on the splits used for selection.

The test split is read only by oracles, and for curves of held-out domains where the configuration
requests them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

from medldr.config import RunConfig
from medldr.data import Data
from medldr.data.config import DatasetConfig
from medldr.data.splits.manifest import held_out_domains
from medldr.errors import InputError
from medldr.evaluation import domain_means, held_out_curves, score
from medldr.evaluation.predictions.predict import predict_each
from medldr.evaluation.split_scores import positive_class
from medldr.models.base import FeatureModel
from medldr.training.machine.processes import Processes
from medldr.training.state.rng import undisturbed
from medldr.training.weights.selection import DOMAIN_METRICS, Rule, scored_splits

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class Validation:
    """Scores a network on the splits that the selection rules need.

    Args:
        config: The run.
        data: Its images, split.
        rules: The requested rules.
        splits: Splits, and parts of held-out domains, that have rows.
        fabric: Gives precision, device and processes.
        processes: Each scores its part of the rows.

    Attributes:
        notes: What readers of any number should know.

    Raises:
        InputError: If a rule or the curves need domains that the data does not have.
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
        self._curves = config.evaluation.domain_curves
        self._positive = positive_class(data.spec, config.evaluation.positive_class)
        _require_domains(config, data, rules)
        self.notes = _looks(config, rules)
        self._columns = scored_splits(rules, splits)
        wanted = [*self._columns.values(), *(["test"] if self._curves else [])]
        # Each is read once; a part of the test split is not read in addition to the whole.
        parts = data.parts if "test" in wanted else {}
        self._loaders = {
            split: data.eval_loader(
                split,
                config,
                device=fabric.device,
                rank=processes.rank,
                world=processes.world,
            )
            for split in dict.fromkeys(wanted)
            if split not in parts
        }

    def scores(self, model: FeatureModel) -> dict[str, Any]:
        """Metrics by column, such as ``val/auc``; None where undefined, equal on all processes."""
        self._processes.equal_buffers(model)
        tables = {
            split: predict_each(
                [model],
                undisturbed(iter(loader)),
                spec=self._data.spec,
                table=self._data.table,
                split=split,
                parts=self._data.parts,
                fabric=self._fabric,
            )[0]
            for split, loader in self._loaders.items()
        }
        row: dict[str, Any] = {}
        for column, split in self._columns.items():
            table = tables.get(split)
            if table is None:
                table = tables["test"].select(tables["test"].part == split)
            scores = score(table, self._positive) | domain_means(table)
            row |= {f"{column}/{name}": value for name, value in scores.items()}
        if self._curves:
            row |= held_out_curves(tables["test"])
        shared: dict[str, Any] = self._processes.from_first(row)
        return shared


def _require_domains(config: RunConfig, data: Data, rules: Sequence[Rule]) -> None:
    if config.evaluation.domain_curves and not data.parts:
        raise InputError(
            "evaluation.domain_curves: no domain is held out, so no curve can be drawn. "
            "Set data.held_out, or evaluation.domain_curves: false"
        )
    rows = {**data.rows, **data.parts}
    for rule in rules:
        asked = rule.name.endswith(DOMAIN_METRICS)
        if asked and not (data.table.domains[rows[rule.split]] != "").any():
            raise InputError(
                f"training.select: {rule.name} is a mean over domains, but no {rule.split} row of "
                f"{data.table.name} has one. Use {rule.name.replace('_domain_', '_')}"
            )


def _looks(config: RunConfig, rules: Sequence[Rule]) -> list[str]:
    """Notes on what read the held-out domains during training, and why."""
    notes = []
    if config.evaluation.domain_curves:
        held_out = held_out_domains(cast(DatasetConfig, config.data))
        notes.append(
            f"evaluation.domain_curves: the held-out domains ({', '.join(held_out)}) were scored "
            "at every validation for leave-one-domain-out; no rule of this run reads these scores"
        )
    named = ", ".join(rule.name for rule in rules if rule.split == "target_out")
    if named:
        notes.append(
            f"{named} chose on the target_out rows of the held-out domains, which are part of the "
            "test split; only test/target_in is unaffected"
        )
    return notes
