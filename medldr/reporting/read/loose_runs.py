"""A table for a folder of run folders that no sweep file laid out."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from medldr.config.method import method_title
from medldr.config.sections import MODIFIED, dataset_name, held_out, section
from medldr.config.yaml import read_yaml
from medldr.errors import InputError
from medldr.folders.files import RunFolder, require_folder
from medldr.folders.lifecycle import ASIDE, read_current
from medldr.folders.run_record import RunRecord
from medldr.folders.sweep_record import (
    FOLD,
    RUN,
    Layout,
    Member,
    Sweep,
    SweepFolder,
    joined,
    without_fold,
)

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
        if not os.path.lexists(self.files.config):
            return None
        record = self.record
        if record is None or record.hash is None:
            return read_yaml(self.files.config).values
        of_all = (record.label, record.hash)
        if of_all not in self._configs:
            self._configs[of_all] = read_yaml(self.files.config).values
        return {**self._configs[of_all], "seed": record.seed}


class _Place(NamedTuple):
    """The column of a run. A method may change a pin (`modified`) and is compared all the same."""

    dataset: str
    protocol: str
    held_out: str
    modified: bool


def is_run_folder(folder: Path | str) -> bool:
    """Whether a folder is that of one run, and no sweep's."""
    return _holds_a_run(RunFolder(folder)) and not os.path.lexists(SweepFolder(folder).sweep)


def _holds_a_run(files: RunFolder) -> bool:
    return os.path.lexists(files.run) or os.path.lexists(files.config)


def lay_out(folder: SweepFolder) -> tuple[Sweep, list[str], dict[str, OpenFolder]]:
    """Lay out what a folder holds: methods down, data sets and protocols across.

    Returns:
        What a sweep file would have said; names of folders whose files cannot be read; and what
        was read of the others, by their names.

    Raises:
        InputError: If it contains no run folder.
    """
    require_folder(folder.path)
    below = [RunFolder(path) for path in sorted(folder.path.iterdir()) if path.is_dir()]
    runs = [files for files in below if ASIDE not in files.path.name and _holds_a_run(files)]
    folders = {files.path.name: OpenFolder(files) for files in runs}
    found, unreadable = list[tuple[Member, _Place]](), list[str]()
    for name, opened in folders.items():
        try:
            found.append(_member(name, opened))
        except (InputError, AttributeError, KeyError, TypeError, ValueError):
            unreadable.append(name)
    if not found:
        broken = "".join(f"\n  {name} cannot be read" for name in unreadable)
        raise InputError(
            f"{folder.path} is not a run folder and contains neither run folders nor a sweep.json. "
            f"Give a folder that `medldr train` or `medldr sweep` wrote{broken}"
        )
    changed: dict[tuple[str, ...], set[bool]] = {}
    for _, (*where, modified) in found:
        changed.setdefault(tuple(where), set()).add(modified)
    members = [replace(m, column=_heading(place, changed[place[:3]])) for m, place in found]
    members.sort(key=_erm_first)
    name = folder.path.resolve().name
    return Sweep(name, Layout(title=name), tuple(members)), unreadable, folders


def _erm_first(member: Member) -> tuple[bool, str, str, int]:
    """ERM comes first, because the others are compared with it."""
    return (member.row != "erm", member.row, member.column, member.seed)


def _member(name: str, opened: OpenFolder) -> tuple[Member, _Place]:
    config, record = opened.config or {}, opened.record
    label, seed = str(config.get("label") or ""), int(config.get("seed", 0))
    protocol = config.get("protocol")
    if record is not None:
        label, protocol = record.label or label, record.protocol or protocol
        seed = seed if record.seed is None else record.seed
    dataset = dataset_name(config, {} if record is None else record.content)
    stated = str(protocol or "")
    plain = stated.removesuffix(MODIFIED)
    if not label:
        raise InputError(f"{opened.files.path} does not record a label")
    place = _Place(dataset, plain, ", ".join(held_out(config)), stated != plain)
    data = section(config, "data")
    fold = str(data["fold"]) if data.get("manifest") and data.get("fold") is not None else None
    if fold is not None:
        label = without_fold(label, f"fold-{fold}")
    row = row_name(label, dataset, plain) or method_title(config)
    # The fold comes first, so that configurations which share it are told apart by the last one.
    values = {RUN: row} if fold is None else {FOLD: fold, RUN: row}
    return Member(name, label, seed, joined(values), "", row_values=values), place


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


def _heading(place: _Place, modified: set[bool]) -> str:
    """The heading of a column; it says where runs in it changed what their protocol pins."""
    mark = "" if True not in modified else MODIFIED
    mark = f", some runs {MODIFIED}" if len(modified) > 1 else mark
    held = f"{place.held_out} held out" if place.held_out else ""
    details = ", ".join(filter(None, (f"{place.protocol}{mark}", held)))
    return f"{place.dataset} ({details})" if details else place.dataset
