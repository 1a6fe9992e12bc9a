"""Where the items of a table are: a file or a folder for each path that it names.

A path is relative to the root, or absolute, or begins with ``~``; Windows' separators will do.
After a ``#`` follows the part that is meant: ``series#1.2.840.1`` or ``scans.npz#images[3]``; a
file whose own name has a ``#`` is found first.

Source:
    Our choice: a path may lead out of the root through ``..``, because the table is the user's own
    and says which files to read; it is not a download. A name that is there in other capital
    letters only is refused, with the name that is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from medldr.data.files.scan import Source
from medldr.data.listing.folders import Finder, read_folder
from medldr.data.listing.kinds import SCANS, is_hidden, without_pair_ending
from medldr.data.listing.names import composed
from medldr.errors import did_you_mean

ABSENT: Final = "there is no such file"
DEAD: Final = "it is a link that leads nowhere"
_MOST_FOLDERS: Final = 200


class Places(NamedTuple):
    """Where all rows are.

    Attributes:
        sources: ``(N,)``; None for a row without a file.
        paths: ``(N,)`` path of each below the root, with forward slashes and the part.
        absent: Why a row has no file, by its number.
        unused: Files beside those of the rows, of readable kinds, that no row refers to.
    """

    sources: list[Source | None]
    paths: list[str]
    absent: dict[int, str]
    unused: tuple[str, ...] = ()


def find_places(texts: Sequence[str], root: Path, others: Iterable[str] = ()) -> Places:
    """Find the file or folder of each path; every folder is listed once.

    Args:
        texts: ``(N,)`` paths as written; an empty one is nowhere.
        root: The folder to which they are relative; has to exist.
        others: Further paths of the table (masks), whose files are in use, too.
    """
    top = os.path.abspath(root)
    finder = Finder(top)
    answers = [_place(finder, text) if text else (None, "") for text in texts]
    sources = [source for source, _ in answers]
    absent = {row: why for row, (_, why) in enumerate(answers) if why}
    used = {str(source.path) for source in sources if source is not None}
    beside = {os.path.dirname(path) for path in used}
    masks = (_place(finder, text)[0] for text in set(others))
    used.update(str(mask.path) for mask in masks if mask is not None)
    paths = [_below(top, text) for text in texts]
    return Places(sources, paths, absent, tuple(_unused(finder, beside, used)))


def find_places_of_several(
    images: Mapping[str, Sequence[str]], root: Path, others: Iterable[str] = ()
) -> Places:
    """The same for items of several images: one source for all images of each.

    Args:
        images: ``(N,)`` paths as written, by column; empty where an item has no such image.
        root: As for `find_places`.
        others: As for `find_places`.
    """
    rows = list(zip(*images.values(), strict=True))
    cells = [
        (row, name, text)
        for row, texts in enumerate(rows)
        for name, text in zip(images, texts, strict=True)
        if text
    ]
    found = find_places([text for _, _, text in cells], root, others)
    each = dict(zip(((row, name) for row, name, _ in cells), found.sources, strict=True))
    absent: dict[int, str] = {}
    paths: dict[int, str] = {}
    for at, (row, name, text) in enumerate(cells):
        paths.setdefault(row, found.paths[at])
        if at in found.absent:
            said = f"{name}: {text}: {found.absent[at]}"
            absent[row] = f"{absent[row]}; {said}" if row in absent else said
    sources = [
        Source.of_several([each.get((row, name)) for name in images])
        if row in paths and row not in absent
        else None
        for row in range(len(rows))
    ]
    return Places(sources, [paths.get(row, "") for row in range(len(rows))], absent, found.unused)


def _place(finder: Finder, text: str) -> tuple[Source | None, str]:
    why = ABSENT
    for path, part in _readings(text):
        match finder.find(_plain(path)):
            case (_, "dead"):
                why = DEAD
            case (stored, _):
                return Source(Path(stored), part), ""
    return None, why


def _readings(text: str) -> Iterator[tuple[str, str]]:
    """A path and a part, in each way in which a text may be meant."""
    # A backslash is a letter on Linux, so the text as written comes first.
    for path in dict.fromkeys((text, text.replace("\\", "/"))):
        yield path, ""
        rest = path
        while "#" in rest:
            rest = rest.rpartition("#")[0]
            yield rest, path[len(rest) + 1 :]


def _plain(path: str) -> str:
    """Without ``~``, and without names that lead nowhere else.

    Example:
        >>> _plain("./a//b/../c.png/")
        'a/b/../c.png'
    """
    path = os.path.expanduser(path)
    names = [name for name in path.split("/") if name not in ("", ".")]
    return ("/" if path.startswith("/") else "") + "/".join(names)


def _below(top: str, text: str) -> str:
    path = _plain(text.replace("\\", "/"))
    return composed(path.removeprefix(f"{top}/")) or "."


def _unused(finder: Finder, beside: Iterable[str], used: set[str]) -> Iterator[str]:
    pairs = set(map(without_pair_ending, used))
    for folder in sorted(beside):
        for name, kind in sorted((finder.kinds(folder) or {}).items()):
            path = os.path.join(folder, name)
            scan = kind == "file" and not is_hidden(name) and name.lower().endswith(SCANS)
            if scan and path not in used and without_pair_ending(path) not in pairs:
                yield os.path.relpath(path, finder.root).replace(os.sep, "/")


def near_name(root: Path, text: str) -> str:
    """What to say of a path that is absent: the nearest name in its folder.

    Args:
        root: The folder to which it is relative.
        text: The path as written.

    Returns:
        A text that continues the sentence that it is absent; empty where nothing is near.
    """
    path = Path(os.path.abspath(root)) / _plain(text.partition("#")[0].replace("\\", "/"))
    if not path.parent.is_dir():
        return f", and no folder {path.parent}"
    try:
        hint = did_you_mean(path.name, os.listdir(path.parent))
    except PermissionError:
        hint = ", and its folder may not be listed"
    return f".{hint}" if hint.startswith(" ") else hint


def near_root(root: Path, text: str) -> Path | None:
    """Another root in which a path exists: a folder below or above, one or two levels away.

    Args:
        root: The folder in which it does not exist.
        text: The path as written.
    """
    top = Path(os.path.abspath(root))
    below = [top / name for name in read_folder(top).folders[:_MOST_FOLDERS]]
    for other in (*below, *list(top.parents)[:2]):
        if _place(Finder(str(other)), text)[0] is not None:
            return other
    return None


def foreign_front(root: Path, text: str) -> str | None:
    r"""What a path of another machine begins with, if the rest of it exists below the root.

    Args:
        root: The folder in which the whole path does not exist.
        text: The path as written, such as ``C:\study\images\1.png``.
    """
    names = text.replace("\\", "/").split("/")
    finder = Finder(os.path.abspath(root))
    for count in range(1, len(names)):
        rest = "/".join(names[count:])
        if rest and _place(finder, rest)[0] is not None:
            return text[: len(text) - len(rest)]
    return None
