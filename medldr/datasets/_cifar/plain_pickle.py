"""Reading a pickle of plain values without running anything that it asks for.

CIFAR was published as pickles of dictionaries, lists, texts, numbers and one array of bytes each. A
pickle is a small program that may call any function that it names. Here Python's own reader gets
none of them: for the names in a pickle of such an array (those of NumPy's array and type, and of
the encoding of bytes) it gets stand-ins that make plain values, every other name is refused, and no
module is imported.
"""

from __future__ import annotations

import io
import pickle
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.errors import InputError


class _RefusedError(Exception):
    """What a pickle holds that is not plain."""


class _Encoding:
    """Stands for the function that makes bytes of a text; they remain the text."""

    def __call__(self, text: str, encoding: str) -> str:
        if encoding != "latin1":
            raise _RefusedError(f"a text in the encoding {encoding!r}")
        return text

    def __setstate__(self, state: Any) -> None:
        raise _RefusedError("a state for a function")


class _Type:
    """Stands for the type of an array's numbers."""

    def __init__(self, code: str, *further: Any) -> None:
        self.code = code.lstrip("|")

    def __setstate__(self, state: Any) -> None:
        """The state of a one-byte type adds nothing to it."""


class _Array:
    """Stands for an array, whose values come after it, and for what makes one."""

    values: NDArray[np.uint8] | None = None

    def __init__(self, kind: Any, *further: Any) -> None:
        if kind is not _Array:
            raise _RefusedError("a call with other arguments than an array needs")

    def __setstate__(self, state: Any) -> None:
        _, shape, kind, column_major, values = state
        if kind.code not in ("u1", "B"):
            raise _RefusedError(f"an array of type {kind.code!r}")
        if min(shape, default=0) < 0:
            raise ValueError("an array of negative size")
        raw = values if isinstance(values, bytes) else values.encode("latin-1")
        order: Any = "F" if column_major else "C"
        self.values = np.frombuffer(raw, np.uint8).reshape(shape, order=order)


_NAMES: Final = {
    "numpy.ndarray": _Array,
    "numpy.dtype": _Type,
    "numpy.core.multiarray._reconstruct": _Array,
    "numpy._core.multiarray._reconstruct": _Array,
    "_codecs.encode": _Encoding(),
}


class _Reader(pickle._Unpickler):
    """Python's reader in Python: the one in C takes memory for whatever number a file names."""

    def find_class(self, module: str, name: str) -> Any:
        """The stand-in of a name."""
        if f"{module}.{name}" not in _NAMES:
            raise _RefusedError(f"the name '{module}.{name}'")
        return _NAMES[f"{module}.{name}"]


def read_plain_pickle(content: bytes, where: Path | str) -> Any:
    """The value in a pickle of plain values.

    Args:
        content: The bytes of the file.
        where: The file, for messages.

    Returns:
        Dictionaries, lists, tuples, texts (bytes count as Latin-1), integers, booleans, None, and
        uint8 arrays.

    Raises:
        InputError: If it is no whole pickle, or holds anything else; nothing of it has been run.

    Example:
        >>> import pickle
        >>> read_plain_pickle(pickle.dumps({"labels": [3, 1]}, protocol=2), "train")
        {'labels': [3, 1]}
    """
    try:
        return _finished(_Reader(io.BytesIO(content), encoding="latin-1").load())
    except _RefusedError as error:
        raise InputError(
            f"{where} holds {error}, which is not plain data. It was not loaded, because that "
            "could run code from the file; nothing of it has been run. Use the published file"
        ) from error
    except Exception as error:  # whatever the bytes make the reader stumble on
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{where} is not a whole pickle of plain data ({reason}). Replace it with an intact "
            "copy of the published file"
        ) from error


def _finished(value: Any) -> Any:
    """The value with its arrays; only what may be in the dictionaries of an image set."""
    if isinstance(value, dict):
        if any(type(_plain(key)) is not str for key in value):
            raise ValueError("a key that is no text")
        return {_plain(key): _finished(one) for key, one in value.items()}
    if isinstance(value, _Array) and value.values is not None:
        return value.values
    # Lists in these files hold numbers or texts, so nothing within them is looked for further.
    return type(value)(map(_plain, value)) if type(value) in (list, tuple) else _plain(value)


def _plain(value: Any) -> Any:
    if type(value) not in (int, str, bytes, bool, type(None)):
        raise _RefusedError(f"a {type(value).__name__.lstrip('_')} in place of a value")
    return value.decode("latin-1") if isinstance(value, bytes) else value
