"""Tables of a comparison: results, differences, domains, gaps, the runs themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from medldr.metrics import SPLIT_TITLES, measure
from medldr.reporting.document import Cell, Row, Table, ordered
from medldr.reporting.sections.domain_gap import seen_title

MAIN = ("accuracy", "auc", "balanced_accuracy", "ece")
EXTRA = {
    "binary": ("sensitivity_at_specificity",),
    "ordinal": ("quadratic_kappa", "mae"),
    "multi-label": ("exact_match",),
}


def rows_of(result: Mapping[str, Any], split: str, domain: str | None = None) -> list[Any]:
    """Rows of one split, of the whole of it or of one of its domains."""
    return [r for r in result["rows"] if r["split"] == split and r["domain"] == domain]


def cell_of(result: Mapping[str, Any], split: str, metric: str, method: str) -> Any | None:
    """The row of one metric of one method on a whole split; None where there is none."""
    for row in rows_of(result, split):
        if row["metric"] == metric and row["method"] == method:
            return row
    return None


def method_names(result: Mapping[str, Any]) -> list[str]:
    """Names of the methods, in their order."""
    return [method["method"] for method in result["methods"]]


def short_names(result: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Take off what all method names begin with, up to an underscore: it says nothing.

    Returns:
        What was taken off, empty where nothing was; and the comparison with the short names.

    Example:
        >>> names = [{"method": "octmnist_erm"}, {"method": "octmnist_latentdr_sa"}]
        >>> common, short = short_names(
        ...     {"methods": names, "rows": [], "gaps": [], "reference": "octmnist_erm"})
        >>> common, [m["method"] for m in short["methods"]], short["reference"]
        ('octmnist', ['erm', 'latentdr_sa'], 'erm')
    """
    names = method_names(result)
    words = [name.split("_") for name in names]
    count = 0
    for column in zip(*(parts[:-1] for parts in words), strict=False):
        if len(set(column)) > 1:
            break
        count += 1
    if count == 0 or len(names) < 2:
        return "", dict(result)
    common = "_".join(words[0][:count])

    def renamed(entries: Any) -> list[Any]:
        return [{**e, "method": e["method"].removeprefix(f"{common}_")} for e in entries or ()]

    return common, {
        **result,
        **{key: renamed(result.get(key)) for key in ("methods", "rows", "gaps")},
        "reference": result["reference"].removeprefix(f"{common}_"),
    }


def main_metrics(result: Mapping[str, Any], split: str) -> list[str]:
    """Metrics that a comparison shows, those of the task included, if they were computed."""
    there = {row["metric"] for row in rows_of(result, split)}
    extra = EXTRA.get(str(result.get("task")), ())
    wanted = (*MAIN, *extra, "worst_domain", "worst_group")
    worst = len(result["splits"].get(split, {}).get("domains") or {}) > 1
    chosen = [m for m in ordered(wanted) if m in there and (m != "worst_domain" or worst)]
    return chosen or ordered(there)


def split_title(result: Mapping[str, Any], split: str) -> str:
    """A split with its size, and with the word unseen where no training row came from there."""
    about = result["splits"].get(split) or {}
    title = SPLIT_TITLES.get(split, split)
    seen = {row["domain"]: row["seen"] for row in result["rows"] if row["split"] == split}
    seen.pop(None, None)
    if seen and not any(seen.values()):
        title = f"{title}, unseen {'domain' if len(seen) == 1 else 'domains'} ({', '.join(seen)})"
    return f"{title}, n = {about.get('n', 0):,}"


def result_table(result: Mapping[str, Any], split: str) -> Table:
    """Each method's numbers on one split: mean over seeds, interval, spread."""
    metrics = main_metrics(result, split)
    table = Table(split_title(result, split), ["Method", "Runs"])
    table.columns += [measure(metric).heading for metric in metrics]
    for method in result["methods"]:
        found = [cell_of(result, split, metric, method["method"]) for metric in metrics]
        runs = len(method.get("seeds") or ())
        cells = [Cell(str(runs), value=float(runs))]
        cells += [
            number_cell(table, metric, row) for metric, row in zip(metrics, found, strict=True)
        ]
        table.rows.append(_method_row(result, table, method, cells))
    _add_missing(table, result)
    about = result["splits"].get(split) or {}
    if about.get("few_groups"):
        table.notes.append(f"Few groups ({about.get('n_groups')}): the intervals are too narrow.")
    return table


def difference_table(result: Mapping[str, Any], split: str) -> Table | None:
    """Each method minus the reference, in the same draws; None for a single method."""
    others = [m for m in result["methods"] if m["method"] != result["reference"]]
    if not others:
        return None
    metrics = main_metrics(result, split)
    table = Table(
        f"Difference to {result['reference']}: {split_title(result, split)}",
        ["Method", *(measure(metric).heading for metric in metrics)],
    )
    for method in others:
        cells = []
        for metric in metrics:
            row = cell_of(result, split, metric, method["method"])
            cells.append(difference_cell(table, metric, row, several=len(others) > 1))
        table.rows.append(_method_row(result, table, method, cells))
    return table


def domain_table(result: Mapping[str, Any], metric: str = "accuracy") -> Table | None:
    """One metric in every domain of every split, methods across; None without domains."""
    names = method_names(result)
    known = measure(metric)
    table = Table(f"{known.heading} by domain", ["Domain", "Images", *names])
    for split, about in result["splits"].items():
        for domain, size in (about.get("domains") or {}).items():
            rows = {r["method"]: r for r in rows_of(result, split, domain) if r["metric"] == metric}
            if not rows:
                continue
            seen = any(row["seen"] for row in rows.values())
            tags = ["seen" if seen else "unseen"]
            tags += ["few groups"] if size.get("few_groups") else []
            cells = [Cell(f"{size['n']:,}", value=float(size["n"]))]
            for name in names:
                row = rows.get(name)
                cell = number_cell(table, metric, row)
                cells.append(cell)
            table.rows.append(Row(domain, cells, tags=tuple(tags)))
    return table if table.rows else None


def gap_table(result: Mapping[str, Any]) -> Table | None:
    """What is lost between seen and unseen domains; None where that was not measured."""
    gaps = {(gap["metric"], gap["method"]): gap for gap in result.get("gaps") or ()}
    if not gaps:
        return None
    metrics = [m for m in MAIN if any(key[0] == m for key in gaps)]
    seen = next(iter(gaps.values())).get("seen", "id_test")
    table = Table(
        f"Seen minus unseen domains, from {seen_title(seen)} to test",
        ["Method", *(measure(metric).heading for metric in metrics)],
    )
    for method in result["methods"]:
        cells = [
            table.number(metric, gaps.get((metric, method["method"])), signed=True)
            for metric in metrics
        ]
        row = _method_row(result, table, method, cells)
        note = gaps.get((metrics[0], method["method"]), {}).get("note") if metrics else None
        marks = [mark for mark in (row.mark, table.sign(note) if note else "") if mark]
        table.rows.append(replace(row, mark=",".join(marks)))
    return table


def runs_table(result: Mapping[str, Any]) -> Table:
    """What each method is: seeds, selection, protocol, precision and hashes."""
    table = Table(
        "The runs behind each row",
        [
            "Method",
            "Seeds",
            "Selection",
            "Protocol",
            "As reference",
            "Precision",
            "Data",
            "Splits",
            "Configuration",
        ],
        texts=tuple(range(1, 9)),
    )
    for method in result["methods"]:
        reference = method["method"] == result["reference"]
        same = "–" if reference else ("yes" if method.get("same_protocol") else "no")
        cells = [
            Cell(", ".join(str(seed) for seed in method.get("seeds") or ())),
            Cell(str(method.get("selection") or "–")),
            Cell(str(method.get("protocol") or "none")),
            Cell(same),
            Cell(str(method.get("precision") or "–")),
            Cell(_short(method.get("data_hash"))),
            Cell(_short(method.get("split_hash"))),
            Cell(f"{method.get('label')}-{method.get('hash')}"),
        ]
        table.rows.append(_method_row(result, table, method, cells))
    _add_missing(table, result)
    return table


def number_cell(table: Table, metric: str, row: Mapping[str, Any] | None) -> Cell:
    """Mean over seeds with its interval, and the spread over seeds below."""
    if row is None:
        return Cell("–")
    number = {"value": row["mean"], **{k: row.get(k) for k in ("low", "high", "reason")}}
    cell = table.number(metric, number)
    if row.get("sd") is None or cell.value is None:
        return cell
    spread = f"SD {measure(metric).show(row['sd'])}"
    return Cell(cell.text, cell.detail, spread, cell.value, cell.reason, cell.mark)


def difference_cell(
    table: Table, metric: str, row: Mapping[str, Any] | None, several: bool
) -> Cell:
    """A paired difference with its interval and p, corrected where there are several."""
    difference = None if row is None else row.get("difference")
    if difference is None:
        return Cell("–")
    cell = table.number(metric, difference, signed=True)
    if difference.get("p") is None:
        return cell
    p = f"p {show_p(difference['p'])}"
    if several and difference.get("p_holm") is not None:
        p += f", Holm {show_p(difference['p_holm'])}"
    return Cell(cell.text, cell.detail, p, cell.value, cell.reason, cell.mark)


def show_p(p: float) -> str:
    """A p value as a paper prints it.

    Example:
        >>> show_p(0.0301), show_p(0.0004), show_p(1.0)
        ('0.030', '< 0.001', '1.000')
    """
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def missing_reason(entry: Mapping[str, Any]) -> str:
    """Why a run has no result, without the text of its error, which may name a patient's file.

    Example:
        >>> missing_reason({"run": "a", "reason": "failed: InputError: scans/anna.nii is broken"})
        'failed'
    """
    return str(entry.get("reason") or "no result").split(":", 1)[0]


def _add_missing(table: Table, result: Mapping[str, Any]) -> None:
    for entry in result.get("missing") or ():
        cells = [Cell(missing_reason(entry))] + [Cell("–")] * (len(table.columns) - 2)
        table.rows.append(Row(str(entry.get("run")), cells, tags=("no result",), style="missing"))


def _method_row(
    result: Mapping[str, Any], table: Table, method: Mapping[str, Any], cells: list[Cell]
) -> Row:
    name = method["method"]
    notes = [result["footnotes"][number - 1] for number in method.get("footnotes") or ()]
    signs = ",".join(table.sign(note) for note in notes)
    tags = ["reference"] if name == result["reference"] else []
    tags += ["oracle"] if method.get("oracle") else []
    tags += ["control"] if method.get("control") else []
    style = "reference" if name == result["reference"] else ""
    apart = bool(method.get("control"))
    return Row(name, cells, tags=tuple(tags), style=style, mark=signs, apart=apart)


def _short(value: Any) -> str:
    """The first eight digits of a hash; the whole one is in `run.json`."""
    return str(value).rpartition(":")[2][:8] if value else "–"
