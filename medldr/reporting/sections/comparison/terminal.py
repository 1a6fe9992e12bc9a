"""One metric of a comparison as it is printed on the terminal."""

from __future__ import annotations

from dataclasses import replace

from medldr.errors import InputError, did_you_mean
from medldr.evaluation.comparison.comparison import Comparison, Method
from medldr.metrics import metric_facts, other_half
from medldr.reporting.document import Bullets, Document, Paragraph, Section
from medldr.reporting.results.class_mix import chance
from medldr.reporting.sections.chance import chance_row
from medldr.reporting.sections.comparison.parts import banners, comparison_verdict
from medldr.reporting.sections.comparison.tables import missing_reason
from medldr.reporting.sections.rows import show_p
from medldr.reporting.table import Cell, Row, Table, paired


def comparison_overview(found: Comparison, metric: str = "accuracy") -> Document:
    """The verdict, and one metric of all methods on the foremost split with paired differences.

    Args:
        found: The comparison.
        metric: The metric.

    Raises:
        InputError: If that metric was not computed.
    """
    known_metric(found, metric)
    section = Section("result", "", "")
    section.add(
        _table(found, found.page_order[0], metric),
        Bullets([f"no result: {e.run} ({missing_reason(e)})" for e in found.missing], "warnings"),
        *map(Paragraph, dict.fromkeys(_lines(found, metric))),
    )
    verdict = comparison_verdict(found, metric)
    return Document("", "", "", banners(found, None), [section], verdict)


def known_metric(found: Comparison, metric: str) -> None:
    """Refuse a metric that was not computed.

    Raises:
        InputError: With the nearest name.
    """
    known = sorted(found.metrics())
    if metric not in known:
        raise InputError(
            f"this comparison has no metric {metric!r}.{did_you_mean(metric, known)} "
            f"Known: {', '.join(known)}"
        )


def _table(found: Comparison, split: str, metric: str) -> Table:
    caption = f"{metric_facts(metric).heading}: {found.title(split)}"
    table = Table(caption, ["method", "runs", "mean ±SD", "diff."])
    other = other_half(metric)
    ps = [_p(found, split, metric, method) for method in found.methods]
    table.columns += ["p"] if any(ps) else []
    for method, p in zip(found.methods, ps, strict=True):
        marks = "".join(f"[{found.footnotes.index(note) + 1}]" for note in method.footnotes)
        mean, half = (found.estimate(split, key, method.name) for key in (metric, other))
        number = Cell("-") if mean is None else Cell(mean, metric_facts(metric))
        number = paired(number, other, half)
        difference = found.difference(split, metric, method.name)
        minus = Cell("")
        if difference is not None and difference.estimate.mean is not None:
            minus = Cell(replace(difference.estimate, reason=""), metric_facts(metric), signed=True)
            of_half = found.difference(split, other, method.name)
            minus = paired(minus, other, of_half and of_half.estimate)
        cells = [Cell(len(method.seeds)), number, minus, *([Cell(p)] if any(ps) else [])]
        table.rows.append(Row(f"{method.name} {marks}".rstrip(), cells))
    last = chance_row([(metric, chance(found.splits[split], found.task))])
    if last is not None:
        more = [Cell("")] * (len(table.columns) - 3)
        table.rows.append(replace(last, cells=[Cell(""), *last.cells, *more]))
    return table


def _p(found: Comparison, split: str, metric: str, method: Method) -> str:
    difference = found.difference(split, metric, method.name)
    if difference is None or difference.estimate.mean is None or difference.p_holm is None:
        return ""
    return show_p(difference.p_holm).replace(" ", "")


def _lines(found: Comparison, metric: str) -> list[str]:
    """What is said below the tables."""
    lines = ["below each mean and difference: its 95% CI"]
    if len(found.methods) > 2:
        lines[0] += "; p after Holm's correction"
    lines += [
        f"n/a: {score.estimate.reason}"
        for score in found.scores
        if score.metric == metric and score.domain is None and score.estimate.mean is None
    ]
    return lines + [f"[{number}] {text}" for number, text in enumerate(found.footnotes, start=1)]
