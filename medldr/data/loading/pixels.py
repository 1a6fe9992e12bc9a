"""Where the pixels are while a run lasts: one copy at most, on the device that uses them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeGuard

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from medldr.data.bags import Bags
from medldr.data.image_table import Images, LazyImages
from medldr.data.loading.workers import ahead
from medldr.data.proven import ProvenImages

BLOCK_BYTES = 1 << 26


class Pixels:
    """The images of a table, brought to a device split by split, when a split is first asked for.

    On the CPU nothing is copied: every split indexes the table's own array. On another device each
    split's rows are copied there once; where they would fill more than half of its free memory they
    stay on the host, and batches are copied one by one. Pixels read from files on demand are
    never kept: worker processes read batches ahead of time.

    Args:
        images: ``(N, C, [D,] H, W)`` uint8 or float32; in memory, memory-mapped, or read when asked
            for.

    Attributes:
        host: The array as a tensor; None where there is none.
    """

    def __init__(self, images: Images) -> None:
        self._images = images
        self.host: Tensor | None = None
        self._mapped = images if _is_mapped(images) else None
        if not isinstance(images, LazyImages):
            with warnings.catch_warnings():
                # A memory-mapped array is read-only, of which torch warns; nothing writes to it.
                warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
                self.host = torch.from_numpy(images)
        self._resident: dict[tuple[str, str], tuple[NDArray[np.int64], Tensor]] = {}

    def __len__(self) -> int:
        return len(self._images)

    @property
    def bags(self) -> Bags | None:
        """The bags of latents that these are; None for images and single latents."""
        return self._images if isinstance(self._images, Bags) else None

    @property
    def own_size(self) -> bool:
        """Whether training sees each image at the size of its file; see `LazyImages`."""
        return isinstance(self._images, LazyImages) and self._images.own_size

    def row(self, row: int, *, train: bool = False) -> Tensor:
        """Stored pixels of one row, ``(C, [D,] H, W)`` on the host.

        Args:
            row: Its number.
            train: Whether training sees it: at its own size where that is asked for.
        """
        if train and isinstance(self._images, LazyImages) and self._images.own_size:
            return torch.from_numpy(self._images.at_own_size(row))
        if self.host is not None:
            self._prove(row)
            return self.host[row]
        return torch.from_numpy(self._images[row])

    def batches(
        self,
        split: str,
        rows: NDArray[np.int64],
        positions: NDArray[np.int64],
        parts: Sequence[slice],
        *,
        device: torch.device,
        workers: int,
        keys: Sequence[tuple[int, ...]] | None = None,
    ) -> Iterator[Tensor]:
        """Stored pixels of batches of a split.

        Args:
            split: Name of the split.
            rows: Row numbers of the split, ascending; all of them or some.
            positions: Positions within ``rows``, in the order of the batches.
            parts: Each batch's part of ``positions``.
            device: Where they will be needed.
            workers: Processes that read files ahead of time.
            keys: By which latents of bags are drawn, for each of ``positions``; None: all are seen.

        Yields:
            ``(B, C, [D,] H, W)`` as stored, on the device or on the host.

        Raises:
            InputError: If a file cannot be read; names it.
        """
        pin = device.type == "cuda"
        if keys is not None and isinstance(self._images, Bags):
            yield from ahead(self._draw, [keys[part] for part in parts], workers, pin=pin)
            return
        if self.host is None:
            asked = [rows[positions[part]] for part in parts]
            yield from ahead(self._read, asked, workers, pin=pin)
            return
        images, places = self.of_split(split, rows, device)
        if images is self.host and self._mapped is not None:
            asked = [rows[positions[part]] for part in parts]
            yield from one_ahead(self._mapped, asked, pin=pin)
            return
        at = places[torch.from_numpy(positions).to(places.device)]
        for part in parts:
            yield images[at[part]]

    def _draw(self, keys: Sequence[tuple[int, ...]]) -> Tensor:
        assert isinstance(self._images, Bags)
        return torch.from_numpy(self._images.drawn(keys))

    def _read(self, rows: NDArray[np.int64]) -> Tensor:
        return torch.from_numpy(self._images[rows])

    def of_split(
        self, split: str, rows: NDArray[np.int64], device: torch.device
    ) -> tuple[Tensor, Tensor]:
        """The array, or the rows of a split on a device, and the place of each of ``rows`` in it.

        Returns:
            The images on the device (or on the host) and ``(len(rows),)`` int64 places in them.
        """
        host = self.host
        if host is None:
            raise ValueError("images that are read when asked for are not kept anywhere")
        if device.type == "cpu":
            return host, torch.from_numpy(rows)
        key = (split, str(device))
        kept, images = self._resident.get(key, (np.empty(0, np.int64), host))
        places = np.searchsorted(kept, rows)
        # Some rows of a split may have been asked for before all of them.
        if not len(kept) or not np.array_equal(kept[np.minimum(places, len(kept) - 1)], rows):
            needed = host[0].nbytes * len(rows)
            if needed > free_bytes(device) // 2:
                return host, torch.from_numpy(rows)
            images = copied(host, rows, device, self._prove)
            self._resident[key] = (rows, images)
            places = np.arange(len(rows))
        return images, torch.from_numpy(places).to(device)

    def _prove(self, rows: int | NDArray[np.int64]) -> None:
        """Compare rows of a pack with its checksums, before their memory is read."""
        if isinstance(self._images, ProvenImages):
            self._images.prove(rows)


def _is_mapped(images: Images) -> TypeGuard[NDArray[Any]]:
    """Whether pixels come from a file as they are touched."""
    array: object = images
    while isinstance(array, np.ndarray):
        if isinstance(array, np.memmap):
            return True
        array = array.base
    return False


def copied(
    host: Tensor,
    rows: NDArray[np.int64],
    device: torch.device,
    prove: Callable[[NDArray[np.int64]], None],
) -> Tensor:
    """Rows on a device, block by block, each proved before: no second copy on the host."""
    copy = torch.empty((len(rows), *host.shape[1:]), dtype=host.dtype, device=device)
    step = max(1, BLOCK_BYTES // max(1, host[0].nbytes))
    for start in range(0, len(rows), step):
        prove(rows[start : start + step])
        block = torch.from_numpy(rows[start : start + step])
        copy[start : start + len(block)] = host[block].to(device)
    return copy


def one_ahead(
    images: NDArray[Any], batches: Iterable[NDArray[np.int64]], *, pin: bool
) -> Iterator[Tensor]:
    """Batches of a memory-mapped array; the next is read from the disk while one is worked on."""

    def read(rows: NDArray[np.int64]) -> Tensor:
        if isinstance(images, ProvenImages):
            images.prove(rows)
        # Lets other threads run meanwhile.
        batch = torch.from_numpy(np.take(np.asarray(images), rows, axis=0))
        return batch.pin_memory() if pin else batch

    with ThreadPoolExecutor(1, thread_name_prefix="medldr-read-ahead") as reader:
        coming: Future[Tensor] | None = None
        for rows in batches:
            ready, coming = coming, reader.submit(read, rows)
            if ready is not None:
                yield ready.result()
        if coming is not None:
            yield coming.result()


def free_bytes(device: torch.device) -> int:
    """Free bytes of a device, without limit where that cannot be asked."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    return 1 << 62
