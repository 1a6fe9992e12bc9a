"""The files of a pack: `images.npy`, `table.csv`, and `pack.json`, which describes both.

`images.npy` is a plain array file that any NumPy opens; `table.csv` a plain table, row by row the
same items. `looks.npy` is what one look at each image revealed, so that no run has to look again;
packs of earlier versions are without it. `pack.json` says what they contain, so no pack is mistaken
for another.

Source:
    Our choice: files that outlive medldr, because other programs read them too.
"""

from __future__ import annotations

import csv
import functools
import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from medldr.config.identity import differing
from medldr.data.config import DatasetConfig
from medldr.data.files.config import Combined
from medldr.data.hashes import hash_texts, label_bytes
from medldr.data.image_table import ImageTable, Look
from medldr.data.proven import Proof, ProvenImages
from medldr.data.store.array import IMAGES, Blocks, open_array, partial_of
from medldr.errors import InputError
from medldr.folders.files import atomic, checksum
from medldr.folders.records import read_sealed, write_sealed
from medldr.types import Task

FORMAT: Final = 1
TABLE: Final = "table.csv"
LOOKS: Final = "looks.npy"
FACTS: Final = "pack.json"
_TEXTS: Final = ("domain", "group", "split")
AGAIN: Final = (
    "Pack it again (`medldr data pack` with the same name and keys), or read the data set's own "
    "files with data.packed=off"
)


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class FileFacts(_Strict):
    """Size in bytes and sha256 of a file."""

    bytes: int
    sha256: str


class PackFacts(_Strict):
    """What `pack.json` holds.

    Attributes:
        format: Version of this layout.
        dataset: Name of the table.
        task: Kind of labels.
        class_names: As the data set has them.
        shape: ``(N, C, [D,] H, W)``; of latents ``(N, D)``.
        dtype: ``uint8``, or ``float32`` for latents.
        encoder: What made the latents; null in a pack of images.
        label_dtype: Of the labels, because a run's data hash depends on it.
        keys: Keys of the `data` section that decide the content, where they are not the defaults.
        hashes: Checksums that the data set knows of its files.
        stamp: That of the files behind the pixels; null where they were in memory.
        columns: sha256 of each column of the table.
        notes: What readers of any result should know.
        findings: What looking at every image found.
        shared_groups: Pairs of splits that share groups.
        bad_files: Path and reason of each file that was left out.
        combined: How several images became each item; null where each is one image.
        block_rows: Rows per block; the last block may be shorter.
        blocks: sha256 of each block's pixels.
        files: Size and checksum by file name.
        made: Time and versions.
    """

    format: int
    dataset: str
    task: Task
    class_names: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: Literal["uint8", "float32"] = "uint8"
    encoder: dict[str, JsonValue] | None = None
    label_dtype: str
    keys: dict[str, JsonValue]
    hashes: dict[str, str]
    stamp: str | None
    columns: dict[str, str]
    notes: tuple[str, ...]
    findings: tuple[str, ...]
    shared_groups: tuple[tuple[str, str], ...]
    bad_files: tuple[tuple[str, str], ...]
    combined: Combined | None = None
    block_rows: int = Field(gt=0)
    blocks: tuple[str, ...]
    files: dict[str, FileFacts]
    made: dict[str, JsonValue]


def read_facts(folder: Path) -> PackFacts:
    """A pack's own description.

    Raises:
        InputError: If the folder is not a pack, is unfinished, or has another version.
    """
    unfinished = folder.name.endswith(".partial") or partial_of(folder).is_dir()
    if unfinished and not (folder / FACTS).is_file():
        raise InputError(
            f"{folder} is an unfinished pack. Run the same `medldr data pack` again to resume it"
        )
    if not (folder / FACTS).is_file():
        raise InputError(
            f"{folder} is not a pack: it has no {FACTS}. `medldr data pack` makes one, and "
            "data.packed=off reads the data set's own files"
        )
    return read_sealed(folder / FACTS, PackFacts, AGAIN, (FORMAT,), "format")


def write_facts(folder: Path, facts: PackFacts) -> None:
    """Write `pack.json` with a checksum of its content, whole or not at all."""
    write_sealed(folder / FACTS, facts.model_dump(mode="json"))


def open_images(folder: Path, facts: PackFacts) -> np.memmap[Any, np.dtype[Any]]:
    """The pixels of a pack, read-only and memory-mapped.

    Several processes may read them at once, also forked ones.

    Raises:
        InputError: If the file is absent, truncated, or not the array that `pack.json` describes.
    """
    expected = facts.files[IMAGES].bytes if IMAGES in facts.files else -1
    try:
        return open_array(folder / IMAGES, np.dtype(facts.dtype), facts.shape, expected)
    except InputError as error:
        raise InputError(f"{error}. {AGAIN}") from error


def deciding_keys(section: DatasetConfig) -> dict[str, Any]:
    """Keys of a `data` section that decide which images there are, where not the defaults.

    Where files are, what becomes of bad ones (a pack lists those it is without), and what is done
    with a table once it is read, is not among them.

    Example:
        >>> deciding_keys(DatasetConfig(name="camelyon17", held_out=["a"], root="scans"))
        {'name': 'camelyon17'}
    """
    common = (DatasetConfig.model_fields.keys() - {"name"}) | {"on_bad_file"}
    return {key: value for key, value in differing(section).items() if key not in common}


def hash_columns(table: ImageTable) -> dict[str, str]:
    """sha256 of each column of a table besides its images."""
    hashes = {"label": hashlib.sha256(label_bytes(table.labels)).hexdigest()}
    for name, column in _texts(table).items():
        hashes[name] = hash_texts(column.tolist())
    return hashes


def _texts(table: ImageTable) -> dict[str, NDArray[np.str_]]:
    return {
        "id": table.ids,
        "domain": table.domains,
        "group": table.groups,
        "split": table.splits,
    }


def write_looks(folder: Path, looks: Iterable[Look]) -> None:
    """Write `looks.npy`: whether each image is constant, and its digest, 17 bytes."""
    rows = [bytes([look.constant]) + look.digest for look in looks]
    np.save(folder / LOOKS, np.frombuffer(b"".join(rows), np.uint8).reshape(len(rows), -1))


def proven_images(folder: Path, facts: PackFacts) -> ProvenImages:
    """The pixels of a pack, each block of which is compared when it is first read.

    Raises:
        InputError: As `open_images`, or if the blocks are those of another array.
    """
    images = open_images(folder, facts)
    if len(facts.blocks) != len(Blocks(len(images), facts.block_rows)):
        raise InputError(f"{folder / FACTS} is damaged: its blocks do not match {IMAGES}. {AGAIN}")
    cure = f"Remove {folder} and pack it again"
    proof = Proof(facts.block_rows, facts.blocks, str(folder / IMAGES), cure)

    @functools.cache
    def looks() -> NDArray[np.uint8]:
        read: NDArray[np.uint8] = np.load(_intact(folder, facts, LOOKS), allow_pickle=False)
        return read

    return ProvenImages.of(images, proof, looks if LOOKS in facts.files else None)


def _intact(folder: Path, facts: PackFacts, name: str) -> Path:
    """A small file of a pack, as it was written."""
    path = folder / name
    try:
        sha256 = checksum(path)
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error.strerror}). {AGAIN}") from error
    if name not in facts.files or sha256 != facts.files[name].sha256:
        raise InputError(f"{path} is damaged or was changed: its checksum differs. {AGAIN}")
    return path


def write_table(folder: Path, table: ImageTable) -> None:
    """Write `table.csv`: id, label (or one column per label), domain, group, split.

    A label is its class number; of several labels each is 0, 1, or empty where it is missing.
    """
    multi_label = table.labels.ndim == 2
    heads = [f"label_{name}" for name in table.class_names] if multi_label else ["label"]
    labels: list[list[str]]
    if multi_label:
        labels = [["" if v != v else f"{v:.0f}" for v in row] for row in table.labels.tolist()]
    else:
        labels = [[str(value)] for value in table.labels.tolist()]
    texts = (_texts(table)[name].tolist() for name in _TEXTS)
    with (
        atomic(folder / TABLE) as temporary,
        temporary.open("w", encoding="utf-8", newline="") as f,
    ):
        writer = csv.writer(f)
        writer.writerow(["id", *heads, *_TEXTS])
        for item, label, *rest in zip(table.ids.tolist(), labels, *texts, strict=True):
            writer.writerow([item, *label, *rest])


def read_columns(folder: Path, facts: PackFacts) -> dict[str, Any]:
    """The columns of `table.csv` as `ImageTable` names them.

    Raises:
        InputError: If the file is absent, or not the one that was written.
    """
    with _intact(folder, facts, TABLE).open(encoding="utf-8", newline="") as file:
        _, *rows = csv.reader(file)
    ids, *between = zip(*rows, strict=True)
    *labels, domains, groups, splits = between
    dtype = np.dtype(facts.label_dtype)
    numbers = [[np.nan if v == "" else float(v) for v in column] for column in labels]
    columns = np.array(numbers, dtype=dtype)
    return {
        "ids": np.array(ids, dtype=np.str_),
        "labels": np.ascontiguousarray(columns.T) if facts.task == "multi-label" else columns[0],
        "domains": np.array(domains, dtype=np.str_),
        "groups": np.array(groups, dtype=np.str_),
        "splits": np.array(splits, dtype=np.str_),
    }
