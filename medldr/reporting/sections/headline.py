"""The few numbers that matter, as large cards at the top of a page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from medldr.metrics import PERCENT, SPLIT_TITLES, is_defined, measure, metrics_of

CARDS = {
    "multi-class": ("accuracy", "auc", "balanced_accuracy", "ece"),
    "binary": ("accuracy", "auc", "sensitivity_at_specificity", "ece"),
    "ordinal": ("accuracy", "auc", "quadratic_kappa", "mae"),
    "multi-label": ("auc", "accuracy", "exact_match", "ece"),
}


@dataclass(frozen=True)
class Card:
    """One large number with its interval."""

    name: str
    text: str
    unit: str
    range: str
    value: float | None
    reason: str


@dataclass(frozen=True)
class Strip:
    """The cards of one split."""

    title: str
    cards: list[Card]


def headings(evaluation: Mapping[str, Any]) -> dict[str, str]:
    """Headings that depend on the run: the specificity that was asked for.

    Example:
        >>> headings({"operating_point": {"specificity": 0.9}})
        {'sensitivity_at_specificity': 'Sensitivity at 90 % specificity (%)'}
    """
    point = evaluation.get("operating_point") or {}
    wanted = point.get("specificity")
    if wanted is None:
        return {}
    return {"sensitivity_at_specificity": f"Sensitivity at {100 * wanted:g} % specificity (%)"}


def strips(evaluation: Mapping[str, Any], name: str) -> list[Strip]:
    """Cards of the headline split, and of the seen domains beside the unseen ones."""
    splits: Mapping[str, Any] = evaluation.get("splits") or {}
    shown = [split for split in (name, seen_split(evaluation)) if split in splits]
    return [
        Strip(_strip_title(split, splits[split]), _cards(evaluation, splits[split]))
        for split in dict.fromkeys(shown)
    ]


def seen_split(evaluation: Mapping[str, Any]) -> str:
    """The split that stands for the seen domains: what the gap was measured from, else id_test.

    Example:
        >>> seen_split({"gap": {"seen": "id_val"}}), seen_split({"gap": None}), seen_split({})
        ('id_val', 'id_test', 'id_test')
    """
    return str((evaluation.get("gap") or {}).get("seen") or "id_test")


def _strip_title(name: str, split: Mapping[str, Any]) -> str:
    domains: Mapping[str, Any] = split.get("domains") or {}
    title = f"{SPLIT_TITLES.get(name, name)} split"
    if domains and not any(entry.get("seen") for entry in domains.values()):
        many = "domains" if len(domains) > 1 else "domain"
        title = f"{SPLIT_TITLES.get(name, name)}, unseen {many} ({', '.join(domains)})"
    elif name in ("id_test", "id_val"):
        title = SPLIT_TITLES[name]
    return f"{title} · {counts_text(split)}"


def counts_text(split: Mapping[str, Any]) -> str:
    """Number of images, and of groups where they are fewer.

    Example:
        >>> counts_text({"n": 1240, "n_groups": 310, "unit": "group"})
        '1,240 images of 310 groups (patients, slides)'
    """
    text = f"{split.get('n', 0):,} images"
    if split.get("unit") == "group" and split.get("n_groups") != split.get("n"):
        text += f" of {split.get('n_groups', 0):,} groups (patients, slides)"
    return text


def _cards(evaluation: Mapping[str, Any], split: Mapping[str, Any]) -> list[Card]:
    titles = headings(evaluation)
    numbers = metrics_of(split)
    level = (evaluation.get("intervals") or {}).get("level", 0.95)
    cards = []
    for key in (*CARDS.get(str(evaluation.get("task")), CARDS["multi-class"]), "worst_group"):
        number = numbers.get(key)
        if number is None:
            continue
        known = measure(key)
        title = titles.get(key, known.title).removesuffix(" (%)")
        if not is_defined(number):
            cards.append(Card(title, "n/a", "", "", None, str(number.get("reason") or "undefined")))
            continue
        span = ""
        if number.get("low") is not None and number.get("high") is not None:
            span = f"{100 * level:g}{PERCENT} interval "
            span += f"{known.show(number['low'])} to {known.show(number['high'])}".replace(
                " ", "\N{NO-BREAK SPACE}"
            )
        unit = "%" if known.percent else ""
        cards.append(Card(title, known.show(number["value"]), unit, span, number["value"], ""))
    return cards


def intervals_text(evaluation: Mapping[str, Any], name: str) -> str:
    """How the intervals were made."""
    made = evaluation.get("intervals") or {}
    if not made:
        return ""
    split = (evaluation.get("splits") or {}).get(name) or {}
    unit = "groups (patients, slides)" if split.get("unit") == "group" else "images"
    level = f"{100 * made.get('level', 0.95):g}{PERCENT}"
    return (
        f"Small numbers are {level} intervals: {made.get('method')}, {made.get('draws'):,} draws "
        f"of {unit}, seed {made.get('seed')}. They cover the choice of test images, not the "
        "randomness of training; for that, train with several seeds."
    )
