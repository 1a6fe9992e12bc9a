"""Names of columns by the words that they are made of.

Source:
    Our choice of words: those of common tables (ISIC, NIH, CheXpert, TCIA, HAM10000, WILDS). A name
    matches by all of its words or by its last one, for ``image_label`` is a label, but
    ``label_source`` is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, Literal

from medldr.datasets._table.split_words import split_of

Role = Literal["path", "label", "domain", "group", "split"]

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
        "institute", "vendor", "manufacturer", "domain", "clinic", "klinik", "source",
    }),
    "group": frozenset({"patient", "subject", "case", "slide", "pid", "participant", "person"}),
    "split": frozenset({"split", "set", "subset", "partition", "fold", "phase"}),
}
_SUFFIXES: Final = frozenset({"id", "ids", "name", "names", "no", "nr", "number", "code", "key"})
SUBGROUPS: Final = frozenset({
    "sex", "gender", "age", "race", "ethnicity", "device", "model", "magnification", "stain",
})
_CLASSES: Final = frozenset({
    "normal", "abnormal", "benign", "malignant", "healthy", "control", "negative", "positive",
    "tumor", "tumour", "cancer", "disease", "lesion", "fracture", "pneumonia", "atypical",
    "carcinoma", "melanoma", "nevus", "adenoma", "nodule", "grade", "class",
})
# fmt: on


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
    found = words(name)
    while len(found) > 1 and found[-1] in _SUFFIXES:
        found.pop()
    known = ROLES[role]
    if not found:
        return None
    if "".join(found) in known or _one(found) in known:
        return 0
    return 1 if found[-1] in known or found[-1].removesuffix("s") in known else None


def _one(found: Sequence[str]) -> str:
    return found[0].removesuffix("s") if len(found) == 1 else ""


def like_classes(names: Sequence[str]) -> int:
    """How many names read like those of classes.

    Example:
        >>> like_classes(["benign", "malignant_tumour", "site_a"])
        2
    """
    return sum(not _CLASSES.isdisjoint(words(name)) for name in names)


def like_domains(names: Sequence[str]) -> int:
    """How many names read like those of hospitals or scanners.

    Example:
        >>> like_domains(["site_a", "Hospital 2", "benign"])
        2
    """
    return sum(not ROLES["domain"].isdisjoint(words(name)) for name in names)


def are_splits(names: Sequence[str]) -> bool:
    """Whether all of several names are those of splits, and not of one alone.

    Example:
        >>> are_splits(["train", "Test"]), are_splits(["train", "site_a"])
        (True, False)
    """
    meant = {split_of(name) for name in names}
    return len(meant) > 1 and None not in meant
