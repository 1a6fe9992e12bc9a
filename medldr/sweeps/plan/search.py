"""A random search: how many draws, of which keys, and the values that a draw gives a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medldr.config import PLUGIN_SECTIONS
from medldr.config.layers import lookup
from medldr.sweeps.plan.distributions import Distribution, number_of


@dataclass(frozen=True)
class Variable:
    """What a key is drawn from, in the runs for which that holds.

    Attributes:
        key: Dotted key of a run.
        distribution: What its values are drawn from.
        when: Allowed values by dotted key, a section meaning its plug-in's name; it is for runs
            that have one of them for every key.
        where: File and line.
        folder: What relative paths among its choices are relative to.
        protocol: Id of the protocol whose search has it; empty if it is nobody's.
    """

    key: str
    distribution: Distribution
    when: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    where: str = ""
    folder: Path = Path()
    protocol: str = ""

    def holds(self, values: Mapping[str, Any]) -> bool:
        """Whether it is for a run.

        Args:
            values: The run's sections, before anything is drawn.

        Example:
            >>> variable = Variable("algorithm.weight", Distribution("choice", (1,)),
            ...                     when={"algorithm": ("dann", "cdann")})
            >>> [variable.holds({"algorithm": {"name": name}}) for name in ("dann", "erm")]
            [True, False]
        """
        return all(_stated(values, key) in allowed for key, allowed in self.when.items())


@dataclass(frozen=True)
class Search:
    """A random search, checked.

    Attributes:
        draws: How many draws each method gets.
        seed: Seed of the draws.
        defaults_first: Whether draw 0 is the run as it would be without the search.
        per_seed: Whether every seed of a run has draws of its own.
        space: For each key, what it may be drawn from; the first that holds for a run counts.
    """

    draws: int
    seed: int
    defaults_first: bool
    per_seed: bool
    space: Mapping[str, tuple[Variable, ...]]

    @property
    def names(self) -> list[str]:
        """Names of the draws in labels and tables; more draws leave them as they are.

        Example:
            >>> Search(2, 0, True, False, {}).names
            ['d00', 'd01']
        """
        return [f"d{number:02d}" for number in range(self.draws)]

    def of(self, values: Mapping[str, Any]) -> dict[str, Variable]:
        """The keys that are drawn for a run, and from what.

        Args:
            values: The run's sections, before anything is drawn.
        """
        found = {
            key: next((variable for variable in several if variable.holds(values)), None)
            for key, several in self.space.items()
        }
        return {key: variable for key, variable in found.items() if variable is not None}

    def drawn(
        self, variables: Mapping[str, Variable], draw: int, run_seed: int
    ) -> dict[str, Any] | None:
        """The values of a draw by key; None for the draw that keeps the run as it is.

        Args:
            variables: The keys that are drawn for the run.
            draw: Number of the draw.
            run_seed: Seed of the run, which matters only if each has draws of its own.
        """
        if draw == 0 and self.defaults_first:
            return None
        own = run_seed if self.per_seed else None
        return {
            key: variable.distribution.at(number_of(self.seed, draw, key, own))
            for key, variable in variables.items()
        }


def _stated(values: Mapping[str, Any], key: str) -> Any:
    try:
        return lookup(values, f"{key}.name" if key in PLUGIN_SECTIONS else key)
    except KeyError:
        return None
