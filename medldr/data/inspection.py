"""What looking at a whole data set finds, before any training: for a page, and for an exit code.

`medldr data check` and a run's own notes come from the same functions, so both know the same. Only
the search for nearly equal images, which compares every image with every other, is of the check.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medldr.config import RunConfig
from medldr.data.checks.duplicates import divided_twins
from medldr.data.checks.group_labels import stray_labels
from medldr.data.checks.near_duplicates import near_pairs
from medldr.data.checks.table_checks import find_faults
from medldr.data.counting import some
from medldr.data.files.facts import warning_notes
from medldr.data.files.origin import beside_note
from medldr.data.image_table import ImageTable, Look
from medldr.data.spec import input_pipeline, positive_class_notes
from medldr.data.splits.make import Splits
from medldr.data.splits.stratify import class_table

FEW: Final = 30
"""Images below which a split hardly selects or tests.

With fewer, one image is worth more than 3 percentage points of accuracy, more than most methods
differ by, so chance selects the weights; and the 95% CI of an accuracy is some 35 points wide.
"""
_EXAMPLES: Final = 3
MOST_COMPARED: Final = 20_000
"""Images up to which every one is compared with every other; beyond, that takes too long."""


@dataclass(frozen=True)
class Inspection:
    """What was found.

    Attributes:
        table: The data set.
        plans: Rows of each split of a run, by a text such as `` with hospital_a held out``.
        wrong: What makes numbers from this data wrong, a sentence each.
        look: What somebody should look at before training, a sentence each.
        notes: How the images were read and divided, a sentence each.
        published: Images that a split of a domain has according to its publication, where known.
    """

    table: ImageTable
    plans: Mapping[str, Mapping[str, NDArray[np.int64]]]
    wrong: tuple[str, ...]
    look: tuple[str, ...]
    notes: tuple[str, ...]
    published: Mapping[tuple[str, str], int] = field(default_factory=dict)


def inspect_table(
    table: ImageTable,
    plans: Mapping[str, Splits],
    looks: Mapping[str, Look],
    run: RunConfig | None,
) -> Inspection:
    """Look at every image of a data set.

    Args:
        table: The data set, valid.
        plans: Each way in which a run may divide it, by a text such as `` with a held out``.
        looks: Looks at images by id, where they were read before.
        run: A run that uses it; None where none is known.

    Raises:
        InputError: If the run's keys do not suit the data.
    """
    positive = None if run is None else run.evaluation.positive_class
    if run is not None:
        input_pipeline(table, run.transform)  # refuses a transform that cannot take these images
    findings = find_faults(table, looks)
    rows = {name: splits.rows for name, splits in plans.items()}
    of_splits = dict.fromkeys(note for splits in plans.values() for note in splits.notes)
    near, compared = near_notes(table, rows), len(table) <= MOST_COMPARED
    how_read = () if table.looks is None else tuple(table.looks.notes)
    return Inspection(
        table,
        rows,
        wrong=(*findings.wrong, *divided_twins(table, rows)),
        look=(
            *(text for text in findings.notes if text not in how_read),
            *stray_labels(table.labels, table.groups),
            *_weak_splits(table, rows),
            *(near if compared else ()),
        ),
        notes=(
            *how_read,
            *_naming(table),
            *of_splits,
            *positive_class_notes(table, positive),
            *(() if compared else near),
        ),
    )


def _naming(table: ImageTable) -> list[str]:
    """Notes on how items were read, with the names of those that readers changed or assumed of.

    A run records them without: pages and records name no patient.
    """
    plain, full = (beside_note(table.beside, named=named) for named in (False, True))
    named = {f"{table.name}: {p}": f"{table.name}: {f}" for p, f in zip(plain, full, strict=True)}
    ids = table.ids.tolist()
    for column, facts in table.facts_of_images.items():
        known = [(name, one) for name, one in zip(ids, facts, strict=False) if one is not None]
        of = [one for _, one in known]
        before = f"{table.name}: {column}: " if column else f"{table.name}: "
        plain, full = warning_notes(of), warning_notes(of, [name for name, _ in known])
        named |= {
            f"{before}{short}": f"{before}{long}" for short, long in zip(plain, full, strict=True)
        }
    return [named.get(note, note) for note in table.notes]


def _weak_splits(
    table: ImageTable, plans: Mapping[str, Mapping[str, NDArray[np.int64]]]
) -> Iterator[str]:
    """Splits that are empty, that lack a class, or are too small to select or test on."""
    for to, rows in plans.items():
        for needed, use in ((("val", "id_val"), "select weights"), (("test",), "test")):
            if not set(needed) & set(rows):
                yield f"{table.name}: no image is left to {use} on{to}"
        for split, of_split in rows.items():
            if split == "train":
                continue
            counts = class_table(table.labels[of_split], len(table.class_names)).sum(0)
            absent = [n for n, count in zip(table.class_names, counts, strict=True) if not count]
            if absent:
                yield f"{table.name}: {split}{to} has no image of {', '.join(absent)}"
    few = [
        f"{split}{to} {len(of_split):,}"
        for to, rows in plans.items()
        for split, of_split in rows.items()
        if split != "train" and len(of_split) < FEW
    ]
    if few:
        yield (
            f"{table.name}: splits of fewer than {FEW} images, of which one is worth over 3 "
            f"percentage points: {some(few)}"
        )


def near_notes(
    table: ImageTable, plans: Mapping[str, Mapping[str, NDArray[np.int64]]]
) -> list[str]:
    """Nearly equal images of different patients, in different splits or domains.

    Args:
        table: The data set.
        plans: Rows of each split, for each way a run may divide them.
    """
    parts = np.full(len(table), -1, dtype=np.int64)
    number: dict[tuple[str, ...], int] = {}
    of_plan = {name: _split_of(len(table), rows) for name, rows in plans.items()}
    for row in range(len(table)):
        key = (str(table.domains[row]), *(splits[row] for splits in of_plan.values()))
        parts[row] = number.setdefault(key, len(number))
    if len(number) < 2:
        return []
    if len(table) > MOST_COMPARED:
        return [
            f"{table.name}: nearly equal images were not looked for, because there are more than "
            f"{MOST_COMPARED:,}; equal ones were"
        ]
    pairs = [
        pair for pair in near_pairs(table.images, parts) if not _told_otherwise(table, *pair[:2])
    ]
    if not pairs:
        return []
    examples = "; ".join(f"{table.ids[p.first]} ~ {table.ids[p.second]}" for p in pairs[:_EXAMPLES])
    other_label = sum(
        not np.array_equal(table.labels[p.first], table.labels[p.second], equal_nan=True)
        for p in pairs
    )
    are = "1 pair of images" if len(pairs) == 1 else f"{len(pairs):,} pairs of images"
    verb = "is" if len(pairs) == 1 else "are"
    return [
        f"{table.name}: {are} in different splits or domains {verb} nearly the same (saved again, "
        f"cut or shifted?), {other_label:,} with different labels. Look at them: {examples}"
    ]


def _split_of(count: int, rows: Mapping[str, NDArray[np.int64]]) -> list[str]:
    splits = np.full(count, "", dtype="<U8")
    for name, of_split in rows.items():
        splits[of_split] = name
    return [str(name) for name in splits]


def _told_otherwise(table: ImageTable, first: int, second: int) -> bool:
    """Whether two images are of one patient, or known to be equal, which other findings say."""
    if table.groups[first] and table.groups[first] == table.groups[second]:
        return True
    if table.looks is None:
        return False
    one, other = (table.looks.by_id.get(str(table.ids[row])) for row in (first, second))
    return one is not None and one == other
