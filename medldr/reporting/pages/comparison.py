"""The page that lays finished runs side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medldr.folders.files import RunFolder, write_text
from medldr.metrics import MEASURES, PERCENT, measure
from medldr.reporting.figures.comparison import (
    Curves,
    difference_figure,
    has_difference,
    overlay_figures,
)
from medldr.reporting.published.numbers import comparison_published_table
from medldr.reporting.read.run import RunSource, read_run
from medldr.reporting.sections import comparison_tables as tables
from medldr.reporting.writers.html import render

DEMONSTRATION = "A demonstration of the tool, not evidence for the method."
MOST_LEADS = 4
"""More sentences than this are not read."""
FIGURE_METRICS = ("accuracy", "auc")


def write_comparison(
    result: Mapping[str, Any],
    path: Path | str,
    title: str,
    remark: str | None = None,
    folders: Sequence[RunFolder | Path | str] = (),
) -> Path:
    """Write the page of a comparison.

    Args:
        result: What `medldr.evaluation.compare` returns.
        path: The page to write.
        title: Its title.
        remark: A banner at the top, such as `DEMONSTRATION`.
        folders: The run folders compared, for learning curves and published numbers; a run whose
            folder is not given has neither.

    Returns:
        The page.

    Raises:
        InputError: If a folder is no run folder.
        StorageError: If the page cannot be written.
    """
    sources = {source.name: source for source in map(read_run, folders)}
    write_text(path, comparison_page(result, title, remark, sources))
    return Path(path)


def comparison_page(
    result: Mapping[str, Any],
    title: str,
    remark: str | None,
    sources: Mapping[str, RunSource],
) -> str:
    """The page of a comparison as text."""
    common, result = tables.short_names(result)
    order = [split for split in ("test", "id_test") if split in result["splits"]]
    order += [split for split in result["splits"] if split not in order]
    metrics = [m for m in FIGURE_METRICS if has_difference(result, m)]
    drawings = [difference_figure(result, metric) for metric in metrics]
    curves: Curves = {
        method["method"]: [sources[run].rows for run in method["runs"] if run in sources]
        for method in result["methods"]
    }
    differences = [tables.difference_table(result, split) for split in order]
    shown = {metric for split in order for metric in tables.main_metrics(result, split)}
    content: dict[str, Any] = {
        "title": title,
        "kicker": "medldr · comparison of runs",
        "subtitle": _subtitle(result, common),
        "banners": _banners(result, remark),
        "notes": list(result.get("notes") or ()),
        "leads": leads(result),
        "result_tables": [tables.result_table(result, split) for split in order],
        "difference_tables": [table for table in differences if table is not None],
        "difference_figures": [drawing for drawing in drawings if drawing is not None],
        "domain_table": tables.domain_table(result),
        "gap_table": tables.gap_table(result),
        "curve_figures": overlay_figures(curves),
        "published": comparison_published_table(result, sources),
        "runs_table": tables.runs_table(result),
        "intervals": interval_words(result),
        "glossary": [(m.title, m.meaning) for key, m in MEASURES.items() if key in shown],
    }
    content["sections"] = _sections(content)
    return render("comparison.html.jinja", **content)


def leads(result: Mapping[str, Any], metric: str = "accuracy") -> list[str]:
    """The paired differences in plain sentences; for many methods the tables say it better."""
    sentences: list[str] = []
    known = measure(metric)
    others = len(result["methods"]) - 1
    if others > MOST_LEADS:
        return sentences
    for split in ("test", "id_test") if others <= MOST_LEADS // 2 else ("test",):
        for method in tables.method_names(result):
            row = tables.cell_of(result, split, metric, method)
            difference = row and row["difference"]
            if row is None or not difference or difference["value"] is None:
                continue
            low, high = difference["low"], difference["high"]
            size = known.show(abs(difference["value"]))
            word = "more" if difference["value"] >= 0 else "less"
            verdict = ""
            span = ""
            if low is not None and high is not None:
                span = f" (95{PERCENT} interval {known.show_difference(low)} to "
                span += f"{known.show_difference(high)})"
                verdict = (
                    " The interval includes zero: these data do not show a difference."
                    if low <= 0 <= high
                    else " The interval excludes zero."
                )
            unit = " points" if known.percent else ""
            sentences.append(
                f"{tables.split_title(result, split)}: {method} has {size}{unit} {word} "
                f"{known.title.lower()} than {result['reference']}{span}.{verdict}"
            )
    return sentences


def _subtitle(result: Mapping[str, Any], common: str) -> str:
    runs = sum(len(method.get("seeds") or ()) for method in result["methods"])
    methods = len(result["methods"])
    text = f"{methods} method{'' if methods == 1 else 's'}, {runs} run{'' if runs == 1 else 's'}"
    text = f"{common}: {text}" if common else text
    return f"{text}; differences are to {result['reference']}"


def _banners(result: Mapping[str, Any], remark: str | None) -> list[tuple[str, str]]:
    banners = [("remark", remark)] if remark else []
    oracles = [m["method"] for m in result["methods"] if m.get("oracle")]
    if oracles:
        banners.append(
            (
                "oracle",
                f"ORACLE SELECTION in {', '.join(oracles)}: weights were chosen by looking at the "
                "test split. Those numbers are upper bounds, not measurements.",
            )
        )
    if any(len(method.get("seeds") or ()) == 1 for method in result["methods"]):
        banners.append(
            (
                "warning",
                "At least one method was trained with a single seed, so that nothing is known of "
                "how much its result would change with another.",
            )
        )
    if result.get("missing"):
        count = len(result["missing"])
        runs = "run has" if count == 1 else "runs have"
        banners.append(("warning", f"{count} {runs} no result; see the rows marked so."))
    return banners


def interval_words(result: Mapping[str, Any]) -> str:
    """How the intervals of a comparison were made."""
    made = result.get("intervals") or {}
    if not made:
        return ""
    return (
        f"Large numbers are means over seeds, SD their spread. Small numbers are "
        f"{100 * made.get('level', 0.95):g}{PERCENT} intervals: {made.get('method')}, "
        f"{made.get('draws'):,} draws, each resampling the seeds and the test groups (images where "
        "there are none), the same groups for every method. Differences are paired: both methods "
        "are judged in the same draws. p is two-sided, from the same draws; Holm's correction is "
        "over the methods of one column."
    )


def _sections(content: Mapping[str, Any]) -> list[tuple[str, str]]:
    every = (
        ("result", "Result", True),
        ("notes", "Notes", content["notes"]),
        ("differences", "Differences", content["difference_tables"]),
        ("domains", "Domains", content["domain_table"] or content["gap_table"]),
        ("published", "Published", content["published"]),
        ("curves", "Curves", content["curve_figures"]),
        ("runs", "Runs", True),
        ("glossary", "Glossary", content["glossary"]),
    )
    return [(anchor, name) for anchor, name, there in every if there]


def compare_runs(
    folders: Sequence[RunFolder | Path | str],
    path: Path | str,
    *,
    metric: str = "accuracy",
    title: str | None = None,
    remark: str | None = None,
) -> dict[str, Any]:
    """Compare runs, write the page and print the table.

    Args:
        folders: Run folders; the first one's method is the reference.
        path: The page to write.
        metric: The measure that the terminal table shows.
        title: Title of the page; unset: made of the methods' names.
        remark: A banner at the top of the page.

    Returns:
        What `medldr.evaluation.compare` returns.

    Raises:
        InputError: If the runs cannot be compared, or the metric was not computed.
    """
    from medldr.evaluation import compare
    from medldr.reporting.writers.terminal import comparison_table, console

    result = compare(folders)
    table = comparison_table(result, metric)
    names = tables.method_names(result)
    used = {run for method in result["methods"] for run in method["runs"]}
    given = [f if isinstance(f, RunFolder) else RunFolder(f) for f in folders]
    shown = [folder for folder in given if folder.path.resolve().name in used]
    page = write_comparison(result, path, title or " and ".join(names), remark, shown)
    out = console()
    out.print(table)
    out.print(f"page: {page}", soft_wrap=True, highlight=False, markup=False)
    return result
