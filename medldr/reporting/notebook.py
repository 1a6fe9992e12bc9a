"""Results as a line of text, and as tables of a notebook."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from medldr.evaluation.comparison.comparison import Comparison
from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.metrics import metric_facts
from medldr.reporting.pages.comparison import overview, titled
from medldr.reporting.reports import compared_files
from medldr.reporting.results.headline import headline, headline_split
from medldr.reporting.sections.run.result import results_table
from medldr.reporting.table import interval
from medldr.reporting.wording import card_metrics, spoken
from medldr.reporting.writers.html import html_notebook


def run_line(scored: EvaluationRecord) -> str:
    """The first defined number of the headline split with its interval; empty where none is.

    Example:
        >>> from medldr.folders.evaluation_record import Number, SplitRecord
        >>> split = SplitRecord(metrics={"auc": Number(value=0.875, low=0.75, high=1.0)})
        >>> run_line(EvaluationRecord(task="binary", splits={"test": split}))
        'test AUC 0.875 (95% CI 0.750 to 1.000)'
    """
    numbers = {} if (split := headline(scored)) is None else split.metrics
    for key in card_metrics(scored.task):
        number = numbers.get(key)
        if number is None or number.value is None:
            continue
        known = metric_facts(key)
        ends = interval(Estimate.of(number), known)
        said = f"{headline_split(scored)} {spoken(key)} {known.with_unit(number.value)}"
        return said + (f" ({100 * scored.level:g}% CI {ends})" if ends else "")
    return ""


def run_html(scored: EvaluationRecord, title: str) -> str:
    """The numbers that a run prints on the terminal, as a table for a notebook."""
    return html_notebook(title, [results_table(scored, short=True)])


def comparison_html(found: Comparison, folders: Sequence[str | Path]) -> str:
    """The verdict and the table that a comparison prints, for a notebook."""
    shown = overview(titled(found, compared_files(found, folders)), found.primary)
    said = "" if shown.verdict is None else shown.verdict.text
    return html_notebook(said, [table for _, table in shown.tables(["result"])])
