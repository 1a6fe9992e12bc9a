"""How our runs relate to published numbers, and which of these belong next to ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from medldr.config.method import augmentation_id, method_id
from medldr.config.sections import MODIFIED, dataset_name, section
from medldr.reporting.published import numbers
from medldr.reporting.published.numbers import Published, published, same_domain
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import Study

PAPER = "LatentDR paper"
RULES = dict.fromkeys(
    ("val_domain_accuracy", "id_val_domain_accuracy", "swad"), numbers.TRAINING_DOMAIN
)
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

    Of several protocols ours is taken, also where we changed something (`+modified`), else all, as
    listed in the table; of augmentations ours, changed or not.
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
    entries = sorted(near or found, key=lambda e: (e.source != PAPER, e.source))
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


def by_source(dataset: str, method: str, domains: Sequence[str]) -> list[list[Published | None]]:
    """Numbers of a method on held-out domains: those of one source, selection and protocol.

    Args:
        dataset: The data set.
        method: The method.
        domains: The domains, however they are written; `MEAN` is the mean over all.

    Returns:
        For each source with any number, one per domain, None where it has none there; in the
        order of `SELECTIONS`, then of the names of the sources.

    Example:
        >>> (theirs,) = by_source("pacs", "latentdr_pool", ["Sketch", "mean"])
        >>> [entry.value for entry in theirs]
        [0.792, 0.863]
    """
    groups: dict[tuple[int, str, str], list[Published]] = {}
    for entry in published(dataset, method=method):
        if entry.domain:
            place = (numbers.SELECTIONS.index(entry.selection), entry.source, entry.protocol)
            groups.setdefault(place, []).append(entry)
    found = [
        [next((e for e in groups[place] if same_domain(e.domain, name)), None) for name in domains]
        for place in sorted(groups)
    ]
    return [numbers for numbers in found if any(numbers)]
