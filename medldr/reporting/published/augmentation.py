"""Which augmentation a run had, as published numbers tell them apart.

Source:
    Targeted: the stain jitter with the numbers of the command published for Camelyon17 (Gao et al.
    2023). Generic: RandAugment and Cutout as WILDS 2.0 (Sagawa et al. 2022) has them. Other numbers
    make another augmentation, which no published result has: it is ``targeted+modified`` or
    ``generic+modified``. Protocols pin none of them, because each fits one kind only.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from medldr.config.protocol import MODIFIED
from medldr.reporting.read.describe import section

TITLES: Final = {
    "none": "none",
    "targeted": "targeted (stain jitter)",
    "generic": "generic (RandAugment, Cutout)",
}

PUBLISHED: Final[dict[str, dict[str, Any]]] = {
    "targeted": {
        "sigma": 0.1,
        "probability": 0.56827,
        "reference": "none",
        "stains": ["haematoxylin", "eosin", "dab"],
    },
    "generic": {"operations": 2, "flip": 0.5, "cutout": 0.5},
}
"""What each kind was published with, by the keys of its presets."""

_KINDS = {"camelyon17": "targeted", "stain_jitter": "targeted", "rand_augment": "generic"}


def augmentation_id(config: Mapping[str, Any]) -> str:
    """The augmentation that a table must tell apart; empty where a preset has no such notion.

    Args:
        config: A run's, as plain values; a key that is missing has its published value.

    Example:
        >>> augmentation_id({"transform": {"name": "camelyon17", "targeted": True}})
        'targeted'
        >>> augmentation_id({"transform": {"name": "stain_jitter", "sigma": 0.2}})
        'targeted+modified'
        >>> [augmentation_id({"transform": t}) for t in ("camelyon17", "rand_augment", "medmnist")]
        ['none', 'generic', '']
    """
    transform = section(config, "transform")
    name = str(transform.get("name"))
    kind = _KINDS.get(name, "")
    if not kind or (name == "camelyon17" and not transform.get("targeted")):
        return "none" if kind else ""
    changed = any(
        key in transform and _plain(transform[key]) != value
        for key, value in PUBLISHED[kind].items()
    )
    return kind + MODIFIED if changed else kind


def augmentation_title(augmentation: str) -> str:
    """An id in words.

    Example:
        >>> augmentation_title("targeted+modified")
        'targeted (stain jitter), other numbers than published'
    """
    kind = augmentation.removesuffix(MODIFIED)
    changed = ", other numbers than published" if kind != augmentation else ""
    return TITLES.get(kind, kind) + changed


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value
