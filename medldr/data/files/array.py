"""Pictures and volumes in numpy's own files.

Source:
    Our choices, for these files do not name their axes. A picture is ``(H, W)``; with a third axis
    of 1, 3 or 4 at its end those are its channels, as Pillow and matplotlib have them, else with
    one of 1 or 3 at its beginning. A volume is ``(X, Y, Z)``, or ``(C, X, Y, Z)`` with up to
    4 channels. A fourth channel of a picture is its alpha, which is dropped, not blended.
"""

from __future__ import annotations

import functools
import re
import threading
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medldr.data.files.scan import (
    PYTHON_OBJECTS,
    Scan,
    ScanError,
    Source,
    bits_of,
    finite,
    plain_numbers,
    refuse_bomb,
    times,
    understood,
)
from medldr.errors import did_you_mean
from medldr.folders.files import last_changed

Dims: TypeAlias = Literal[2, 3] | None

_ZIP: Final = b"PK\x03\x04"
_NPY: Final = b"\x93NUMPY"
_PART: Final = re.compile(r"(?P<member>[^\[\]]+)(\[(?P<index>\d+)\])?")
_MOST_CHANNELS: Final = 4

_loading = threading.Lock()


def read_array(source: Source, dims: Dims) -> Scan:
    """Read an ``.npy`` file, or one array of an ``.npz`` archive, or one item of such a stack.

    The last few arrays of archives stay in memory, so that items of one stack can be read one after
    the other.

    Args:
        source: Where it is; its part is ``member``, ``member[index]`` along the first axis, or
            empty for the only array.
        dims: Whether it is a picture or a volume; None: a volume where it has three axes in space.

    Returns:
        ``(C, H, W)`` or ``(C, X, Y, Z)``; nothing is known of its spacing.

    Raises:
        ScanError: If there is no such array or item, or its shape is none of those.
    """
    path, part = source.path, source.part
    if path.name.lower().endswith(".npy"):
        if part:
            raise ScanError(f"it has no part {part!r}: it holds a single array")
        return scan_of_array(_npy(path), dims)
    name = _PART.fullmatch(part)
    if part and name is None:
        raise ScanError(
            f"{part!r} is no array of an archive. Say which one after the #, as in "
            "scans.npz#images[3]"
        )
    member = "" if name is None else name["member"]
    state = path.stat()
    with _loading:  # so that threads which need the same array wait for one of them
        stored = _member(path, last_changed(state), state.st_size, member)
    if name is None or name["index"] is None:
        return scan_of_array(stored, dims)
    index, count = int(name["index"]), len(stored) if stored.ndim else 0
    if index >= count:
        raise ScanError(f"{member!r} has no item {index}: it has {count}, counted from 0")
    return scan_of_array(stored[index], dims)


def _npy(path: Path) -> NDArray[Any]:
    _require_start(path, _NPY, "not an .npy file")
    with understood(_why):
        stored: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    return stored


@functools.lru_cache(maxsize=4)
def _member(path: Path, changed: int, size: int, member: str) -> NDArray[Any]:
    """An array of an archive, read once as long as the file stays the same."""
    del changed, size
    _require_start(path, _ZIP, "not an .npz archive")
    with (
        understood(_why),
        path.open("rb") as file,  # here, for numpy leaves a broken archive open
        np.load(file, allow_pickle=False) as archive,
    ):
        names = list(archive.files)
        if member in names or (not member and len(names) == 1):
            part = archive.zip.infolist()[names.index(member) if member else 0]
            refuse_bomb(part.file_size, part.compress_size)
            stored: NDArray[Any] = archive[member or names[0]]
            if not isinstance(stored, np.ndarray):  # a zip of something else
                raise ScanError("it is a zip archive, but not one of arrays")
            stored.setflags(write=False)
            return stored
    raise ScanError(
        f"it has no array {member!r}, but {', '.join(map(repr, names)) or 'none'}. Say which one "
        f"after a #, as in scans.npz#images[3].{did_you_mean(member, names)}"
    )


def _require_start(path: Path, start: bytes, otherwise: str) -> None:
    with path.open("rb") as file:
        actual = file.read(len(start))
    if actual != start:
        raise ScanError(otherwise if actual else "the file is empty")


def _why(error: BaseException) -> str:
    if "object" in str(error).casefold():
        return PYTHON_OBJECTS
    return "the file is damaged or truncated"


def scan_of_array(stored: NDArray[Any], dims: Dims) -> Scan:
    """An array as the scan that a file with it would be.

    Args:
        stored: Its values.
        dims: As for `read_npy`.

    Raises:
        ScanError: If its shape is that of no picture and no volume.
    """
    mode = str(stored.dtype.newbyteorder("="))
    numbers = plain_numbers(np.asarray(stored))
    if not numbers.size:
        raise ScanError("it holds no numbers")
    if dims is None:
        dims = _dims(numbers.shape)
    channels, warnings = _picture(numbers) if dims == 2 else (_volume(numbers), ())
    values, replaced = finite(channels)
    return Scan(
        # A copy: the array belongs to the file, or to those who read its other items.
        values=np.array(values, order="C"),
        kind="array",
        mode=mode,
        bits=1 if stored.dtype.kind == "b" else bits_of(values),
        warnings=(*warnings, *replaced),
    )


def _dims(shape: tuple[int, ...]) -> Literal[2, 3]:
    """What an array is by its shape: three long axes are those of a volume."""
    if len(shape) == 3:
        return 2 if shape[-1] <= _MOST_CHANNELS or shape[0] in (1, 3) else 3
    return 2 if len(shape) < 3 else 3


def _picture(numbers: NDArray[Any]) -> tuple[NDArray[Any], tuple[str, ...]]:
    shape = numbers.shape
    if len(shape) == 2:
        return numbers[None], ()
    if len(shape) == 3 and shape[-1] in (1, 3):
        return np.moveaxis(numbers, -1, 0), ()
    if len(shape) == 3 and shape[-1] == 4:
        alpha = "its alpha channel is dropped, not blended"
        return np.moveaxis(numbers[..., :3], -1, 0), (alpha,)
    if len(shape) == 3 and shape[0] in (1, 3):
        return numbers, ()
    raise ScanError(
        f"its shape is {times(shape)}, not that of a picture: H x W, H x W x 3 or 3 x H x W. If it "
        "is a volume, set dims to 3"
    )


def _volume(numbers: NDArray[Any]) -> NDArray[Any]:
    shape = numbers.shape
    if len(shape) == 3:
        return numbers[None]
    if len(shape) == 4 and shape[0] <= _MOST_CHANNELS:
        return numbers
    raise ScanError(
        f"its shape is {times(shape)}, not that of a volume: X x Y x Z, or C x X x Y x Z with "
        f"up to {_MOST_CHANNELS} channels, which come first"
    )
