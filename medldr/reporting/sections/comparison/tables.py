"""Tables of a comparison, which the pages of a comparison and of a sweep share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from medldr.config.sections import section
from medldr.evaluation.comparison.comparison import Comparison, Difference, Method, Missing
from medldr.metrics import BY_GROUP, metric_facts, other_half
from medldr.reporting.prose import sentence
from medldr.reporting.read.run import RunFiles, rate_of
from medldr.reporting.results.class_mix import chance
from medldr.reporting.sections.rows import LABELS, chance_row, method_row, show_p
from medldr.reporting.sections.run.about import model_text
from medldr.reporting.sections.run.parts import count_cell
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
            tags = ["seen" if seen else "unseen", *(["few groups"] if size.few_groups else [])]
            table.rows.append(Row(domain, cells, tuple(tags)))
            if size.few_groups and not table.notes:
                table.notes.append(sentence("few_groups"))
    return table if table.rows else None


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


TRAINED: Final[Mapping[str, Callable[[RunFiles], object]]] = {
    "Network": lambda run: model_text(run.config, run.record),
    "Learning rate": rate_of,
    "Images per step": lambda run: run.record and run.record.batch_size,
    "Steps": lambda run: run.record and run.record.steps,
    "Sampler": lambda run: (
        (run.record and run.record.sampler) or section(run.config, "training").get("sampler")
    ),
}
"""What the files of a run say of its training, by the heading of a column."""


def runs_table(found: Comparison, files: Mapping[str, RunFiles]) -> Table:
    """What each method is: seeds, selection, protocol, training, precision and hashes.

    Args:
        found: The comparison.
        files: The runs that are known, by name.
    """
    columns = ["Method", "Seeds", "Selection", "Protocol", "As reference", *TRAINED, "Precision",
               "Data", "Splits", "Configuration"]  # fmt: skip
    table = Table("Runs of each method", columns, texts=tuple(range(1, len(columns))))
    for method in found.methods:
        same = "yes" if method.same_protocol else "no"
        known = [files[name] for name in method.runs if name in files]
        texts = (
            ", ".join(map(str, method.seeds)),
            method.selection or DASH,
            method.protocol or "none",
            DASH if method.name == found.reference else same,
            *(_spans(map(of, known)) for of in TRAINED.values()),
            method.precision or DASH,
            _short(method.data_hash),
            _short(method.split_hash),
            f"{method.label}-{method.hash}",
        )
        table.rows.append(_row(found, table, method, [Cell(text) for text in texts]))
    table.rows += missing_rows(found, len(table.columns))
    return table


def _spans(values: Iterable[object]) -> str:
    """What several runs say, each once; of numbers the least and the greatest.

    Example:
        >>> _spans([168, 140, None, 150]), _spans(["shuffle", "shuffle"]), _spans([None])
        ('140 to 168', 'shuffle', '–')
    """
    known = [value for value in values if value is not None]
    numbers = sorted(value for value in known if isinstance(value, int | float))
    ends = [f"{value:g}" for value in numbers[:1] + numbers[-1:]]
    return " to ".join(dict.fromkeys(ends)) or ", ".join(dict.fromkeys(map(str, known))) or DASH


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
