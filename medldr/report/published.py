"""Published numbers, each with the protocol it was measured under; never taken for our own.

Source:
    The MedMNIST benchmark's table and the comparison table of the LatentDR paper, as printed. The
    paper's row ERM† is MedMNIST's own and stands here once, under MedMNIST. Which protocol id a
    row gets is our reading: `medmnist-28` is 28 pixels with the small stem and, in 3D, ACS
    convolutions; `medmnist-224up` is upsampled to 224 pixels and, in 3D, plain 3D convolutions,
    which is the row that the paper compares with.
"""

from __future__ import annotations

import csv
import functools
import importlib.resources
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from medldr.report.describe import ALGORITHM_TITLES, MODEL_TITLES, dataset_name, method_id, section
from medldr.report.measures import measure
from medldr.report.tables import Cell, Row, Table

if TYPE_CHECKING:
    from medldr.report.source import RunSource

METHOD_TITLES = {
    **ALGORITHM_TITLES,
    "latentdr_sa": "LatentDR (SA)",
    "latentdr_pool": "LatentDR (Pool)",
}


@dataclass(frozen=True)
class Published:
    """One published number.

    Attributes:
        dataset: Data set, without its image size: ``dermamnist``.
        protocol: Protocol id: ``medmnist-28`` or ``medmnist-224up``.
        model: Network: ``resnet18``.
        method: ``erm``, ``mixup``, ``latentdr_pool`` ...
        metric: ``accuracy`` or ``auc``.
        value: As a fraction of one.
        source: Who published it.
        note: What else is known of how it was made.
    """

    dataset: str
    protocol: str
    model: str
    method: str
    metric: str
    value: float
    source: str
    note: str

    @property
    def title(self) -> str:
        """Method and network in words."""
        method = METHOD_TITLES.get(self.method, self.method)
        return f"{method}, {MODEL_TITLES.get(self.model, self.model)}"


@functools.cache
def _all() -> tuple[Published, ...]:
    file = importlib.resources.files("medldr.report") / "published.csv"
    rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    return tuple(Published(value=float(row.pop("value")), **row) for row in rows)


def published(
    dataset: str,
    *,
    metric: str | None = None,
    method: str | None = None,
    model: str | None = None,
    protocol: str | None = None,
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
    """
    wanted = {"metric": metric, "method": method, "model": model, "protocol": protocol}
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
    entries = published(dataset_name(source.config, source.run))
    numbers: Mapping[str, Any] = split.get("metrics") or {}
    if not entries or not numbers:
        return None
    keys = list(dict.fromkeys(entry.metric for entry in entries))
    table = Table(
        "Ours and published, test split", ["Method", "Protocol", "Same protocol"], texts=(1, 2)
    )
    table.columns += [measure(key).heading for key in keys]
    ours = [Cell(source.protocol or "none"), Cell("–")]
    ours += [table.number(key, numbers.get(key)) for key in keys]
    table.rows.append(Row("This run", ours, style="reference"))
    groups: dict[tuple[str, ...], dict[str, Published]] = {}
    for entry in entries:
        who = (entry.protocol, entry.method, entry.model, entry.source)
        groups.setdefault(who, {})[entry.metric] = entry
    method, model = method_id(source.config), section(source.config, "model").get("name")
    for group in sorted(
        groups.values(), key=lambda g: _nearness(g, source.protocol, method, model)
    ):
        table.rows.append(_row(table, group, keys, source.protocol))
    return table


def _nearness(group: Mapping[str, Published], protocol: str, method: str, model: Any) -> Any:
    entry = next(iter(group.values()))
    same = protocol.removesuffix("+modified") == entry.protocol
    return (entry.model != model, not same, entry.method != method, entry.source, entry.protocol)


def _row(table: Table, group: Mapping[str, Published], keys: list[str], ours: str) -> Row:
    entry = next(iter(group.values()))
    same = same_protocol(ours, entry.protocol)
    cells = [
        Cell(entry.protocol),
        Cell("yes" if same else "no", style="same" if same else ""),
    ]
    for key in keys:
        found = group.get(key)
        cells.append(
            Cell("–") if found is None else Cell(measure(key).show(found.value), value=found.value)
        )
    sign = table.sign(f"{entry.source}: {entry.note}.")
    cells[0] = Cell(entry.protocol, mark=sign)
    return Row(f"{entry.title} ({entry.source})", cells)
