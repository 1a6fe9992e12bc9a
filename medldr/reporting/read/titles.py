"""What is printed for the rows and columns of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace

from medldr.folders.sweep_record import Member

JOINT = ", "
"""Between the parts of the name of a row."""
ORACLE_MARK = " (oracle)"


def name_parts(name: str) -> list[str]:
    """The values that name a row of several axes, or these axes themselves.

    Example:
        >>> name_parts("erm, lr-0.1")
        ['erm', 'lr-0.1']
    """
    return name.split(JOINT)


def titled(name: str, titles: Mapping[str, str]) -> str:
    """A name with the title of every part that has one.

    Example:
        >>> titled("erm, lr-0.1", {"erm": "ERM"})
        'ERM, lr-0.1'
    """
    return JOINT.join(titles.get(part, part) for part in name_parts(name))


def printed_titles(
    names: Iterable[str], known: Mapping[str, str], oracles: Iterable[str]
) -> dict[str, str]:
    """What is printed for each name; a title that two would share gets the name behind it."""
    names, marked = list(dict.fromkeys(names)), set(oracles)
    titles = [known[name] if name in known else titled(name, known) for name in names]
    return {
        name: (title if titles.count(title) == 1 else f"{title} [{name}]")
        + (ORACLE_MARK if name in marked else "")
        for name, title in zip(names, titles, strict=True)
    }


def one_configuration_a_row(
    members: Iterable[Member], identity: Callable[[Member], str]
) -> list[Member]:
    """Give configurations that share a cell a row each, for they are different methods."""
    members = list(members)
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for member in members:
        cells.setdefault((member.row, member.column), {})[identity(member)] = member.label
    split: set[str] = {row for (row, _), found in cells.items() if len(found) > 1}

    def own(member: Member) -> Member:
        if member.row not in split:
            return member
        labels = list(cells[member.row, member.column].values())
        alone = labels.count(member.label) == 1
        name = member.label if alone else identity(member)
        return replace(member, row=f"{member.row} ({name})")

    return [own(member) for member in members]
