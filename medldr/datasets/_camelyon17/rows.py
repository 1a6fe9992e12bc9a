"""Labels, splits, hospitals and slides of Camelyon17, as the loader of `wilds` gives them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.datasets._camelyon17.metadata import check_metadata
from medldr.datasets._camelyon17.wilds import open_camelyon17
from medldr.datasets.base import BadFile


class Rows(NamedTuple):
    """What `wilds` says of each patch, row by row of metadata.csv."""

    paths: list[str]
    labels: NDArray[np.int64]
    splits: NDArray[np.str_]
    hospitals: NDArray[np.int64]
    slides: NDArray[np.int64]

    @property
    def ids(self) -> list[str]:
        """The name of each patch's file, without its ending: unique."""
        return [path.rpartition("/")[2].removesuffix(".png") for path in self.paths]

    def without(self, bad: Sequence[BadFile]) -> NDArray[np.int64]:
        """Numbers of the rows that remain without some files."""
        out = {file.path for file in bad}
        kept = [row for row, path in enumerate(self.paths) if path not in out]
        return np.array(kept, dtype=np.int64)

    def take(self, rows: NDArray[np.int64]) -> Rows:
        """The same for some rows only."""
        return Rows(
            paths=[self.paths[row] for row in rows.tolist()],
            labels=self.labels[rows],
            splits=self.splits[rows],
            hospitals=self.hospitals[rows],
            slides=self.slides[rows],
        )


def read_rows(folder: Path, split_scheme: str) -> Rows:
    """Read metadata.csv, after checking it to give each fault a clear message.

    Args:
        folder: The folder that holds metadata.csv.
        split_scheme: ``official`` or ``mixed-to-test``.

    Raises:
        InputError: If metadata.csv is broken.
    """
    check_metadata(folder / "metadata.csv")
    dataset = open_camelyon17(folder, split_scheme)
    number = {value: name for name, value in dataset.split_dict.items()}
    fields = dataset.metadata_fields
    metadata = dataset.metadata_array.numpy()
    codes = np.asarray(dataset.split_array)
    splits = np.full(len(codes), "", dtype="<U8")
    for code in np.unique(codes).tolist():
        splits[codes == code] = number[code]
    return Rows(
        paths=list(dataset._input_array),
        labels=dataset.y_array.numpy().astype(np.int64),
        splits=splits,
        hospitals=metadata[:, fields.index("hospital")].astype(np.int64),
        slides=metadata[:, fields.index("slide")].astype(np.int64),
    )
