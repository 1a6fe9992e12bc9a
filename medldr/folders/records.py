"""What all records of a folder share: they are typed and have one reader with clear messages."""

from __future__ import annotations

import functools
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, TypeAdapter, ValidationError

from medldr.errors import InputError
from medldr.folders.checksums import CHECKSUMS, checksum_of_content
from medldr.folders.files import read_json, write_json

R = TypeVar("R")

NAME: Final = r"^[A-Za-z0-9][A-Za-z0-9_.+-]*$"
"""What may become the name of a file or folder: it cannot lead out of the folder it is in."""
Name = Annotated[str, StringConstraints(pattern=NAME)]


class Record(BaseModel):
    """Part of a JSON file that medldr writes; unknown keys are kept."""

    model_config = ConfigDict(
        frozen=True, extra="allow", populate_by_name=True, protected_namespaces=()
    )

    def written(self) -> dict[str, Any]:
        """The keys in the file, in the order of the model; defaults are left out."""
        return self.model_dump(exclude_unset=True, by_alias=True)


def read_record(path: Path, kind: type[R], cure: str, schemas: Collection[int] = ()) -> R:
    """Read and check a record.

    Args:
        path: The JSON file.
        kind: What it should hold: a `Record` or a dataclass.
        cure: What to do if it does not, a sentence without its full stop.
        schemas: Values of its key ``schema`` that can be read; empty if it has no such key.

    Raises:
        InputError: If it is missing, not JSON, or not of this kind; names file, key and cure.
    """
    return check_record(read_content(path, cure), path, kind, cure, schemas)


def write_sealed(path: Path, content: Mapping[str, Any]) -> None:
    """Write JSON with its own checksum, whole or not at all."""
    own = {path.name: checksum_of_content(content)}
    write_json(path, {**content, CHECKSUMS: own})


def read_sealed(
    path: Path, kind: type[R], cure: str, schemas: Collection[int], version: str = "schema"
) -> R:
    """As `read_record`, of what `write_sealed` wrote; what has no checksum is older than they are.

    Raises:
        InputError: Also if it was changed.
    """
    content = read_content(path, cure)
    own = content.pop(CHECKSUMS, None)
    record = check_record(content, path, kind, cure, schemas, version)
    if own is not None and own != {path.name: checksum_of_content(content)}:
        raise InputError(f"{path} is not as it was written: its checksum differs. {cure}")
    return record


def read_content(path: Path, cure: str) -> dict[str, Any]:
    """The content of a JSON file that holds a mapping.

    Raises:
        InputError: If it is missing, not JSON, or holds something else; names file and cure.
    """
    try:
        content = read_json(path)
    except InputError as error:
        raise InputError(f"{error}. {cure}") from error
    if not isinstance(content, Mapping):
        raise InputError(
            f"{path} should contain a mapping, not a value of type {type(content).__name__}. {cure}"
        )
    return dict(content)


def check_record(
    content: Mapping[str, Any],
    path: Path,
    kind: type[R],
    cure: str,
    schemas: Collection[int] = (),
    version: str = "schema",
) -> R:
    """The content of a JSON file as a checked record.

    Args:
        content: What the file holds.
        path: Its name, for the message.
        kind: What it should hold: a `Record` or a dataclass.
        cure: What to do if it does not, a sentence without its full stop.
        schemas: Values of its key `version` that can be read; empty if it has no such key.
        version: The key that says how the file is laid out.

    Raises:
        InputError: If it is not of this kind; names file, key and cure.
    """
    if schemas and content.get(version) not in schemas:
        known = version in content
        stated = f"has {version} {content[version]!r}" if known else f"has no {version}"
        readable = " and ".join(map(str, sorted(schemas)))
        raise InputError(f"{path} {stated}, but this version of medldr reads {readable}. {cure}")
    model: Any = kind  # mypy does not know that a type can be hashed
    try:
        record: R = _adapter(model).validate_python(content)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        key = ".".join(str(part) for part in first["loc"]) or "the file"
        fault = first["msg"].replace("Input should", "should").replace("Value error, ", "")
        if first["type"] == "missing":
            fault = "is missing"
        raise InputError(f"{path}: {key} {fault}. {cure}") from error
    return record


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
