"""Which images of items are missing, and where: a split or a domain may lack more than another."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from medldr.data.counting import tally
from medldr.data.image_table import ImageTable


def missing_images(table: ImageTable, rows: Mapping[str, NDArray[np.int64]]) -> Iterator[str]:
    """A sentence for each column of which items lack the image, with counts.

    Args:
        table: A data set; there is nothing to say where each item is one image.
        rows: Rows of each split.
    """
    for column, facts in table.facts_by_column.items():
        lacking = np.array([one is None for one in facts])
        gone = {split: of[lacking[of]] for split, of in rows.items()}
        counts = (
            f"{len(of):,} of {len(rows[split]):,} in {split}{tally(table.domains[of].tolist())}"
            for split, of in gone.items()
        )
        if lacking.any():
            yield f"{table.name}: {column} is missing: {'; '.join(counts)}"
