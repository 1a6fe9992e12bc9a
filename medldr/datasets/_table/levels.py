"""What the levels of a tree of folders mean, and whether a tree has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from medldr.data.counting import counted
from medldr.datasets._domain_folders.location import Listing
from medldr.datasets._table.split_words import split_of
from medldr.errors import InputError, did_you_mean

MEANINGS: Final = ("domain", "label", "group", "split")


def layout(root: Path | str, levels: Sequence[str]) -> str:
    """How a tree should look.

    Example:
        >>> layout("data", ("domain", "label"))
        'data/<domain>/<label>/<scan>'
    """
    return "/".join([str(root), *(f"<{level}>" for level in levels), "<scan>"])


def check_levels(levels: Sequence[str]) -> None:
    """Check the words of `data.folders`.

    Raises:
        InputError: If one is unknown or appears twice, or none is the label.
    """
    for level in levels:
        if level not in MEANINGS:
            raise InputError(
                f"data.folders: {level!r} is no meaning of a level.{did_you_mean(level, MEANINGS)} "
                f"Allowed: {', '.join(MEANINGS)}"
            )
    if len(set(levels)) < len(levels):
        raise InputError(f"data.folders names a level twice: {', '.join(levels)}")
    if "label" not in levels:
        raise InputError(
            "data.folders has no level 'label', so no item has a class. Add it, or name a table in "
            "data.file"
        )


def check_tree(
    root: Path, levels: Sequence[str], names: Sequence[Sequence[str]], shallow: Sequence[str]
) -> None:
    """Check that items are where they should be.

    Args:
        root: The top of the tree.
        levels: What its folders mean.
        names: ``(N,)`` names of the folders of each item.
        shallow: Paths of items above the last level.

    Raises:
        InputError: If there are any of those, or no items, a split folder has another name than
            that of a split, or domains or classes are called like splits.
    """
    expected = f"Expected {layout(root, levels)}"
    if shallow:
        where = shallow[0].rpartition("/")[0] or root.name
        raise InputError(
            f"{root}: {counted(len(shallow), 'scan is', 'scans are')} above the last level of "
            f"data.folders, such as {shallow[0]}, directly in {where}. {expected}. "
            f"Found {Listing(root)}. Move them into folders, or correct data.folders"
        )
    if not names:
        raise InputError(f"{root} holds no scans. {expected}. Found {Listing(root)}")
    for place, level in enumerate(levels):
        found = sorted({folders[place] for folders in names})
        splits = [name for name in found if split_of(name) is not None]
        others = [name for name in found if name not in splits]
        if level == "split" and others:
            raise InputError(
                f"{root}: the folder {others[0]!r} should be a split (data.folders), such as "
                f"train, val or test.{did_you_mean(others[0], ('train', 'val', 'test'))} "
                f"{expected}. Found {', '.join(found)}"
            )
        if level in ("domain", "label") and len(splits) > 1 and not others:
            better = ", ".join("split" if at == place else name for at, name in enumerate(levels))
            raise InputError(
                f"{root}: the folders {', '.join(found)} are called like splits, but stand for a "
                f"{level} in data.folders. Say what they are with data.folders=[{better}] (and "
                "'label' for the level of classes), or rename them"
            )
