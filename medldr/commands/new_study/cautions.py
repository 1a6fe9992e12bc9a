"""What to look at before a result is believed: few images, absent classes, no patients.

Source:
    Our choice of 10 images (below which subgroups are not scored, either) and of 30 for a domain or
    a test split, where the 95% CI of an accuracy is still some 35 percentage points wide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.counting import some
from medldr.data.image_table import ImageTable
from medldr.data.metadata_columns import FEWEST

SMALL: Final = 30
_LISTED: Final = 6


def cautions(table: ImageTable, tested: Mapping[str, int]) -> list[str]:
    """What is few or absent in a data set, a sentence each, without ids.

    Args:
        table: All images.
        tested: Images that are tested, by the domain that is held out; under "" where none is.
    """
    said = []
    if not (table.groups != "").any():
        said.append(
            "No patients are named: splits may divide a patient's images, and 95% CIs count images "
            "as independent. Name them in a column (data.group), a level of folders, or by "
            "data.group_pattern."
        )
    counts = _counts(table, np.ones(len(table), dtype=bool))
    rare = [f"{name} ({count})" for name, count in counts.items() if count < FEWEST]
    if rare:
        said.append(
            f"Classes with fewer than {FEWEST} images: {some(rare, _LISTED)}. Join them with "
            "another class, or leave their rows out of the table."
        )
    absent = [
        f"{name} in {domain}"
        for domain in filter(None, tested)
        for name, count in _counts(table, table.domains == domain).items()
        if not count
    ]
    if absent:
        said.append(
            f"Classes that a domain lacks: {some(absent, _LISTED)}. Scores of these domains are "
            "not comparable with those of others."
        )
    small = [f"{domain} ({size})" for domain, size in sorted(tested.items()) if size < SMALL]
    if small and "" in tested:
        said.append(f"The test split has only {tested['']:,} of {len(table):,} images.")
    elif small:
        said.append(
            f"Domains that are tested on fewer than {SMALL} images: {some(small, _LISTED)}. A test "
            "on so few is hardly one."
        )
    return said


def _counts(table: ImageTable, rows: NDArray[np.bool_]) -> dict[str, int]:
    """Images of each class, or with each label, among some rows."""
    labels = table.labels[rows]
    if labels.ndim == 2:
        numbers = (labels == 1).sum(axis=0).tolist()
    else:
        numbers = np.bincount(labels, minlength=len(table.class_names)).tolist()
    return dict(zip(table.class_names, numbers, strict=True))
