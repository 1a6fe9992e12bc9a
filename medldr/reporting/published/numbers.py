"""Published numbers, each with the protocol it was measured under; never taken for our own.

Source:
    The MedMNIST benchmark's table and the comparison table of the LatentDR paper, as printed. The
    paper's row ERM† is MedMNIST's own and stands here once, under MedMNIST. Which protocol id a
    row gets is our reading: `medmnist-28` is 28 pixels with the small stem and, in 3D, ACS
    convolutions; `medmnist-224up` is upsampled to 224 pixels and, in 3D, plain 3D convolutions,
    which is the row that the paper compares with.

    Camelyon17: the tables of WILDS and of the LatentDR paper. `camelyon17-fish` is 224 pixels and
    the recipe of Fish, which the paper says it follows. `camelyon17-wilds` is 96 pixels and the
    recipe of WILDS' code as it is now, of 10 epochs; the numbers of the benchmark's paper are of 5
    (`camelyon17-wilds-v1`), so that no published number has it. What WILDS 2.0 trained with, and
    whose protocol the paper's Mixup† follows, is not said where we read them, so that they are the
    same as nobody's. The paper's rows with a dagger are others' and stand here under whom they
    belong to; its 82.0 under targeted augmentation is WILDS 2.0's number of a generic one.
"""

from __future__ import annotations

import csv
import functools
import importlib.resources
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from medldr.config.protocol import MODIFIED
from medldr.metrics import measure
from medldr.reporting.document import Cell, Row, Table
from medldr.reporting.read.describe import dataset_name
from medldr.reporting.read.method import (
    augmentation_id,
    method_id,
    model_title,
    row_titles,
    section,
)
from medldr.reporting.sections.comparison_tables import cell_of

if TYPE_CHECKING:
    from medldr.reporting.read.run import RunSource

SHOWN = ("accuracy", "auc")
"""Metrics that published tables give."""


@dataclass(frozen=True)
class Published:
    """One published number.

    Attributes:
        dataset: Data set, without its image size: ``dermamnist``.
        protocol: Protocol id: ``medmnist-28``, ``camelyon17-fish`` ...; ``unstated`` is no one's.
        model: Network: ``resnet18``.
        method: ``erm``, ``mixup``, ``latentdr_pool`` ...
        augmentation: ``none``, ``targeted`` or ``generic``; empty for sets without that notion.
        metric: ``accuracy`` or ``auc``.
        value: As a fraction of one.
        source: Who published it.
        note: What else is known of how it was made.
    """

    dataset: str
    protocol: str
    model: str
    method: str
    augmentation: str
    metric: str
    value: float
    source: str
    note: str

    @property
    def title(self) -> str:
        """Method and network in words."""
        method = row_titles().get(self.method, self.method)
        return f"{method}, {model_title(self.model)}"

    def matches(self, protocol: str, augmentation: str) -> bool:
        """Whether a number of ours may be compared as it is: equal protocol and augmentation."""
        return same_protocol(protocol, self.protocol) and augmentation == self.augmentation


@functools.cache
def _all() -> tuple[Published, ...]:
    file = importlib.resources.files("medldr.reporting.published") / "numbers.csv"
    rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    return tuple(Published(value=float(row.pop("value")), **row) for row in rows)


def published(
    dataset: str,
    *,
    metric: str | None = None,
    method: str | None = None,
    model: str | None = None,
    protocol: str | None = None,
    augmentation: str | None = None,
) -> tuple[Published, ...]:
    """Published numbers for a data set; several where several groups report the same thing.

    Example:
        >>> ours = published("fracturemnist3d", metric="accuracy", method="latentdr_pool")
        >>> [(p.protocol, p.value) for p in ours]
        [('medmnist-224up', 0.55)]
        >>> [(p.source, p.value) for p in published(
        ...     "dermamnist", metric="accuracy", method="erm", model="resnet18",
        ...     protocol="medmnist-224up")]
        [('MedMNIST benchmark', 0.754), ('LatentDR paper', 0.758)]
        >>> [(p.protocol, p.value) for p in published(
        ...     "camelyon17", method="latentdr_sa", augmentation="targeted")]
        [('camelyon17-fish', 0.91)]
    """
    wanted = {"metric": metric, "method": method, "model": model, "protocol": protocol}
    wanted["augmentation"] = augmentation
    return tuple(
        entry for entry in _all()
        if entry.dataset == dataset
        and all(value is None or getattr(entry, key) == value for key, value in wanted.items())
    )  # fmt: skip


def same_protocol(ours: str, theirs: str) -> bool:
    """Whether two numbers may be compared as they are: only if the ids are equal.

    Example:
        >>> same_protocol("medmnist-28", "medmnist-28")
        True
        >>> same_protocol("medmnist-28+modified", "medmnist-28"), same_protocol("", "")
        (False, False)
    """
    return bool(ours) and ours == theirs


def published_table(source: RunSource, split: Mapping[str, Any]) -> Table | None:
    """Our numbers on the test split beside the published ones; None where none are known."""
    numbers: Mapping[str, Any] = split.get("metrics") or {}
    ours = [Ours("This run", source, {key: numbers.get(key) for key in SHOWN})]
    return _table(ours) if numbers else None


def comparison_published_table(
    result: Mapping[str, Any], sources: Mapping[str, RunSource]
) -> Table | None:
    """All methods on the test split beside the published ones; None where none are known."""
    if "test" not in result["splits"]:
        return None
    ours = []
    for method in result["methods"]:
        source = next((sources[run] for run in method["runs"] if run in sources), None)
        if source is None:
            continue
        numbers = {}
        for key in SHOWN:
            row = cell_of(result, "test", key, method["method"])
            if row is not None:
                numbers[key] = {**row, "value": row["mean"]}
        ours.append(Ours(method["method"], source, numbers))
    return _table(ours)


@dataclass(frozen=True)
class Ours:
    """One of our rows: its heading, a run of it, and its numbers by metric."""

    title: str
    source: RunSource
    numbers: Mapping[str, Mapping[str, Any] | None]

    @property
    def augmentation(self) -> str:
        """As published numbers name it."""
        return augmentation_id(self.source.config)


def _table(ours: Sequence[Ours]) -> Table | None:
    sets = {dataset_name(one.source.config, one.source.run) for one in ours}
    entries = published(sets.pop()) if len(sets) == 1 else ()
    if not entries:
        return None
    told = any(entry.augmentation for entry in entries)
    words = ["Protocol", *(["Augmentation"] if told else []), "Same protocol"]
    texts = tuple(range(1, 1 + len(words)))
    table = Table("Ours and published, test split", ["Method", *words], texts=texts)
    table.columns += [measure(key).heading for key in SHOWN]
    if told:
        table.notes.append("The same protocol also means the same augmentation.")
    for one in ours:
        cells = [Cell(one.source.protocol or "none")]
        cells += [Cell(one.augmentation or "other")] if told else []
        cells.append(Cell("–"))
        cells += [table.number(key, one.numbers.get(key)) for key in SHOWN]
        table.rows.append(Row(one.title, cells, style="reference"))
    groups: dict[tuple[str, ...], dict[str, Published]] = {}
    for entry in entries:
        who = (entry.protocol, entry.method, entry.model, entry.augmentation, entry.source)
        groups.setdefault(who, {})[entry.metric] = entry
    table.rows += [_row(table, g, ours) for g in sorted(groups.values(), key=_order(ours))]
    return table


def _order(ours: Sequence[Ours]) -> Callable[[Mapping[str, Published]], Any]:
    """Nearest first: our network, our protocol, our methods."""
    protocols = {one.source.protocol.removesuffix(MODIFIED) for one in ours}
    methods = {method_id(one.source.config) for one in ours}
    augmentations = {one.augmentation.removesuffix(MODIFIED) for one in ours}
    models = {section(one.source.config, "model").get("name") for one in ours}

    def key(group: Mapping[str, Published]) -> Any:
        entry = next(iter(group.values()))
        return (
            entry.model not in models,
            entry.protocol not in protocols,
            entry.method not in methods,
            entry.augmentation not in augmentations,
            entry.source,
            entry.protocol,
        )

    return key


def _row(table: Table, group: Mapping[str, Published], ours: Sequence[Ours]) -> Row:
    entry = next(iter(group.values()))
    # One id covers two published networks, and our protocol pins one of them.
    same = [
        one.title
        for one in ours
        if entry.matches(one.source.protocol, one.augmentation)
        and section(one.source.config, "model").get("name") == entry.model
    ]
    said = "no" if not same else "yes" if len(same) == len(ours) else f"as {', '.join(same)}"
    sign = table.sign(f"{entry.source}: {entry.note}.")
    cells = [Cell(entry.protocol, mark=sign)]
    cells += [Cell(entry.augmentation)] if "Augmentation" in table.columns else []
    cells.append(Cell(said, style="same" if same else ""))
    for key in SHOWN:
        found = group.get(key)
        cells.append(
            Cell("–") if found is None else Cell(measure(key).show(found.value), value=found.value)
        )
    return Row(f"{entry.title} ({entry.source})", cells)
