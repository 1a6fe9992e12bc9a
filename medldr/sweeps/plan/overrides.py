"""Which ``KEY=VALUE`` texts change the sweep and which go to every run."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final

from medldr.config.layers import COMMAND_LINE
from medldr.config.yaml import KeyPath, parse_value
from medldr.errors import InputError

_WHOLE: Final = ("seeds", "title")
_INNER: Final = ("axes", "search", "table", "slurm")
_REFUSED: Final = {
    "axes": "name the axis: axes.KEY=[...]",
    "search": "name the key: search.KEY=...",
    "table": "name the key: table.KEY=...",
    "slurm": "name the key: slurm.KEY=...",
    "seed": "a sweep has several seeds: write seeds=[...]",
    "label": "the labels of a sweep come from its runs and axes; change them in its file",
    "runs": "change the runs of a sweep in its file; --only selects among them",
    "common": "leave out 'common.': a key of a run applies to every run",
    "after": "change the order of runs in the sweep file",
}


@dataclass
class Overrides:
    """The command line of a sweep, sorted.

    Attributes:
        of_sweep: Values by their place in the sweep file; the last one wins.
        of_runs: Texts that go to every run.
        problems: What is wrong with the rest, one line each.
    """

    of_sweep: dict[KeyPath, Any] = field(default_factory=dict)
    of_runs: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    def nested(self) -> dict[str, Any]:
        """The values for the sweep file, nested like the file."""
        values: dict[str, Any] = {}
        for path, value in self.of_sweep.items():
            inner = values
            for step in path[:-1]:
                inner = inner.setdefault(str(step), {})
            inner[str(path[-1])] = value
        return values


def sorted_out(texts: Iterable[str]) -> Overrides:
    """Sort the texts; one that is not ``KEY=VALUE`` goes to the runs, which report it.

    Example:
        >>> found = sorted_out(["seeds=[0, 1]", "axes.training.lr=0.1", "training.epochs=3"])
        >>> found.nested(), found.of_runs
        ({'seeds': [0, 1], 'axes': {'training.lr': 0.1}}, ['training.epochs=3'])
    """
    found = Overrides()
    for text in texts:
        key, equals, value = text.partition("=")
        first, _, rest = key.strip().partition(".")
        inner = first in _INNER and bool(rest)
        if equals and first in _REFUSED and not inner:
            found.problems.append(f"{text!r} ({COMMAND_LINE}): {_REFUSED[first]}")
        elif not equals or not (inner or key.strip() in _WHOLE):
            found.of_runs.append(text)
        else:
            steps = _steps(first, rest)
            try:
                read = parse_value(value, f"{text!r} ({COMMAND_LINE})")
            except InputError as error:
                found.problems.append(f"{error}. Quote the value if it is text")
            else:
                found.of_sweep[(first, *steps)] = read
    return found


def _steps(first: str, rest: str) -> list[str]:
    """The place in the sweep file below its first key; dotted keys of a run are one step."""
    if first == "axes":
        return [rest]
    if first == "search" and rest.startswith("space."):
        return ["space", rest.removeprefix("space.")]
    return rest.split(".") if rest else []
