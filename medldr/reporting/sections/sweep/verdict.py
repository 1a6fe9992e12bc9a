"""The verdict of a sweep: each method minus the reference, averaged over columns that are whole.

A column counts where every planned run of the method and of the reference has a result, as in the
averages of the tables; of a single column the finished runs count. The verdict is about
``table.verdict``, or the only method that competes, or all that do: never about the best one,
picked afterwards. Controls and rows selected on the test split never have a verdict.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache

from medldr.config.sections import held_out, section
from medldr.evaluation.comparison.comparison import Difference, corrected
from medldr.metrics import other_half
from medldr.reporting.document import Verdict
from medldr.reporting.prose import sentence
from medldr.reporting.read.run import RATE, rate_of
from medldr.reporting.read.study import Study
from medldr.reporting.results.averages import Averages
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.gains import data_sets
from medldr.reporting.sections.comparison.verdict import CLEAR, Asked, could_see, size_text, verdict
from medldr.reporting.sections.rows import count, grouped, listed
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.sections.sweep.missing_runs import missing_text
from medldr.reporting.wording import split_name, spoken

MOST_NAMED = 2
"""Runs without a result that a sentence names."""


def sweep_verdict(results: Results) -> Verdict:
    """What a sweep answers, or what cannot be said and why."""
    study = results.study
    asked, more = sweep_asked(results), [*_missing(results)]
    if not results.splits:
        return Verdict("not compared", "No run has a result yet.", more=more)
    if not any(column.estimate(results.splits[0], results.metrics[0], study.reference)
               for column in results.columns):  # fmt: skip
        text = f"{study.reference}, the reference, has no finished run to compare others with."
        return Verdict("not compared", text, more=more)
    if not asked.methods:
        text = sentence("nothing_to_compare")
        return Verdict("not compared", text, more=more)
    return verdict(asked, more, [*_rates(results, asked), *_narrower(asked)])


@lru_cache(maxsize=4)
def sweep_asked(results: Results) -> Asked:
    """The differences of every row from the reference, and which rows the verdict is about."""
    study, split = results.study, next(iter(results.splits), "")
    others = [row for row in study.rows if row != study.reference]
    whole = {row: whole_columns(results, row) for row in others if split}
    places = {row: _place(results, of) for row, of in whole.items() if of}
    found = {
        metric: differences(results, metric, whole)
        for metric in (*results.metrics, other_half(results.metrics[0]))
        if metric == results.metrics[0]
        or (metric and (len(results.columns) == 1 or results.averages(metric)))
    }
    absent = {row: _absent(results, row) for row in others}
    metrics = [metric for metric in results.metrics if metric in found]
    return Asked(study.reference, competing(study), metrics, found, places, absent)


def competing(study: Study) -> list[str]:
    """The rows that a verdict is about."""
    apart = {study.reference, *study.layout.controls}
    apart |= study.untested if study.fresh else set()  # beside them stand rows of fresh seeds
    rows = [row for row in study.rows if row not in apart and not study.oracle(row)]
    stated = study.layout.verdict
    return [stated] if stated in rows else rows


def differences(
    results: Results, metric: str, whole: Mapping[str, Sequence[Column]]
) -> dict[str, Difference]:
    """Each row minus the reference, over its columns, with p corrected for their number."""
    study, split = results.study, results.splits[0] if results.splits else ""
    if len(results.columns) == 1:
        found = {row: results.columns[0].difference(split, metric, row) for row in whole}
        return {row: of for row, of in found.items() if of is not None}
    averages = Averages(study, metric, split)
    known = [
        of
        for row, columns in whole.items()
        if columns and (of := averages.minus(columns, row, study.reference)) is not None
    ]
    return {of.method: of for of in corrected(known, study.layout.controls)}


def whole_columns(results: Results, row: str) -> list[Column]:
    """The columns in which every planned run of a row and of the reference has a result."""
    metric, split = results.metrics[0], results.splits[0]

    def ready(column: Column, name: str) -> bool:
        found = column.estimate(split, metric, name)
        return found is not None and (len(results.columns) == 1 or found.n == found.planned)

    return [c for c in results.columns if ready(c, row) and ready(c, results.study.reference)]


def _absent(results: Results, row: str) -> str:
    """Why a row has no difference from the reference."""
    states: Counter[str] = Counter()
    for column in results.columns:
        for name in (row, results.study.reference):
            states.update(column.missing.get(name, {}))
    if states:
        return f"no column has every run of both ({missing_text(states)})"
    apart = [column.name for column in results.columns if column.problem]
    return f"the runs in {listed(apart)} cannot be compared" if apart else ""


def _place(results: Results, columns: Sequence[Column]) -> str:
    """What a difference is of: how many of which columns."""
    every, split = results.columns, results.splits[0]
    where = "" if split == "test" else f", {split_name(split).lower()}"
    kind = columns_kind(results)
    lost = [column.name for column in every if column not in columns]
    apart = f" ({listed(lost)} {'is' if len(lost) == 1 else 'are'} incomplete)" if lost else ""
    if len(columns) == 1:
        return f"{_named(results, columns[0])}{apart}{where}"
    many = f"{len(columns)} of " if lost else ""
    return f"on average over {many}{count(len(every), kind)}{apart}{where}"


def _named(results: Results, column: Column) -> str:
    domains = {d for e in results.study.of(column=column.name) for d in held_out(e.config)}
    return f"with {listed(sorted(domains))} held out" if domains else f"on {column.name}"


def columns_kind(results: Results) -> str:
    """What the columns of a sweep are."""
    sets = data_sets(results.study, results.columns)
    if sets and all(domain for of in sets for domain in of.held_out):
        return "held-out domain"
    return "column" if any(of.shared for of in sets) else "data set"


def _missing(results: Results) -> Iterator[str]:
    """What is not there: runs, columns whose runs cannot be compared, the method asked about."""
    study = results.study
    if (stated := study.layout.verdict) and stated not in competing(study):
        yield sentence("verdict_ignored", row=stated)
    lost = [entry for entry in study.every if entry.run is None]
    if lost:
        size = f"{len(lost)} of {count(len(study.every), 'run')}"
        why = missing_text(Counter(entry.state for entry in lost))
        each = (f"{e.member.row}, {e.member.column}, seed {e.member.seed}" for e in lost)
        named = f": {'; '.join(each)}" if len(lost) <= MOST_NAMED else ""
        yield f"Missing: {size} without a result ({why}){named}."
    if apart := [column.name for column in results.columns if column.problem]:
        yield f"Left out because the runs cannot be compared: {listed(apart)}."


def _rates(results: Results, asked: Asked) -> Iterator[str]:
    """Whether the learning rate alone may explain what a method shows: where its own differs."""
    study, controls = results.study, results.study.layout.controls
    tuned, apart = list[str](), list[tuple[tuple[float, float, str], str]]()
    for row in (row for row in asked.methods if asked.found(row) is not None):
        column = whole_columns(results, row)[0]
        own, base = (rate_of(study.files(of, column.name)) for of in (row, study.reference))
        if own is None or base is None or own == base:
            continue
        if all(RATE in study.drawn(of) for of in (row, study.reference)):
            tuned.append(row)
            continue
        isolates = [c for c in controls if _isolates(study, c, column.name, own)]
        pair = next((c for c in isolates if (row, c) in study.layout.contrasts), None)
        if pair is not None and (said := _explained(results, asked, row, pair)):
            yield said
            continue
        name = "control" if pair else "control_apart" if isolates else "no_control"
        what = sentence(name, control=pair or listed(isolates or [""]))
        apart.append(((own, base, what), row))
    for (own, base, what), rows in grouped(apart).items():
        about = {"rows": listed(rows), "rate": own, "base": base, "reference": study.reference}
        yield f"{sentence('rates', **about)} {what}"
    if tuned:
        yield sentence("tuned_rates", rows=listed(tuned), reference=study.reference)


def _narrower(asked: Asked) -> Iterator[str]:
    """What would narrow the interval of a single difference that is not clear."""
    found = asked.found(asked.methods[0]) if len(asked.methods) == 1 else None
    if found is None or found.finding != "no clear difference" or could_see(found) is None:
        return
    share = None if found.estimate.variance is None else found.estimate.variance.share_of_seeds
    if share is not None:
        source = "seeds" if share > 0.5 else "test images"
        yield sentence("narrower", share=max(share, 1 - share), source=source)


def _isolates(study: Study, control: str, column: str, rate: float) -> bool:
    """Whether a row is the reference's algorithm at a rate, in a column."""
    files = [study.files(of, column) for of in (control, study.reference)]
    names = {section(of.config, "algorithm").get("name") for of in files if of is not None}
    return rate_of(files[0]) == rate and len(names) == 1


def _explained(results: Results, asked: Asked, row: str, control: str) -> str:
    """What the comparison of a clear difference with its control says; empty for no clear one."""
    averages = Averages(results.study, results.metrics[0], results.splits[0])
    found = averages.minus(whole_columns(results, row), row, control)
    kind = asked.finding(row)
    if kind not in CLEAR or found is None or found.estimate.mean is None:
        return ""
    same = found.finding == kind
    verb = "does not explain" if same else "may explain"
    return (
        f"Compared with the control {control}, which has the learning rate of {row}: "
        f"{size_text(found)}. The learning rate alone {verb} the difference in "
        f"{spoken(found.metric)}."
    )
