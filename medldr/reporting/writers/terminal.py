"""Tables for the terminal, readable at 80 columns."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console, Group
from rich.table import Table
from rich.text import Text

from medldr.errors import InputError, did_you_mean
from medldr.folders.files import RunFolder, read_json
from medldr.metrics import SPLIT_TITLES, is_defined, measure, rule_text
from medldr.reporting.sections import comparison_tables as compare_tables
from medldr.reporting.sections.domain_gap import gap_sentence
from medldr.reporting.sections.headline import CARDS

WIDTH = 80
_SHORT = {
    "balanced_accuracy": "Bal. acc. (%)",
    "sensitivity_at_specificity": "Sens. at spec. (%)",
    "quadratic_kappa": "Kappa",
    "mae": "Abs. error",
    "exact_match": "Exact (%)",
}
_SPLITS = {"id_val": "val, seen", "id_test": "test, seen"}


def console() -> Console:
    """Standard output; a wide terminal is not filled, a pipe counts as 80 columns."""
    out = Console(highlight=False)
    return Console(highlight=False, width=min(out.width, 110) if out.is_terminal else WIDTH)


def run_table(evaluation: Mapping[str, Any]) -> Table:
    """Headline numbers of one run: a row per split, and per domain of the test splits.

    Args:
        evaluation: Content of `evaluation.json`.
    """
    keys = CARDS.get(str(evaluation.get("task")), CARDS["multi-class"])
    selection = evaluation.get("selection") or {}
    table = Table(
        title=_run_title(selection), title_justify="left", box=None, pad_edge=False, padding=(0, 1)
    )
    table.add_column("split", overflow="fold", max_width=22)
    table.add_column("n", justify="right", no_wrap=True)
    for key in keys:
        table.add_column(_SHORT.get(key, measure(key).heading), justify="right")
    reasons: list[str] = []
    splits: Mapping[str, Any] = evaluation.get("splits") or {}
    order = [split for split in SPLIT_TITLES if split in splits]
    for name in [*order, *(split for split in splits if split not in order)]:
        split = splits[name]
        domains: Mapping[str, Any] = split.get("domains") or {}
        unseen = domains and not any(entry.get("seen") for entry in domains.values())
        title = _SPLITS.get(name, name) + (", unseen" if unseen else "")
        numbers = [_number(key, (split.get("metrics") or {}).get(key), reasons) for key in keys]
        table.add_row(Text(title, style="bold"), f"{split['n']:,}", *numbers)
        worst = split.get("worst_group")
        if worst:
            shown = [
                _number(key, worst["accuracy"], reasons) if key == "accuracy" else ""
                for key in keys
            ]
            table.add_row(Text("  worst group"), f"{worst['n']:,}", *shown)
        if name not in ("test", "id_test") or len(domains) < 2:
            continue
        for domain, entry in domains.items():
            metrics = entry.get("metrics") or {}
            cells = [_number(key, metrics[key], reasons) if key in metrics else "" for key in keys]
            tag = "" if entry.get("seen") else " (unseen)"
            table.add_row(Text(f"  {domain}{tag}"), f"{entry['n']:,}", *cells)
    lines = [f"n/a: {reason}" for reason in dict.fromkeys(reasons)]
    table.caption = _caption([*lines, *filter(None, [gap_sentence(evaluation)])], evaluation)
    table.caption_justify = "left"
    return table


def _run_title(selection: Mapping[str, Any]) -> Text:
    if not selection:
        return Text("results")
    rule = str(selection.get("rule"))
    chosen = rule_text(rule, str(selection.get("split", "")))
    text = Text(f"epoch {selection.get('epoch')}, {chosen} ({rule})")
    if selection.get("oracle"):
        text.append("  ORACLE: chosen on the test split", style="bold red")
    return text


def _caption(lines: list[str], content: Mapping[str, Any]) -> Text:
    level = 100 * (content.get("intervals") or {}).get("level", 0.95)
    return Text("\n".join([*lines, f"below each number: its {level:g} % interval"]))


def _number(key: str, number: Mapping[str, Any] | None, reasons: list[str]) -> str:
    if number is None:
        return "-"
    if not is_defined(number):
        reasons.append(str(number.get("reason") or "undefined"))
        return "n/a"
    show = measure(key).show
    text = show(number["value"])
    if number.get("low") is None or number.get("high") is None:
        return text
    return f"{text}\n{show(number['low'])}–{show(number['high'])}"


def comparison_table(result: Mapping[str, Any], metric: str = "accuracy") -> Group:
    """One measure of all methods, a table per split, with paired differences.

    Args:
        result: What `medldr.evaluation.compare` returns.
        metric: The measure.

    Raises:
        InputError: If that measure was not computed.
    """
    there = sorted({row["metric"] for row in result["rows"] if row["domain"] is None})
    if metric not in there:
        raise InputError(
            f"there is no metric {metric!r} in this comparison.{did_you_mean(metric, there)} "
            f"Known: {', '.join(there)}"
        )
    common, result = compare_tables.short_names(result)
    several = len(result["methods"]) > 2
    lines = ["p after Holm's correction over the methods of a split"] if several else []
    rows = {
        split: [
            _comparison_row(result, split, metric, method, lines) for method in result["methods"]
        ]
        for split in result["splits"]
    }
    widths = [max(len(row[i]) for found in rows.values() for row in found) for i in range(7)]
    heading = f"{measure(metric).heading}, differences to {result['reference']}"
    parts: list[Any] = [Text(f"{common}: {heading}" if common else heading)]
    for split, found in rows.items():
        title = compare_tables.split_title(result, split)
        parts.append(_comparison_part(title, found, widths))
    for entry in result.get("missing") or ():
        reason = compare_tables.missing_reason(entry)
        parts.append(Text(f"no result: {entry['run']} ({reason})", style="red"))
    lines += [f"[{i}] {text}" for i, text in enumerate(result.get("footnotes") or (), start=1)]
    parts += [Text(line) for line in dict.fromkeys(lines)]
    return Group(*parts)


def _comparison_part(title: str, rows: list[list[str]], widths: list[int]) -> Table:
    table = Table(
        title=Text(f"\n{title}", style="bold"),
        title_justify="left", box=None, pad_edge=False, padding=(0, 1),
    )  # fmt: skip
    table.add_column("method", overflow="fold", min_width=min(widths[0], 12))
    for number, name in enumerate(("runs", "mean ±SD", "interval", "diff.", "interval", "p"), 1):
        width = max(widths[number], len(name)) if widths[number] else None
        table.add_column(name, justify="right", no_wrap=True, min_width=width)
    for name, *cells in rows:
        table.add_row(Text(name), *cells)
    return table


def _comparison_row(
    result: Mapping[str, Any], split: str, metric: str, method: Mapping[str, Any], lines: list[str]
) -> list[str]:
    row = compare_tables.cell_of(result, split, metric, method["method"])
    marks = "".join(f"[{number}]" for number in method.get("footnotes") or ())
    name = f"{method['method']} {marks}".rstrip()
    return [name, str(len(method.get("seeds") or ())), *_cells(metric, row, lines)]


def _cells(metric: str, row: Mapping[str, Any] | None, lines: list[str]) -> list[str]:
    if row is None:
        return ["-", "", "", "", ""]
    known = measure(metric)
    if row["mean"] is None:
        lines.append(f"n/a: {row['reason']}")
        return ["n/a", "", "", "", ""]
    mean = known.show(row["mean"])
    if row.get("sd") is not None:
        mean += f" ±{known.show(row['sd'])}"
    cells = [mean, _span(known.show, row)]
    difference = row.get("difference")
    if not difference or difference["value"] is None:
        return [*cells, "", "", ""]
    p = difference.get("p_holm", difference.get("p"))
    return [
        *cells,
        known.show_difference(difference["value"]),
        _span(known.show_difference, difference, " to "),
        "" if p is None else compare_tables.show_p(p).replace(" ", ""),
    ]


def _span(show: Any, number: Mapping[str, Any], between: str = "–") -> str:
    if number.get("low") is None or number.get("high") is None:
        return ""
    return f"{show(number['low'])}{between}{show(number['high'])}"


def print_run(folder: RunFolder | Path | str, *, fresh: bool = True) -> None:
    """Print a finished run's numbers and where its files are.

    Args:
        folder: The run folder.
        fresh: False for a run that was finished before, so that nothing was done; says so.

    Raises:
        InputError: If the run has no `evaluation.json`.
    """
    files = folder if isinstance(folder, RunFolder) else RunFolder(folder)
    out = console()
    if not fresh:
        out.print("This run was finished before; nothing had to be done.")
    out.print(run_table(read_json(files.evaluation)))
    page = f"\npage: {files.report}" if files.report.exists() else ""
    out.print(f"run: {files.path}{page}", soft_wrap=True, markup=False)
