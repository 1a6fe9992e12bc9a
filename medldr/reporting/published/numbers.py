"""Published numbers, each with its protocol, and how our runs relate to them.

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
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from medldr import metrics
from medldr.config.method import augmentation_id, id_title, method_id, model_title
from medldr.config.sections import MODIFIED, dataset_name, section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import Study

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
        [('BSDA paper', 'bsda', 0.749),
         ('LatentDR paper', 'medmnist-224up', 0.758),
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


PAPER = "LatentDR paper"
RULES = dict.fromkeys(("val_domain_accuracy", "id_val_domain_accuracy", "swad"), TRAINING_DOMAIN)
"""Rules of ours that choose weights as benchmarks with held-out domains do."""


class Relation(Enum):
    """What a number of ours is to a published one."""

    SAME = "same protocol"
    MODIFIED = "modified by us"
    OTHER_PROTOCOL = "different protocol"
    OTHER_AUGMENTATION = "different augmentation"
    OTHER_NETWORK = "different network"
    OTHER_SELECTION = "different selection"
    THEY_SEARCHED = "same except for their search"
    WE_SEARCHED = "same except for our search"


@dataclass(frozen=True)
class Ours:
    """A run by the ids that published numbers have.

    Attributes:
        dataset: The data set, without its image size.
        protocol: Protocol id; may be empty, or end in ``+modified``.
        model: The network.
        method: The method.
        augmentation: The augmentation; may end in ``+modified``.
        rule: The rule that chose the reported weights; empty before the run was evaluated.
    """

    dataset: str
    protocol: str
    model: str
    method: str
    augmentation: str
    rule: str

    @classmethod
    def of(cls, files: RunFiles) -> Ours:
        """The ids of a run."""
        return cls(
            dataset=dataset_name(files.config, files.facts),
            protocol=files.protocol,
            model=str(section(files.config, "model").get("name")),
            method=method_id(files.config),
            augmentation=augmentation_id(files.config),
            rule=next(iter(files.by_rule), ""),
        )


@dataclass(frozen=True)
class Beside:
    """A published number next to one of ours.

    Attributes:
        entry: The published number.
        ours: Our run.
        relation: What ours is to it.
    """

    entry: Published
    ours: Ours
    relation: Relation

    @property
    def same(self) -> bool:
        """Whether the two may be compared as they are."""
        return self.relation is Relation.SAME


def relation(ours: Ours, entry: Published, *, searched: bool = False) -> Relation:
    """What a number of ours is to a published one.

    The same only under one protocol that neither changed, with the same network. For a fixed test
    split the augmentation must be the same; where domains are held out, the way to choose weights,
    with a search for settings on both sides or on neither.

    Args:
        ours: Our run.
        entry: The published number.
        searched: Whether our settings are the best of several.

    Example:
        >>> (theirs,) = published("camelyon17", method="latentdr_sa", augmentation="targeted")
        >>> ours = ("camelyon17", "camelyon17-fish", "densenet121", "latentdr_sa")
        >>> [relation(Ours(*ours, kind, ""), theirs).value
        ...  for kind in ("targeted", "targeted+modified", "none")]
        ['same protocol', 'modified by us', 'different augmentation']
    """
    if ours.protocol.removesuffix(MODIFIED) != entry.protocol:
        return Relation.OTHER_PROTOCOL
    if ours.protocol != entry.protocol:
        return Relation.MODIFIED
    if not entry.domain and ours.augmentation.removesuffix(MODIFIED) != entry.augmentation:
        return Relation.OTHER_AUGMENTATION
    if not entry.domain and ours.augmentation != entry.augmentation:
        return Relation.MODIFIED
    if ours.model != entry.model:  # one id may cover several published networks
        return Relation.OTHER_NETWORK
    if entry.domain and RULES.get(ours.rule) != entry.selection:
        return Relation.OTHER_SELECTION
    if not entry.domain or searched == bool(entry.search):
        return Relation.SAME
    return Relation.THEY_SEARCHED if entry.search else Relation.WE_SEARCHED


def beside(study: Study, column: str, row: str, metric: str) -> list[Beside]:
    """Published numbers of the same method, augmentation, network and data set, the paper's first.

    Those of benchmarks follow. Of several protocols ours is taken, also where we changed something
    (`+modified`), else all, as listed in the table; of augmentations ours, changed or not.
    A control row follows no published recipe and has none.
    """
    files = study.files(row, column)
    if files is None or row in study.layout.controls:
        return []
    ours = Ours.of(files)
    found = published(
        ours.dataset, metric=metric, method=ours.method, model=ours.model,
        augmentation=ours.augmentation.removesuffix(MODIFIED), domain="",
    )  # fmt: skip
    near = [e for e in found if e.protocol == ours.protocol.removesuffix(MODIFIED)]
    others = " paper"  # a benchmark's own numbers stand before those of another method's authors
    entries = sorted(
        near or found, key=lambda e: (e.source != PAPER, e.source.endswith(others), e.source)
    )
    return [Beside(entry, ours, relation(ours, entry)) for entry in entries]


def nearest_first(ours: Sequence[Ours]) -> list[dict[str, Published]]:
    """Every published result on the fixed test split of our data set, by metric.

    Nearest first: our network, our protocol, our methods, our augmentation; then by source, and
    as listed in its table.

    Returns:
        Empty where nobody published one, or ours are of several data sets.
    """
    sets = {one.dataset for one in ours}
    groups: dict[tuple[str, ...], dict[str, Published]] = {}
    for entry in published(sets.pop(), domain="") if len(sets) == 1 else ():
        who = (entry.protocol, entry.method, entry.model, entry.augmentation, entry.source)
        groups.setdefault(who, {})[entry.metric] = entry
    protocols = {one.protocol.removesuffix(MODIFIED) for one in ours}
    augmentations = {one.augmentation.removesuffix(MODIFIED) for one in ours}
    methods, models = {one.method for one in ours}, {one.model for one in ours}

    def distance(who: tuple[str, ...]) -> tuple[bool | str, ...]:
        protocol, method, model, augmentation, source = who
        far = (model not in models, protocol not in protocols, method not in methods)
        return (*far, augmentation not in augmentations, source)

    return [groups[who] for who in sorted(groups, key=distance)]


def on_domain(dataset: str, method: str, domain: str) -> list[Published]:
    """Published numbers of a method on a held-out domain, as `SELECTIONS` are ordered, by source.

    Args:
        dataset: The data set.
        method: The method.
        domain: The domain, however it is written; `MEAN` is the mean over all.

    Example:
        >>> [entry.value for entry in on_domain("pacs", "latentdr_pool", "Sketch")]
        [0.792]
    """
    known = [entry for entry in published(dataset, method=method) if entry.domain]
    return sorted(
        (entry for entry in known if same_domain(entry.domain, domain)),
        key=lambda e: (SELECTIONS.index(e.selection), e.source, e.protocol),
    )
