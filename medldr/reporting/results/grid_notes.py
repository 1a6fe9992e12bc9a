"""What a reader must know of a whole grid: which rule chose the weights, and mixed protocols."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.config.protocol import MODIFIED
from medldr.folders.run_record import Selection
from medldr.reporting.read.describe import dataset_name
from medldr.reporting.read.sweep import Study
from medldr.reporting.results.comparisons import Column


def rules_text(study: Study, columns: Sequence[Column]) -> list[str]:
    """Which rule chose the weights behind a table: one sentence, none without results."""
    rows: dict[str, list[str]] = {}
    for row in study.rows:
        for column in columns:
            for entry in study.of(row, column.name):
                rule = "" if entry.run is None else rule_of(entry.run.evaluation.selection)
                if rule and row not in rows.setdefault(rule, []):
                    rows[rule].append(row)
    if not rows:
        return []
    if len(rows) == 1:
        return [f"Weights chosen by {next(iter(rows))}."]
    each = "; ".join(f"{', '.join(names)}: {rule}" for rule, names in rows.items())
    return [f"Weights were chosen by different rules: {each}."]


def rule_of(selection: Selection | None) -> str:
    """The rule of a run and, where its name does not tell, the split that it read.

    Example:
        >>> from medldr.folders.run_record import Selection
        >>> rule_of(Selection(rule="val_auc", split="val"))
        'val_auc'
        >>> rule_of(Selection(rule="val_auc", split="id_val"))
        'val_auc (on id_val)'
    """
    if selection is None:
        return ""
    rule, split = selection.rule, selection.split or ""
    return f"{rule} (on {split})" if rule.startswith("val_") and split != "val" else rule


def protocols_text(study: Study, columns: Sequence[Column]) -> list[str]:
    """A note on columns of one data set that follow different protocols."""
    found: dict[str, dict[str, list[str]]] = {}
    for column in columns:
        for entry in study.of(column=column.name):
            if entry.source is not None:
                data = dataset_name(entry.source.config, entry.source.run)
                protocol = entry.source.protocol.removesuffix(MODIFIED) or "none"
                names = found.setdefault(data, {}).setdefault(protocol, [])
                names += [] if column.name in names else [column.name]
    return [
        f"Columns of {data} follow different protocols and are not to be compared: "
        + "; ".join(f"{', '.join(names)}: {protocol}" for protocol, names in protocols.items())
        + "."
        for data, protocols in found.items()
        if len(protocols) > 1 and len(set(map(tuple, protocols.values()))) > 1
    ]
