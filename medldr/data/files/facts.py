"""What is known of each item once it was read: enough to resolve rules and to fill a page.

Facts follow from a file's content and from two keys alone (`exif`, `ground`), so they are
remembered by content and hold for every data set that the file is in.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from pydantic import TypeAdapter

from medldr.data.counting import counted, some
from medldr.data.files.geometry import seen_as
from medldr.data.files.origin import Origin
from medldr.data.files.scan import Kind, Scan, Voi

_NUMBER: Final = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?(?!\w)")

_AS_READ: Final = (
    *("kind", "mode", "spacing", "bits", "modality", "window", "frames", "warnings", "voi"),
    *("patient", "origin"),
)
"""Facts that are those of the scan as it was read."""


class Facts(NamedTuple):
    """What one item is.

    Attributes:
        kind: Kind of file.
        mode: ``RGB``, ``12-bit grey``, ``int16`` and the like.
        shape: Of its values, channels first.
        spacing: mm along each axis; None if unknown.
        affine: Rows of the matrix from indices to mm; None if it does not say how the patient lay.
        bits: See `Scan.bits`.
        eight_bit: Whether it is a picture of 8 bits.
        modality: As DICOM names it; empty if unknown.
        low: Its lowest value.
        high: Its greatest value.
        window: Lowest and highest value that the file recommends to show; None if none.
        frames: Frames or pages.
        warnings: What was changed or assumed.
        voi: See `Scan.voi`.
        patient: See `Scan.patient`.
        origin: See `Scan.origin`.
        others: What else decides its image: the point or mask that it is cut around, and headers of
            the further images of an item that has several.
    """

    kind: Kind
    mode: str
    shape: tuple[int, ...]
    spacing: tuple[float, ...] | None
    affine: tuple[tuple[float, ...], ...] | None
    bits: int | None
    eight_bit: bool
    modality: str
    low: float
    high: float
    window: tuple[float, float] | None
    frames: int
    warnings: tuple[str, ...]
    voi: Voi = ""
    patient: str = ""
    origin: Origin | None = None
    others: tuple[str, ...] = ()

    @classmethod
    def of(cls, scan: Scan) -> Facts:
        """The facts of a scan that was read."""
        values = scan.values
        return cls(
            shape=tuple(values.shape),
            affine=None if scan.affine is None else tuple(map(tuple, scan.affine.tolist())),
            eight_bit=scan.kind == "picture" and values.dtype == np.uint8,
            low=float(values.min()),
            high=float(values.max()),
            **{name: getattr(scan, name) for name in _AS_READ},
        )

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Facts:
        """The facts as `_asdict` gives them, also after they were JSON."""
        return _FACTS.validate_python(values)

    @property
    def header(self) -> str:
        """All of them that decide, beside the values, what image a file becomes."""
        deciding = (self.kind, self.spacing, self.affine, self.bits, self.modality, self.window)
        return " ".join([json.dumps(deciding), *self.others])

    @property
    def channels(self) -> int:
        """1 of grey, 3 of colour, or as many as the file has."""
        return self.shape[0]

    @property
    def spatial(self) -> tuple[int, ...]:
        """Pixels along each axis."""
        return self.shape[1:]

    def seen_as(self, dims: int) -> Facts:
        """The same once a data set has that many axes; a picture has no place in the patient."""
        spatial, spacing = seen_as(self.spatial, self.spacing, dims)
        affine = self.affine if len(spatial) == 3 else None
        return self._replace(shape=(self.shape[0], *spatial), spacing=spacing, affine=affine)


_FACTS: Final = TypeAdapter(Facts)


def warning_notes(facts: Iterable[Facts], ids: Sequence[str] = ()) -> list[str]:
    """A sentence for each kind of warning, the most frequent first.

    Warnings that differ in numbers alone are one kind; from the smallest to the greatest is told.

    Args:
        facts: Of each file.
        ids: What to call each; unset: no file is named, as on pages and in records.

    Example:
        >>> texts = ("3 of 64 pixels are transparent", "12 of 64 pixels are transparent")
        >>> pixels = np.zeros((1, 8, 8), np.uint8)
        >>> facts = [Facts.of(Scan(pixels, "picture", "", warnings=(t,))) for t in texts]
        >>> warning_notes(facts)
        ['2 items: 3–12 of 64 pixels are transparent']
        >>> warning_notes(facts, "ab")
        ['2 items: 3–12 of 64 pixels are transparent (a, b)']
    """
    kinds: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    for name, one in zip(ids or itertools.repeat(""), facts, strict=False):
        for text in one.warnings:
            kinds.setdefault(tuple(_NUMBER.split(text)), []).append((name, text))
    notes = []
    for parts, told in sorted(kinds.items(), key=lambda kind: -len(kind[1])):
        texts = list(dict.fromkeys(text for _, text in told))
        which = f" ({some(dict.fromkeys(name for name, _ in told))})" if ids else ""
        notes.append(f"{counted(len(told), 'item', 'items')}: {_together(parts, texts)}{which}")
    return notes


def _together(parts: Sequence[str], texts: Sequence[str]) -> str:
    """Several warnings of one kind as one text, with ranges in place of numbers that differ."""
    sentences = [parts[0]]
    columns = zip(*map(_NUMBER.findall, texts), strict=True)
    for numbers, part in zip(columns, parts[1:], strict=True):
        low, high = (end(numbers, key=_value) for end in (min, max))
        sentences += [low if _value(low) == _value(high) else f"{low}–{high}", part]
    return "".join(sentences)


def _value(number: str) -> float:
    return float(number.replace(",", ""))
