"""A study of one's own: every decision that its file states, and what says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from medldr.commands.new_study.asking import GUESS, LISTED, TOLD, Asker, Finding, Options, settings
from medldr.commands.new_study.column_roles import looks_ordinal
from medldr.commands.new_study.data_section import data_keys
from medldr.commands.new_study.held_out_domains import (
    HeldOut,
    cautions,
    choose_held_out,
    group_pattern,
    held_out_keys,
    shared_groups,
)
from medldr.commands.new_study.image_keys import Kind, dims_of, image_keys, kind_of_images
from medldr.data.counting import counted
from medldr.data.files.image import ScanImages
from medldr.data.files.rules import resolve
from medldr.data.image_table import ImageTable
from medldr.data.listing.kinds import ARCHIVE
from medldr.data.spec import swapped, task_of
from medldr.datasets._table.faults import NO_IMAGE, NO_LABEL
from medldr.datasets.table import Config, load
from medldr.errors import InputError, did_you_mean

_PROVISIONAL: Final = 64
"""A size with which any files can be read; the one that suits them is not known before."""


@dataclass(frozen=True)
class Study:
    """All that a file says.

    Attributes:
        name: The data set's.
        table: Its images.
        dims: 2 or 3.
        data: Keys of the section `data`.
        kind: Kind of images.
        positive: The positive one of two classes; None for another number.
        held_out: Domains that are held out.
        cautions: What readers should look at, a sentence or some each.
        private: What only the terminal shows, because it names files or patients.
    """

    name: str
    table: ImageTable
    dims: int
    data: list[Finding]
    kind: Kind
    positive: Finding | None
    held_out: HeldOut
    cautions: list[str]
    private: list[str]

    @property
    def size(self) -> int:
        """Pixels along each axis."""
        return int(settings(self.data)["size"])


def make_study(options: Options, asker: Asker) -> Study:
    """Look at everything, ask what cannot be seen, decide.

    Every file is read, which is remembered: checking and training need not read them again.

    Args:
        options: What the user said.
        asker: Who decides what cannot be seen.

    Raises:
        InputError: If the data cannot be read or make no study, with the cure.
    """
    data = data_keys(options, asker)
    table = _read(data)
    notices: list[str] = []
    data += _left_out(table, asker, notices)
    data += _groups(table, data)
    if "group_pattern" in settings(data):
        table = _read(data)
        notices.append("Patients are guessed from names of files (data.group_pattern).")
    if not isinstance(table.images, ScanImages):
        raise TypeError("scans are not read before a batch asks for them")
    dims = dims_of(table.facts)
    name = table.name
    names = [name, *table.class_names, *sorted(set(table.domains.tolist()))]
    kind = kind_of_images(table.facts, table.images.sources, names, dims, options.kind, asker)
    data += image_keys(table.facts)
    if kind.grey:
        data.append(Finding("channels", 1, "All channels are alike."))
    data += held_out_keys(table, asker)
    shared, total = shared_groups(table)
    if shared:
        notices.append(f"{shared:,} of {total:,} names of patients occur in several domains.")
    if "group_scope" in settings(data):
        table = _read(data)
    label = settings(data).get("label", "label")
    if isinstance(label, str) and looks_ordinal(table.class_names, label):
        why = "If classes are grades in this order, uncomment for metrics of ordered classes."
        data.append(Finding("ordinal", True, why, used=False))
    config = Config(**settings(data))
    _, notes = resolve(config, dict(zip(table.ids.tolist(), table.facts, strict=True)), table.name)
    # The table's own notes were made before the keys were chosen, so they are made again with them.
    checks = [note.partition(": ")[2] for note in notes if note.startswith("CHECK")]
    notices += [note[:1].upper() + note[1:] for note in checks]
    held_out = choose_held_out(table, config)
    return Study(
        name=name,
        table=table,
        dims=dims,
        data=data,
        kind=kind,
        positive=_positive(table, options.positive, asker),
        held_out=held_out,
        cautions=[*notices, *cautions(table, held_out.tested), *held_out.cautions],
        private=[
            *(f"left out: {one.path}: {one.reason}" for one in table.bad_files),
            *held_out.private,
        ],
    )


def _read(data: list[Finding]) -> ImageTable:
    """Every item that can be used; the others are in `ImageTable.bad_files`."""
    lenient = {"on_bad_file": "skip", "on_missing_label": "skip", "on_missing": "drop"}
    lenient["cache"] = "off"
    return load(Config(**settings(data)).model_copy(update={**lenient, "size": _PROVISIONAL}))


def _left_out(table: ImageTable, asker: Asker, notices: list[str]) -> list[Finding]:
    """Rows without a label or an image, and files that cannot be used: left out, if all agree.

    Raises:
        InputError: If most files cannot be used and nobody is there to answer.
    """
    keys = []
    unlabelled = sum(one.reason == NO_LABEL for one in table.bad_files)
    incomplete = sum(one.reason == NO_IMAGE for one in table.bad_files)
    unusable = len(table.bad_files) - unlabelled - incomplete
    for count, key, value, what in (
        (unlabelled, "on_missing_label", "skip", "without a label"),
        (incomplete, "on_missing", "drop", "without one of their images"),
        (unusable, "on_bad_file", "skip", "without a file, or with one that cannot be used"),
    ):
        if count:
            total = len(table) + len(table.bad_files)
            text = f"{counted(count, 'scan', 'scans')} of {total:,} {what}"
            if key == "on_bad_file" and 2 * count > total and not asker.interactive:
                faulty = [one for one in table.bad_files if one.reason not in (NO_LABEL, NO_IMAGE)]
                listed = "\n  ".join(f"{one.path}: {one.reason}" for one in faulty[:LISTED])
                raise InputError(
                    f"{text}. Correct them, or take them out of the table:\n  {listed}"
                )
            agreed = asker.confirm(f"{text}. Go on without?")
            keys.append(Finding(key, value, f"Left out: {text}. {agreed}"))
            notices.append(f"Left out: {text} (data.{key}).")
    return keys


def _groups(table: ImageTable, data: list[Finding]) -> list[Finding]:
    """A pattern that finds patients in names of files, where nothing else names them."""
    if (table.groups != "").any():
        return []
    case = settings(data).get("case")
    if case is not None:
        why = "If each case is a patient, or several are, uncomment, or name the column that says."
        return [Finding("group", case, why, used=False)]
    archive = str(settings(data).get("file", "")).lower().endswith(ARCHIVE)
    guessed = None if archive else group_pattern(table.ids.tolist())
    if guessed is None:
        why = "The patient in names of files, such as P12 in P12_003.png, if they hold one."
        return [Finding("group_pattern", r"(?:^|/)(P[0-9]+)_[^/]*$", why, used=False)]
    pattern, count = guessed
    why = (
        f"Names of files begin with what looks like {count:,} patients, several images each. "
        f"{GUESS} If it is no patient, remove this line."
    )
    return [Finding("group_pattern", pattern, why)]


def _positive(table: ImageTable, given: str | None, asker: Asker) -> Finding | None:
    """The positive one of two classes: the one that does not read like the negative one."""
    names = list(table.class_names)
    if given is not None and (task_of(table) != "binary" or given not in names):
        fault = f"{table.name} has no class {given!r}.{did_you_mean(given, names)}"
        if task_of(table) != "binary":
            fault = f"it is for two classes; {table.name} has {len(names):,}."
        raise InputError(f"--positive: {fault} Classes: {', '.join(names)}")
    if given is not None:
        return Finding("positive_class", given, TOLD)
    if task_of(table) != "binary":
        return None
    why = "Sensitivity is that of this class"
    for best, other in (names, names[::-1]):
        if swapped([best, other]):
            said = f"{why}, because {other!r} reads like the negative one."
            return Finding("positive_class", best, said)
    answer = asker.choose("Which class is the finding (positive)", names, names[1])
    return Finding("positive_class", answer.value, f"{why}. {answer.why}")
