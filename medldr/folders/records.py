"""What all records of a folder share: typed, read by one function, with one kind of complaint."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from medldr.errors import InputError
from medldr.folders.files import read_json


class Record(BaseModel):
    """Part of a JSON file that medldr writes; keys that it does not know are kept."""

    model_config = ConfigDict(
        frozen=True, extra="allow", populate_by_name=True, protected_namespaces=()
    )


R = TypeVar("R", bound=Record)


def read_record(path: Path, kind: type[R], cure: str) -> R:
    """Read and check a record.

    Args:
        path: The JSON file.
        kind: What it should hold.
        cure: What to do where it does not, a sentence without its full stop.

    Raises:
        InputError: If it is absent, no JSON, or not of this kind; names file, key and cure.
    """
    return check_record(read_content(path, cure), path, kind, cure)


def read_content(path: Path, cure: str) -> Any:
    """The content of a JSON file.

    Raises:
        InputError: If it is absent or no JSON; names the file and the cure.
    """
    try:
        return read_json(path)
    except InputError as error:
        raise InputError(f"{error}. {cure}") from error


def check_record(content: Any, path: Path, kind: type[R], cure: str) -> R:
    """The record that the content of a JSON file is.

    Raises:
        InputError: If it is not of this kind; names file, key and cure.
    """
    if not isinstance(content, Mapping):
        raise InputError(
            f"{path} should hold a mapping, but holds a {type(content).__name__}. {cure}"
        )
    try:
        return kind.model_validate(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "the file"
        raise InputError(f"{path}: {key}: {first['msg'].lower()}. {cure}") from error
