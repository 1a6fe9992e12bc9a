"""`medldr verify`: are the files of finished runs as the runs left them?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.progress import track
from rich.table import Column, Table
from rich.text import Text

from medldr.errors import InputError
from medldr.folders.files import RunFolder

if TYPE_CHECKING:
    from medldr.evaluation.verification import Verdict

SHOWN: Final = 20
"""How many differences of one run are printed."""


def verify(
    folder: Annotated[
        Path, typer.Argument(help="A run folder, a sweep folder, or a folder of run folders.")
    ],
) -> None:
    """Check that finished runs are as they were left; the exit code is 2 if anything differs."""
    from medldr.evaluation.verification import verify_run
    from medldr.folders.run_record import read_run_record

    runs = _runs(folder)
    progress = Console(stderr=True)
    shown = track(runs, "verifying", console=progress, transient=True, disable=len(runs) < 2)
    checked = [(files, verify_run(files)) for files in shown]
    verdicts = [verdict for _, verdict in checked if verdict is not None]
    unfinished = [files for files, verdict in checked if verdict is None]
    if not verdicts:
        states = "; ".join(f"{r.path.name} is {read_run_record(r).status}" for r in unfinished)
        raise InputError(
            f"{folder} holds no finished run{f': {states}' if states else ''}. Give a folder that "
            "`medldr train` or `medldr sweep` wrote"
        )
    out = Console(highlight=False)
    _print_counts(verdicts, out)
    for line in _lines(verdicts, len(unfinished)):
        out.print(line, soft_wrap=True, markup=False)
    raise typer.Exit(2 if any(verdict.differs for verdict in verdicts) else 0)


def _runs(folder: Path) -> list[RunFolder]:
    """The run folders: the folder itself, or those in it, also such as were moved aside."""
    if not folder.is_dir():
        raise InputError(f"the folder {folder} does not exist")
    if RunFolder(folder).run.is_file():
        return [RunFolder(folder)]
    below = (RunFolder(path) for path in sorted(folder.iterdir()) if path.is_dir())
    return [files for files in below if files.run.is_file()]


def _print_counts(verdicts: Sequence[Verdict], out: Console) -> None:
    heads = ("files", "numbers", "differ")
    counts = (Column(head, justify="right", no_wrap=True) for head in heads)
    table = Table(Column("run", overflow="fold"), *counts, box=None, pad_edge=False)
    for verdict in verdicts:
        differ = Text(str(len(verdict.differs) or "none"), "red" if verdict.differs else "")
        cells = [f"{count:,}" if count else "–" for count in (verdict.files, verdict.numbers)]
        table.add_row(verdict.name, *cells, differ)
    out.print(table)


def _lines(verdicts: Sequence[Verdict], unfinished: int) -> Iterator[str]:
    """What differs and what could not be checked, by run."""
    from medldr.data.counting import counted, some

    for verdict in verdicts:
        if verdict.differs:
            yield f"\n{verdict.name} is not as its run left it:"
            yield from (f"  {text}" for text in verdict.differs[:SHOWN])
            if len(verdict.differs) > SHOWN:
                yield f"  and {len(verdict.differs) - SHOWN} more"
    remarks: dict[str, list[str]] = {}
    for verdict in verdicts:
        for remark in verdict.remarks:
            remarks.setdefault(remark, []).append(verdict.name)
    for remark, names in remarks.items():
        yield f"\nnote on {some(names, 3)}: {remark}"
    if unfinished:
        yield f"\nnot finished, so not verified yet: {counted(unfinished, 'run', 'runs')}"
