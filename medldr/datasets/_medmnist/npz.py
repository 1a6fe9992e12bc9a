"""Reading the arrays of an npz file without pickle and without holding them twice.

numpy reads a whole array before it can be inspected. Here the header is read and checked first,
and the rows then stream to their final place.
"""

from __future__ import annotations

import zipfile
import zlib
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from medldr.data.files.scan import ScanError, refuse_bomb
from medldr.errors import InputError

_CHUNK = 1 << 24  # bytes read at a time


class NpzFile:
    """An open npz file.

    Raises:
        InputError: If the file is not an npz archive; the message names it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except (zipfile.BadZipFile, OSError) as error:
            raise InputError(f"{path}: not a readable npz file ({error})") from error
        self.keys = tuple(name[:-4] for name in self._archive.namelist() if name.endswith(".npy"))

    def __enter__(self) -> NpzFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._archive.close()

    def header(self, key: str) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
        """Shape and dtype of an array, without reading its values.

        Raises:
            InputError: If the array is damaged or holds Python objects.
        """
        part = self._archive.getinfo(f"{key}.npy")
        try:
            refuse_bomb(part.file_size, part.compress_size)
        except ScanError as error:
            raise InputError(f"{self.path}: {key} is refused: {error}") from error
        with self._archive.open(part) as stream:
            shape, _, dtype = self._read_header(stream, key)
        return shape, dtype

    def _read_header(
        self, stream: IO[bytes], key: str
    ) -> tuple[tuple[int, ...], bool, np.dtype[np.generic]]:
        form = np.lib.format
        try:
            version = form.read_magic(stream)
            read = form.read_array_header_1_0 if version == (1, 0) else form.read_array_header_2_0
            shape, column_major, dtype = read(stream)
        except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise InputError(f"{self.path}: {key} is damaged ({error})") from error
        if dtype.hasobject:
            raise InputError(
                f"{self.path}: {key} contains Python objects, which are not loaded because reading "
                "them would run code from the file. Save plain numbers."
            )
        return tuple(shape), bool(column_major), dtype

    def read_into(self, key: str, target: NDArray[np.generic]) -> None:
        """Read an array into ``target``, which has its shape and dtype, in any memory order.

        Raises:
            InputError: If the array is damaged or truncated.
        """
        try:
            with self._archive.open(f"{key}.npy") as stream:
                shape, column_major, dtype = self._read_header(stream, key)
                if column_major:  # rare; numpy knows how
                    with self._archive.open(f"{key}.npy") as again:
                        target[...] = np.lib.format.read_array(again, allow_pickle=False)
                    return
                row_bytes = int(np.prod(shape[1:], dtype=np.int64)) * dtype.itemsize
                step = max(1, _CHUNK // max(1, row_bytes))
                for start in range(0, shape[0], step):
                    stop = min(start + step, shape[0])
                    buffer = stream.read((stop - start) * row_bytes)
                    rows = np.frombuffer(buffer, dtype)
                    target[start:stop] = rows.reshape(stop - start, *shape[1:])
        except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise InputError(f"{self.path}: {key} is damaged or truncated ({error})") from error

    def read(self, key: str) -> NDArray[np.generic]:
        """A whole array, for small ones."""
        shape, dtype = self.header(key)
        array = np.empty(shape, dtype)
        self.read_into(key, array)
        return array
