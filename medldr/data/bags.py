"""Items of several latents each: the patches of a slide, the slices of a volume or of a patient.

Source:
    Our choice. Bags stay ragged, in one array. Where several are stacked, rows of NaN follow those
    of the shorter ones: no latent may be NaN, so the network can tell them, and whatever selects
    rows of a batch works on bags as it does on images.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.image_table import ImageTable, LazyImages
from medldr.errors import InputError

GROUP: Final = "group"
"""What names the groups of a table whose own name for them is not known."""
_LISTED: Final = 8


class Bags(LazyImages):
    """Bags of latents, row by row as their table.

    Args:
        latents: ``(total, D)`` float32, in memory or memory-mapped.
        sizes: ``(N,)`` latents of each bag.
        order: ``(total,)`` rows of `latents`, bag after bag; None: as they are stored.
        most: Latents of a bag that a training step sees; None: all.

    Attributes:
        shape: ``(N, D)``.
        in_memory: Whether all latents are.

    Example:
        >>> bags = Bags(np.float32([[1], [2], [3]]), np.array([1, 2]))
        >>> bags[1].tolist(), bags[np.array([0, 1])][..., 0].tolist()
        ([[2.0], [3.0]], [[1.0, nan], [2.0, 3.0]])
    """

    dtype = np.dtype(np.float32)
    stamp = ""

    def __init__(
        self,
        latents: NDArray[np.float32],
        sizes: NDArray[np.int64],
        order: NDArray[np.int64] | None = None,
        most: int | None = None,
    ) -> None:
        self.latents, self.sizes, self.order, self.most = latents, sizes, order, most
        self.shape = (len(sizes), latents.shape[1])
        self.in_memory = not isinstance(latents, np.memmap)
        self._ends = np.cumsum(sizes)

    @classmethod
    def joined(cls, bags: list[NDArray[np.float32]]) -> Bags:
        """Bags ``(n, D)`` in one array; the list then holds parts of it, so that none is twice."""
        ends = np.cumsum(list(map(len, bags)))
        latents = np.empty((ends[-1], bags[0].shape[1]), np.float32)
        for row, part in enumerate(np.split(latents, ends[:-1])):
            part[:] = bags[row]
            bags[row] = part
        return cls(latents, np.diff(ends, prepend=0))

    @classmethod
    def single(cls, latents: Any) -> Bags:
        """Latents ``(N, D)`` as bags of one."""
        return cls(latents, np.ones(len(latents), np.int64))

    @property
    def nbytes(self) -> int:
        """Bytes of all latents."""
        return int(self.latents.nbytes)

    def members(self, row: int) -> NDArray[np.int64]:
        """Rows of `latents` of a bag."""
        places = np.arange(self._ends[row] - self.sizes[row], self._ends[row])
        return places if self.order is None else self.order[places]

    def __getitem__(self, rows: int | slice | NDArray[np.int64]) -> NDArray[Any]:
        """A bag ``(n, D)``, or several ``(B, longest, D)``; see `padded`."""
        if isinstance(rows, int | np.integer):
            found: NDArray[Any] = self.latents[self.members(range(len(self))[rows])]
            return found
        return padded([self[row] for row in np.arange(len(self))[rows].tolist()])

    def drawn(self, keys: Sequence[tuple[int, ...]]) -> NDArray[np.float32]:
        """Bags as a training step sees them, at most `most` latents of each, in their order.

        Args:
            keys: (seed, epoch, row, repetition) of each, by which the latents are drawn.
        """
        found = []
        for key in keys:
            members = self.members(key[2])
            if self.most is not None and len(members) > self.most:
                generator = np.random.default_rng([*key, 4])
                members = members[np.sort(generator.choice(len(members), self.most, replace=False))]
            found.append(self.latents[members])
        return padded(found)


def padded(bags: Sequence[NDArray[np.float32]]) -> NDArray[np.float32]:
    """Bags ``(n, D)`` of any lengths as one array ``(B, longest, D)``, NaN where one has ended."""
    longest = max(map(len, bags), default=0)
    width = bags[0].shape[1] if bags else 0
    whole = np.full((len(bags), longest, width), np.nan, np.float32)
    for row, bag in enumerate(bags):
        whole[row, : len(bag)] = bag
    return whole


def join_rows(table: ImageTable, column: str) -> ImageTable:
    """The table whose items are all rows that share a value of a column; ids are the values.

    Further columns keep a value that all rows of an item have, and are empty for the others.

    Args:
        table: Of latents, `Bags` or ``(N, D)``.
        column: One of its further columns, or ``group``.

    Raises:
        InputError: If there is no such column, one of its cells is empty, or rows of one item
            differ in label, domain, group or split; names the value and both rows.
    """
    columns = {GROUP: table.groups, **table.metadata}
    if column not in columns or not (columns[column] != "").any():
        raise InputError(
            f"data.bag_by: {table.name} has no column {column!r}. Its columns: "
            f"{', '.join(name for name, cells in columns.items() if (cells != '').any()) or 'none'}"
        )
    values = columns[column].tolist()
    if "" in values:
        raise InputError(
            f"data.bag_by: the column {column!r} is empty for {table.ids[values.index('')]}. Fill "
            "it in: the rows that share a value are one item"
        )
    rows: dict[str, list[int]] = {}
    for row, value in enumerate(values):
        rows.setdefault(value, []).append(row)
    _refuse_contradictions(table, column, rows)
    first = np.array([of[0] for of in rows.values()])
    alike = {
        name: np.array([cells[of[0]] if len(set(cells[of])) == 1 else "" for of in rows.values()])
        for name, cells in table.metadata.items()
    }
    images = table.images
    bags = images if isinstance(images, Bags) else Bags.single(images)
    members = [np.concatenate([bags.members(row) for row in of]) for of in rows.values()]
    sizes = np.array(list(map(len, members)))
    return replace(
        table,
        images=Bags(bags.latents, sizes, np.concatenate(members), bags.most),
        ids=np.array(list(rows)),
        labels=table.labels[first],
        domains=table.domains[first],
        groups=table.groups[first],
        splits=table.splits[first],
        metadata=alike,
    )


def _refuse_contradictions(table: ImageTable, column: str, rows: dict[str, list[int]]) -> None:
    of_item = np.concatenate(list(rows.values()))
    first = np.repeat([of[0] for of in rows.values()], list(map(len, rows.values())))
    value = np.repeat(np.array(list(rows)), list(map(len, rows.values())))
    faults: dict[tuple[str, str], str] = {}
    for name in ("label", "domain", "group", "split"):
        cells = getattr(table, f"{name}s")
        one, other = cells[first], cells[of_item]
        differ = (one != other) & ~((one != one) & (other != other))  # NaN: a missing label
        for at in np.flatnonzero(differ.reshape(len(differ), -1).any(1)).tolist():
            faults.setdefault(
                (str(value[at]), name),
                f"{value[at]}: {table.ids[first[at]]} has the {name} "
                f"{_text(table, name, first[at])}, {table.ids[of_item[at]]} "
                f"{_text(table, name, of_item[at])}",
            )
    if faults:
        more = [f"and {len(faults) - _LISTED:,} more"] if len(faults) > _LISTED else []
        listed = "\n  ".join([*list(faults.values())[:_LISTED], *more])
        raise InputError(
            f"data.bag_by: rows of {table.name} that share {column!r} are one item, but differ:"
            f"\n  {listed}\nCorrect them, or name a column whose values are those of one item"
        )


def _text(table: ImageTable, name: str, row: int) -> str:
    if name != "label":
        return repr(str(getattr(table, f"{name}s")[row]))
    label = table.labels[row]
    return repr(table.class_names[int(label)]) if table.labels.ndim == 1 else str(label.tolist())
