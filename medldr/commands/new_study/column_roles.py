"""Which column of a table is the label, the split, the patient and the domain.

Source:
    Our choice: a column is taken for what its name says, if its cells could be that (every row in a
    known split, at least two domains). Named columns win over guesses; no column is used twice.

    Words are those of common tables (ISIC, NIH, CheXpert, TCIA, HAM10000, WILDS). A name matches by
    all of its words or by its last one, for ``image_label`` is a label, but ``label_source`` is
    none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Final

from medldr.commands.new_study.asking import LISTED, TOLD, Asker, Finding, Role, remark
from medldr.data.counting import counted, some
from medldr.data.listing.names import split_of
from medldr.data.listing.tables import Sheet
from medldr.data.metadata_columns import MOST_VALUES, is_number
from medldr.errors import InputError

# fmt: off
ROLES: Final[dict[Role, frozenset[str]]] = {
    "path": frozenset({
        "path", "file", "filename", "filepath", "image", "img", "scan", "series", "volume",
    }),
    "label": frozenset({
        "label", "class", "diagnosis", "diagnose", "target", "y", "finding", "dx", "category",
    }),
    "domain": frozenset({
        "site", "hospital", "centre", "center", "scanner", "lab", "laboratory", "institution",
        "institute", "vendor", "manufacturer", "domain", "clinic", "klinik", "source", "camera",
        "machine", "microscope", "cohort", "standort",
    }),
    "group": frozenset({"patient", "subject", "case", "slide", "pid", "participant", "person"}),
    "split": frozenset({"split", "set", "subset", "partition", "fold", "phase"}),
}
_SUFFIXES: Final = frozenset({"id", "ids", "name", "names", "no", "nr", "number", "code", "key"})
SUBGROUPS: Final = frozenset({
    "sex", "gender", "age", "race", "ethnicity", "device", "model", "magnification", "stain",
})
_VENDORS: Final = frozenset({
    "siemens", "philips", "ge", "canon", "toshiba", "fuji", "hologic", "aperio", "hamamatsu",
    "leica", "zeiss", "ventana", "topcon", "heidelberg",
})
_CLASSES: Final = frozenset({
    "normal", "abnormal", "benign", "malignant", "healthy", "control", "negative", "positive",
    "tumor", "tumour", "cancer", "disease", "lesion", "fracture", "pneumonia", "atypical",
    "carcinoma", "melanoma", "nevus", "adenoma", "nodule", "grade", "class", "type", "stage",
    "level", "score", "category", "degree", "label", "gleason", "isup", "cin", "kl", "birads",
    "pirads", "rads",
})
_PLACES: Final = ROLES["domain"] | _VENDORS | frozenset({
    "batch", "dataset", "study", "trial", "city", "country", "region", "university", "department",
    "ward", "krankenhaus", "zentrum", "hopital",
})
# fmt: on

_MOST_CLASSES: Final = 20
"""Values of a column that is taken for the label although its name doesn't say so."""
_OPTIONAL: Final[tuple[Role, ...]] = ("split", "group", "domain")
_NONE: Final = "none"
_ASKED: Final[Mapping[Role, str]] = {
    "label": "Which column is the class of each scan",
    "split": "Which column is the split",
    "group": "Which column is the patient",
    "domain": "Which column is the hospital or scanner",
}


def guess_columns(
    sheet: Sheet,
    taken: Sequence[str],
    given: Mapping[Role, str],
    asker: Asker,
    *,
    label: Finding | None = None,
) -> list[Finding]:
    """The keys `label`, `split`, `group` and `domain` of a table.

    Args:
        sheet: The table.
        taken: Columns that mean something already: that of the paths.
        given: Columns that the user named; several labels are separated by commas.
        asker: Who chooses where several columns suit.
        label: What is the label, where that is known; None: it is looked for.

    Raises:
        InputError: If a named column does not exist, or nothing says which one is the label.
    """
    for role, name in given.items():
        for part in name.split(",") if role == "label" else [name]:
            sheet.require(part, f"--{role}")
    used = {*taken, *(part for name in given.values() for part in name.split(","))}
    findings = [label or _label(sheet, used, given, asker)]
    used.update([findings[0].value] if isinstance(findings[0].value, str) else findings[0].value)
    for role in _OPTIONAL:
        of_role = _optional(sheet, role, used, given, asker)
        used.update(one.value for one in of_role if one.used)
        findings += of_role
    further = [
        name for name in sheet.names if name not in used and not SUBGROUPS.isdisjoint(words(name))
    ]
    if further:
        why = "Uncomment to see results by these columns, too."
        findings.append(Finding("columns", further, why, used=False))
    return findings


def _label(sheet: Sheet, used: set[str], given: Mapping[Role, str], asker: Asker) -> Finding:
    if "label" in given:
        names = given["label"].split(",")
        return Finding("label", names if len(names) > 1 else names[0], TOLD)
    suited = _suited(sheet, "label", used)
    if suited:
        return _chosen(sheet, "label", suited, asker)
    few = _few_values(sheet, used)
    if few and asker.interactive:
        answer = asker.choose(_ASKED["label"], few, few[0])
        return Finding("label", answer.value, answer.why)
    candidates = f" Columns with few values: {', '.join(few)}." if few else ""
    raise InputError(
        f"{sheet.path}: no column is called label, class, diagnosis or the like, so say which one "
        f"holds the class, with --label COLUMN.{candidates} Columns: {', '.join(sheet.names)}"
    )


def _few_values(sheet: Sheet, used: set[str]) -> list[str]:
    """Columns that may be that of classes or of hospitals, though their names say nothing."""
    return [
        name
        for name in sheet.names
        if name not in used
        and 2 <= len(_different(sheet, name)) <= _MOST_CLASSES
        and not any(rank(name, role) is not None for role in _OPTIONAL)
    ]


def _optional(
    sheet: Sheet, role: Role, used: set[str], given: Mapping[Role, str], asker: Asker
) -> list[Finding]:
    if role in given:
        return [Finding(role, given[role], TOLD)]
    wrong = {name: _unfit(sheet, name, role) for name in _suited(sheet, role, used)}
    suited = [name for name, why in wrong.items() if not why]
    remarks = [
        remark(f"The column {name!r} is not taken for data.{role}: {why}.")
        for name, why in wrong.items()
        if why
    ]
    if suited:
        return [_chosen(sheet, role, suited, asker), *remarks]
    others = [n for n in _few_values(sheet, used) if SUBGROUPS.isdisjoint(words(n))]
    if role == "domain" and others and asker.interactive:
        answer = asker.choose(_ASKED[role], [*others, _NONE], _NONE)
        remarks += [Finding(role, answer.value, answer.why)] * (answer.value != _NONE)
    return remarks


def _suited(sheet: Sheet, role: Role, used: set[str]) -> list[str]:
    """Columns whose names say so, the best first."""
    places = {name: rank(name, role) for name in sheet.names if name not in used}
    ranks = {name: place for name, place in places.items() if place is not None}
    return sorted(ranks, key=ranks.__getitem__)


def _chosen(sheet: Sheet, role: Role, suited: list[str], asker: Asker) -> Finding:
    best, *others = suited
    if role == "label":
        best = next((name for name in others if _names_for(sheet, best, name)), best)
        others = [name for name in suited if name != best]
    why = f"The column's name says so. It holds {_values(sheet, best, role)}."
    empty = sheet.column(best).count("")
    if empty and role == "group":
        why += f" {empty:,} rows have none: each of these counts as a patient of its own."
    if others:
        answer = asker.choose(_ASKED[role], suited, best)
        if answer.value != best:
            return Finding(role, answer.value, answer.why)
        why += f" {', '.join(map(repr, others))} would suit as well. {answer.why}"
    return Finding(role, best, why)


def _values(sheet: Sheet, name: str, role: Role) -> str:
    """How many values a column has and, unless they are patients, which ones."""
    counts = Counter(cell for cell in sheet.column(name) if cell)
    number = counted(len(counts), "different value", "different values")
    if role == "group":
        return number
    return f"{number}: {some((f'{value} ({n:,})' for value, n in sorted(counts.items())), LISTED)}"


def _names_for(sheet: Sheet, numbers: str, other: str) -> bool:
    """Whether a column holds numbers, and the other one the names that they stand for."""
    pairs = set(zip(sheet.column(numbers), sheet.column(other), strict=True))
    left, right = _different(sheet, numbers), _different(sheet, other)
    digits = all(map(is_number, left)) and not any(map(is_number, right))
    return digits and len(pairs) == len(left) == len(right)


def _unfit(sheet: Sheet, name: str, role: Role) -> str:
    """Why a column cannot be what its name says; empty where it can."""
    cells, different = sheet.column(name), _different(sheet, name)
    empty = cells.count("")
    if role == "group":
        return "" if different else "it is empty"
    if empty:
        return f"{empty:,} of {len(cells):,} rows have none"
    if role == "domain":
        if len(different) < 2:
            return f"all rows are of {next(iter(different))!r}"
        return f"it has {len(different):,} values" if 2 * len(different) > len(cells) else ""
    strange = sorted(value for value in different if split_of(value) is None)
    if strange:
        numbers = " (`medldr data split` makes splits of numbered folds)" * is_number(strange[0])
        return f"{len(strange):,} of its {len(different):,} values name no split{numbers}"
    return "" if are_splits(sorted(different)) else "it names a single split"


def _different(sheet: Sheet, name: str) -> set[str]:
    return set(sheet.column(name)) - {""}


def looks_ordinal(classes: Sequence[str], label: str) -> bool:
    """Whether classes may be grades: three or more numbers, or a column called so.

    Example:
        >>> looks_ordinal(["0", "1", "2"], "label"), looks_ordinal(["a", "b"], "grade")
        (True, False)
    """
    graded = not {"grade", "stage", "score", "severity"}.isdisjoint(words(label))
    numbers = all(is_number(name) for name in classes)
    return 2 < len(classes) <= MOST_VALUES and (graded or numbers)


def words(name: str) -> list[str]:
    """The words of a name, in small letters.

    Example:
        >>> words("patientID"), words("Image-Label"), words("published_split")
        (['patient', 'id'], ['image', 'label'], ['published', 'split'])
    """
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word for word in re.split(r"[\W_]+", parted.casefold()) if word]


def rank(name: str, role: Role) -> int | None:
    """How well the name of a column suits a role: 0 by all of it, 1 by its last word.

    Example:
        >>> rank("Patient_ID", "group"), rank("published_split", "split"), rank("age", "group")
        (0, 1, None)
        >>> rank("labels", "label"), rank("dx_type", "label")
        (0, None)
    """
    parts = words(name)
    while len(parts) > 1 and parts[-1] in _SUFFIXES:
        parts.pop()
    if not parts:
        return None
    last = {parts[-1], parts[-1].removesuffix("s")}
    if "".join(parts) in ROLES[role] or (len(parts) == 1 and last & ROLES[role]):
        return 0
    return 1 if last & ROLES[role] else None


def like_classes(names: Sequence[str]) -> int:
    """How many names read like those of classes: they hold a word for a finding or a grade.

    Example:
        >>> like_classes(["benign", "malignant_tumour", "grade2", "site_a"])
        3
    """
    return sum(not _CLASSES.isdisjoint(_parted(name)) for name in names)


def like_domains(names: Sequence[str]) -> int:
    """How many names read like those of hospitals or scanners.

    Example:
        >>> like_domains(["site0", "Hospital 2", "Siemens Skyra", "benign"])
        3
    """
    return sum(not _PLACES.isdisjoint(_parted(name)) for name in names)


def numbered(names: Sequence[str]) -> bool:
    """Whether most names are one and the same word, which is no finding, with a number or a letter.

    Example:
        >>> numbered(["h1", "h2"]), numbered(["grade_1", "grade_2"]), numbered(["0", "1"])
        (True, False, False)
    """
    parts = [_parted(name) for name in names]
    ends = [p for p in parts if len(p) > 1 and (p[-1].isdigit() or len(p[-1]) == 1)]
    stems = Counter(" ".join(p[:-1]) for p in ends if _CLASSES.isdisjoint(p))
    return 2 * max(stems.values(), default=0) > len(names)


def _parted(name: str) -> list[str]:
    """The words of a name, and its numbers, such as site and 0 of ``site0``."""
    return words(re.sub(r"(?<=[^\W\d_])(?=\d)", " ", name))


def are_splits(names: Sequence[str]) -> bool:
    """Whether all of several names are those of splits, and not of one alone.

    Example:
        >>> are_splits(["train", "Test"]), are_splits(["train", "site_a"])
        (True, False)
    """
    meant = {split_of(name) for name in names}
    return len(meant) > 1 and None not in meant
