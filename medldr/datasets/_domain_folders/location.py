"""Where a tree of domains is on this machine, and what to do if it is not found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from medldr.data.listing.folders import describe_folder, is_written, read_folder
from medldr.data.reading.roots import data_roots
from medldr.datasets._domain_folders.benchmarks import SETS, Known
from medldr.errors import InputError, did_you_mean

LAYOUT: Final = "FOLDER/<domain>/<class>/<image>"


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
            f"data.root: {root} has no domain folders. Found {describe_folder(root.expanduser())}. "
            f"Expected the FOLDER of {LAYOUT}"
        )
    raise _absent(SETS[name], root)


def _has_folders(top: Path) -> bool:
    return any(not is_written(top / name) for name in read_folder(top).folders)


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
        others = [name for name in read_folder(partly).folders if name not in known.domains]
        return InputError(
            f"{known.title} in {partly} has no folder {_quoted(lacking)}."
            f"{did_you_mean(lacking[0], others)} Found {describe_folder(partly)}. Rename it or "
            "extract it again; data.set=null reads any tree, with the domains that it has. "
            f"{expected}"
        )
    return InputError(
        f"{known.title} is not in {' or '.join(map(str, places))}. Found "
        f"{describe_folder(places[0])}. {expected}. medldr does not download it"
    )


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(repr(name) for name in names)
