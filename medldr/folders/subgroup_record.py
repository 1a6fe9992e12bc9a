"""The subgroups of a split in `evaluation.json`."""

from __future__ import annotations

from pydantic import Field

from medldr.folders.number_record import Number
from medldr.folders.records import Record


class SubgroupRecord(Record):
    """One subgroup: the items with one value of a column, or with a number in one band.

    One is of all values that few items or groups have, without their names.

    Attributes:
        n: Items; None for fewer than ten.
        n_groups: Groups; None for fewer than ten.
        few_groups: Whether these are too few for reliable intervals.
        classes: Its items by class, or positives by label; empty if it was only counted.
        reason: Why it was only counted; None if it was scored.
        metrics: By name; empty if it was only counted.
    """

    n: int | None = None
    n_groups: int | None = None
    few_groups: bool = False
    classes: dict[str, int] = Field(default_factory=dict)
    reason: str | None = None
    metrics: dict[str, Number] = Field(default_factory=dict)


class SubgroupGap(Record):
    """Largest minus smallest value of a metric, which subgroups have them, and of how many."""

    value: float
    lowest: str
    highest: str
    of: int


class DivisionRecord(Record):
    """The subgroups of one column of the metadata.

    Attributes:
        how: ``values``, ``bands`` or ``tertiles``.
        edges: Where a column of numbers was cut; each belongs to the band above it.
        missing: Items without a value.
        values: Each subgroup, in page order.
        gaps: By metric.
    """

    how: str = "values"
    edges: tuple[float, ...] = ()
    missing: int = 0
    values: dict[str, SubgroupRecord] = Field(default_factory=dict)
    gaps: dict[str, SubgroupGap] = Field(default_factory=dict)
