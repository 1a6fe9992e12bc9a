"""Which images a run has seen, so that they are not taken for new ones.

`seen_images.safetensors` of a run folder holds, for each split that trained or selected, 16 bytes
of each different image: of the HMAC-SHA256 of a digest of its decoded values with their type and
shape, under a key that follows from the run's hash and seed. They are sorted, so that they are in
no order of patients. No header, path, id or label goes into them, and no image comes out of them.

It is a test of membership: whoever has the run folder and an image can tell whether that very image
was trained or selected on. A picture that was saved again with a loss, resized or windowed is
another one and is not found, nor is another picture of the same patient. Images of a single colour
are not counted, because any two of them are equal. Of parts cut from a scan the whole scan counts.

Source:
    Our choice. The values are hashed where they are at hand anyway, so nothing is decoded twice:
    ``values``, of scans and arrays as their files hold them, and ``picture``, of pictures of trees
    with grey as three equal channels, when files are read once before training; ``stored``, of the
    images of a pack, which may have been resized, from the pack.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from medldr.config.yaml import read_yaml
from medldr.data.checks.table_checks import look_at, looks_of
from medldr.data.files.combined import look_of_item
from medldr.data.files.rules import SCAN
from medldr.data.hashes import PARTS
from medldr.data.image_table import ImageTable, LazyImages, Look
from medldr.errors import InputError
from medldr.folders.checksums import changes
from medldr.folders.files import RunFolder, load_tensors, save_tensors
from medldr.folders.records import Record, read_record
from medldr.folders.run_record import CURE, RunRecord, read_run_record

VALUES: Final = "values"
PICTURE: Final = "picture"
STORED: Final = "stored"
IDS: Final = "ids"
TRAINED: Final = PARTS["training"][:1]

Digests = Sequence[bytes | None]
"""One per image, not keyed; None for one of a single colour."""

_BYTES: Final = 16


class _Manifest(Record):
    """What is needed of `splits.json`: ids by split."""

    splits: dict[str, tuple[str, ...]]


def kind_of(table: ImageTable) -> str:
    """What of a data set's images is hashed: ``values``, ``picture`` or ``stored``."""
    if table.looks is not None:
        return VALUES if (table.reading or {}).get("kind") == SCAN else PICTURE
    return STORED if isinstance(table.images, np.memmap | LazyImages) else VALUES


def digests_of(table: ImageTable, rows: NDArray[np.int64], kind: str = "") -> Digests:
    """What some rows of a data set hold, or their ids; read only where no file was looked at."""
    if kind == IDS:
        return [*map(str.encode, table.ids[rows].tolist())]
    if table.looks is not None:
        return list(map(_digest, (table.looks.by_id[name] for name in table.ids[rows].tolist())))
    found = looks_of(table.images, rows, title=f"comparing images of {table.name}")
    return list(map(_digest, found))


def digests_of_item(
    values: Sequence[NDArray[Any] | None], image: NDArray[Any], kinds: Collection[str]
) -> dict[str, bytes | None]:
    """What one new item holds, by kind.

    Args:
        values: Of each of its images as its file holds them; None for one that is missing.
        image: ``(C, [D,] H, W)`` as it is stored.
        kinds: What is asked for.
    """
    from medldr.data.files.rgb import look_of  # PIL, which training alone does not need

    looks: dict[str, Look] = {}
    for kind in kinds:
        held = (image,) if kind == STORED else values
        look = look_of if kind == PICTURE else lambda one: look_at(one[None])[0]
        each = [None if one is None else look(one) for one in held]
        looks[kind] = look_of_item(each) if len(each) > 1 or each[0] is None else each[0]
    return {kind: _digest(look) for kind, look in looks.items()}


def _digest(look: Look) -> bytes | None:
    return None if look.constant else look.digest


@dataclass(frozen=True)
class SeenImages:
    """The digests that a run keeps.

    Attributes:
        kind: What was hashed.
        key: Of the run.
        splits: Keyed digests by split.
        run: The name of its folder.
    """

    kind: str
    key: bytes
    splits: Mapping[str, frozenset[bytes]]
    run: str = ""

    def has(self, digests: Digests, splits: Collection[str] = PARTS["training"]) -> list[bool]:
        """Whether each image is in one of some splits.

        Example:
            >>> seen = SeenImages(VALUES, b"key", {"train": frozenset(keyed(b"key", [b"a", None]))})
            >>> seen.has([b"a", b"b", None]), seen.has([b"a"], ["val"])
            ([True, False, False], [False])
        """
        known = [self.splits.get(split, frozenset()) for split in splits]
        made = (None if one is None else keyed(self.key, [one])[0] for one in digests)
        return [any(one in of_split for of_split in known) for one in made]


def keyed(key: bytes, digests: Digests) -> list[bytes]:
    """The keyed digests of some images, each once, sorted."""
    return sorted({hmac.digest(key, one, "sha256")[:_BYTES] for one in digests if one is not None})


def _key(record: RunRecord) -> bytes:
    own = record.copy_of or record.hash
    return hashlib.sha256(f"medldr seen images {own} {record.seed}".encode()).digest()


def write_seen(files: RunFolder, table: ImageTable, rows: Mapping[str, NDArray[np.int64]]) -> None:
    """Write `seen_images.safetensors`.

    Args:
        files: The run folder, with its `run.json`.
        table: All images.
        rows: Rows of each split.
    """
    kind, key = kind_of(table), _key(read_run_record(files))
    tensors = {}
    for split in (split for split in PARTS["training"] if split in rows):
        found = bytearray().join(keyed(key, digests_of(table, rows[split])))
        array = np.frombuffer(found, np.uint8).reshape(-1, _BYTES)
        tensors[f"{kind}/{split}"] = torch.from_numpy(array)
    save_tensors(files.seen, tensors)


def read_seen(files: RunFolder, record: RunRecord) -> SeenImages | None:
    """The digests that a run keeps; None where it keeps none.

    Raises:
        InputError: If the file is damaged or was changed.
    """
    if not files.seen.is_file():
        return None
    try:
        for _, what in changes(files, record.content, [files.seen.name]):
            raise InputError(f"{files.seen} {what}")
        tensors = load_tensors(files.seen)
        (kind,) = {name.partition("/")[0] for name in tensors}
        splits = {
            name.partition("/")[2]: frozenset(map(bytes, tensor.numpy()))
            for name, tensor in tensors.items()
        }
    except (InputError, ValueError) as error:
        raise InputError(
            f"{files.seen} is not as its run left it: {error}. Write it again with `medldr "
            f"evaluate {files.path}`"
        ) from error
    return SeenImages(kind, _key(record), splits, files.path.resolve().name)


def line_of(start: Path) -> Iterator[RunFolder | Path]:
    """The runs that made some weights: that which trained them, that which it started from, ...

    Args:
        start: A run folder, a file of weights in one, or any other.

    Yields:
        Run folders, and the place of weights that belong to none.

    Raises:
        InputError: If the configuration of one cannot be read.
    """
    waiting, known = [start], set[Path]()
    while waiting:
        place = waiting.pop().expanduser()
        files = _run_of(place)
        path = place if files is None else files.path
        if path.resolve() in known:
            continue
        known.add(path.resolve())
        yield place if files is None else files
        if files is not None:
            values = read_yaml(files.config).values
            model, training = (values.get(key) or {} for key in ("model", "training"))
            further = (training.get("init_from"), model.get("weights"), model.get("pretrained"))
            # Places on this disk, or some that were; not published weights.
            texts = (one for one in further if isinstance(one, str))
            waiting += [path for path in map(Path, texts) if path.is_absolute()]


def _run_of(place: Path) -> RunFolder | None:
    """The run of a folder or of a file in it, such as ``selected/last.safetensors``."""
    folders = [place] if place.is_dir() else place.absolute().parents[:3]
    return next((files for files in map(RunFolder, folders) if files.run.is_file()), None)


def seen_by(
    run: Path, table: ImageTable | None = None, data_hash: str | None = None
) -> tuple[list[SeenImages], list[str]]:
    """What a run and those that it started from have seen, and why it is not all.

    Args:
        run: As for `line_of`.
        table: Images to compare; None: any kind of digests will do.
        data_hash: Of all data of the table: where a run has the same, ids tell what digests do not.

    Raises:
        InputError: If a record is damaged.
    """
    found, lacking = [], []
    for one in line_of(run):
        if isinstance(one, Path):
            lacking.append(f"not compared: what {one.name} was trained on is not known")
            continue
        record = read_run_record(one)
        seen = read_seen(one, record)
        if seen is not None and (table is None or seen.kind == kind_of(table)):
            found.append(seen)
        elif data_hash is not None and record.data_hash == data_hash:
            ids = read_record(one.splits, _Manifest, CURE).splits
            made = {split: frozenset(keyed(b"", [*map(str.encode, ids[split])])) for split in ids}
            found.append(SeenImages(IDS, b"", made, one.path.resolve().name))
        else:
            lacking.append(
                f"not compared with the training images of {one.path.resolve().name}: it keeps no "
                "digests of them (`medldr evaluate` writes them), or of another kind (of files of "
                "scans, of pictures, of a pack)"
            )
    return found, lacking


def known_images(run: Path, table: ImageTable) -> tuple[NDArray[np.bool_], list[str]]:
    """Which images of a data set a run, or one that it started from, trained or selected on.

    Returns:
        ``(N,)``, one per image, and a sentence for each run that could not be compared.

    Raises:
        InputError: If a record is damaged.
    """
    found, lacking = seen_by(run, table)
    digests = digests_of(table, np.arange(len(table)))
    seen = [[False] * len(table), *(one.has(digests) for one in found)]
    return np.any(seen, axis=0), lacking
