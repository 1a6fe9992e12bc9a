"""What is printed for the rows and columns of a sweep."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from medldr.folders.sweep_record import JOINT, Member

ORACLE_MARK = " (oracle)"


def titled(values: Iterable[str], titles: Mapping[str, str]) -> str:
    """Several values as they are printed, each by its title if it has one.

    Example:
        >>> titled(["erm", "lr-0.1"], {"erm": "ERM"})
        'ERM, lr-0.1'
    """
    return JOINT.join(titles.get(value, value) for value in values)


def printed_titles(
    names: Mapping[str, Iterable[str]], known: Mapping[str, str], oracles: Iterable[str]
) -> dict[str, str]:
    """What is printed for each name; a title that two would share gets the name behind it.

    Args:
        names: Names of rows or columns, each with the values that make it.
        known: Titles of names and values.
        oracles: Names that are marked as chosen by looking at the test split.
    """
    titles = {n: known[n] if n in known else titled(values, known) for n, values in names.items()}
    shared = [title for title, count in Counter(titles.values()).items() if count > 1]
    marked = set(oracles)
    return {
        name: (f"{title} [{name}]" if title in shared else title)
        + (ORACLE_MARK if name in marked else "")
        for name, title in titles.items()
    }


def one_configuration_a_row(members: Sequence[Member], *, planned: bool) -> list[Member]:
    """Give configurations that share a cell a row each, for they are different methods.

    Args:
        members: The runs.
        planned: Whether a sweep file names them. Runs of one label are one method then, though
            configurations may differ between seeds that start from different runs.
    """

    def identity(member: Member) -> str:
        return member.label if planned else member.run.rpartition("-s")[0]

    cells: dict[tuple[str, str], dict[str, str]] = {}
    for member in members:
        cells.setdefault((member.row, member.column), {})[identity(member)] = member.label
    split = {row for (row, _), found in cells.items() if len(found) > 1}

    def own(member: Member) -> Member:
        if member.row not in split:
            return member
        labels = list(cells[member.row, member.column].values())
        name = member.label if labels.count(member.label) == 1 else identity(member)
        *_, last = member.row_values
        values = {**member.row_values, last: f"{member.row_values[last]} ({name})"}
        return replace(member, row=f"{member.row} ({name})", row_values=values)

    return [own(member) for member in members]
