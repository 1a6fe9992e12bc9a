"""Where the uint8 pixels are while a run lasts: one copy at most, on the device that uses them."""

from __future__ import annotations

import warnings

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Pixels:
    """The images of a table, brought to a device split by split, when a split is first asked for.

    On the CPU nothing is copied: every split indexes the table's own array. On another device each
    split's rows are copied there once; where they would fill more than half of its free memory they
    stay on the host, and batches travel one by one.

    Args:
        images: ``(N, C, [D,] H, W)`` uint8; in memory or memory-mapped.
    """

    def __init__(self, images: NDArray[np.uint8]) -> None:
        with warnings.catch_warnings():
            # A memory-mapped array is read-only, of which torch warns; nothing here writes to it.
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            self.host: Tensor = torch.from_numpy(images)
        self._resident: dict[tuple[str, str], tuple[Tensor, Tensor]] = {}

    def of_split(
        self, split: str, rows: NDArray[np.int64], device: torch.device
    ) -> tuple[Tensor, Tensor]:
        """Images and, for each of ``rows``, its place in them.

        Returns:
            uint8 images on the device (or on the host) and ``(len(rows),)`` int64 places beside
            them.
        """
        if device.type == "cpu":
            return self.host, torch.from_numpy(rows)
        key = (split, str(device))
        if key not in self._resident:
            places = torch.from_numpy(rows)
            needed = self.host[0].numel() * len(rows)
            if needed > _free(device) // 2:
                return self.host, places
            self._resident[key] = (
                self._rows(rows).to(device),
                torch.arange(len(rows), device=device),
            )
        return self._resident[key]

    def _rows(self, rows: NDArray[np.int64]) -> Tensor:
        first, last = int(rows[0]), int(rows[-1])
        if last - first + 1 == len(rows):  # ascending and without gaps: no second copy
            return self.host[first : last + 1]
        return self.host[torch.from_numpy(rows)]


def _free(device: torch.device) -> int:
    """Free bytes of a device, without limit where that cannot be asked."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return 1 << 62
