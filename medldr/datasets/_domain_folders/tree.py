"""Reading `FOLDER/<domain>/<class>/<image>`: one list of classes, rows in ImageFolder's order.

Source:
    Within a domain rows are in the order of torchvision's ImageFolder: classes sorted, then their
    folders, then names, so a seeded division of row numbers equals that of published codes.
    There a class is numbered within each domain, and a domain that lacks a class shifts all
    later ones; here one sorted list over all domains numbers them.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from medldr.datasets._domain_folders.benchmarks import Known
from medldr.datasets._domain_folders.location import (
    LAYOUT,
    MORE_PICTURES,
    PICTURES,
    Listing,
    holds_packs,
    is_hidden,
    is_picture,
)
from medldr.datasets._domain_folders.names import composed, require_domains, spelled_plainly
from medldr.errors import InputError, did_you_mean

_LISTED: Final = 5


class Tree(NamedTuple):
    """What a tree holds.

    Attributes:
        folder: Its top.
        domains: Folders with pictures, sorted; their names in composed form.
        class_names: Of all domains, sorted; the number of one is its label. In composed form too.
        paths: ``(N,)`` path of each picture below `folder`, in row order.
        strays: Files that are not rows, as paths below `folder`.
        notes: What readers should know; without file names, which may identify patients.
    """

    folder: Path
    domains: tuple[str, ...]
    class_names: tuple[str, ...]
    paths: list[str]
    strays: list[str]
    notes: tuple[str, ...]


def read_tree(folder: Path, known: Known | None, *, nested: bool) -> Tree:
    """List every picture of a tree; none is opened.

    Args:
        folder: Its top.
        known: What is known about the set beforehand; None for any tree.
        nested: Whether all pictures may be in folders below their class.

    Raises:
        InputError: If it has another layout; says what was found.
    """
    top = Listing(folder)
    notes: list[str] = []
    names = _domain_folders(top, known, notes)
    # Files next to the domains are not part of the set, but a picture there was meant to be.
    strays = [name for name in top.files if is_picture(name, known)]
    by_class: dict[str, dict[str, list[str]]] = {}
    for name in names:
        beside = _read_domain(folder, name, known, by_class.setdefault(composed(name), {}))
        strays += beside
    # Labels must not depend on which domain lacks a class, hence over all of them.
    _require_layout(folder, by_class, strays, known, nested=nested)
    domains = tuple(domain for domain, classes in by_class.items() if any(classes.values()))
    if len(domains) < len(by_class):
        empty = ", ".join(domain for domain in by_class if domain not in domains)
        notes.append(f"no picture in {empty}, so it is not a domain.")
    class_names = _classes(by_class, known, notes)
    notes += _lacks(by_class, domains, class_names)
    paths = [
        path
        for domain in domains
        for name in class_names
        for path in by_class[domain].get(name, ())
    ]
    deeper = [path for path in paths if path.count("/") > 2]
    if deeper:
        notes.append(f"pictures in folders below their class folder: {len(deeper):,}.")
    if strays:
        notes.append(
            "files not used because they are in no class folder or their names are not those of "
            f"pictures: {len(strays):,}."
        )
    return Tree(folder, domains, class_names, paths, strays, tuple(notes))


def domain_names(folder: Path, known: Known | None) -> list[str]:
    """Names of the domains of a tree, from the names of its folders alone.

    Args:
        folder: Holds a folder for each domain.
        known: The set, if it is one of those known by name.

    Raises:
        InputError: If its folders are splits, or two of them are one domain.
    """
    return list(dict.fromkeys(map(composed, _domain_folders(Listing(folder), known, []))))


def _domain_folders(top: Listing, known: Known | None, notes: list[str]) -> list[str]:
    names = [name for name in top.folders if not holds_packs(top.folder / name)]
    if known is None:
        require_domains(top.folder, {composed(name) for name in names})
        return sorted(names, key=composed)
    others = [name for name in names if name not in known.domains]
    if others:
        notes.append(
            f"folders not used because they are not domains of {known.title}: {_first(others)}."
        )
    return list(known.domains)


def _read_domain(
    folder: Path, name: str, known: Known | None, by_class: dict[str, list[str]]
) -> list[str]:
    """Add a domain's pictures by class, in row order; returns files that are not pictures."""
    top = Listing(folder / name)
    strays = [f"{name}/{file}" for file in top.files]
    for inner in top.folders:
        pictures = by_class.setdefault(composed(inner), [])
        for path in _files(folder, f"{name}/{inner}"):
            (pictures if is_picture(path, known) else strays).append(path)
    return strays


def _files(folder: Path, below: str) -> Iterator[str]:
    """Paths of all files below a class folder, in ImageFolder's order."""

    def refuse(error: OSError) -> None:
        raise InputError(f"{error.filename} cannot be listed: {error.strerror}") from error

    walked: list[tuple[str, list[str]]] = []
    for parent, folders, files in os.walk(folder / below, followlinks=True, onerror=refuse):
        folders[:] = [name for name in folders if not is_hidden(name)]
        for name in folders:
            at = Path(parent, name)
            if at.is_symlink() and at.resolve() in (*at.absolute().parents, *_real(parent)):
                raise InputError(f"{at} is a link to a folder above it. Remove the link")
        walked.append((parent, files))
    for parent, files in sorted(walked):
        inside = Path(parent).relative_to(folder).as_posix()
        for name in sorted(files):
            if is_hidden(name):
                continue
            try:
                name.encode()
            except UnicodeEncodeError as error:
                raise InputError(
                    f"{inside}: the name of file {name!r} is not UTF-8. Rename it"
                ) from error
            yield f"{inside}/{name}"


def _real(parent: str) -> Iterable[Path]:
    here = Path(parent).resolve()
    return (here, *here.parents)


def _require_layout(
    folder: Path,
    by_class: dict[str, dict[str, list[str]]],
    strays: list[str],
    known: Known | None,
    *,
    nested: bool,
) -> None:
    pictures = [path for path in strays if is_picture(path, known)]
    loose = Counter(composed(p.split("/")[0]) for p in pictures if p.count("/") == 1)
    bare = [d for d in by_class if loose[d] and not any(by_class[d].values())]
    at_top = [path for path in pictures if "/" not in path]
    paths = [p for classes in by_class.values() for of_class in classes.values() for p in of_class]
    if bare and len(bare) == len(by_class) and known is None:
        siblings = [n for n in Listing(folder.absolute().parent).folders if n != folder.name]
        raise InputError(
            f"{folder} is a single domain, or its domains have no class folders: pictures are "
            f"directly in its folders {_first(bare)}. Expected {LAYOUT}. Set "
            f"data.root to the folder that contains the domains (next to {folder.name}: "
            f"{_first(siblings) or 'nothing else'})"
        )
    if bare:
        raise InputError(
            f"{folder}: domain {bare[0]!r} has no class folders: {loose[bare[0]]} pictures are "
            f"directly in it. Expected {LAYOUT}. Sort them into classes, or move "
            f"{bare[0]} elsewhere"
        )
    if not paths:
        what = f"{len(at_top)} pictures are directly in it" if at_top else "it contains no pictures"
        raise InputError(
            f"{folder}: {what}. Found {Listing(folder)}. Expected {LAYOUT}, with images whose "
            f"names end in {', '.join(PICTURES if known is not None else PICTURES + MORE_PICTURES)}"
        )
    if known is not None:
        empty = [d for d in known.domains if not any(by_class[d].values())]
        if empty:
            raise InputError(
                f"{folder}: domain {empty[0]!r} of {known.title} has no pictures. Extract it again"
            )
    if not nested and not any(path.count("/") == 2 for path in paths):
        only = f" Perhaps data.root={folder / next(iter(by_class))}" if len(by_class) == 1 else ""
        raise InputError(
            f"{folder} has folders below its class folders, and every picture is in one, such "
            f"as {paths[0]}. Expected {LAYOUT}: set data.root one level deeper.{only} If the "
            "folders below the classes are patients, say so with data.group_pattern='^([^/]+)/'"
        )


def _classes(
    by_class: dict[str, dict[str, list[str]]], known: Known | None, notes: list[str]
) -> tuple[str, ...]:
    holds: dict[str, set[str]] = {}
    empty: set[str] = set()
    for domain, classes in by_class.items():
        for name, paths in classes.items():
            (holds.setdefault(name, set()).add(domain) if paths else empty.add(name))
    if known is not None and known.class_names:
        for name, domains in sorted(holds.items()):
            if name not in known.class_names:
                raise InputError(
                    f"{sorted(domains)[0]}/{name} is not a class of {known.title}."
                    f"{did_you_mean(name, known.class_names)} Classes: "
                    f"{', '.join(known.class_names)}. Rename or remove the folder, or read the "
                    "tree as it is with data.set=null"
                )
        names = known.class_names
    else:
        names = tuple(sorted(holds))
        _require_one_spelling(holds)
        if empty - set(names):
            notes.append(
                f"class folders not used because they are empty: {_first(empty - set(names))}"
            )
        if known is not None and len(names) != known.classes:
            notes.append(f"{known.title} has {known.classes} classes, but {len(names)} were found.")
    return names


def _require_one_spelling(holds: dict[str, set[str]]) -> None:
    spelled: dict[str, str] = {}
    for name in sorted(holds):
        other = spelled.setdefault(spelled_plainly(name), name)
        if other != name and not holds[other] & holds[name]:
            raise InputError(
                f"{sorted(holds[other])[0]}/{other} and {sorted(holds[name])[0]}/{name} would be "
                "two classes, but differ only in spelling. Rename one of the folders"
            )


def _lacks(
    by_class: dict[str, dict[str, list[str]]], domains: Iterable[str], names: Iterable[str]
) -> Iterator[str]:
    for domain in domains:
        lacking = [name for name in names if not by_class[domain].get(name)]
        if lacking:
            yield f"domain {domain} has no picture of {_first(lacking)}; labels are unaffected."


def _first(names: Iterable[str]) -> str:
    listed = sorted(names)
    more = f" and {len(listed) - _LISTED} more" if len(listed) > _LISTED else ""
    return f"{', '.join(listed[:_LISTED])}{more}"
