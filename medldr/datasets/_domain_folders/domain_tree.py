"""Reading `FOLDER/<domain>/<class>/<image>`: one list of classes, rows in ImageFolder's order.

Source:
    Within a domain rows are in the order of torchvision's ImageFolder: classes sorted, then their
    folders, then names, so a seeded division of row numbers equals that of published codes.
    There a class is numbered within each domain, and a domain that lacks a class shifts all
    later ones; here one sorted list over all domains numbers them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

import numpy as np

from medldr.data.counting import some
from medldr.data.listing.folders import describe_folder, is_written, read_folder
from medldr.data.listing.item_frame import Listing, texts
from medldr.data.listing.kinds import OWN_PICTURES, PICTURES, tell_not_read
from medldr.data.listing.names import composed, look_alikes, spelled_plainly, split_of, tidied
from medldr.data.listing.trees import Tree, list_tree
from medldr.datasets._domain_folders.benchmarks import Known
from medldr.datasets._domain_folders.location import LAYOUT
from medldr.errors import InputError, did_you_mean
from medldr.folders.files import reading

_LISTED: Final = 5

_SCANS: Final = "Scans are read with data/table and data.folders=[domain, label]"

ByClass = dict[str, dict[str, list[str]]]
"""Paths of pictures by domain and class."""


def list_pictures(folder: Path, known: Known | None, *, nested: bool) -> Listing:
    """List every picture of a tree; none is opened.

    Args:
        folder: Its top.
        known: What is known about the set beforehand; None for any tree.
        nested: Whether all pictures may be in folders below their class.

    Returns:
        The pictures, without groups; ids are paths below the folder. Unused are files that are in
        no class folder or no pictures by their names.

    Raises:
        InputError: If it has another layout; says what was found.
    """
    notes: list[str] = []
    names = _domain_folders(folder, known, notes)
    endings = PICTURES if known is not None else OWN_PICTURES
    tree = list_tree(folder, ("domain", "label"), endings=endings, only=names)
    by_class: ByClass = {tidied(name): {} for name in names}
    for domain, name in tree.folders:
        by_class[tidied(domain)].setdefault(tidied(name), [])
    for item in sorted(tree.items, key=lambda one: one.path.rpartition("/")[0]):
        domain, name = map(tidied, item.names)
        by_class[domain][name].append(item.path)
    # Labels must not depend on which domain lacks a class, hence over all of them.
    _require_layout(folder, by_class, tree, known, nested=nested)
    filled = [domain for domain, classes in by_class.items() if any(classes.values())]
    if len(filled) < len(by_class):
        empty = ", ".join(domain for domain in by_class if domain not in filled)
        notes.append(f"no picture in {empty}, so it is not a domain.")
    class_names = _classes(by_class, known, notes)
    notes += _lacks(by_class, filled, class_names)
    rows = [
        (path, domain, label)
        for domain in filled
        for label, name in enumerate(class_names)
        for path in by_class[domain].get(name, ())
    ]
    if tree.deep:
        notes.append(f"pictures in folders below their class folder: {len(tree.deep):,}.")
    # Other files next to the domains are not part of the set.
    unused = (*tree.shallow, *(path for path in tree.unused if "/" in path))
    if unused:
        notes.append(
            "files not used because they are in no class folder or their names are not those of "
            f"pictures: {len(unused):,}."
        )
    paths, domains, labels = zip(*rows, strict=True)
    nothing = texts([""] * len(rows))
    return Listing(
        root=folder,
        ids=texts(list(paths)),
        class_names=class_names,
        labels=np.array(labels, dtype=np.int64),
        domains=texts(list(domains)),
        groups=nothing,
        splits=nothing,
        notes=tuple(notes),
        unused=unused,
    )


def domain_names(folder: Path, known: Known | None) -> list[str]:
    """Names of the domains of a tree, from the names of its folders alone.

    Args:
        folder: Holds a folder for each domain.
        known: The set, if it is one of those known by name.

    Raises:
        InputError: If its folders are splits, or two of them are one domain.
    """
    return list(dict.fromkeys(map(tidied, _domain_folders(folder, known, []))))


def without_blacklist(listing: Listing, file: Path, folder_name: str) -> Listing:
    """The pictures that a list does not name.

    Args:
        listing: The pictures of a tree.
        file: A text file with one path a line, ``domain/class/image``; empty lines and those that
            begin with # are skipped.
        folder_name: Paths may begin with this, the name of the set's folder.

    Raises:
        InputError: If the file cannot be read, or none of its lines is a picture of the tree.
    """
    first = listing.ids[0]
    what, name = f"UTF-8 text with one path per line, such as {first}", f"data.blacklist: {file}"
    with reading(file.expanduser(), what, name=name):
        lines = file.expanduser().read_text(encoding="utf-8-sig").splitlines()
    listed = dict.fromkeys(_blacklisted(line, folder_name) for line in lines)
    listed.pop("", None)
    paths = [composed(path) for path in listing.ids.tolist()]
    absent = list(listed.keys() - set(paths))
    if len(absent) == len(listed):
        example = f", such as {next(iter(listed))}" if listed else ""
        raise InputError(
            f"data.blacklist: none of the {len(listed):,} paths in {file}{example}, is a picture "
            f"below {listing.root}. Paths should look like {first}; if the pictures were already "
            "deleted, leave data.blacklist unset"
        )
    kept = np.flatnonzero([path not in listed for path in paths])
    if not len(kept):
        raise InputError(f"data.blacklist: {file} lists every picture below {listing.root}")
    note = f"{len(listing) - len(kept):,} pictures left out by data.blacklist."
    if absent:
        note += f" {len(absent):,} of its paths do not exist."
    return listing.take(kept).noting(note)


def _blacklisted(line: str, folder_name: str) -> str:
    text = composed(line.strip().replace("\\", "/"))
    if text.startswith("#"):
        return ""
    return text.removeprefix("./").removeprefix(f"{composed(folder_name)}/")


def _domain_folders(folder: Path, known: Known | None, notes: list[str]) -> list[str]:
    names = [name for name in read_folder(folder).folders if not is_written(folder / name)]
    if known is not None:
        others = [name for name in names if name not in known.domains]
        if others:
            notes.append(
                f"folders not used because they are not domains of {known.title}: {_first(others)}."
            )
        return list(known.domains)
    domains = sorted(set(map(tidied, names)))
    if domains and all(map(split_of, domains)):
        raise InputError(
            f"{folder}: its folders {', '.join(domains)} are called like splits, not like domains. "
            "As domains they would be pooled and divided anew, so that training sees pictures of "
            "each. If they are splits, read the folder with data/table and "
            "data.folders=[split, label], which keeps them; if they are domains, rename them"
        )
    pair = look_alikes(domains)
    if pair is not None:
        raise InputError(
            f"{folder}: {pair[0]} and {pair[1]} would be two domains, but differ only in spelling. "
            "Rename or merge the folders"
        )
    return sorted(names, key=tidied)


def _require_layout(
    folder: Path, by_class: ByClass, tree: Tree, known: Known | None, *, nested: bool
) -> None:
    loose = Counter(tidied(path.split("/")[0]) for path in tree.shallow if "/" in path)
    bare = [name for name in by_class if loose[name] and not any(by_class[name].values())]
    at_top = [path for path in tree.shallow if "/" not in path]
    if bare:
        raise InputError(
            f"{folder}: {loose[bare[0]]} pictures are directly in the folder of the domain "
            f"{bare[0]!r}. Expected {LAYOUT}. Sort them into classes, or, if {folder.name} is "
            f"itself a domain, set data.root={folder.absolute().parent}"
        )
    if not tree.items:
        what = f"{len(at_top)} pictures are directly in it"
        if not at_top:
            what = ". ".join(
                filter(None, ("it contains no pictures", tell_not_read(tree.unused, _SCANS)))
            )
        raise InputError(
            f"{folder}: {what}. Found {describe_folder(folder)}. Expected {LAYOUT}, with images "
            f"whose names end in {', '.join(PICTURES if known is not None else OWN_PICTURES)}"
        )
    if known is not None:
        empty = [d for d in known.domains if not any(by_class[d].values())]
        if empty:
            raise InputError(
                f"{folder}: domain {empty[0]!r} of {known.title} has no pictures. Extract it again"
            )
    if not nested and len(tree.deep) == len(tree.items):
        only = f" Perhaps data.root={folder / next(iter(by_class))}" if len(by_class) == 1 else ""
        raise InputError(
            f"{folder} has folders below its class folders, and every picture is in one, such "
            f"as {tree.deep[0]}. Expected {LAYOUT}: set data.root one level deeper.{only} If the "
            "folders below the classes are patients, say so with data.group_pattern='^([^/]+)/'"
        )


def _classes(by_class: ByClass, known: Known | None, notes: list[str]) -> tuple[str, ...]:
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


def _lacks(by_class: ByClass, domains: Iterable[str], names: Iterable[str]) -> Iterator[str]:
    for domain in domains:
        lacking = [name for name in names if not by_class[domain].get(name)]
        if lacking:
            yield f"domain {domain} has no picture of {_first(lacking)}; labels are unaffected."


def _first(names: Iterable[str]) -> str:
    return some(sorted(names), _LISTED)
