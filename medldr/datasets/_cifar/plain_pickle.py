"""Reading a pickle of plain values without running anything that it asks for.

CIFAR was published as pickles of dictionaries, lists, texts, numbers and one array of bytes each. A
pickle is a small program that may call any function; Python's own reader runs it. This one walks
through its opcodes, which `pickletools` parses without acting on them, and builds those kinds of
values itself. The names of functions that a pickle of such an array contains (those of NumPy's
array and type, and of the encoding of bytes) are compared as texts, and no module is imported;
everything else is refused.
"""

from __future__ import annotations

import io
import pickletools
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from medldr.errors import InputError


class _Name(NamedTuple):
    """The name of something that a pickle would import."""

    text: str


class _Mark:
    """Where a list of values begins on the stack."""


class _Type(NamedTuple):
    """The type of an array's numbers."""

    code: str


class _Unfilled:
    """An array whose values have not come yet, or its values."""

    values: np.ndarray[Any, np.dtype[np.uint8]] | None = None


_ARRAY: Final = _Name("ndarray")
_MAKE: Final = _Name("reconstruct")
_TYPE: Final = _Name("dtype")
_BYTES: Final = _Name("bytes")
_NAMES: Final = {
    "numpy ndarray": _ARRAY,
    "numpy dtype": _TYPE,
    "numpy.core.multiarray _reconstruct": _MAKE,
    "numpy._core.multiarray _reconstruct": _MAKE,
    "_codecs encode": _BYTES,
}

_VALUES: Final = {
    "BININT", "BININT1", "BININT2", "BINUNICODE", "SHORT_BINUNICODE", "BINBYTES", "SHORT_BINBYTES",
    "BINSTRING", "SHORT_BINSTRING",
}  # fmt: skip
"""Instructions that hold a value; `pickletools` gives the bytes of Python 2 as Latin-1 text."""

_CONSTANTS: Final = {"NONE": None, "NEWTRUE": True, "NEWFALSE": False}
_TUPLES: Final = {"EMPTY_TUPLE": 0, "TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3}


class _RefusedError(Exception):
    """What a pickle holds that is not plain."""


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
        return _finished(_Reader().read(content))
    except _RefusedError as error:
        raise InputError(
            f"{where} holds {error}, which is not plain data. It was not loaded, because that "
            "could run code from the file; nothing of it has been run. Use the published file"
        ) from error
    except (ValueError, IndexError, KeyError, TypeError, OverflowError, RecursionError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(
            f"{where} is not a whole pickle of plain data ({reason}). Replace it with an intact "
            "copy of the published file"
        ) from error


class _Reader:
    """A stack and a memory, as the format has them; values are made by this module alone."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memory: dict[int, Any] = {}

    def read(self, content: bytes) -> Any:
        """The value on the stack at the end."""
        for opcode, argument, _ in pickletools.genops(io.BytesIO(content)):
            if opcode.name == "STOP":
                return self.stack.pop()
            self._step(opcode.name, argument)
        raise ValueError("it has no end")

    def _step(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in _VALUES:
            stack.append(argument)
        elif name in ("BINPUT", "LONG_BINPUT"):
            self.memory[argument] = stack[-1]
        elif name in ("BINGET", "LONG_BINGET"):
            stack.append(self.memory[argument])
        elif name in _CONSTANTS:
            stack.append(_CONSTANTS[name])
        elif name in _TUPLES:
            stack.append(tuple(self._last(_TUPLES[name])))
        elif name == "MARK":
            stack.append(_Mark())
        elif name in ("EMPTY_LIST", "EMPTY_DICT"):
            stack.append([] if name == "EMPTY_LIST" else {})
        elif name == "TUPLE":
            stack.append(tuple(self._marked()))
        elif name in ("APPEND", "APPENDS"):
            added = self._last(1) if name == "APPEND" else self._marked()
            _of_kind(stack[-1], list).extend(added)
        elif name in ("SETITEM", "SETITEMS"):
            self._set(self._last(2) if name == "SETITEM" else self._marked())
        elif name == "GLOBAL":
            stack.append(_named(argument))
        elif name == "REDUCE":
            function, arguments = self._last(2)
            stack.append(_made(function, arguments))
        elif name == "BUILD":
            (state,) = self._last(1)
            _fill(stack[-1], state)
        elif name != "PROTO":
            raise _RefusedError(f"the instruction {name}")

    def _last(self, count: int) -> list[Any]:
        if len(self.stack) < count:
            raise ValueError("it takes more values than it has")
        found = self.stack[len(self.stack) - count :]
        del self.stack[len(self.stack) - count :]
        return found

    def _marked(self) -> list[Any]:
        """Values since the last mark."""
        place = len(self.stack) - 1
        while not isinstance(self.stack[place], _Mark):
            place -= 1
            if place < 0:
                raise ValueError("it ends a list that it has not begun")
        found = self.stack[place + 1 :]
        del self.stack[place:]
        return found

    def _set(self, pairs: list[Any]) -> None:
        target = _of_kind(self.stack[-1], dict)
        for key, value in zip(pairs[::2], pairs[1::2], strict=True):
            target[_of_kind(_text(key), str)] = value


def _named(text: str) -> _Name:
    if text not in _NAMES:
        raise _RefusedError(f"the name {text.replace(' ', '.')!r}")
    return _NAMES[text]


def _text(value: Any) -> Any:
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _of_kind(value: Any, kind: type[Any]) -> Any:
    if type(value) is not kind:
        raise ValueError(f"a {type(value).__name__} in place of a {kind.__name__}")
    return value


def _made(function: Any, arguments: Any) -> Any:
    """What a call would return, for the three that a plain array needs."""
    if not isinstance(function, _Name) or type(arguments) is not tuple:
        raise _RefusedError("a call of something that is not a function")
    given = tuple(map(_text, arguments))
    if function is _BYTES:
        if len(given) == 2 and given[1] == "latin1" and isinstance(given[0], str):
            return given[0]
    elif function is _TYPE:
        if given and isinstance(given[0], str):
            return _Type(given[0].lstrip("|"))
    elif function is _MAKE and given and given[0] is _ARRAY:
        return _Unfilled()
    raise _RefusedError(f"a call of {function.text!r} with other arguments than an array needs")


def _fill(target: Any, state: Any) -> None:
    """Fill an array with its values; the state of a one-byte type adds nothing to it."""
    if isinstance(target, _Type):
        return
    if not isinstance(target, _Unfilled):
        raise _RefusedError(f"a state for a {type(target).__name__}")
    _, shape, kind, column_major, values = _of_kind(state, tuple)
    if not isinstance(kind, _Type) or kind.code not in ("u1", "B"):
        raise _RefusedError(f"an array of type {kind.code if isinstance(kind, _Type) else kind!r}")
    raw = values if isinstance(values, bytes) else _of_kind(values, str).encode("latin-1")
    order: Any = "F" if column_major else "C"
    sizes = [_of_kind(edge, int) for edge in _of_kind(shape, tuple)]
    if any(edge < 0 for edge in sizes):
        raise ValueError("an array of negative size")
    target.values = np.frombuffer(raw, np.uint8).reshape(sizes, order=order)


def _finished(value: Any) -> Any:
    """The value with its arrays; only what may be in the dictionaries of an image set."""
    if isinstance(value, dict):
        return {key: _finished(one) for key, one in value.items()}
    if isinstance(value, _Unfilled):
        if value.values is None:
            raise ValueError("an array without values")
        return value.values
    if type(value) in (list, tuple):
        _refuse_inner(value)
        return [_text(one) for one in value] if type(value) is list else tuple(map(_text, value))
    if isinstance(value, (_Name, _Type, _Mark)):
        raise _RefusedError("a function in place of a value")
    return _text(value)


def _refuse_inner(values: Iterable[Any]) -> None:
    """Lists in these files hold numbers or texts, so nothing within them is looked for further."""
    for one in values:
        if type(one) not in (int, str, bytes, bool, type(None)):
            raise _RefusedError(f"a list of {type(one).__name__.lstrip('_')}")
