"""Accuracy of each group, where a run was asked to score groups.

Groups may be patients. Their names are in `evaluation.json`, and so on a page, only where
`evaluation.per_group` was set.
"""

from __future__ import annotations

from medldr.evaluation.estimate import Estimate
from medldr.folders.evaluation_record import GroupRecord, SplitRecord
from medldr.metrics import PERCENT, measure
from medldr.reporting.document import Paragraph, Section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import headline, headline_split
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import split_name

MOST = 100
"""A page shows no more groups than this, the lowest first; `evaluation.json` has all."""


def groups(files: RunFiles) -> Section | None:
    """The section of the page; None where no groups were scored."""
    split = headline(files.evaluation)
    table = None if split is None else group_table(split)
    if split is None or table is None:
        return None
    text = "A group is what images belong together, such as a slide or a patient."
    where = f"{split_name(headline_split(files.evaluation))} split."
    found = Section("groups", "Results by group", "Groups")
    found.add(Paragraph(f"{text} {_worst_text(split)}".rstrip()), Paragraph(where, "small"), table)
    return found


def group_table(split: SplitRecord) -> Table | None:
    """Groups of a split with their size, the lowest accuracy first; None without any."""
    if not split.groups:
        return None
    domains = any(entry.domain for entry in split.groups.values())
    table = Table("Accuracy of each group, lowest first", ["Group"], texts=(1,) if domains else ())
    table.columns += [*(["Domain"] if domains else []), "Images", measure("accuracy").heading]
    worst = None if split.worst_group is None else split.worst_group.name
    for name, entry in sorted(split.groups.items(), key=_rank)[:MOST]:
        reason = "no label is known" if entry.accuracy is None else ""
        cells = [Cell(entry.domain) if entry.domain else Cell()] if domains else []
        cells += [Cell(entry.n), table.number("accuracy", Estimate(entry.accuracy, reason=reason))]
        tags, style = (("worst",), "worst") if name == worst else ((), "")
        table.rows.append(Row(name, cells, tags, style))
    if len(split.groups) > MOST:
        every = len(split.groups)
        table.notes.append(f"The {MOST} lowest of {every:,} groups; evaluation.json has all.")
    return table


def _rank(item: tuple[str, GroupRecord]) -> tuple[bool, float, str]:
    name, entry = item
    return (entry.accuracy is None, entry.accuracy or 0.0, name)


def _worst_text(split: SplitRecord) -> str:
    worst = split.worst_group
    if worst is None or worst.accuracy.value is None:
        return ""
    shown = measure("accuracy").show(worst.accuracy.value)
    return (
        f"The worst one is {worst.name} ({worst.n:,} images), with an accuracy of {shown}{PERCENT}."
    )
