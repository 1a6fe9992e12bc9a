"""Every metric in every split of a run, and what the metrics mean."""

from __future__ import annotations

from medldr.evaluation.estimate import Estimate
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.metrics import PERCENT, measure
from medldr.reporting.document import Pairs, Paragraph, Section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline, metrics_of, page_order
from medldr.reporting.sections.run.result import heading
from medldr.reporting.table import Row, Table
from medldr.reporting.wording import ordered, split_name


def splits(files: RunFiles) -> Section | None:
    """The section of the page; None without any split."""
    judged = files.evaluation
    if judged is None or not judged.splits:
        return None
    found = Section("splits", "Results by split", "Splits", [split_table(judged)])
    found.add(Paragraph(intervals_text(judged), "small"))
    return found


def split_table(judged: EvaluationRecord) -> Table:
    """Metrics down, splits across."""
    shown = page_order(judged)
    table = Table("Every measure in every scored split", ["Measure"])
    table.columns += [f"{split_name(name)} (n = {split.n:,})" for name, split in shown.items()]
    scored = [metrics_of(split) for split in shown.values()]
    for key in ordered(key for metrics in scored for key in metrics):
        numbers = [Estimate.of(metrics[key]) if key in metrics else None for metrics in scored]
        cells = [table.number(key, number) for number in numbers]
        table.rows.append(Row(heading(judged, key), cells))
    return table


def intervals_text(judged: EvaluationRecord) -> str:
    """How the intervals were made."""
    made, split = judged.intervals, headline(judged)
    if made is None:
        return ""
    groups = split is not None and split.unit == "group"
    unit = "groups (patients, slides)" if groups else "images"
    return (
        f"Small numbers are {100 * made.level:g}{PERCENT} intervals: {made.method}, "
        f"{made.draws:,} draws of {unit}, seed {made.seed}. They cover the choice of test images, "
        "not the randomness of training; for that, train with several seeds."
    )


def glossary(files: RunFiles) -> Section | None:
    """What each metric on the page means; None where there are no numbers."""
    judged = files.evaluation
    if judged is None:
        return None
    shown = {key for split in judged.splits.values() for key in metrics_of(split)}
    split = headline(judged)
    shown |= {"recall", "precision", "f1"} if split is not None and split.classes else set()
    pairs = [
        (_name(judged, key), measure(key).meaning) for key in ordered(shown) if measure(key).meaning
    ]
    block = Pairs(pairs, glossary=True)
    return Section("glossary", "How to read the numbers", "Glossary", [block]) if pairs else None


def _name(judged: EvaluationRecord, key: str) -> str:
    return heading(judged, key).removesuffix(" (%)")
