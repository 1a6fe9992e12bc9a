"""Which pictures of a tree are rows (those not on a blacklist), and the group of each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from medldr.datasets._domain_folders.names import composed
from medldr.datasets._domain_folders.tree import Tree
from medldr.errors import InputError


def without_blacklist(tree: Tree, file: Path, folder_name: str) -> Tree:
    """The tree without the pictures that a list names.

    Args:
        tree: The tree.
        file: A text file with one path a line, ``domain/class/image``; empty lines and those that
            begin with # are skipped.
        folder_name: Paths may begin with this, the name of the set's folder.

    Raises:
        InputError: If the file cannot be read, or none of its lines is a picture of the tree.
    """
    try:
        lines = file.expanduser().read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise InputError(
            f"data.blacklist: {file} cannot be read ({why}). Give a text file with one path per "
            f"line, such as {tree.paths[0]}"
        ) from error
    listed = dict.fromkeys(_path(line, folder_name) for line in lines)
    listed.pop("", None)
    known = set(map(composed, tree.paths))
    absent = [path for path in listed if path not in known]
    if len(absent) == len(listed):
        example = f", such as {absent[0]}" if absent else ""
        raise InputError(
            f"data.blacklist: none of the {len(listed):,} paths in {file}{example}, is a picture "
            f"below {tree.folder}. Paths should look like {tree.paths[0]}; if the pictures were "
            "already deleted, leave data.blacklist unset"
        )
    kept = [path for path in tree.paths if composed(path) not in listed]
    if not kept:
        raise InputError(f"data.blacklist: {file} lists every picture below {tree.folder}")
    note = f"{len(tree.paths) - len(kept):,} pictures left out by data.blacklist."
    if absent:
        note += f" {len(absent):,} of its paths do not exist."
    return tree._replace(paths=kept, notes=(*tree.notes, note))


def _path(line: str, folder_name: str) -> str:
    text = composed(line.strip().replace("\\", "/"))
    if text.startswith("#"):
        return ""
    return text.removeprefix("./").removeprefix(f"{composed(folder_name)}/")


def groups(
    paths: list[str], pattern: str | None, scope: Literal["all", "domain"]
) -> NDArray[np.str_]:
    """The group (patient) of each picture, by a pattern; all empty without one.

    Args:
        paths: ``(N,)`` of ``domain/class/image``.
        pattern: A regular expression, searched in what follows the class; its first group names.
        scope: ``domain`` where equal names in two domains are two patients.

    Raises:
        InputError: If a picture's name does not match.
    """
    if pattern is None:
        return np.full(len(paths), "", dtype="<U1")
    compiled = re.compile(pattern)
    names, unnamed = [], []
    for path in paths:
        domain, _, image = composed(path).split("/", 2)
        found = compiled.search(image)
        name = found.group(1) if found else None
        if not name:
            unnamed.append(path)
        names.append(f"{domain}/{name}" if scope == "domain" else str(name))
    if unnamed:
        raise InputError(
            f"data.group_pattern {pattern!r} matches no group in {len(unnamed):,} of "
            f"{len(paths):,} images, such as {unnamed[0].split('/', 2)[2]!r} ({unnamed[0]}). "
            "Correct the pattern, or rename or remove these images"
        )
    return np.array(names, dtype=np.str_)


def check_group_pattern(pattern: str) -> None:
    """Refuse a pattern without a group.

    Raises:
        ValueError: With the cure.
    """
    try:
        count = re.compile(pattern).groups
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a valid regular expression: {error}") from error
    if not count:
        raise ValueError(
            f"{pattern!r} has no group: put parentheses around the patient, as in '^(P[0-9]+)_'"
        )


def domains_and_labels(
    paths: list[str], class_names: tuple[str, ...]
) -> tuple[NDArray[np.str_], NDArray[np.int64]]:
    """Domain and label of each picture.

    Example:
        >>> domains, labels = domains_and_labels(["a/cat/1.png", "b/dog/2.png"], ("cat", "dog"))
        >>> domains.tolist(), labels.tolist()
        (['a', 'b'], [0, 1])
    """
    number = {name: label for label, name in enumerate(class_names)}
    parts = [composed(path).split("/", 2) for path in paths]
    domains = np.array([part[0] for part in parts], dtype=np.str_)
    return domains, np.array([number[part[1]] for part in parts], dtype=np.int64)


def per_domain(paths: list[str]) -> dict[str, int]:
    """Number of pictures by domain.

    Example:
        >>> per_domain(["a/cat/1.png", "a/dog/2.png", "b/dog/2.png"])
        {'a': 2, 'b': 1}
    """
    found: dict[str, int] = {}
    for path in paths:
        domain = composed(path.partition("/")[0])
        found[domain] = found.get(domain, 0) + 1
    return found
