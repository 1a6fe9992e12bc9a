"""Tables of a sweep beside its grid: sets, paired differences, recall."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from medldr.metrics import SPLIT_TITLES, measure
from medldr.reporting.document import Cell, Row, Table
from medldr.reporting.read.describe import dataset_name, model_text
from medldr.reporting.read.sweep import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.comparison_tables import number_cell, show_p, split_title

DASH = "–"
SINGLE = (
    "No p is given where a row has a single seed: it would speak of these trained networks alone."
)


def sets_table(study: Study, columns: Sequence[Column]) -> Table:
    """What stands behind each column: data, network, protocol, sizes, runs."""
    table = Table(
        "The sets",
        ["Column", "Data", "Network", "Protocol", "Judged on", "Runs with a result"],
        texts=(1, 2, 3, 4),
    )
    for column in columns:
        entries = study.of(column=column.name)
        there = [entry.source for entry in entries if entry.source is not None]
        data = _each(dataset_name(source.config, source.run) for source in there)
        network = _each(model_text(source.config, source.run) for source in there)
        protocol = _each(source.protocol or "none" for source in there)
        judged = "; ".join(split_title(column.result, s) for s in column.splits if column.result)
        runs = Cell(f"{len(there)} of {len(entries)}", value=float(len(there)))
        words = [Cell(text or DASH) for text in (data, network, protocol, judged)]
        tags = ("left out",) if column.problem else ()
        table.rows.append(Row(column.name, [*words, runs], tags=tags))
    return table


def _each(texts: Any) -> str:
    return ", ".join(dict.fromkeys(texts))


def difference_table(
    study: Study, columns: Sequence[Column], metric: str, split: str
) -> Table | None:
    """Every row minus the reference, in the same draws; None where there is nothing to show."""
    known = measure(metric)
    table = Table(
        f"{known.heading}: difference to {study.reference}, {_where(split)}",
        ["Method", *(column.name for column in columns)],
    )
    for row in study.rows:
        if row == study.reference:
            continue
        cells = []
        for column in columns:
            found = column.row(split, metric, row)
            number = found["difference"] if found else None
            several = column.fewest_seeds(row, study.reference) > 1
            cells.append(_difference(table, metric, number, several=several))
        if any(cell.text != DASH for cell in cells):
            apart = row in study.layout.controls
            table.rows.append(Row(row, cells, ("control",) if apart else (), apart=apart))
    return table if table.rows else None


def contrast_table(
    study: Study, columns: Sequence[Column], metric: str, split: str
) -> Table | None:
    """One row minus another, for the pairs that were asked for; None where there are none."""
    table = Table(
        f"{measure(metric).heading}: pairs of rows, one minus the other, {_where(split)}",
        ["Pair", *(column.name for column in columns)],
    )
    for pair in study.layout.contrasts:
        cells = []
        for column in columns:
            number, several = column.contrast(split, metric, pair), column.fewest_seeds(*pair) > 1
            cells.append(_difference(table, metric, number, several=several))
        table.rows.append(Row(f"{pair[0]} − {pair[1]}", cells))
    return table if table.rows else None


def _difference(
    table: Table, metric: str, number: Mapping[str, Any] | None, *, several: bool
) -> Cell:
    """A difference with its interval, and its p unless either row has a single seed."""
    if number is None:
        return Cell(DASH)
    cell = table.number(metric, number, signed=True)
    if number.get("p") is None:
        return cell
    if not several:
        if SINGLE not in table.notes:
            table.notes.append(SINGLE)
        return cell
    p = f"p {show_p(number['p'])}, Holm {show_p(number['p_holm'])}"
    return Cell(cell.text, cell.detail, p, cell.value, cell.reason, cell.mark)


def recall_table(study: Study, column: Column, split: str) -> Table | None:
    """Recall of each class, methods across: what an accuracy may hide; None without a result."""
    result = column.result or {"classes": (), "task": ""}
    found = {
        (row["class"], row["method"]): row
        for row in result["classes"]
        if (row["split"], row["metric"]) == (split, "recall")
    }
    names = [row for row in study.rows if any(method == row for _, method in found)]
    if not names:
        return None
    labels = result["task"] == "multi-label"
    kind, count = ("label", "Positive") if labels else ("class", "Images")
    table = Table(
        f"{column.name}: {measure('recall').heading} of each {kind}, {_where(split)}",
        [kind.capitalize(), count, *names],
    )
    for name in dict.fromkeys(name for name, _ in found):
        size = next(row["n"] for (known, _), row in found.items() if known == name)
        cells = [Cell(f"{size:,}", value=float(size))]
        cells += [number_cell(table, "recall", found.get((name, row))) for row in names]
        table.rows.append(Row(name, cells))
    return table


def _where(split: str) -> str:
    return SPLIT_TITLES.get(split, split).lower()


def controls_last(result: Mapping[str, Any], controls: Collection[str]) -> dict[str, Any]:
    """A comparison whose methods end with the controls, named as such."""
    told = [{**method, "control": method["method"] in controls} for method in result["methods"]]
    return {**result, "methods": sorted(told, key=lambda method: method["control"])}
