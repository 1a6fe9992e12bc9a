"""Where a DICOM file comes from: recorded of a patient, or made of what was recorded.

Source:
    PS3.3, C.7.6.1.1.2 (image type), and the classes of PS3.4, B.5. Our choice: beside pictures that
    were recorded, what was drawn or computed on them (SEG, RTDOSE, parametric maps) and what holds
    no picture by its kind (SR, presentation states, plans) is no scan, in any folder; a captured
    screen, such as a dose report, is none beside pictures of its own study, as those of other
    patients may be stored as captures; a localizer is a picture of its own, no slice of a volume.
    Whoever names one of these by itself gets it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from medldr.data.counting import some, tally

Made = Literal["", "localizer", "capture", "other"]

_STORAGE: Final = "1.2.840.10008.5.1.4.1.1."
_MAPS: Final = frozenset(_STORAGE + end for end in ("66.4", "66.7", "30", "481.2"))
"""Classes of segmentations, maps of labels, parametric maps and doses."""
_CAPTURE: Final = f"{_STORAGE}7"
"""Class of pictures of a screen; those of several frames begin with it, too."""
NEAREST_FIRST: Final[tuple[Made, ...]] = ("", "localizer", "capture", "other")
"""In a folder that is one scan, the files nearest to the patient are the scan."""


class Origin(NamedTuple):
    """What a file is.

    Attributes:
        made: How it was made; empty for a picture that was recorded as it is.
        kind: What it is called in notes, such as ``CT``, ``localizer, CT`` or ``SEG``.
        study: A digest in place of StudyInstanceUID.
        frames: Number of its pictures.
    """

    made: Made = ""
    kind: str = ""
    study: str = ""
    frames: int = 1


def origin_of(header: Any) -> Origin:
    """What a file says of itself.

    Args:
        header: A data set, or its first elements.
    """
    storage = header.get("SOPClassUID") or ""
    image_type = header.get("ImageType") or ()
    types = [image_type] if isinstance(image_type, str) else image_type
    kind = str(header.get("Modality") or "modality unknown")
    no_image = storage and "Image" not in getattr(storage, "name", "")
    made: Made = ""
    if storage in _MAPS or ("Rows" not in header and no_image):
        made = "other"
    elif storage == _CAPTURE or storage.startswith(f"{_CAPTURE}."):
        made, kind = "capture", f"captured screen, {kind}"
    elif "LOCALIZER" in (str(word).strip().upper() for word in types):
        made, kind = "localizer", f"localizer, {kind}"
    try:
        frames = max(1, int(header.get("NumberOfFrames") or 1))
    except (ValueError, TypeError):
        frames = 1
    study = hashlib.sha256(str(header.get("StudyInstanceUID")).encode()).hexdigest()[:12]
    return Origin(made, kind, study, frames)


def made_beside(origins: Sequence[Origin | None]) -> dict[int, str]:
    """Files that are no item beside the others of their folder, and what each is called.

    Args:
        origins: Of the files that are in one folder; None for what is no DICOM file, or is broken.
    """
    known = {place: one for place, one in enumerate(origins) if one is not None}
    pictures = [one for one in known.values() if one.made != "other"]
    recorded = [one for one in pictures if not one.made]
    studies, volumes = {one.study for one in recorded}, any(one.frames > 1 for one in recorded)

    def is_beside(one: Origin) -> bool:
        if one.made == "capture":
            return one.study in studies
        return bool(pictures) if one.made == "other" else volumes and one.made == "localizer"

    return {place: one.kind for place, one in known.items() if is_beside(one)}


def beside_note(made: Mapping[str, str], *, named: bool = False) -> list[str]:
    """A sentence on files that are no items beside others; none where there are none.

    Args:
        made: What each is called, by its name.
        named: Whether names are told, which may be those of patients.

    Example:
        >>> beside_note({"a.dcm": "SEG", "b.dcm": "SR"})
        ['made of scans, so left out beside them: 2 (SEG 1, SR 1)']
    """
    names = f": {some(made)}" if named else ""
    said = f"made of scans, so left out beside them: {len(made)}{tally(made.values())}{names}"
    return [said] if made else []
