"""Numbers of `evaluation.json` on the parts of a held-out domain, and on the seen domains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

TARGETS: Final = {
    "target_in": "target_in, the 80 % of the held-out domain that published tables score",
    "target_all": "target_all, the whole held-out domain",
}
"""What a run is judged on, and in words."""


def target_value(evaluation: Mapping[str, Any] | None, target: str, metric: str) -> float | None:
    """A measure on target_in, target_out or target_all; None where it was not judged.

    Args:
        evaluation: Content of `evaluation.json`.
        target: The part of the test split.
        metric: The measure.
    """
    split = _split(evaluation, "test")
    part = split if target == "target_all" else (split.get("parts") or {}).get(target) or {}
    return _value(part, metric)


def seen_value(evaluation: Mapping[str, Any] | None, metric: str) -> float | None:
    """A measure on the seen domains: on id_test, else on id_val."""
    for split in ("id_test", "id_val"):
        value = _value(_split(evaluation, split), metric)
        if value is not None:
            return value
    return None


def _split(evaluation: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    found: Mapping[str, Any] = ((evaluation or {}).get("splits") or {}).get(name) or {}
    return found


def _value(judged: Mapping[str, Any], metric: str) -> float | None:
    number = (judged.get("metrics") or {}).get(metric)
    value = None if number is None else number.get("value")
    return None if value is None else float(value)
