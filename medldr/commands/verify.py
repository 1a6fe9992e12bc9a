"""`medldr verify`: are the files of finished runs as the runs left them?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Column, Table
from rich.text import Text

from medldr.commands.common_options import Device, Json, print_json
from medldr.console import Console, say

if TYPE_CHECKING:
    from medldr.evaluation.verification import Verdict, Verified

SHOWN: Final = 20
"""How many differences of one run are printed."""


def verify(
    folder: Annotated[
        Path, typer.Argument(help="A run folder, a sweep folder, or a folder of run folders.")
    ],
    predict: Annotated[
        bool,
        typer.Option(
            "--predict", help="Answer again from the weights, on a copy; the data must be here."
        ),
    ] = False,
    replay: Annotated[
        int,
        typer.Option(
            "--replay",
            min=0,
            help="Train again, on a copy, up to this many evaluations, and compare the log.",
            metavar="N",
        ),
    ] = 0,
    device: Device = None,
    as_json: Json = False,
) -> None:
    """Check that finished runs are as they were left; the exit code is 2 if anything differs."""
    from medldr.folders.files import require_folder

    require_folder(folder)
    if predict or replay:
        from medldr.repetition import verify as repeat

        found = repeat(folder, predict=predict, replay=replay, device=device)
    else:  # starts without torch
        from medldr.evaluation.verification import verify as check

        found = check(folder)
    if as_json:
        print_json(asdict(found))
    else:
        out = Console(highlight=False)
        _print_counts(found.runs, out)
        for line in _lines(found):
            say(line, out)
    raise typer.Exit(2 if found.differs else 0)


def _print_counts(verdicts: Sequence[Verdict], out: Console) -> None:
    heads = ("files", "numbers", "differ")
    counts = (Column(head, justify="right", no_wrap=True) for head in heads)
    table = Table(Column("run", overflow="fold"), *counts, box=None, pad_edge=False)
    for verdict in verdicts:
        differ = Text(str(len(verdict.differs) or "none"), "red" if verdict.differs else "")
        cells = [f"{count:,}" if count else "–" for count in (verdict.files, verdict.numbers)]
        table.add_row(verdict.name, *cells, differ)
    out.print(table)


def _lines(found: Verified) -> Iterator[str]:
    """What differs and what could not be checked, by run."""
    from medldr.data.counting import counted, some

    for verdict in found.runs:
        if verdict.differs:
            yield f"\n{verdict.name} is not as its run left it:"
            yield from (f"  {text}" for text in verdict.differs[:SHOWN])
            if len(verdict.differs) > SHOWN:
                yield f"  and {len(verdict.differs) - SHOWN} more"
    remarks: dict[str, list[str]] = {}
    for verdict in found.runs:
        for remark in verdict.remarks:
            remarks.setdefault(remark, []).append(verdict.name)
    for remark, names in remarks.items():
        yield f"\nnote on {some(names, 3)}: {remark}"
    if found.not_checked:
        yield f"\nnot checked: {', '.join(found.not_checked)}"
    if unfinished := len(found.unfinished):
        yield f"\nnot finished, so not verified yet: {counted(unfinished, 'run', 'runs')}"
