"""Who is held out and who is a patient, and what to look at before a result is believed.

Source:
    Our choice: every domain is held out, the largest eight of many, for each costs as much as the
    others. A domain is not, where nothing could be learnt without it (it alone has a class), tested
    on it, or where the validation split that is left has no image of a class. Where the data cannot
    be divided so that all classes are validated and something is tested, no study is written.

    Nothing in a table can tell whether patients whose names occur in several domains are the same
    people or a numbering of each hospital, so it is asked. Unasked, they are the same people, for
    that can only cost images, and never lets a patient train and test.

    Of 10 images (below which subgroups are not scored, either) and of 30 for a domain or a test
    split (`medldr.data.inspection.FEW`), a caution tells.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.commands.new_study.asking import Asker, Finding
from medldr.data.config import DatasetConfig
from medldr.data.counting import counted, some
from medldr.data.image_table import ImageTable
from medldr.data.inspection import FEW
from medldr.data.metadata_columns import FEWEST
from medldr.data.splits.make import make_splits
from medldr.data.splits.stratify import class_table
from medldr.errors import InputError
from medldr.sweeps.plan.table import ALLOWED

MOST: Final = 8
_LISTED: Final = 6
_SAME: Final = "same"
_MISSING: Final = ("nan", "na", "n/a", "#n/a", "null")
"""What programs write into cells that have no value."""
_OWN: Final = "own"

PATTERNS: Final = (
    r"(?:^|/)([A-Za-z]*[0-9]+)[_-][^/]*$",
    r"(?:^|/)([A-Za-z]+[_-][0-9]+)[_-][^/]*$",
)
"""The patient of ``site/P12_003.png`` and of ``site/patient_12-003.png``."""

_FEWEST: Final = 10
_IMAGES_EACH: Final = 1.5
_LARGEST: Final = 0.2


class HeldOut(NamedTuple):
    """Domains that are held out.

    Attributes:
        names: The domain, by its name in labels of runs; empty where none is held out.
        train: Images that train: where the largest domain is held out, or none is.
        tested: Images of the test split where a domain is held out; of the name "" where none is.
        why: What was found.
        cautions: What readers should look at.
        private: Why domains are not held out, in words that may name patients.
    """

    names: dict[str, str]
    train: int
    tested: dict[str, int]
    why: str
    cautions: tuple[str, ...]
    private: tuple[str, ...]


def choose_held_out(table: ImageTable, config: DatasetConfig) -> HeldOut:
    """The domains that are held out.

    Each is proven by making its splits; where there is none, the data set by making its own.

    Args:
        table: All images.
        config: The section `data`, without held-out domains.

    Raises:
        InputError: If no domain can be held out and the data cannot be divided, either, or not so
            that every class is validated and something is tested.
    """
    config = config.with_seed(0)
    sizes = Counter(table.domains[table.domains != ""].tolist())
    chosen: list[str] = []
    cautions: list[str] = []
    private: list[str] = []
    tested: dict[str, int] = {}
    train = 0
    if len(sizes) > 1:
        for domain, _ in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
            if len(chosen) == MOST:
                break
            try:
                rows = make_splits(table, config.model_copy(update={"held_out": (domain,)})).rows
                fault = fault_of_splits(table, rows)
            except InputError as error:
                fault = _reason(table, domain)
                private.append(f"{domain!r} cannot be held out: {error}")
            if fault:
                cautions.append(f"{domain!r} is not held out: {fault}.")
                continue
            train = train or len(rows["train"])
            tested[domain] = len(rows["test"])
            chosen.append(domain)
    if chosen:
        why = f"Each run leaves one of {len(sizes):,} domains out and is tested on it."
        if len(sizes) - len(cautions) > MOST:
            why += f" The {MOST} with the most images are; add others as you like."
    else:
        rows = make_splits(table, config).rows
        fault = fault_of_splits(table, rows)
        if fault:
            raise InputError(f"no study can be made of {table.name}: {fault}. {_cure(table)}")
        train, tested = len(rows["train"]), {"": len(rows["test"])}
        none = {0: "none are named. Results say nothing about other hospitals.",
                1: f"all scans are of {next(iter(sizes), '')!r}."}  # fmt: skip
        why = f"No domain is held out: {none.get(len(sizes), 'none can be.')}"
    return HeldOut(labels(sorted(chosen)), train, tested, why, tuple(cautions), tuple(private))


def fault_of_splits(table: ImageTable, rows: Mapping[str, NDArray[np.int64]]) -> str:
    """What cannot be done with the splits of a run, without ids; empty where there is nothing.

    Weights are selected by images of every class, or the selection would not see one of them.

    Args:
        table: All images.
        rows: Row numbers of each split.
    """
    selecting = rows.get("val", rows.get("id_val"))
    if selecting is None or "test" not in rows:
        sizes = ", ".join(f"{split} {len(of):,}" for split, of in rows.items())
        what = "test on" if selecting is not None else "select weights on"
        return f"no image is left to {what} ({sizes})"
    trained, chosen = (_per_class(table, of) for of in (rows["train"], selecting))
    counts = _per_class(table, np.concatenate(list(rows.values())))
    lacking = [
        f"{name} ({counted(counts[name], 'image', 'images')})"
        for name in trained
        if trained[name] and not chosen[name]
    ]
    return f"validation has no image of {some(lacking, _LISTED)}" if lacking else ""


def _cure(table: ImageTable) -> str:
    """What to change where splits cannot be used, with the options that say it."""
    if (table.splits != "").any():
        return "Its splits are its own: correct them, or name another column with --split"
    groups = len(set(table.groups.tolist()) - {""})
    divided = (
        f"No split divides a patient, and there are {groups:,}: --group names their column, "
        "--domain that of hospitals, --split that of splits of your own."
    )
    rare = _odd_classes(table) or ["Join a rare class with another, or leave its rows out."]
    return " ".join([divided] * (groups > 0) + rare).removesuffix(".")


def _reason(table: ImageTable, domain: str) -> str:
    """Why a domain cannot be held out, without ids."""
    inside = table.domains == domain
    here, elsewhere = _per_class(table, inside), _per_class(table, ~inside)
    alone = [name for name, count in here.items() if count and not elsewhere[name]]
    if alone:
        return f"no other domain has the class {', '.join(map(repr, alone))}"
    return "its splits cannot be made, for the reason that a run with data.held_out gives"


def labels(domains: Sequence[str]) -> dict[str, str]:
    """Names for the labels of runs, made of the letters that these may have.

    Example:
        >>> labels(["Köln: Süd", "Koln Sud", "007"])
        {'Koln_Sud': 'Köln: Süd', 'Koln_Sud_2': 'Koln Sud', '007': '007'}
    """
    names: dict[str, str] = {}
    for domain in domains:
        plain = unicodedata.normalize("NFKD", domain).encode("ascii", "ignore").decode()
        name = re.sub(r"[^A-Za-z0-9_.+-]+", "_", plain).strip("_.+-")
        name = base = name if ALLOWED.fullmatch(name) else "domain"
        number = 1
        while name in names:
            number += 1
            name = f"{base}_{number}"
        names[name] = domain
    return names


def held_out_keys(table: ImageTable, asker: Asker) -> list[Finding]:
    """Keys that say what is tested of a held-out domain, and who a patient is.

    Args:
        table: All images.
        asker: Who knows whether patients of two domains are the same.

    Returns:
        Nothing where every domain has patients of its own and the data have no splits.
    """
    domains = set(table.domains.tolist()) - {""}
    if len(domains) < 2:
        return []
    tested = set(table.domains[table.splits == "test"].tolist())
    shared, total = shared_groups(table)
    if shared:
        question = "Are patients of equal names in two domains the same, or of each one (own)"
        answer = asker.choose(question, (_SAME, _OWN), _SAME)
        counts = f"{shared:,} of {total:,} names of patients occur in several domains."
        if answer.value == _OWN:
            why = f"{counts} They are other patients there. {answer.why}"
            return [Finding("group_scope", "domain", why)]
        why = (
            f"{counts} They are taken for the same patients, so a held-out domain is tested "
            f"only on those who do not train. {answer.why} If each hospital numbers its own "
            "patients, set group_scope: domain in place of this line."
        )
        return [Finding("held_out_rows", "test", why)]
    if not (table.splits != "").any():
        return []
    some_lack = not domains <= tested
    why = "A held-out domain is tested on its own test rows; uncomment to test on all of them."
    if some_lack:
        why = "Not every domain has test rows, so a held-out domain is tested on all of its rows."
    return [Finding("held_out_rows", "all", why, used=some_lack)]


def shared_groups(table: ImageTable) -> tuple[int, int]:
    """How many names of patients occur in several domains, and how many there are.

    Args:
        table: All images.
    """
    named = table.groups != ""
    folded = [name.casefold() for name in table.groups[named].tolist()]
    pairs = set(zip(folded, table.domains[named].tolist(), strict=True))
    domains_of = Counter(name for name, _ in pairs)
    return sum(count > 1 for count in domains_of.values()), len(domains_of)


def group_pattern(paths: Sequence[str]) -> tuple[str, int] | None:
    """A pattern that finds a patient in every path, and how many patients.

    Args:
        paths: ``(N,)`` paths with forward slashes.

    Returns:
        None where no pattern suits: some paths do not match, or what it finds does not look like
        patients (fewer than 10, fewer than 1.5 images each, a fifth of all images in one).

    Source:
        Our choice. Patients that are none only make intervals wider and splits coarser; images that
        are taken for independent although they share a patient make results look better.

    Example:
        >>> group_pattern([f"a/P{n // 3}_{n}.png" for n in range(60)])
        ('(?:^|/)([A-Za-z]*[0-9]+)[_-][^/]*$', 20)
        >>> group_pattern([f"a/IMG_{n}.png" for n in range(60)])
    """
    for pattern in PATTERNS:
        search = re.compile(pattern).search
        patients = [match.group(1) for path in paths if (match := search(path))]
        if len(patients) < len(paths):
            continue
        sizes = Counter(patients)
        several = len(patients) >= _IMAGES_EACH * len(sizes)
        if len(sizes) >= _FEWEST and several and max(sizes.values()) <= _LARGEST * len(patients):
            return pattern, len(sizes)
    return None


def cautions(table: ImageTable, tested: Mapping[str, int]) -> list[str]:
    """What is few or absent in a data set, a sentence each, without ids.

    Args:
        table: All images.
        tested: Images that are tested, by the domain that is held out; under "" where none is.
    """
    sentences = []
    if not (table.groups != "").any():
        sentences.append(
            "No patients are named: splits may divide a patient's images, and 95% CIs count images "
            "as independent. Name them in a column (data.group), a level of folders, or by "
            "data.group_pattern."
        )
    if not (table.domains != "").any():
        sentences.append(
            "No hospitals or scanners are named, so nothing is held out, and results say nothing "
            "about other hospitals. Name their column (--domain) or a level of folders."
        )
    sentences += _odd_classes(table)
    absent = [
        f"{name} in {domain}"
        for domain in filter(None, tested)
        for name, count in _per_class(table, table.domains == domain).items()
        if not count
    ]
    if absent:
        sentences.append(
            f"Classes that a domain lacks: {some(absent, _LISTED)}. Scores of these domains are "
            "not comparable with those of others."
        )
    small = [f"{domain} ({size})" for domain, size in sorted(tested.items()) if size < FEW]
    if small and "" in tested:
        sentences.append(f"The test split has only {tested['']:,} of {len(table):,} images.")
    elif small:
        sentences.append(
            f"Domains that are tested on fewer than {FEW} images: {some(small, _LISTED)}. A test "
            "on so few is hardly one."
        )
    return sentences


def _odd_classes(table: ImageTable) -> list[str]:
    """Classes that are rare, or are called like a missing label, a sentence each."""
    sentences = []
    counts = _per_class(table, np.ones(len(table), dtype=bool))
    rare = [f"{name} ({count})" for name, count in counts.items() if count < FEWEST]
    if rare:
        sentences.append(
            f"Classes with fewer than {FEWEST} images: {some(rare, _LISTED)}. Join them with "
            "another class, or leave their rows out of the table."
        )
    missing = [name for name in counts if name.casefold() in _MISSING]
    if missing:
        sentences.append(
            f"Classes that are called like a missing label: {some(missing, _LISTED)}. Leave these "
            "cells blank, and the rows are not taken for a class."
        )
    return sentences


def _per_class(table: ImageTable, rows: NDArray[np.bool_] | NDArray[np.int64]) -> dict[str, int]:
    """Images of each class, or with each label, among some rows."""
    numbers = class_table(table.labels, len(table.class_names))[rows].sum(axis=0).tolist()
    return dict(zip(table.class_names, map(int, numbers), strict=True))
