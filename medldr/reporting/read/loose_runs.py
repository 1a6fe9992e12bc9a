"""A table for a folder of run folders that no sweep file laid out."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from medldr.config.method import method_title
from medldr.config.protocol import MODIFIED
from medldr.config.sections import dataset_name, held_out
from medldr.config.yaml import read_yaml
from medldr.errors import InputError
from medldr.folders.files import RunFolder
from medldr.folders.lifecycle import read_current
from medldr.folders.run_record import RunRecord
from medldr.folders.sweep_record import Layout, Member, Sweep, SweepFolder

ASIDE = ".before-"
"""Part of the name of a run that was moved aside for another one."""


Configs: TypeAlias = dict[tuple[str | None, str], Mapping[str, Any]]
"""Configurations by label and hash."""


class OpenFolder:
    """A run folder of which two files are read when they are first needed, and then kept.

    Args:
        files: The folder.
        configs: What was read of other runs. Runs of one label and hash differ in their seed, and
            in where and how they ran, which no table shows: one configuration is parsed for all.
    """

    def __init__(self, files: RunFolder, configs: Configs | None = None) -> None:
        self.files = files
        self._configs = {} if configs is None else configs

    @functools.cached_property
    def record(self) -> RunRecord | None:
        """`run.json` with the status that the run has by now; None where it is absent."""
        return read_current(self.files)

    @functools.cached_property
    def config(self) -> Mapping[str, Any] | None:
        """`config.yaml`; None where it is absent."""
        if not self.files.config.is_file():
            return None
        record = self.record
        if record is None or record.hash is None:
            return read_yaml(self.files.config).values
        of_all = (record.label, record.hash)
        if of_all not in self._configs:
            self._configs[of_all] = read_yaml(self.files.config).values
        return {**self._configs[of_all], "seed": record.seed}


class LooseRuns(NamedTuple):
    """A folder of run folders, laid out.

    Attributes:
        sweep: What a sweep file would have said.
        unreadable: Names of folders whose files cannot be read.
        folders: What was read of the others, by their names.
    """

    sweep: Sweep
    unreadable: list[str]
    folders: dict[str, OpenFolder]


class _Place(NamedTuple):
    """The column of a run: its data, its protocol, the held-out domains, and a changed pin."""

    dataset: str
    protocol: str
    held_out: str
    modified: bool

    @property
    def place(self) -> tuple[str, str, str]:
        """What runs of one column share. A method may change a pin and is compared all the same."""
        return self[:3]


def is_run_folder(folder: Path | str) -> bool:
    """Whether a folder is that of one run, and no sweep's."""
    files, sweep = RunFolder(folder), SweepFolder(folder).sweep
    return (files.run.is_file() or files.config.is_file()) and not sweep.is_file()


def run_folders(folder: Path) -> list[RunFolder]:
    """Run folders right below a folder, in alphabetical order."""
    found = [RunFolder(path) for path in sorted(folder.iterdir()) if path.is_dir()]
    return [
        files for files in found
        if ASIDE not in files.path.name and (files.run.is_file() or files.config.is_file())
    ]  # fmt: skip


def lay_out(folder: SweepFolder) -> LooseRuns:
    """Lay out what a folder holds: methods down, data sets and protocols across.

    Raises:
        InputError: If there is no run folder in it.
    """
    if not folder.path.is_dir():
        raise InputError(f"there is no folder {folder.path}")
    found, unreadable = list[tuple[Member, _Place]](), list[str]()
    folders = {files.path.name: OpenFolder(files) for files in run_folders(folder.path)}
    for name, opened in folders.items():
        try:
            found.append(_member(name, opened))
        except (InputError, AttributeError, KeyError, TypeError, ValueError):
            unreadable.append(name)
    if not found:
        told = "".join(f"\n  {name} cannot be read" for name in unreadable)
        raise InputError(
            f"{folder.path} is no run folder and holds none, nor a sweep.json. Give a folder that "
            f"`medldr train` or `medldr sweep` wrote{told}"
        )
    headings = _headings(place for _, place in found)
    members = [replace(member, column=headings[place.place]) for member, place in found]
    members.sort(key=_erm_first)
    name = folder.path.resolve().name
    return LooseRuns(Sweep(name, Layout(title=name), tuple(members)), unreadable, folders)


def _erm_first(member: Member) -> tuple[bool, str, str, int]:
    """ERM is what others are compared with, so that it stands first."""
    return (member.row != "erm", member.row, member.column, member.seed)


def _member(name: str, opened: OpenFolder) -> tuple[Member, _Place]:
    config, record = opened.config or {}, opened.record
    label = str((None if record is None else record.label) or config["label"])
    dataset = dataset_name(config, {} if record is None else record.content)
    stated = str((None if record is None else record.protocol) or config.get("protocol") or "")
    protocol = stated.removesuffix(MODIFIED)
    place = _Place(dataset, protocol, ", ".join(held_out(config)), stated != protocol)
    seed = None if record is None else record.seed
    member = Member(
        run=name,
        label=label,
        seed=int(config.get("seed", 0)) if seed is None else seed,
        row=row_name(label, dataset, protocol) or method_title(config),
        column="",
    )
    return member, place


def row_name(label: str, dataset: str, protocol: str) -> str:
    """The words of a label that do not say which data set and protocol it is.

    Example:
        >>> row_name("octmnist_224up_latentdr_pool", "octmnist", "medmnist-224up")
        'latentdr_pool'
        >>> row_name("phantom_fracture_erm", "phantom_fracture", "")
        'erm'
        >>> row_name("octmnist", "octmnist", "")
        ''
    """
    words = f"{label}_".removeprefix(f"{dataset}_").rstrip("_").split("_")
    known = set(protocol.split("-"))
    while words and words[0] in known:
        words.pop(0)
    return "_".join(words)


def _headings(places: Iterable[_Place]) -> dict[tuple[str, str, str], str]:
    """What stands above each column; it says where runs in it changed what their protocol pins."""
    changed: dict[tuple[str, str, str], set[bool]] = {}
    for found in places:
        changed.setdefault(found.place, set()).add(found.modified)
    marks = {(False,): "", (True,): MODIFIED, (False, True): f", some runs {MODIFIED}"}
    return {
        place: _heading(*place, marks[tuple(sorted(kinds))]) for place, kinds in changed.items()
    }


def _heading(dataset: str, protocol: str, held_out: str, mark: str) -> str:
    held = f"{held_out} held out" if held_out else ""
    details = [text for text in (f"{protocol}{mark}", held) if text]
    return f"{dataset} ({', '.join(details)})" if details else dataset
