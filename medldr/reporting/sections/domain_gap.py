"""Seen minus unseen domains of one run, in words that name the split it was measured from."""

from __future__ import annotations

from medldr.evaluation.comparison.findings import direction
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.subgroups import FEWEST
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.metrics import metric_facts
from medldr.reporting.wording import bracketed, split_name


def seen_title(split: str) -> str:
    """A seen split by the name it has in tables, and in files.

    Example:
        >>> seen_title("id_val"), seen_title("id_test")
        ('validation, seen domains (id_val)', 'test, seen domains (id_test)')
    """
    return f"{split_name(split).lower()} ({split})"


def spoken(metric: str) -> str:
    """A metric within a sentence.

    Example:
        >>> spoken("accuracy"), spoken("auc")
        ('accuracy', 'AUC')
    """
    title = metric_facts(metric).title
    return title if title.isupper() else title.lower()


def points_text(value: float, metric: str) -> str:
    """A difference with its sign and unit.

    Example:
        >>> points_text(0.024, "accuracy"), points_text(0.024, "auc")
        ('+2.4 percentage points', '+0.024')
    """
    known = metric_facts(metric)
    return known.show_difference(value) + (" percentage points" if known.percent else "")


def gap_sentence(evaluation: EvaluationRecord, metric: str = "accuracy") -> str:
    """Seen minus unseen of one run, with a direction only where its interval excludes zero.

    Args:
        evaluation: How the run was evaluated.
        metric: The metric.

    Returns:
        Nothing where it was not measured.
    """
    gap = evaluation.gap
    number = None if gap is None else gap.metrics.get(metric)
    if gap is None or number is None or number.value is None:
        return ""
    known, shown = metric_facts(metric), direction(Estimate.of(number))
    sizes = [evaluation.splits[name].n for name in (gap.seen, gap.unseen)]
    if min(sizes) < FEWEST:  # so few images may all be right, in every bootstrap draw
        shown = "unclear"
    said = {
        "higher": "lower in unseen domains",
        "lower": "higher in unseen domains",
        "unclear": "no clear difference between seen and unseen domains",
    }[shown]
    text = f"{known.title}: {said}; seen ({gap.seen}) minus unseen ({gap.unseen}) "
    text += points_text(number.value, metric)
    text += bracketed(number, known, evaluation.level, signed=True)
    return " ".join(filter(None, (f"{text}.", gap.note)))
