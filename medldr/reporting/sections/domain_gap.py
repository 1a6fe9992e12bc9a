"""What is lost from seen to unseen domains, in words that name the split it was measured from."""

from __future__ import annotations

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
    """Seen minus unseen of one run; empty where it was not measured.

    Args:
        evaluation: How the run was evaluated.
        metric: The metric.
    """
    gap = evaluation.gap
    number = None if gap is None else gap.metrics.get(metric)
    if gap is None or number is None or number.value is None:
        return ""
    known = metric_facts(metric)
    falls = (number.value >= 0) == (known.better == "higher")
    text = f"{known.title} {'is lower' if falls else 'is higher'} in unseen domains ({gap.unseen}) "
    text += f"than in seen ones ({gap.seen}): seen minus unseen "
    text += points_text(number.value, metric)
    text += bracketed(number, known, evaluation.level, signed=True)
    return " ".join(filter(None, (f"{text}.", gap.note)))
