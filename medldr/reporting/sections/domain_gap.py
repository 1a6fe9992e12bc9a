"""Seen minus unseen domains of one run, in words that name the split it was measured from."""

from __future__ import annotations

import numpy as np

from medldr.evaluation import class_mix
from medldr.evaluation.comparison.findings import direction
from medldr.evaluation.gap import notes
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.subgroups import FEWEST
from medldr.folders.evaluation_record import DomainRecord, EvaluationRecord, GapRecord, SplitRecord
from medldr.metrics import metric_facts
from medldr.reporting.results.class_mix import mix_of
from medldr.reporting.wording import bracketed, split_name


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


def too_few(part: SplitRecord | DomainRecord, unit: str | None) -> str:
    """Why no interval of a part says anything; empty where it may.

    So few images (or groups, where the bootstrap draws these) may all be right in every draw.

    Args:
        part: A split or a domain.
        unit: What the bootstrap draws.

    Example:
        >>> too_few(SplitRecord(n=4), "item"), too_few(SplitRecord(n=40, n_groups=3), "group")
        ('too few images (4)', 'too few groups (3)')
        >>> too_few(SplitRecord(n=40, n_groups=3), "item")
        ''
    """
    grouped = unit == "group" and part.n_groups is not None
    count = (part.n_groups if grouped else part.n) or 0
    return f"too few {'groups' if grouped else 'images'} ({count})" if count < FEWEST else ""


def gap_sentence(evaluation: EvaluationRecord, metric: str = "accuracy") -> str:
    """Seen minus unseen of one run, with a direction only where its interval excludes zero.

    Args:
        evaluation: How the run was evaluated.
        metric: The metric.

    Returns:
        Nothing where it was not measured, or a split that it names is not in the record.
    """
    gap = evaluation.gap
    number = None if gap is None else gap.metrics.get(metric)
    if gap is None or number is None or number.value is None:
        return ""
    if not {gap.seen, gap.unseen} <= set(evaluation.splits):
        return ""
    known, splits = metric_facts(metric), [evaluation.splits[n] for n in (gap.seen, gap.unseen)]
    if few := next(filter(None, (too_few(of, of.unit) for of in splits)), ""):
        return f"{known.title}: {few} to compare seen and unseen domains."
    said = {
        "higher": "lower in unseen domains",
        "lower": "higher in unseen domains",
        "unclear": "no clear difference between seen and unseen domains",
    }[direction(Estimate.of(number))]
    text = f"{known.title}: {said}; seen ({split_name(gap.seen).lower()}) minus unseen (test) "
    text += points_text(number.value, metric)
    text += bracketed(number, known, evaluation.level, signed=True)
    return " ".join(filter(None, (f"{text}.", _reservations(evaluation, gap))))


def _reservations(evaluation: EvaluationRecord, gap: GapRecord) -> str | None:
    """What else a gap may come from, by today's rule, whatever its file says."""
    seen, unseen = (evaluation.splits[name] for name in (gap.seen, gap.unseen))
    ours, theirs = mix_of(seen), mix_of(unseen)
    names = [name for name in ours if name in theirs]
    mixes = [np.array([of[name] for name in names]) for of in (ours, theirs)]
    mix = class_mix.note(mixes[0], mixes[1], names, evaluation.task, (seen.n, unseen.n))
    return notes(gap.seen, [evaluation.selection], shared=gap.shared_groups, mix=mix)
