"""What is lost from seen to unseen domains, in words that name the split it was measured from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr.metrics import PERCENT, SPLIT_TITLES, is_defined, measure


def seen_title(split: str) -> str:
    """A seen split by the name it has in tables, and in files.

    Example:
        >>> seen_title("id_val"), seen_title("id_test")
        ('validation, seen domains (id_val)', 'test, seen domains (id_test)')
    """
    return f"{SPLIT_TITLES.get(split, split).lower()} ({split})"


def gap_sentence(evaluation: Mapping[str, Any], metric: str = "accuracy") -> str:
    """Seen minus unseen of one run; empty where it was not measured.

    Args:
        evaluation: Content of `evaluation.json`.
        metric: The measure.
    """
    gap = evaluation.get("gap")
    number = (gap or {}).get("metrics", {}).get(metric)
    if not gap or not is_defined(number):
        return ""
    known = measure(metric)
    text = f"Seen minus unseen domains, from {seen_title(gap['seen'])} to {gap['unseen']}: "
    text += known.show_difference(number["value"]) + (" points" if known.percent else "")
    text += f" of {known.title if known.title.isupper() else known.title.lower()}"
    if number.get("low") is not None and number.get("high") is not None:
        level = 100 * (evaluation.get("intervals") or {}).get("level", 0.95)
        text += (
            f" ({level:g}{PERCENT} interval {known.show_difference(number['low'])} to "
            f"{known.show_difference(number['high'])})"
        )
    return " ".join(filter(None, (f"{text}.", str(gap.get("note") or ""))))
