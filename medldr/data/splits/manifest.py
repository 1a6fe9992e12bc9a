"""The manifest of splits: which items train, validate and test, made once and written to a file.

A run names the file (`data.manifest`) and, where it holds several, a fold (`data.fold`). Only its
content counts, never where it lies: its own SHA-256 is in it, so an edited file is refused, and
`medldr.config.identity` tells runs of different manifests apart.

Every id must be known on both sides: a data set that grew, or a manifest of another data set, is
refused and never quietly divided anew. Only items that a run leaves out on purpose may be missing.

Source:
    Our format. It holds ids and no groups: those of a data set are checked again when it is used
    (`medldr.data.splits.make`), and names of patients stay where they are.
"""

from __future__ import annotations

import functools
import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from medldr.data.config import DatasetConfig
from medldr.data.counting import some
from medldr.data.image_table import ImageTable
from medldr.errors import InputError, did_you_mean
from medldr.folders.files import kind_of_place, last_changed, write_text
from medldr.folders.records import check_record, read_content
from medldr.types import SplitName

FORMAT: Final = 1

Rule = Literal["one division", "folds", "leave one domain out"]

CURE: Final = "Make it again with `medldr data split`"

Folds = Mapping[str, Mapping[SplitName, Sequence[str]]]
"""The ids of each split of each fold, by name."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Made(_Part):
    """How a manifest was made.

    Attributes:
        medldr: The version that made it.
        rule: What its folds are.
        seed: Seed of every choice.
        val: Part of all items that validates.
        test: Part of all items that is tested; None where the folds decide it.
    """

    medldr: str
    rule: Rule
    seed: int = Field(ge=0)
    val: float = Field(gt=0, lt=1)
    test: float | None = Field(None, ge=0, lt=1)


class Manifest(_Part):
    """The content of a manifest.

    Attributes:
        format: Number of the format.
        dataset: The data set's own name when it was made.
        made: How it was made.
        folds: By the name of the fold (``0``, ``1``, or the domain that is left out) the ids of
            each split, in the order of the data set.
        ids_sha256: SHA-256 of which ids each split of each fold holds, whatever their order.
        sha256: SHA-256 of everything else in the file.
    """

    format: Literal[1] = FORMAT
    dataset: str
    made: Made
    folds: dict[str, dict[SplitName, tuple[str, ...]]] = Field(min_length=1)
    ids_sha256: str
    sha256: str

    @property
    def leaves_domains_out(self) -> bool:
        """Whether each fold is named after the domain that it tests on and never trains on."""
        return self.made.rule == "leave one domain out"


def make_manifest(dataset: str, made: Made, folds: Folds) -> Manifest:
    """A manifest with its checksums.

    Example:
        >>> made = Made(medldr="1", rule="one division", seed=0, val=0.5, test=0.0)
        >>> manifest = make_manifest("toy", made, {"0": {"train": ["a"], "val": ["b"]}})
        >>> manifest.ids_sha256 == hash_ids({"0": {"val": ["b"], "train": ["a"]}})
        True
    """
    plain = {
        "format": FORMAT,
        "dataset": dataset,
        "made": made.model_dump(),
        "folds": {name: {s: list(ids) for s, ids in fold.items()} for name, fold in folds.items()},
        "ids_sha256": hash_ids(folds),
    }
    return Manifest.model_validate({**plain, "sha256": _hash_content(plain)})


def hash_ids(folds: Folds) -> str:
    """SHA-256 of which ids each split of each fold holds, whatever their order."""
    digest = hashlib.sha256()
    for fold in sorted(folds):
        for split in sorted(folds[fold]):
            ids = json.dumps(sorted(folds[fold][split]), ensure_ascii=False)
            digest.update(f"{json.dumps([fold, split])}{ids}\n".encode())
    return digest.hexdigest()


def manifest_text(manifest: Manifest) -> str:
    """The file of a manifest: equal manifests, equal bytes."""
    return manifest.model_dump_json(indent=1) + "\n"


def write_manifest(path: Path, manifest: Manifest, *, force: bool = False) -> bool:
    """Write a manifest, whole or not at all.

    Args:
        path: The file.
        manifest: What it will hold.
        force: Replace another file of that name.

    Returns:
        False where the file holds just that already.

    Raises:
        InputError: If another file is there.
        StorageError: If it cannot be written.
    """
    text = manifest_text(manifest)
    if kind := kind_of_place(path):
        raise InputError(f"--out: {path} is {kind}. Name a file, such as splits.json")
    if path.exists():
        if path.read_bytes() == text.encode():
            return False
        if not force:
            raise InputError(
                f"--out: {path} exists and holds something else. Runs that refer to it would mean "
                "other splits: choose another name, or replace it with --force"
            )
    write_text(path, text)
    return True


def read_manifest(path: Path) -> Manifest:
    """Read and check a manifest.

    Raises:
        InputError: If it is missing, no manifest, or was edited; names the file and the cure.
    """
    try:
        facts = path.stat()
    except OSError as error:
        raise InputError(
            f"data.manifest: {path} cannot be read ({error.strerror}). Put the file back, or make "
            "one with `medldr data split`"
        ) from error
    return _read(path, last_changed(facts), facts.st_size)


@functools.lru_cache(maxsize=4)  # splits, parts and checks of one run ask for the same file
def _read(path: Path, changed: int, size: int) -> Manifest:
    content = read_content(path, CURE)
    manifest = check_record(content, path, Manifest, CURE)
    rest = {key: value for key, value in content.items() if key != "sha256"}
    if _hash_content(rest) != manifest.sha256 or hash_ids(manifest.folds) != manifest.ids_sha256:
        raise InputError(
            f"data.manifest: {path} was changed after it was made: its content does not have the "
            f"SHA-256 that it states. Restore the file. To make other splits: {CURE.lower()}"
        )
    for name, fold in manifest.folds.items():
        ids = [item for members in fold.values() for item in members]
        twice, count = Counter(ids).most_common(1)[0] if ids else ("", 0)
        if count > 1:
            raise InputError(f"data.manifest: {path}: fold {name!r} holds {twice!r} twice. {CURE}")
    return manifest


def _hash_content(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return hashlib.sha256(text.encode()).hexdigest()


def held_out_domains(config: DatasetConfig) -> tuple[str, ...]:
    """Domains that a run never trains or validates on: `data.held_out`, or its fold's domain.

    This is the one place that makes a held-out domain of a fold; whatever depends on held-out
    domains asks here.

    Raises:
        InputError: If `data.fold` has no manifest or names no fold of it, or if `data.held_out` is
            set although the folds leave domains out themselves.
    """
    if config.manifest is None:
        if config.fold is not None:
            raise InputError(
                f"data.fold is {config.fold!r}, but data.manifest is unset. Set it to the file "
                "that `medldr data split` wrote"
            )
        return config.held_out
    manifest = read_manifest(config.manifest)
    fold = chosen_fold(manifest, config)
    if not manifest.leaves_domains_out:
        return config.held_out
    if config.held_out:
        raise InputError(
            f"data.held_out ({', '.join(config.held_out)}) and data.manifest are both set, but "
            f"each fold of {config.manifest} leaves a domain out itself. Set data.held_out: [], "
            f"because fold {fold!r} holds that domain out"
        )
    return (fold,)


def chosen_fold(manifest: Manifest, config: DatasetConfig) -> str:
    """The fold that a run uses; the only one need not be named.

    Raises:
        InputError: If there are several and none is named, or the name is unknown.
    """
    folds = list(manifest.folds)
    if config.fold is None:
        if len(folds) == 1:
            return folds[0]
        raise InputError(
            f"data.fold is unset, but {config.manifest} holds {len(folds)} folds. Set it to one "
            f"of: {', '.join(folds)}"
        )
    if config.fold not in folds:
        raise InputError(
            f"data.fold: {config.manifest} has no fold {config.fold!r}."
            f"{did_you_mean(config.fold, folds)} Folds: {', '.join(folds)}"
        )
    return config.fold


def manifest_splits(
    table: ImageTable, used: NDArray[np.int64], config: DatasetConfig, notes: list[str]
) -> NDArray[np.str_]:
    """Name of the split of each row as the manifest says, empty for unused ones.

    Args:
        table: All images; splits of its own are replaced.
        used: Rows that are not left out, ascending.
        config: Names the manifest and the fold.
        notes: Receives what readers of the results should know.

    Returns:
        ``(N,)`` text.

    Raises:
        InputError: If table and manifest do not hold the same items, or another rule is asked for.
    """
    if config.manifest is None:
        raise ValueError("without a manifest there are no splits of it")
    if config.split_rule != "stratified":
        raise InputError(
            f"data.split_rule is {config.split_rule}, but data.manifest holds splits that are made "
            "already. Remove one of the two keys"
        )
    manifest = read_manifest(config.manifest)
    name = chosen_fold(manifest, config)
    part = {item: split for split, ids in manifest.folds[name].items() for item in ids}
    ids = table.ids.tolist()
    unread = _unread(table)
    gone = [item for item in part.keys() - set(ids) if item not in unread]
    new = [ids[row] for row in used.tolist() if ids[row] not in part]
    if gone or new:
        raise _unlike(table, manifest, config, sorted(gone), new)
    left_out = len(part.keys() - set(ids))
    if left_out:
        notes.append(f"{left_out} of {len(part)} items of the manifest have files that are bad.")
    whose = " in place of the data set's own" if (table.splits[used] != "").any() else ""
    fold = f", fold {name!r} of {len(manifest.folds)}" if len(manifest.folds) > 1 else ""
    notes.append(
        f"{table.name}: splits of a manifest{fold}{whose} ({manifest.made.rule}, seed "
        f"{manifest.made.seed}; ids {manifest.ids_sha256[:8]})."
    )
    split = np.full(len(table), "", dtype="<U8")
    split[used] = [part[ids[row]] for row in used.tolist()]
    return split


def _unread(table: ImageTable) -> set[str]:
    """Ids that items of bad files would have had: the path of the file, or that without ending."""
    paths = [bad.path for bad in table.bad_files]
    return {*paths, *(PurePosixPath(path).with_suffix("").as_posix() for path in paths if path)}


def _unlike(
    table: ImageTable,
    manifest: Manifest,
    config: DatasetConfig,
    gone: list[str],
    new: list[str],
) -> InputError:
    sides = {"in the manifest alone": gone, "in the data alone": new}
    items = [f"{side}: {some(map(repr, ids), most=3)}" for side, ids in sides.items() if ids]
    return InputError(
        f"data.manifest: {config.manifest}, made of {manifest.dataset}, does not hold the items of "
        f"{table.name} ({'; '.join(items)}). Use the data that it was made of, leave items of the "
        "data out with data.exclude, or make another with `medldr data split`"
    )
