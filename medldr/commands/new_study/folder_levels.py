"""What the levels of a tree of folders mean, by the names that they have and that recur.

Source:
    Our choice. Folders called train and test are splits. Names that recur in most of the folders
    above them are classes below domains (or the reverse, where the words say so); names that do
    not are patients below classes.

    Where no level is taken for domains, classes and hospitals would look alike. Names that hold a
    word for a finding or a grade, and plain numbers, are classes. Names that hold a word for a
    place or a scanner (``hospital_3``), or are one word with numbers (``h1``, ``h2``), are asked
    about, and never guessed; any others are asked about on a terminal, and else taken for classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from medldr.commands.new_study.asking import LISTED, Asker, Finding
from medldr.commands.new_study.column_roles import (
    are_splits,
    like_classes,
    like_domains,
    numbered,
)
from medldr.data.counting import some
from medldr.data.files.dicom import list_folder
from medldr.data.files.dicom_file import open_dicom
from medldr.data.files.scan import ScanError
from medldr.data.listing.folders import Folder, describe_folder, read_folder, walk
from medldr.data.listing.image_names import cases_of, names_of_images
from medldr.data.listing.kinds import TABLES, is_scan, is_slice, tell_not_read
from medldr.data.listing.trees import layout
from medldr.data.metadata_columns import is_number
from medldr.errors import InputError

_RECUR: Final = 0.5
_MOST_CLASSES: Final = 20
_SERIES: Final = ("SeriesInstanceUID",)

Names = tuple[str, ...]


def guess_tree(root: Path, asker: Asker) -> list[Finding]:
    """The keys `root` and `folders` of a tree of scans.

    Args:
        root: Its top, or a folder that holds nothing but it.
        asker: Who decides where two readings are possible.

    Raises:
        InputError: If there are no scans below it, or no level that could be the class.
    """
    root = top_of_tree(root)
    scans, series = _items(root)
    items = [names[:-1] for names in scans]
    if not items:
        others = tell_not_read(name for folder in walk(root) for name in folder.files)
        raise InputError(
            f"{root} holds no table ({', '.join(TABLES)}) and no scans. "
            f"{others or f'Found {describe_folder(root)}'}"
        )
    if not all(items):
        what = "scans beside each other"
        if series and not any(items):
            what = f"{series:,} folders that are one DICOM series, and so one scan, each"
        raise InputError(
            f"{root} holds {what} and no table that says what they are. Write a "
            "CSV with the columns path and label (and site, patient), or put them into folders: "
            f"{layout('FOLDER', ('domain', 'label'))}. Found {describe_folder(root)}"
        )
    levels, why = guess_levels(items)
    why += f" As a path: {layout(root.name, levels)}."
    if series and "group" not in levels:
        patients = ", ".join((*levels, "group"))
        why += (
            f" Below are {series:,} folders of DICOM slices, each one scan; if each is of "
            f"another patient, write folders: [{patients}]."
        )
    if {"domain", "label"} <= set(levels):
        other = {"domain": "label", "label": "domain"}
        options = [",".join(levels), ",".join(other.get(level, level) for level in levels)]
        question = f"What are the folders, from the top? {layout(root.name, levels)} or the reverse"
        answer = asker.choose(question, options, options[0])
        levels = tuple(answer.value.split(","))
        why += f" {answer.why}"
    elif "domain" not in levels:
        why += " No level is taken for hospitals or scanners."
        why = f"{why} {_classes(items, levels, asker)}".rstrip()
    if "group" in levels:
        why = f"{why} {_own_items(scans, levels, asker)}".rstrip()
    folders = [Finding("root", root, ""), Finding("folders", list(levels), why)]
    return [*folders, *numbered_images(root)]


def numbered_images(root: Path) -> list[Finding]:
    """The key `path` where names of files number the images of each item, as nnU-Net's do."""
    names = [folder.below_top(name) for folder in walk(root) for name in _scans(folder)]
    cases = cases_of(names)
    count = 1 + max((number for case in cases.values() for number in case), default=0)
    if count == 1 or sum(map(len, cases.values())) < len(names):
        return []
    why = (
        f"Names of files end in _0000 to _{count - 1:04}, the {count} images of each of "
        f"{len(cases):,} items: call them what they are, such as t2w and adc."
    )
    return [Finding("path", names_of_images(root, count), why)]


def top_of_tree(root: Path) -> Path:
    """The folder whose folders say something: below those that hold nothing but one other."""
    top = read_folder(root)
    while len(top.folders) == 1 and not _scans(top):
        inner = read_folder(top.path / top.folders[0])
        if not inner.folders:
            break
        top = inner
    return top.path


def _classes(items: Sequence[Names], levels: Names, asker: Asker) -> str:
    """Who says that the folders are those of classes, as a sentence; empty where their names do.

    Raises:
        InputError: If they are hospitals or scanners, for then nothing says what the scans are; or
            if they may be, and nobody is there to ask.
    """
    names = sorted({item[levels.index("label")] for item in items})
    known = like_classes(names)
    unclear = numbered(names) or like_domains(names) > known
    if not unclear and (known or all(map(is_number, names))):
        return ""
    question = f"{len(names):,} folders ({some(names, LISTED)}): are these classes or hospitals"
    flag = f"--folders {','.join(levels)}, if they are classes" if unclear else ""
    answer = asker.choose(question, ["classes", "hospitals"], "classes", flag=flag)
    if answer.value == "classes":
        return answer.why
    raise InputError(
        "then nothing says which class a scan is of. Write a CSV with the columns path, label and "
        "site (and patient), or put scans into folders: "
        f"{layout('FOLDER', ('domain', 'label'))}"
    )


def _own_items(scans: Sequence[Names], levels: Names, asker: Asker) -> str:
    """Who says that what recurs in the folders of patients (t2, adc) are items of their own.

    Args:
        scans: ``(N,)`` names of the folders above each scan, and its own.
        levels: What the folders mean, a patient among them.
        asker: Who decides.

    Returns:
        A sentence; empty where they are of one kind, or no kinds recur.

    Raises:
        InputError: If they are the images of one item, which folders cannot say; or if they may
            be, and nobody is there to ask.
    """
    at = levels.index("group")
    own = [(*item[: at + 1], _kind(item[at + 1], patient=item[at])) for item in scans]
    kinds = sorted({names[-1] for names in own})
    if len(kinds) < 2 or _recurring(own, at, at + 1) < _RECUR:
        return ""
    table = (
        "write a CSV with a row per patient and a column of paths for each image, and name these "
        "with --path A,B"
    )
    question = f"Folders of patients hold {some(kinds, LISTED)}: is each an item of its own"
    flag = f"--folders {','.join(levels)}, if so; if they are images of one item, {table}"
    answer = asker.choose(question, ["yes", "no"], "no", flag=flag)
    if answer.value == "yes":
        return answer.why
    raise InputError(f"then they are the images of one item, which folders do not say: {table}")


def _kind(name: str, patient: str) -> str:
    """What a scan is called, without the patient, the ending and what numbers scans of one kind.

    Example:
        >>> [_kind(name, "P7") for name in ("P7_t2w.nii.gz", "t1", "photo_3.png")]
        ['t2w', 't1', 'photo']
    """
    kind = name.casefold().replace(patient.casefold(), "").partition(".")[0].strip("_- ")
    return kind if kind in ("t1", "t2") else kind.rstrip("_- 0123456789")


def guess_levels(items: Sequence[Names]) -> tuple[tuple[str, ...], str]:
    """What the levels of folders mean.

    Args:
        items: ``(N,)`` names of the folders above each item, from the top; at least one each.

    Returns:
        What each means, from the top, and what says so.

    Raises:
        InputError: If all levels are splits.

    Example:
        >>> guess_levels([("a", "cat"), ("a", "dog"), ("b", "cat"), ("b", "dog")])[0]
        ('domain', 'label')
        >>> guess_levels([("cat", "p1"), ("cat", "p2"), ("dog", "p3")])[0]
        ('label', 'group')
    """
    depth = min(map(len, items))
    names = [sorted({item[level] for item in items}) for level in range(depth)]
    split = next((level for level in range(depth) if are_splits(names[level])), None)
    rest = [level for level in range(depth) if level != split]
    if not rest:
        raise InputError(
            "the folders are called like splits (train, test), and none is called like a class, so "
            "nothing says what the scans are. Write a table with the columns path and label"
        )
    meant, why = _meanings(items, rest, names)
    if split is not None:
        meant[split] = "split"
        why = f"Folders are called {', '.join(names[split])}, which are splits. {why}"
    return tuple(meant[level] for level in sorted(meant)), why


def _meanings(
    items: Sequence[Names], rest: list[int], names: Sequence[Sequence[str]]
) -> tuple[dict[int, str], str]:
    top = rest[0]
    if len(rest) == 1:
        return {top: "label"}, f"There is one level of folders: {len(names[top]):,} classes."
    second, third = rest[1], rest[2] if len(rest) > 2 else None
    if _recurring(items, top, second) >= _RECUR:
        upper, lower = "domain", "label"
        reverse = like_classes(names[top]) + like_domains(names[second])
        if reverse > like_domains(names[top]) + like_classes(names[second]):
            upper, lower = lower, upper
        meant = {top: upper, second: lower}
        why = (
            f"The {len(names[second]):,} names of the second level recur in most of the "
            f"{len(names[top]):,} folders of the first, as those of classes and of domains do."
        )
        if third is not None and _recurring(items, second, third) < _RECUR:
            meant[third] = "group"
            why += " Those of the third do not recur: they are patients."
        return meant, why
    few = third is not None and len(names[third]) <= _MOST_CLASSES
    if third is not None and few and _recurring(items, second, third) >= _RECUR:
        why = "Names of the second level do not recur, as those of patients; those of the third do."
        return {top: "domain", second: "group", third: "label"}, why
    why = (
        f"Names of the second level do not recur in the {len(names[top]):,} folders of the first: "
        "they are patients, below their classes."
    )
    return {top: "label", second: "group"}, why


def _recurring(items: Sequence[Names], upper: int, lower: int) -> float:
    """The share of a folder's names that most other folders have, too, as a mean over folders."""
    below: dict[Names, set[str]] = {}
    for item in items:
        below.setdefault(item[: upper + 1], set()).add(item[lower])
    if len(below) < 2:
        return 0.0
    counts = Counter(name for names in below.values() for name in names)
    most = {name for name, count in counts.items() if 2 * count >= max(3, len(below))}
    return sum(len(names & most) / len(names) for names in below.values()) / len(below)


def _items(root: Path) -> tuple[list[Names], int]:
    """Names of the folders above each item and its own, and how many are folders of slices."""
    items: list[Names] = []
    series = 0
    for folder in walk(root):
        files = _scans(folder)
        slices = [name for name in files if is_slice(name)]
        if folder.names and slices == files and _is_series(folder.path, slices):
            items.append(folder.names)
            series += 1
        else:
            items += [(*folder.names, name) for name in files]
    return items, series


def _scans(folder: Folder) -> list[str]:
    return [name for name in folder.files if is_scan(name, folder.files)]


def _is_series(folder: Path, slices: Sequence[str]) -> bool:
    """Whether the first and the last file of a folder are of one DICOM series.

    If not, whether all of its files are, but for what was made of them (SEG, RTDOSE).
    """
    if len(slices) < 2:
        return False
    try:
        ends = [open_dicom(folder / name, _SERIES)[0] for name in (slices[0], slices[-1])]
        first, last = (str(end.get("SeriesInstanceUID", "")) for end in ends)
        if first == last:
            return bool(first)
        files = [file for of in list_folder(folder).series.values() for file in of]
    except ScanError:
        return False
    scans = [file.series_uid for file in files if not file.origin.made]
    return len(scans) > 1 and len(set(scans)) == 1
