"""Where a tree of domains is on this machine, and what to do if it is not found."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from medldr.data.reading.roots import data_roots
from medldr.datasets._domain_folders.benchmarks import SETS, Known
from medldr.errors import InputError, did_you_mean

PICTURES: Final = (".jpg", ".jpeg", ".png", ".ppm", ".bmp", ".pgm", ".tif", ".tiff", ".webp")
"""What names of pictures end in, in small or capital letters: as torchvision's ImageFolder."""

MORE_PICTURES: Final = (".jfif", ".gif")
"""What they may end in too, in a tree that is none of the known sets."""

LAYOUT: Final = "FOLDER/<domain>/<class>/<image>"

_LISTED: Final = 8


class Listing:
    """The content of a folder: names of its sub-folders and of its files, each sorted.

    Hidden ones, and the folder that macOS adds to archives, are skipped.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.folders: list[str] = []
        self.files: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if not is_hidden(entry.name):
                        (self.folders if entry.is_dir() else self.files).append(entry.name)
        except (FileNotFoundError, NotADirectoryError):
            pass
        except OSError as error:
            raise InputError(f"{folder} cannot be listed: {error.strerror}") from error
        self.folders.sort()
        self.files.sort()

    def __str__(self) -> str:
        names = [*(f"{name}/" for name in self.folders), *self.files]
        if not names:
            if self.folder.is_dir():
                return f"nothing in {self.folder}"
            what = "a file" if self.folder.exists() else "no such folder"
            return f"{what}: {self.folder}"
        more = ", ..." if len(names) > _LISTED else ""
        return f"in {self.folder}: {', '.join(names[:_LISTED])}{more}"


def is_picture(name: str, known: Known | None = None) -> bool:
    """Whether a file is a picture, by what its name ends in.

    Args:
        name: The file's.
        known: The set that it belongs to; None for any tree.

    Example:
        >>> is_picture("scan.JPG"), is_picture("old.gif"), is_picture("notes.txt")
        (True, True, False)
    """
    return name.lower().endswith(PICTURES if known is not None else PICTURES + MORE_PICTURES)


def is_hidden(name: str) -> bool:
    """Whether a file or folder is skipped silently."""
    return name.startswith(".") or name == "__MACOSX"


def holds_packs(folder: Path) -> bool:
    """Whether it is the folder where `medldr data pack` puts packs by default."""
    if folder.name != "packed":
        return False
    return all(
        name.endswith((".partial", ".old")) or (folder / name / "pack.json").is_file()
        for name in Listing(folder).folders
    )


def find(name: str | None, root: Path | None) -> Path | None:
    """The folder of the domains; None where there is none, or one with some domains only.

    Args:
        name: Value of `data.set`.
        root: Value of `data.root`.
    """
    if name is None:
        top = root.expanduser() if root is not None else None
        return top if top is not None and _has_folders(top) else None
    known = SETS[name]
    return next((at for at in _places(known, root) if not _lacking(known, at)), None)


def locate(name: str | None, root: Path | None) -> Path:
    """The folder of the domains.

    Raises:
        InputError: If it is absent, or a set's domains are not all in it; lists what was found.
    """
    folder = find(name, root)
    if folder is not None:
        return folder
    if name is None:
        if root is None:
            raise InputError(
                "data.root is not set: name the folder of a tree laid out as "
                f"{LAYOUT}, or a known set with data.set ({', '.join(SETS)})"
            )
        raise InputError(
            f"data.root: {root} has no domain folders. Found {Listing(root.expanduser())}. "
            f"Expected the FOLDER of {LAYOUT}"
        )
    raise _absent(SETS[name], root)


def _has_folders(top: Path) -> bool:
    return any(not holds_packs(top / name) for name in Listing(top).folders)


def _places(known: Known, root: Path | None) -> list[Path]:
    return [at for base in data_roots(root) for at in (base, base / known.folder)]


def _lacking(known: Known, folder: Path) -> list[str]:
    return [domain for domain in known.domains if not (folder / domain).is_dir()]


def _absent(known: Known, root: Path | None) -> InputError:
    places = _places(known, root)
    expected = (
        f"Expected {LAYOUT} with the domains {_quoted(known.domains)}, and data.root=FOLDER or "
        "the folder that holds FOLDER"
    )
    partly = max(places, key=lambda at: len(known.domains) - len(_lacking(known, at)))
    lacking = _lacking(known, partly)
    if len(lacking) < len(known.domains):
        found = [name for name in Listing(partly).folders if name not in known.domains]
        return InputError(
            f"{known.title} in {partly} has no folder {_quoted(lacking)}."
            f"{did_you_mean(lacking[0], found)} Found {Listing(partly)}. Rename it or extract it "
            f"again; data.set=null reads any tree, with the domains that it has. {expected}"
        )
    near = _near(known, places[0])
    cure = f"Set data.root={near}. " if near is not None else ""
    return InputError(
        f"{known.title} is not in {' or '.join(map(str, places))}. Found {Listing(places[0])}. "
        f"{cure}{expected}. medldr does not download it"
    )


def _near(known: Known, place: Path) -> Path | None:
    """A folder above or up to two levels below that has all the domains."""
    below = (place / name for name in Listing(place).folders)
    one = list(below)
    two = [at / name for at in one for name in Listing(at).folders]
    tried = [*list(place.absolute().parents)[:2], *one, *two]
    return next((at for at in tried if not _lacking(known, at)), None)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in names)
