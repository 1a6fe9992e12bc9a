"""Published numbers, each with the protocol it was measured under, never mixed with our own.

Every file in ``tables`` holds what one paper or benchmark printed. The lines with ``#`` at its head
say how its protocols were read. To add numbers, add a file or extend one; nothing else changes.

Source:
    The tables as printed. A number that a paper quotes from others, as the LatentDR paper does with
    a dagger, is listed once, under its first source. Where two printed copies differ, its
    note says so. Which protocol id a number gets, and which ± is a standard error, is our reading.

    Numbers of leave-one-domain-out benchmarks are of a ResNet-50 that started from ImageNet's
    weights, and of 80% of the held-out domain.
"""

from __future__ import annotations

import csv
import functools
import importlib.resources
from dataclasses import dataclass
from typing import Any

from medldr import metrics
from medldr.config.method import id_title, model_title

METRICS = tuple(metric.name for metric in metrics.METRICS.values() if metric.published)
"""Metrics that were published, in the order of tables."""

MEAN = "mean"
"""In place of a domain: the mean over all of them."""

TRAINING_DOMAIN = "training-domain"
SELECTIONS = (TRAINING_DOMAIN, "leave-one-domain-out", "oracle")
"""How benchmarks with held-out domains choose settings and weights, in the order of tables."""

OTHER_METHODS = {
    "interdomain_mixup": "Mixup between domains",
    "mtl": "MTL",
    "arm": "ARM",
    "rsc": "RSC",
    "selfreg": "SelfReg",
    "mdsdi": "mDSDI",
}
"""Methods that only others have."""

OTHER_MODELS = {
    "virchow2_lora": "Virchow2 with LoRA",
    "best_of_several": "the best of several networks",
}
"""Networks that only others have."""


@dataclass(frozen=True)
class Published:
    """One published number.

    Attributes:
        dataset: Data set, without its image size: ``dermamnist``.
        protocol: Protocol id: ``medmnist-28``, ``swad`` ...; ``unstated`` matches none of ours.
        model: Network: ``resnet18``.
        method: ``erm``, ``erm+swad``, ``latentdr_pool`` ...
        augmentation: ``none``, ``targeted`` or ``generic``; empty for sets without that notion.
        selection: One of `SELECTIONS`; empty for a set with a fixed test split.
        search: What was searched for the best settings of the number; empty: they are known, and
            ours.
        domain: The held-out domain, or ``mean`` over all of them; empty for a fixed test split.
        metric: One of `METRICS`.
        value: As a fraction of one.
        sd: Standard deviation over seeds; None where none was printed.
        se: Standard error over trials; None where none was printed.
        source: Who published it.
        note: What else is known of how it was made, and other printed copies of it.
    """

    dataset: str
    protocol: str
    model: str
    method: str
    augmentation: str
    selection: str
    search: str
    domain: str
    metric: str
    value: float
    sd: float | None
    se: float | None
    source: str
    note: str

    @property
    def title(self) -> str:
        """Method and network in words."""
        method = OTHER_METHODS.get(self.method) or id_title(self.method)
        return f"{method}, {OTHER_MODELS.get(self.model) or model_title(self.model)}"


def published(dataset: str, **asked: str | None) -> tuple[Published, ...]:
    """Published numbers of a data set; several where several groups report the same thing.

    Args:
        dataset: The data set.
        asked: What fields of `Published` must be, for example ``metric="auc"``; None: anything.
            ``domain=""`` asks for numbers of a fixed test split alone.

    Returns:
        By file, and in a file as printed there.

    Example:
        >>> ours = published("fracturemnist3d", metric="accuracy", method="latentdr_pool")
        >>> [(p.protocol, p.value) for p in ours]
        [('medmnist-224up', 0.55)]
        >>> [(p.source, p.protocol, p.value) for p in published(
        ...     "dermamnist", metric="accuracy", method="erm", model="resnet18")]
        ...     # doctest: +NORMALIZE_WHITESPACE
        [('LatentDR paper', 'medmnist-224up', 0.758),
         ('MedMNIST benchmark', 'medmnist-v2-28', 0.735),
         ('MedMNIST benchmark', 'medmnist-v2-224', 0.754)]
        >>> [(p.protocol, p.value) for p in published(
        ...     "camelyon17", method="latentdr_sa", augmentation="targeted")]
        [('camelyon17-fish', 0.91)]
        >>> [(p.source, p.value, p.se) for p in published("pacs", method="mldg", domain=MEAN)]
        [('DomainBed', 0.849, 0.01)]
        >>> ours = published("pacs", method="latentdr_pool", domain="sketch")
        >>> [(p.protocol, p.value, p.sd) for p in ours]
        [('swad', 0.792, 0.017)]
        >>> published("phantom_fracture")
        ()
    """
    return tuple(
        entry for entry in _by_dataset().get(dataset, ())
        if all(value in (None, getattr(entry, key)) for key, value in asked.items())
    )  # fmt: skip


def domain_names(dataset: str) -> list[str]:
    """Domains of a data set that were held out one by one, as published tables name them.

    Example:
        >>> domain_names("pacs"), domain_names("dermamnist")
        (['art_painting', 'cartoon', 'photo', 'sketch'], [])
    """
    names = dict.fromkeys(entry.domain for entry in published(dataset))
    return [name for name in names if name not in ("", MEAN)]


def same_domain(one: str, other: str) -> bool:
    """Whether two names mean one domain: case, spaces and underscores do not count.

    Example:
        >>> same_domain("Real World", "real_world"), same_domain("art_painting", "Art")
        (True, False)
    """
    return _letters(one) == _letters(other)


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


@functools.cache
def _by_dataset() -> dict[str, list[Published]]:
    found: dict[str, list[Published]] = {}
    folder = importlib.resources.files("medldr.reporting.published") / "tables"
    files = [file for file in folder.iterdir() if file.name.endswith(".csv")]
    for file in sorted(files, key=lambda file: file.name):
        lines = file.read_text(encoding="utf-8").splitlines()
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            numbers = {key: float(row[key]) if row[key] else None for key in ("value", "sd", "se")}
            fields: dict[str, Any] = {**row, **numbers}
            found.setdefault(row["dataset"], []).append(Published(**fields))
    return found
