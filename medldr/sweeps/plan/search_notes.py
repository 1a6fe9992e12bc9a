"""What a user should know about the draws of a random search before they start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from medldr.config.layers import COMMAND_LINE
from medldr.folders.sweep_record import Member
from medldr.folders.table_names import DRAW
from medldr.sweeps.plan.parts import SweepFile


def search_notes(sweep: SweepFile, members: Sequence[Member]) -> Iterator[str]:
    """Draws that were left out because they repeat others, and keys that no run draws.

    A part may have keys of methods that this sweep lacks; those of the file are meant for it.

    Args:
        sweep: The sweep.
        members: All of its runs.
    """
    if sweep.search is None:
        return
    cells = set()
    for member in members:
        values = {**member.row_values, **member.column_values, DRAW: ""}
        cells.add((*values.items(), member.seed))
    count = len(cells) * sweep.search.draws - len(members)
    if count:
        what = "draw of the search is" if count == 1 else "draws of the search are"
        yield f"{count} {what} left out: the same values as an earlier draw of the same method"
    drawn = {key for member in members for key in member.drawn}
    for key, variables in sweep.search.space.items():
        where = variables[0].where
        own = where == COMMAND_LINE or where.startswith(sweep.source)
        if own and key not in drawn:
            yield f"search.space.{key} ({where}) is for no run of this sweep"
