"""Numbers in place of names, the same in every file of what is shared.

Sorting names and sorting their numbers gives the same order, on which draws of the bootstrap and
ties depend. Runs that are shared together share the numbers, so they stay comparable item by item.
"""

from __future__ import annotations

import contextlib
import getpass
import re
import socket
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from medldr.config.identity import flatten
from medldr.config.section import Section
from medldr.folders.privacy import hide_names, worth_hiding


def numbered(names: Collection[str], word: str) -> dict[str, str]:
    """A word with a number for each name, in the order of the names; none for an empty one.

    Example:
        >>> numbered({"p9", "", "anna"}, "group")
        {'anna': 'group 1', 'p9': 'group 2'}
    """
    known = sorted(set(names) - {""})
    width = len(str(len(known)))
    return {name: f"{word} {place:0{width}}" for place, name in enumerate(known, start=1)}


@dataclass(frozen=True)
class Names:
    """What stands for each name.

    Attributes:
        items: For ids of items.
        groups: For names of groups.
        files: For names of files and folders that a configuration names.
        data: For those of its data without their ending, which names of data sets are made of.
        domains: For domains that are patients or items.
        runs: For run folders.
        labels: For parts of labels and of run names: axis values that are names of files.
    """

    items: Mapping[str, str]
    groups: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)
    data: Mapping[str, str] = field(default_factory=dict)
    domains: Mapping[str, str] = field(default_factory=dict)
    runs: dict[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    def label(self, text: str) -> str:
        """A label, or the name of a run, without names of files."""
        return _replaced(text, self.labels)

    def sentence(self, text: str) -> str:
        """Free text without anything that might name a person, a file or a machine."""
        for name, new in {**self.files, **self.data}.items():
            text = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", new, text)
        ids = worth_hiding({*self.items, *self.groups, *_ours()})
        return hide_names(text, ids, keep=set(self.files.values()))

    def text(self, text: str) -> str:
        """A text of a sweep's files, without the names of files; runs by their new name."""
        last = re.split(r"[/\\]", text)[-1]
        text = _replaced(last if last in self.files else text, {**self.labels, **self.runs})
        return {**self.files, **self.data}.get(text, text)


def _replaced(text: str, names: Mapping[str, str]) -> str:
    for name in sorted(names, key=len, reverse=True):
        text = text.replace(name, names[name])
    return text


def each_text(value: Any, change: Callable[[str], str]) -> Any:
    """A value of JSON with each of its texts changed, keys included.

    Example:
        >>> each_text({"a": ["b", 1]}, str.upper)
        {'A': ['B', 1]}
    """
    if isinstance(value, Mapping):
        return {change(str(key)): each_text(one, change) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [each_text(one, change) for one in value]
    return change(value) if isinstance(value, str) else value


def renamed(value: Any, names: Mapping[str, str]) -> Any:
    """A value with some texts replaced by others, keys included; whole, or part by part.

    Example:
        >>> renamed({"val/anna/auc": 1, "of": ["anna", "anna-lena"]}, {"anna": "group 1"})
        {'val/group 1/auc': 1, 'of': ['group 1', 'anna-lena']}
    """

    def new(text: str) -> str:
        parts = (names.get(part, part) for part in text.split("/"))
        return names[text] if text in names else "/".join(parts)

    return each_text(value, new)


def paths_in(section: Section) -> list[Path]:
    """Every path in a section of a configuration, and in texts that are absolute paths."""
    values = flatten(section.model_dump()).values()
    each = (one for of in values for one in (of if isinstance(of, list | tuple) else [of]))
    return [Path(one) for one in each if is_path(one)]


def is_path(value: Any) -> bool:
    """Whether a value is a path, or a text that is an absolute one."""
    return isinstance(value, Path) or (isinstance(value, str) and value.startswith(("/", "~")))


def _ours() -> list[str]:
    """Names of this machine and of whoever uses it."""
    names = [socket.gethostname()]
    with contextlib.suppress(KeyError, OSError):  # a container may have no name for its user
        names.append(getpass.getuser())
    return names
