"""`mistakes.json`: the most confident mistakes of a run as small pictures, without any name."""

from __future__ import annotations

import os
from typing import Annotated, Final

from pydantic import Field

from medldr.folders.files import RunFolder, write_json
from medldr.folders.records import Record, read_record

SCHEMA: Final = 1

PNG = Annotated[str, Field(pattern=r"^iVBORw0KGgo[A-Za-z0-9+/]+={0,2}$")]
"""A PNG file in base64; it begins with the signature of the format."""


class Mistake(Record):
    """One wrong prediction.

    Attributes:
        truth: The true class; of several labels, the label and whether it is there.
        predicted: The predicted class, likewise.
        confidence: Its probability.
        domain: Where the image comes from; empty where that is unknown.
        png: The picture.
    """

    truth: str
    predicted: str
    confidence: float
    domain: str = ""
    png: PNG


class Mistakes(Record):
    """`mistakes.json`.

    Attributes:
        split: The split that was searched.
        n: Its items.
        wrong: Items with a wrong prediction.
        slices: Whether the pictures are slices of volumes.
        items: The most confident ones, first the most confident.
    """

    schema_: int = Field(SCHEMA, alias="schema")
    split: str
    n: int
    wrong: int
    slices: bool = False
    items: tuple[Mistake, ...] = ()


def write_mistakes(files: RunFolder, mistakes: Mistakes | None) -> None:
    """Write `mistakes.json`, or remove the one of an earlier evaluation."""
    if mistakes is None:
        files.mistakes.unlink(missing_ok=True)
    else:
        write_json(files.mistakes, mistakes.model_dump(by_alias=True))


def read_mistakes(files: RunFolder) -> Mistakes | None:
    """Read `mistakes.json`; None where there is none.

    Raises:
        InputError: If it is damaged or has an unknown schema.
    """
    if not os.path.lexists(files.mistakes):
        return None
    cure = f"Run `medldr evaluate {files.path}` to write it again, or delete it"
    return read_record(files.mistakes, Mistakes, cure, (SCHEMA,))
