"""The result of a run: one sentence, a few large numbers, and what was trained on what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from medldr.evaluation.estimate import Estimate
from medldr.folders.evaluation_record import EvaluationRecord, SplitRecord
from medldr.metrics import PERCENT, measure
from medldr.reporting.document import Card, Cards, Pairs, Paragraph, Section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline, headline_split, metrics_of, seen_split
from medldr.reporting.sections.domain_gap import gap_sentence
from medldr.reporting.sections.run.facts import facts
from medldr.reporting.table import Cell
from medldr.reporting.wording import bracketed, split_name

HEADLINE_METRICS = {
    "multi-class": ("accuracy", "auc", "balanced_accuracy", "ece"),
    "binary": ("accuracy", "auc", "sensitivity_at_specificity", "ece"),
    "ordinal": ("accuracy", "auc", "quadratic_kappa", "mae"),
    "multi-label": ("auc", "accuracy", "exact_match", "ece"),
}
"""The few numbers that matter, by task."""


def result(files: RunFiles) -> Section:
    """The section at the top of the page."""
    found = Section("result", "Result", "Result")
    if files.evaluation is not None:
        found.add(Paragraph(lead(files.evaluation), "lead"), *cards(files.evaluation))
    found.add(Pairs(facts(files)))
    return found


def lead(evaluation: EvaluationRecord) -> str:
    """The result in a few plain sentences; empty where there is none."""
    name, split = headline_split(evaluation), headline(evaluation)
    number = None if split is None else split.metrics.get("accuracy")
    if split is None or number is None or number.value is None:
        return ""
    known = measure("accuracy")
    where = f"the {split_name(name).lower()} split"
    if split.unseen:
        where += f", from {', '.join(split.domains)}, which training has not seen"
    labels = evaluation.task == "multi-label"
    what = "labels were decided right" if labels else "images were classified right"
    text = f"On {where}, {known.show(number.value)}{PERCENT} of the {what}"
    text += f"{bracketed(number, known, evaluation.level, unit=PERCENT)}."
    most, share = _most_frequent(evaluation, split)
    if most:
        text += (
            f" For comparison: always answering “{most}”, its most frequent class, would be "
            f"right in {known.show(share)}{PERCENT}."
        )
    return f"{text} {gap_sentence(evaluation)}".rstrip()


def _most_frequent(evaluation: EvaluationRecord, split: SplitRecord) -> tuple[str, float]:
    names = evaluation.class_names
    totals = [sum(row) for row in split.confusion or ()] if evaluation.task != "multi-label" else []
    if len(totals) != len(names) or not sum(totals):
        return "", 0.0
    top = max(range(len(totals)), key=totals.__getitem__)
    return names[top], totals[top] / sum(totals)


def cards(evaluation: EvaluationRecord) -> list[Cards]:
    """Large numbers of the headline split, and of the seen domains beside the unseen ones."""
    shown = dict.fromkeys((headline_split(evaluation), seen_split(evaluation)))
    return [
        Cards(_strip_title(name, split), _strip(evaluation, split), evaluation.level)
        for name in shown
        if (split := evaluation.splits.get(name)) is not None
    ]


def _strip(evaluation: EvaluationRecord, split: SplitRecord) -> Sequence[Card]:
    numbers = metrics_of(split)
    found = []
    for key in (*HEADLINE_METRICS[evaluation.task], "worst_group"):
        if key in numbers:
            number = Estimate.of(numbers[key])
            number = replace(number, reason=number.reason or "undefined")
            title = heading(evaluation, key).removesuffix(" (%)")
            found.append(Card(title, Cell(number, measure(key))))
    return found


def heading(evaluation: EvaluationRecord, key: str) -> str:
    """The heading of a metric, with the specificity that this run asked for.

    Example:
        >>> point = {"specificity": 0.9}
        >>> judged = EvaluationRecord(task="binary", splits={}, operating_point=point)
        >>> heading(judged, "sensitivity_at_specificity"), heading(judged, "auc")
        ('Sensitivity at 90 % specificity (%)', 'AUC')
    """
    point = evaluation.operating_point
    wanted = None if point is None else point.specificity
    if key != "sensitivity_at_specificity" or wanted is None:
        return measure(key).heading
    return f"Sensitivity at {100 * wanted:g} % specificity (%)"


def _strip_title(name: str, split: SplitRecord) -> str:
    title = f"{split_name(name)} split"
    if split.unseen:
        many = "domains" if len(split.domains) > 1 else "domain"
        title = f"{split_name(name)}, unseen {many} ({', '.join(split.domains)})"
    elif name in ("id_test", "id_val"):
        title = split_name(name)
    return f"{title} · {counts_text(split)}"


def counts_text(split: SplitRecord) -> str:
    """Number of images, and of groups where they are fewer.

    Example:
        >>> counts_text(SplitRecord(n=1240, n_groups=310, unit="group"))
        '1,240 images of 310 groups (patients, slides)'
    """
    text = f"{split.n:,} images"
    if split.unit == "group" and split.n_groups != split.n:
        text += f" of {split.n_groups or 0:,} groups (patients, slides)"
    return text
