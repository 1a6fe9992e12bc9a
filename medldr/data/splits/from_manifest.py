"""The splits of a run that names a manifest, and the domains that it holds out.

Every id must be known on both sides: a data set that grew, or a manifest of another data set, is
refused and never quietly divided anew. Only items that a run leaves out on purpose may be missing.
"""

from __future__ import annotations

from pathlib import PurePosixPath

import numpy as np
from numpy.typing import NDArray

from medldr.data.config import DatasetConfig
from medldr.data.image_table import ImageTable
from medldr.data.splits.manifest import Manifest, read_manifest
from medldr.errors import InputError, did_you_mean

SHOWN = 3
"""Ids that a message names."""


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
    texts = []
    if gone:
        texts.append(f"{_items(gone)} of the manifest {_are(gone)} not in the data")
    if new:
        texts.append(f"{_items(new)} of the data {_are(new)} not in the manifest")
    return InputError(
        f"data.manifest: {config.manifest}, made of {manifest.dataset}, does not suit "
        f"{table.name}: {'; '.join(texts)}. Use the data that it was made of, leave items of the "
        "data out with data.exclude, or make another with `medldr data split`"
    )


def _items(ids: list[str]) -> str:
    """A number of items and some of their ids.

    Example:
        >>> _items(["b"]), _items(["a", "b", "c", "d"])
        ("1 item ('b')", "4 items ('a', 'b', 'c', ...)")
    """
    shown = ", ".join(map(repr, ids[:SHOWN])) + (", ..." if len(ids) > SHOWN else "")
    return f"{len(ids):,} item{'' if len(ids) == 1 else 's'} ({shown})"


def _are(ids: list[str]) -> str:
    return "is" if len(ids) == 1 else "are"
