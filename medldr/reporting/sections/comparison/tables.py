"""Tables of a comparison, which the pages of a comparison and of a sweep share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from medldr.evaluation.comparison.comparison import Comparison, Difference, Method, Missing
from medldr.metrics import BY_GROUP, metric_facts, other_half
from medldr.reporting.prose import sentence
from medldr.reporting.results.class_mix import chance
from medldr.reporting.sections.chance import LABELS, chance_row
from medldr.reporting.sections.rows import domain_row, method_row, show_p
from medldr.reporting.table import ANY, DASH, Cell, Row, Table, paired
from medldr.reporting.wording import SHOTS, card_metrics, comparison_metrics, ordered, split_name


def main_metrics(found: Comparison, split: str) -> list[str]:
    """Metrics that a comparison shows, those of the task included, if they were computed."""
    known = ordered(found.metrics(split))
    wanted = [*comparison_metrics(found.task), *SHOTS, "worst_group"]
    wanted += [f"{BY_GROUP}{metric}" for metric in card_metrics(found.task)]
    wanted += ["worst_domain"] if len(found.splits[split].domains) > 1 else []
    shown = [metric for metric in known if metric in (*wanted, found.primary)] or known
    shown.sort(key=lambda metric: metric != found.primary)
    # The second half of a pair is in the cells of the first.
    return [metric for n, metric in enumerate(shown) if other_half(metric) not in shown[:n]]


def overview_table(found: Comparison, split: str, metric: str) -> Table:
    """One metric of every method on a split, with its difference from the reference and p."""
    known = metric_facts(metric)
    table = Table(f"{known.heading}: {found.title(split)}", ["Method", "Runs", known.heading])
    table.columns += [f"Minus {found.reference}"] if found.others else []
    for method in found.methods:
        numbers = [_cell(table, found, split, metric, method.name, m) for m in (False, True)]
        cells = [Cell(len(method.seeds)), *numbers]
        table.rows.append(_row(found, table, method, cells[: len(table.columns) - 1]))
    if last := chance_row([(metric, chance(found.splits[split], found.task))]):
        cells = [Cell(), *last.cells, Cell()]
        table.rows.append(replace(last, cells=cells[: len(table.columns) - 1]))
    table.rows += missing_rows(found, len(table.columns))
    about = found.splits[split]
    if about.few_groups:
        table.notes.append(f"Few groups ({about.n_groups}): the CIs are wide and approximate.")
    return table


def _cell(table: Table, found: Comparison, split: str, metric: str, name: str, minus: bool) -> Cell:
    """A method's number, or its difference from the reference; of a threshold both halves."""
    other = other_half(metric)
    if not minus:
        cell = table.number(metric, found.estimate(split, metric, name))
        return paired(cell, other, found.estimate(split, other, name))
    one, half = (found.difference(split, key, name) for key in (metric, other))
    cell = difference_cell(table, metric, one, holm=len(found.others) > 1)
    return paired(cell, other, half and half.estimate)


def metrics_table(found: Comparison, split: str, *, differences: bool) -> Table:
    """The main metrics of one split: of every method, or of its differences from the reference."""
    metrics = main_metrics(found, split)
    title = found.title(split)
    caption = f"Difference from {found.reference}: {title}" if differences else title
    table = Table(caption, ["Method", *metric_columns(metrics)])
    for method in found.others if differences else found.methods:
        cells = [_cell(table, found, split, m, method.name, differences) for m in metrics]
        table.rows.append(_row(found, table, method, cells))
    return table


def domain_table(found: Comparison, metric: str = "accuracy") -> Table | None:
    """One metric in every domain of every split, methods across; None without domains."""
    grouped = any(size.groups is not None for size in found.splits.values())
    sizes = ["Images", *(["Groups"] if grouped else [])]
    columns = ["Domain", *sizes, *found.names, ANY if found.task != "multi-label" else LABELS]
    table = Table(f"{metric_facts(metric).heading} by domain", columns)
    for split, about in found.splits.items():
        for domain, size in about.domains.items():
            scores = [found.score(split, metric, name, domain) for name in found.names]
            if not any(scores):
                continue
            numbers = [None if score is None else score.estimate for score in scores]
            cells = [Cell(size.n), *([count_cell(size.groups)] if grouped else [])]
            cells += [table.number(metric, number) for number in numbers]
            last = chance_row([(metric, chance(size, found.task))])
            cells += [Cell()] if last is None else last.cells
            seen = any(score is not None and score.seen for score in scores)
            table.rows.append(domain_row(domain, cells, seen, size.few_groups))
            if size.few_groups and not table.notes:
                table.notes.append(sentence("few_groups"))
    return table if table.rows else None


def count_cell(number: int | None) -> Cell:
    """How many; a dash where that is not known."""
    return Cell() if number is None else Cell(number)


def gap_table(found: Comparison) -> Table | None:
    """What is lost between seen and unseen domains; None where that was not measured."""
    if not found.gaps:
        return None
    measured = {gap.metric for gap in found.gaps}
    metrics = [metric for metric in comparison_metrics("") if metric in measured]
    caption = f"Seen minus unseen domains, from {split_name(found.gaps[0].seen).lower()}, to test"
    table = Table(caption, ["Method", *metric_columns(metrics)])
    for method in found.methods:
        gaps = {metric: found.gap(metric, method.name) for metric in metrics}
        numbers = {metric: None if gap is None else gap.estimate for metric, gap in gaps.items()}
        cells = [table.number(key, number, signed=True) for key, number in numbers.items()]
        notes = [gap.note for gap in gaps.values() if gap is not None][:1]
        table.rows.append(_row(found, table, method, cells, *filter(None, notes)))
    return table


def runs_table(found: Comparison) -> Table:
    """What each method is: seeds, selection, protocol, precision and hashes."""
    table = Table(
        "Runs of each method",
        ["Method", "Seeds", "Selection", "Protocol", "As reference", "Precision", "Data", "Splits",
         "Configuration"],
        texts=tuple(range(1, 9)),
    )  # fmt: skip
    for method in found.methods:
        same = "yes" if method.same_protocol else "no"
        texts = (
            ", ".join(map(str, method.seeds)),
            method.selection or DASH,
            method.protocol or "none",
            DASH if method.name == found.reference else same,
            method.precision or DASH,
            _short(method.data_hash),
            _short(method.split_hash),
            f"{method.label}-{method.hash}",
        )
        table.rows.append(_row(found, table, method, [Cell(text) for text in texts]))
    table.rows += missing_rows(found, len(table.columns))
    return table


def _short(checksum: str | None) -> str:
    """The first eight digits of a hash; the whole one is in `run.json`."""
    return checksum.rpartition(":")[2][:8] if checksum else DASH


def _row(
    found: Comparison, table: Table, method: Method, cells: Sequence[Cell], *notes: str
) -> Row:
    """The row of a method with its tags and footnotes."""
    return method_row(
        method.name,
        cells,
        reference=method.name == found.reference,
        oracle=method.oracle,
        control=method.control,
        mark=table.mark(map(table.sign, (*method.footnotes, *notes))),
    )


def difference_cell(
    table: Table, metric: str, difference: Difference | None, *, holm: bool = True
) -> Cell:
    """A paired difference with its interval and p.

    Args:
        table: Gets the footnote of an undefined one.
        metric: The metric.
        difference: None for one that was not computed.
        holm: Whether p after Holm's correction is shown as well.
    """
    if difference is None:
        return Cell()
    p = "" if difference.p is None else f"p {show_p(difference.p)}"
    if p and holm and difference.p_holm is not None:
        p += f", Holm {show_p(difference.p_holm)}"
    cell = table.number(metric, difference.estimate, signed=True)
    return replace(cell, extra=p)


def missing_rows(found: Comparison, columns: int) -> list[Row]:
    """Runs without a result as rows of a table with so many columns."""
    tags, empty = ("no result",), [Cell()] * (columns - 2)
    return [
        Row(entry.run, [Cell(missing_reason(entry)), *empty], tags, "missing")
        for entry in found.missing
    ]


def missing_reason(entry: Missing) -> str:
    """Why a run has no result, without the text of its error, which may name a patient's file.

    Example:
        >>> missing_reason(Missing("a", "failed: InputError: scans/anna.nii is broken"))
        'failed'
    """
    return (entry.reason or "no result").split(":", 1)[0]


def metric_columns(metrics: Sequence[str]) -> list[str]:
    """Headings of columns of metrics."""
    return [metric_facts(metric).heading for metric in metrics]
