"""`choices.json`: which setting of each method a search chose, and what validation said of all.

A sweep writes it once, when every draw is done or failed, before it trains the chosen settings with
fresh seeds. Reports read what was chosen here, so later changes of a draw do not change a table.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from medldr.folders.files import write_json
from medldr.folders.records import read_record
from medldr.folders.sweep_record import SweepFolder

SCHEMA = 1
CURE = "Start the sweep with --choose-again to write it again"


@dataclass(frozen=True)
class Tried:
    """One setting and its validation.

    Attributes:
        setting: The names of its values, one for each axis that is searched.
        seed: Seed of the first run that has it, which matters where each seed has its own draws.
        values: Validation by seed; None where a run has no result.
        runs: Names of its runs, which hold their hashes.
    """

    setting: tuple[str, ...]
    seed: int
    values: Mapping[int, float | None]
    runs: tuple[str, ...] = ()


@dataclass(frozen=True)
class SettingChoice:
    """What was chosen for one method in one column.

    Attributes:
        row: The method, as in the sweep file.
        column: The column, likewise.
        by: What chose it; empty where nothing could be chosen.
        setting: The chosen setting; None where no setting has all its runs.
        seed: The `Tried.seed` of it.
        tied: Settings with the same mean, which lost by having more changes, or a higher number.
        incomplete: Settings that lack a result, and so were no candidates.
        tried: Every setting, in the order of the sweep.
    """

    row: str
    column: str
    by: str
    setting: tuple[str, ...] | None
    seed: int | None
    tied: tuple[tuple[str, ...], ...]
    incomplete: tuple[tuple[str, ...], ...]
    tried: tuple[Tried, ...]

    @property
    def chosen(self) -> tuple[str, ...]:
        """Runs of the chosen setting."""
        found = (t.runs for t in self.tried if (t.setting, t.seed) == (self.setting, self.seed))
        return next(found, ())


Choices = tuple[SettingChoice, ...]


@dataclass(frozen=True)
class _Record:
    rule: str
    choices: Choices


def write_choices(folder: SweepFolder, rule: str, choices: Choices) -> None:
    """Write `choices.json`, whole or not at all.

    Args:
        folder: The sweep's folder.
        rule: How settings were chosen, in words.
        choices: One per method and column.
    """
    write_json(folder.choices, {"schema": SCHEMA, **asdict(_Record(rule, choices))})


def read_choices(folder: SweepFolder) -> Choices | None:
    """What a sweep chose; None if it has not chosen yet.

    Raises:
        InputError: If `choices.json` is damaged or has an unknown schema.
    """
    if not os.path.lexists(folder.choices):
        return None
    return read_record(folder.choices, _Record, CURE, (SCHEMA,)).choices
