"""How frozen values are written as lines of text, and when two such texts are the same."""

import hashlib
import json
import math
import re

import numpy as np

TOLERANCES = {".r3.txt": 1e-3, ".r5.txt": 1e-5, ".r9.txt": 1e-9}
"""Endings of files whose fractions may differ by so much, relative; all others are equal."""
FRACTION = re.compile(r"-?\d+(?:\.\d+(?:e[+-]?\d+)?|e[+-]?\d+)")
DIGITS = {1e-3: 9, 1e-5: 9, 1e-9: 13}
MOST = 12
"""Numbers of a list that are written; a longer one is summarised."""


class AbsentError(Exception):
    """What a case is made of is not on this machine."""


def digest(*parts):
    """Twelve hexadecimal digits of texts, arrays and plain values; equal ones have equal ones."""
    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            text = "\0".join(part.tolist()) if part.dtype.kind in "US" else ""
            found.update(f"{part.shape}{part.dtype.str if not text else ''}".encode())
            found.update(text.encode() if text else np.ascontiguousarray(part).tobytes())
        elif isinstance(part, bytes):
            found.update(part)
        else:
            text = part if isinstance(part, str) else json.dumps(part, sort_keys=True, default=str)
            found.update(text.encode())
        found.update(b"\1")
    return found.hexdigest()[:12]


def fraction(value, tolerance):
    """A number with a point in it, with some digits more than are compared."""
    text = f"{float(value):.{DIGITS[tolerance]}g}"
    return text if re.search(r"[.en]", text) else f"{text}.0"


def summary(values, tolerance=1e-5):
    """Shape and kind of an array, its mean and standard deviation, its ends, and a weighted mean.

    For what a decoder or a kernel of this processor made. The weights are those of the places, so
    that images which differ in the order of their pixels differ here.
    """
    array = np.asarray(values)
    flat = array.astype(np.float64).ravel()
    shape = "x".join(map(str, array.shape))
    if not flat.size:
        return f"{shape} {array.dtype} empty"
    place = np.cos(np.arange(flat.size) * 0.7)
    numbers = [flat.mean(), flat.std(), flat[0], flat[-1], (flat * (1 + place)).mean()]
    return " ".join([f"{shape} {array.dtype}", *(fraction(n, tolerance) for n in numbers)])


def exact(values):
    """Shape, kind and digest of an array whose values no processor changes."""
    array = np.asarray(values)
    return f"{'x'.join(map(str, array.shape))} {array.dtype} {digest(array)}"


def lines_of(value, tolerance, key=""):
    """Plain values as lines ``key<TAB>value`` in their own order; long lists are summarised.

    A mapping of single values is one line.
    """
    if isinstance(value, dict) and key and all(_single(item) for item in value.values()):
        yield f"{key}\t{' '.join(f'{k}={_word(v, tolerance)}' for k, v in value.items()) or '{}'}"
    elif isinstance(value, dict) and value:
        for name, item in value.items():
            yield from lines_of(item, tolerance, f"{key}/{name}" if key else str(name))
    elif isinstance(value, list | tuple) and any(isinstance(v, dict | list) for v in value):
        for place, item in enumerate(value):
            yield from lines_of(item, tolerance, f"{key}/{place}" if key else str(place))
    elif isinstance(value, list | tuple) and len(value) > MOST and _numbers(value):
        held = np.array([np.nan if v is None else v for v in value], dtype=np.float64)
        known = held[np.isfinite(held)]
        yield f"{key}\t{len(held)} numbers, {len(known)} defined: {summary(known, tolerance)}"
    elif isinstance(value, list | tuple):
        yield f"{key}\t[{', '.join(_word(item, tolerance) for item in value)}]"
    else:
        yield f"{key}\t{_word(value, tolerance)}"


def _single(value):
    """Whether it is one value, or a pair."""
    if isinstance(value, list | tuple) and len(value) == 2:
        return all(map(_single, value))
    return not isinstance(value, dict | list | tuple)


def _numbers(values):
    return all(v is None or isinstance(v, int | float) for v in values)


def _word(value, tolerance):
    if isinstance(value, float):
        return fraction(value, tolerance)
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return f"[{', '.join(_word(item, tolerance) for item in value)}]"
    return json.dumps(value)


def joined(lines):
    """Lines as the text of a file."""
    return "".join(f"{line}\n" for line in lines)


def tolerance_of(file):
    """How much the fractions of a file may differ; None where they must be equal."""
    return next((value for end, value in TOLERANCES.items() if file.endswith(end)), None)


def settled(file, old, new):
    """The new text with the old line in place of each that is as good as equal to it."""
    tolerance = tolerance_of(file)
    if tolerance is None or old == new:
        return new
    before = old.splitlines(keepends=True)
    after = new.splitlines(keepends=True)
    if len(before) != len(after):
        return new
    pairs = zip(before, after, strict=True)
    return "".join(one if _close(one, other, tolerance) else other for one, other in pairs)


def _close(one, other, tolerance):
    if one == other:
        return True
    if FRACTION.sub("#", one) != FRACTION.sub("#", other):
        return False
    pairs = zip(FRACTION.findall(one), FRACTION.findall(other), strict=True)
    small = tolerance / 100  # of numbers that stand for zero
    return all(math.isclose(float(a), float(b), rel_tol=tolerance, abs_tol=small) for a, b in pairs)
