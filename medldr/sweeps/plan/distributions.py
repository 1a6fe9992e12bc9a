"""What a value of a random search is drawn from, and the number that draws it.

A distribution maps a number of [0, 1) to a value, so that a draw is one number for each key. That
number follows from the search's seed, the draw and the key alone: other keys, other methods and the
order in a file cannot change it, and one more draw leaves the earlier ones as they are.

Source:
    DomainBed (Gulrajani and Lopez-Paz 2021) for independence of other keys, after a repair: at
    first, one more key changed everybody's values. Its ``10 ** U(a, b)`` and ``2 ** U(a, b)`` are
    both `log_uniform` here, with bounds given as values; its whole numbers are rounded down, as
    here. Six significant digits are ours: they are what a page prints, and a power whose
    last bit differs between machines makes no other run.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from medldr.config.yaml import plain
from medldr.errors import did_you_mean

BETWEEN: Final = ("uniform", "log_uniform", "uniform_int", "log_uniform_int")
"""Kinds that take two bounds."""
KINDS: Final = (*BETWEEN, "choice")


@dataclass(frozen=True)
class Distribution:
    """A kind, and its two bounds or its choices.

    Attributes:
        kind: One of `KINDS`.
        values: The lower and the upper bound, or the choices.
    """

    kind: str
    values: tuple[Any, ...]

    def at(self, u: float) -> Any:
        """The value at a number of [0, 1): low numbers give low values, or the first choices.

        Example:
            >>> Distribution("log_uniform", (1e-5, 1e-3)).at(0.5)
            0.0001
            >>> Distribution("log_uniform_int", (8, 2**5.5)).at(0.999)
            45
            >>> Distribution("choice", (0, 0.1, 0.5)).at(0.5)
            0.1
        """
        if self.kind == "choice":
            return self.values[int(u * len(self.values))]
        low, high = self.values
        logarithmic = self.kind.startswith("log_")
        value = low * (high / low) ** u if logarithmic else low + (high - low) * u
        if self.kind.endswith("_int"):
            return min(max(math.floor(value), int(low)), math.ceil(high) - 1)
        return min(max(float(f"{value:.6g}"), float(low)), float(high))

    def extremes(self) -> tuple[Any, ...]:
        """The lowest and the highest value, or every choice: a key must accept all of them.

        Example:
            >>> Distribution("log_uniform_int", (8, 2**5.5)).extremes()
            (8, 45)
        """
        if self.kind == "choice":
            return self.values
        low, high = self.values
        if self.kind.endswith("_int"):
            return int(low), math.ceil(high) - 1
        return float(low), float(high)


def distribution(written: Mapping[str, Any]) -> Distribution:
    """The distribution that a mapping of one kind describes.

    Args:
        written: ``{log_uniform: [1e-5, 1e-3]}``, ``{choice: [0, 0.1, 0.5]}``.

    Raises:
        ValueError: Saying what is wrong and what is possible.

    Example:
        >>> distribution({"uniform": [0, 1]})
        Distribution(kind='uniform', values=(0, 1))
        >>> distribution({"log_uniform": [0, 1]})
        Traceback (most recent call last):
        ...
        ValueError: log_uniform = [0, 1]: the lower bound should be above 0
    """
    if len(written) != 1 or not set(written) <= set(KINDS):
        near = "".join(did_you_mean(str(key), KINDS) for key in written if key not in KINDS)
        raise ValueError(f"needs one distribution.{near} Known: {', '.join(KINDS)}")
    ((kind, values),) = written.items()
    values = plain(values)
    problem = _choices_fault(values) if kind == "choice" else _bounds_fault(kind, values)
    if problem:
        raise ValueError(f"{kind} = {values!r}: {problem}")
    return Distribution(kind, tuple(values))


def number_of(seed: int, draw: int, key: str, run_seed: int | None = None) -> float:
    """The number of [0, 1) with which a draw draws a key.

    Args:
        seed: Seed of the search.
        draw: Number of the draw.
        key: Dotted key of a run.
        run_seed: Seed of the run where each has draws of its own; None: all seeds share them.

    Only what NumPy promises to keep is used of it: the raw bits of PCG64 from a seed.

    Example:
        >>> round(number_of(0, 7, "training.lr"), 6)
        0.700633
    """
    text = json.dumps([seed, draw, key] if run_seed is None else [seed, draw, key, run_seed])
    digest = hashlib.sha256(text.encode()).digest()
    bits = int(np.random.PCG64(int.from_bytes(digest, "big")).random_raw())
    return (bits >> 11) * 2.0**-53


def _choices_fault(values: Any) -> str:
    if not isinstance(values, list) or not values:
        return "should be a list with at least one value"
    if any(isinstance(value, dict) for value in values):
        return "a mapping sets several keys: draw each of them by its dotted key"
    return ""


def _bounds_fault(kind: str, values: Any) -> str:
    numbers = isinstance(values, list) and all(
        isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
        for value in values
    )
    if not numbers or len(values) != 2:
        return "should be two numbers, [low, high]"
    low, high = values
    if kind.startswith("log_") and low <= 0:
        return "the lower bound should be above 0"
    if low >= high:
        return "the lower bound should be below the upper one"
    if kind.endswith("_int") and low != int(low):
        return "the lower bound should be a whole number; values are rounded down"
    return ""
