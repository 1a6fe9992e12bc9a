"""Where one item of a data set is: a file, a folder of slices, or a part of either."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from medldr.data.scans.scan import ScanError

NIFTI: Final = (".nii", ".nii.gz", ".hdr", ".img", ".hdr.gz", ".img.gz", ".mgh", ".mgz")
DICOM: Final = (".dcm", ".dicom", ".ima")
PAIRS: Final = (".hdr", ".img", ".hdr.gz", ".img.gz")
ARRAYS: Final = (".npy", ".npz")

_MEMBER: Final = re.compile(r"(?P<member>[^\[\]]+)(\[(?P<index>\d+)\])?")


@dataclass(frozen=True)
class Source:
    """One item.

    Attributes:
        path: A file, or a folder with the slices of a DICOM series.
        part: What is meant of it: the UID of a series, or ``member[index]`` of an npz archive;
            empty for all of it, which an archive must then hold a single array for.
        mask: The mask it is cut around; None without.
        point: Middle of the part that is kept; None without.
    """

    path: Path
    part: str = ""
    mask: Source | None = None
    point: tuple[float, ...] | None = None

    def member(self) -> tuple[str, int | None]:
        """Name and index of the array in an npz archive; no name for the only one.

        Raises:
            ScanError: If `part` does not name one.

        Example:
            >>> Source(Path("a.npz"), "train_images[17]").member()
            ('train_images', 17)
        """
        if not self.part:
            return "", None
        found = _MEMBER.fullmatch(self.part)
        if found is None:
            raise ScanError(
                f"{self.part!r} is no array of an archive. Say which one after the #, as in "
                "scans.npz#images[3]"
            )
        index = found["index"]
        return found["member"], None if index is None else int(index)
