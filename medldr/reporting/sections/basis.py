"""What numbers rest on: images, groups, seeds, intervals; and predictions that spoil them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from medldr.evaluation.comparison.comparison import Collapse, Comparison
from medldr.reporting.document import Banner
from medldr.reporting.prose import sentence
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.rows import listed
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


SHOWN = 1
"""More sentences than this are not read."""
EVERY = "for every image"
"""Words of the worst that can be said."""
NAMED = 3
"""Classes that a sentence names."""


def collapse_texts(found: Iterable[Collapse], seeds: Mapping[str, Sequence[int]]) -> list[str]:
    """One sentence per method and fault, without full stops; a single class comes first.

    Args:
        found: The runs of one split that have one.
        seeds: All seeds of each method.

    Example:
        >>> lost = Collapse("test", "LatentDR", 0, "", (("tumour", 40),))
        >>> only = Collapse("test", "ERM", 1, "normal", (("tumour", 40),))
        >>> seeds = {"ERM": (0, 1, 2), "LatentDR": (0, 1, 2)}
        >>> for text in collapse_texts([lost, lost._replace(seed=2), only], seeds):
        ...     print(text)
        ERM, seed 1, predicts “normal” for every image
        LatentDR never recognises “tumour” (recall 0 of 40) in 2 of 3 seeds
    """
    said: dict[tuple[str, str], list[int]] = {}
    for run in sorted(found, key=lambda run: not run.only):
        what = f"predicts “{run.only}” {EVERY}" if run.only else _never(run.lost)
        said.setdefault((run.method, what), []).append(run.seed)
    return [_sentence(method, of, seeds[method], what) for (method, what), of in said.items()]


def collapse_banner(texts: Sequence[str], split: str) -> list[Banner]:
    """The sentences as one warning; none without any.

    Args:
        texts: From `collapse_texts`.
        split: What they are about, within a sentence.
    """
    if not texts:
        return []
    more = f"; and {len(texts) - SHOWN} more" if len(texts) > SHOWN else ""
    return [
        Banner("warning", f"Degenerate predictions ({split}): {'; '.join(texts[:SHOWN])}{more}.")
    ]


def banners(
    remark: str | None, degenerate: Sequence[str], split: str, oracles: Sequence[str]
) -> list[Banner]:
    """What stands above a comparison of methods.

    Args:
        remark: What its author says of it; None for nothing.
        degenerate: From `collapse_texts`.
        split: What these are about.
        oracles: Methods whose weights were chosen on the test split.
    """
    found = [Banner("remark", remark)] if remark else []
    found += collapse_banner(degenerate, split_name(split).lower())
    text = sentence("oracles", rows=", ".join(oracles)) if oracles else ""
    return [*found, Banner("oracle", text)] if text else found


def _sentence(method: str, of: Sequence[int], seeds: Sequence[int], what: str) -> str:
    if len(seeds) == 1:
        return f"{method} {what}"
    if len(of) == 1:
        return f"{method}, seed {of[0]}, {what}"
    how_many = f"{len(of)} of {len(seeds)}"
    if len(of) == len(seeds):
        how_many = "both" if len(of) == 2 else f"all {len(of)}"
    return f"{method} {what} in {how_many} seeds"


def _never(classes: Sequence[tuple[str, int]]) -> str:
    each = [f"“{name}” (recall 0 of {n:,})" for name, n in classes[:NAMED]]
    more = len(classes) - NAMED
    return f"never recognises {listed([*each, *([f'{more} more'] if more > 0 else [])])}"
