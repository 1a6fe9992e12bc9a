"""What the numbers of a table rest on: images and groups, seeds, intervals."""

from __future__ import annotations

from collections.abc import Sequence

from medldr.evaluation.comparison.comparison import Comparison
from medldr.reporting.prose import sentence
from medldr.reporting.results.comparisons import Column
from medldr.reporting.wording import split_name


def size_note(columns: Sequence[Column], split: str) -> list[str]:
    """Images, groups and positives behind the columns of a split, and which domains are unseen.

    Returns:
        One sentence, none without results.
    """
    each = []
    for name, found in ((c.name, c.comparison) for c in columns if c.comparison is not None):
        if split in found.splits:
            unseen = ", ".join(domain for domain in found.unseen(split) if domain != name)
            each.append(f"{name}: {found.counts(split)}{f', unseen: {unseen}' if unseen else ''}")
    return [f"{split_name(split)}: {'; '.join(each)}."] if each else []


def intervals_note(found: Sequence[Comparison], split: str) -> list[str]:
    """Seeds, and how intervals were made: one sentence for a table that stands alone."""
    made = next((c.intervals for c in found if c.intervals is not None), None)
    units = {c.splits[split].unit for c in found if split in c.splits}
    seeds = sorted({len(method.seeds) for c in found for method in c.methods})
    if made is None or not seeds:
        return []
    drawn = {"group": "groups (patients, slides)", "item": "images"}
    many = f"{seeds[0]}" if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    count = "a single seed" if seeds == [1] else f"{many} seeds"
    name = "alone_single" if seeds == [1] else "alone_seeds"
    words = " or ".join(text for unit, text in drawn.items() if unit in units) or "images"
    level = 100 * made.level
    return [sentence(name, level=level, draws=made.draws, units=words, seeds=count)]


def interval_words(found: Comparison) -> str:
    """How the intervals of a comparison were made; empty where that is not known."""
    made = found.intervals
    return "" if made is None else sentence("intervals", level=100 * made.level, draws=made.draws)


def basis(columns: Sequence[Column], split: str) -> list[str]:
    """What the numbers of a table that stands alone rest on."""
    there = [column.comparison for column in columns if column.comparison is not None]
    return [*size_note(columns, split), *intervals_note(there, split)]


def no_groups_note(columns: Sequence[tuple[str, Comparison]]) -> list[str]:
    """A warning where images count as independent because nobody says whose they are.

    Args:
        columns: Comparisons by name; a single one needs none.
    """
    names = [
        name
        for name, found in columns
        if any(size.unit == "item" for size in found.splits.values())
    ]
    if not names:
        return []
    where = "" if len(names) == len(columns) else f" in {', '.join(names)}"
    return [sentence("no_groups", where=where)]
