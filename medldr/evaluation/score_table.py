"""Every number of finished runs as one table, for notebooks: a row each."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeAlias

from medldr.data.counting import counted
from medldr.errors import InputError
from medldr.evaluation.checked import checked_evaluation
from medldr.folders.files import RunFolder
from medldr.folders.lifecycle import run_folders, status
from medldr.folders.sweep_record import SweepFolder, read_sweep
from medldr.plugins import takes_plugins

if TYPE_CHECKING:
    from pandas import DataFrame

COLUMNS: Final = ("run", "split", "domain", "class", "metric", "value", "low", "high", "n")


class UnfinishedWarning(UserWarning):
    """Runs that have not finished are missing from a table."""


class InFolder(Protocol):
    """What `medldr.train` and `medldr.sweep` return."""

    @property
    def folder(self) -> Path:
        """Where its files are."""


Runs: TypeAlias = str | Path | InFolder
"""A run folder, a sweep's folder or a folder of run folders; or a result that knows its own."""


@takes_plugins
def results(source: Runs | Sequence[Runs], *, plugins: Sequence[str] = ()) -> DataFrame:
    """Every number of finished runs, a row each, with its 95% CI.

    Args:
        source: A run folder, a sweep's folder, a folder of run folders, what `medldr.train` or
            `medldr.sweep` returned; or a list of these. Of a sweep, the runs of its table.
        plugins: Packages of your own whose plug-ins may be imported.

    Returns:
        A table with the columns `COLUMNS`, of which the first five name a number. ``run`` is the
        name of the folder, or its path where two have the same name. Whole splits have an empty
        ``domain`` and ``class``; target parts, subgroups and groups are splits of their own, such
        as ``test/target_out`` or ``test/subgroup/sex/F``. Values are those of `evaluation.json`
        (0.8 for 80%), NaN where undefined; ``n`` counts items.

    Raises:
        InputError: If no run has finished, or the files of one are damaged or were changed.

    Warns:
        UnfinishedWarning: If some runs have not finished and so are left out.
    """
    from pandas import DataFrame

    sources = (
        list(source) if isinstance(source, Sequence) and not isinstance(source, str) else [source]
    )
    every = {of.path.resolve(): of for one in sources for of in _runs(one)}
    done = [files for files in every.values() if status(files) == "done"]
    if not done:
        raise InputError(
            f"no run of {', '.join(str(_path(one)) for one in sources)} has finished. Give folders "
            "that `medldr train` or `medldr sweep` wrote"
        )
    if waiting := len(every) - len(done):
        what = counted(waiting, "unfinished run is", "unfinished runs are")
        warnings.warn(f"{what} left out", UnfinishedWarning, stacklevel=2)
    names = [files.path.resolve().name for files in done]
    rows = [
        (name if names.count(name) == 1 else str(files.path), *row)
        for name, files in zip(names, done, strict=True)
        for row in _rows(files)
    ]
    return DataFrame(rows, columns=list(COLUMNS)).astype(
        {"value": float, "low": float, "high": float, "n": "Int64"}
    )


def _path(source: Runs) -> Path:
    return Path(source if isinstance(source, str | Path) else source.folder)


def _runs(source: Runs) -> list[RunFolder]:
    sweep = SweepFolder(_path(source).expanduser())
    planned = read_sweep(sweep)
    if planned is None:
        return run_folders(sweep.path)
    return [sweep.run(member.run) for member in planned.members]


def _rows(files: RunFolder) -> Iterator[tuple[Any, ...]]:
    for row in checked_evaluation(files).scores.rows:
        split = row._replace(domain="", class_="").place
        yield split, row.domain, row.class_, row.metric, row.value, row.low, row.high, row.n
