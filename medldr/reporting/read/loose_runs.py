"""A table for a folder of run folders that no sweep file laid out."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from medldr.config.protocol import MODIFIED
from medldr.config.yaml import read_yaml
from medldr.errors import InputError
from medldr.folders.files import RunFolder, read_json
from medldr.folders.sweep_record import Layout, Member, Sweep, SweepFolder
from medldr.reporting.read.describe import dataset_name, method_title, section

ASIDE = ".before-"
"""Part of the name of a run that was moved aside for another one."""


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


def guess_sweep(folder: SweepFolder) -> tuple[Sweep, list[str]]:
    """Lay out what a folder holds: methods down, data sets and protocols across.

    Returns:
        The sweep, and names of folders whose files cannot be read.

    Raises:
        InputError: If there is no run folder in it.
    """
    if not folder.path.is_dir():
        raise InputError(f"there is no folder {folder.path}")
    found, left_out = list[tuple[Member, _Place]](), list[str]()
    for files in run_folders(folder.path):
        try:
            found.append(_member(files))
        except (InputError, AttributeError, KeyError, TypeError, ValueError):
            left_out.append(files.path.name)
    if not found:
        told = "".join(f"\n  {name} cannot be read" for name in left_out)
        raise InputError(
            f"{folder.path} is no run folder and holds none, nor a sweep.json. Give a folder that "
            f"`medldr train` or `medldr sweep` wrote{told}"
        )
    headings = _headings(place for _, place in found)
    members = [replace(member, column=headings[place.place]) for member, place in found]
    members.sort(key=_erm_first)
    name = folder.path.resolve().name
    return Sweep(name, Layout(title=name), tuple(members)), left_out


def _erm_first(member: Member) -> tuple[bool, str, str, int]:
    """ERM is what others are compared with, so that it stands first."""
    return (member.row != "erm", member.row, member.column, member.seed)


def _member(files: RunFolder) -> tuple[Member, _Place]:
    config: dict[str, Any] = read_yaml(files.config).values if files.config.is_file() else {}
    run: dict[str, Any] = read_json(files.run) if files.run.is_file() else {}
    label = str(run.get("label") or config["label"])
    dataset = dataset_name(config, run)
    stated = str(run.get("protocol") or config.get("protocol") or "")
    protocol = stated.removesuffix(MODIFIED)
    held = section(config, "data").get("held_out")
    held_out = ", ".join(map(str, held)) if isinstance(held, list | tuple) else ""
    place = _Place(dataset, protocol, held_out, stated != protocol)
    member = Member(
        run=files.path.resolve().name,
        label=label,
        seed=int(run.get("seed", config.get("seed", 0))),
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
