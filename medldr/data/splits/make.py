"""Which rows train, select and test: the dataset's own splits, or a seeded one; held-out domains.

The names say what a split is for. ``train`` trains. ``val`` selects and ``test`` is read once, at
the end. When domains are held out, validation and test rows of the seen domains are ``id_val``
and ``id_test`` (in-domain), and ``test`` holds rows of the held-out domains only; then ``id_val``
selects, so no held-out domain can influence the choice of model.

A dataset's own splits may keep a domain from training, too, as Camelyon17's do: then its ``val`` is
of a hospital that is not seen, and ``id_val`` of those that are. When domains are held out there,
validation rows of a domain without training rows stay ``val``, and its test rows are left out.

A manifest (``data.manifest``) replaces any splits of the dataset's own, and is treated like them;
a fold that leaves a domain out holds that domain out.

The training rows that are left are thinned by ``data.train_fraction`` first and by
``data.imbalance`` last, so that the sizes of classes are those that were asked.

With ``data.split_rule: domainbed`` every row of a held-out domain is ``test``, and the others are
``train`` and ``id_val`` by `medldr.data.splits.domainbed`; there is no ``id_test``.

Source:
    Our choice: MedMNIST's official partitions are ``train``, ``val`` and ``test``. Where a dataset
    has splits of its own, only held-out rows of its test split are tested on, because its training
    patients may have been seen through another domain; ``data.held_out_rows`` says otherwise.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.config import DatasetConfig, check_held_out
from medldr.data.counting import counted
from medldr.data.image_table import ImageTable
from medldr.data.splits import stratify as _stratify
from medldr.data.splits.domainbed import domainbed_splits
from medldr.data.splits.long_tail import long_tailed
from medldr.data.splits.manifest import held_out_domains, manifest_splits
from medldr.errors import InputError, did_you_mean
from medldr.types import SPLITS

Text = NDArray[np.str_]
Rows = NDArray[np.int64]


class Splits(NamedTuple):
    """Row numbers of each split, ascending, and what a reader should know about them."""

    rows: dict[str, Rows]
    notes: tuple[str, ...]


def make_splits(table: ImageTable, config: DatasetConfig) -> Splits:
    """Rows of each split for this configuration.

    The order of ``held_out`` never matters. Every choice depends on ``split_seed`` alone.

    Raises:
        InputError: If an excluded id or a held-out domain is unknown, nothing is left to train or
            test on, a group is in two splits, a class has no training row, a manifest does not
            suit the table, or the training rows do not allow `data.imbalance`.
    """
    notes: list[str] = []
    used = without_excluded(table, config.exclude, notes)
    has_manifest = config.manifest is not None
    own = has_manifest or bool((table.splits[used] != "").any())
    config = config.model_copy(update={"held_out": held_out_domains(config)})
    if config.held_out:
        domains = sorted(set(table.domains[used].tolist()) - {""})
        check_held_out(config.held_out, table.name, domains)
    if config.split_rule == "domainbed" and not has_manifest:
        split = domainbed_splits(table, used, config, notes)
    else:
        if has_manifest:
            split = manifest_splits(table, used, config, notes)
        else:
            split = _own_splits(table, used) if own else _seeded_splits(table, used, config, notes)
        if config.held_out:
            split = _hold_out(table, used, split, config, own, notes)
    if own and not has_manifest and not np.isin(split, ("val", "id_val")).any():
        _carve_validation(table, used, split, config, notes)
    notes += crossing_groups(table, split)
    rows = {name: np.flatnonzero(split == name) for name in SPLITS if (split == name).any()}
    if "train" not in rows:
        raise InputError(
            f"{table.name}: no row is left to train on. {_counts(table, used)} "
            "Check data.exclude and data.held_out."
        )
    rows["train"] = _fraction_of_training(table, rows["train"], config, notes)
    rows["train"] = long_tailed(table, rows["train"], config, notes)
    notes += _missing_classes(table, rows, config)
    return Splits(rows, tuple(notes))


def selection_split(rows: dict[str, Rows]) -> str | None:
    """The split that selects: ``val``, else ``id_val``; None where there is neither.

    Example:
        >>> selection_split({"train": [], "id_val": [], "test": []})
        'id_val'
    """
    return next((name for name in ("val", "id_val") if name in rows), None)


def _generator(config: DatasetConfig, purpose: int) -> np.random.Generator:
    return np.random.default_rng([int(config.split_seed), purpose])  # `with_seed` made it one


def _strata(table: ImageTable, rows: Rows) -> NDArray[np.int64]:
    return _stratify.class_table(table.labels[rows], len(table.class_names))


def _divide(
    table: ImageTable, rows: Rows, fractions: tuple[float, ...], generator: np.random.Generator
) -> Rows:
    strata = _stratify.with_domains(_strata(table, rows), table.domains[rows])
    return _stratify.divide(strata, table.groups[rows], fractions, generator)


def without_excluded(table: ImageTable, exclude: tuple[str, ...], notes: list[str]) -> Rows:
    """Rows that `data.exclude` leaves in, ascending.

    Raises:
        InputError: If it names an item or group that the table lacks.
    """
    if not exclude:
        return np.arange(len(table))
    groups = table.groups[table.groups != ""]
    names = {*table.ids.tolist(), *groups.tolist()}
    for name in exclude:
        if name not in names:
            raise InputError(
                f"data.exclude: {table.name} has no item or group {name!r}."
                f"{did_you_mean(name, names)} Ids look like {str(table.ids[0])!r}."
            )
    out = np.isin(table.ids, exclude) | np.isin(table.groups, exclude)
    notes.append(f"{out.sum()} of {len(table)} rows left out by data.exclude.")
    return np.flatnonzero(~out)


def _own_splits(table: ImageTable, used: Rows) -> Text:
    split = np.full(len(table), "", dtype="<U8")
    split[used] = table.splits[used]
    return split


def _seeded_splits(table: ImageTable, used: Rows, config: DatasetConfig, notes: list[str]) -> Text:
    """Stratified, group-aware parts of a dataset that has no splits of its own."""
    val, test = config.val_fraction, config.test_fraction
    if val + test >= 1:
        raise InputError(
            f"data.val_fraction {val} and data.test_fraction {test} leave nothing to train on; "
            "their sum must be below 1"
        )
    names = ("train", "val", "test")
    strata = _strata(table, used)
    part = _divide(table, used, (1 - val - test, val, test), _generator(config, 1))
    counts = np.array([strata[part == p].sum(axis=0) for p in range(3 if test else 2)])
    for k in np.flatnonzero((counts == 0).any(axis=0) & strata.any(axis=0)).tolist():
        lacking = ", ".join(names[p] for p in np.flatnonzero(counts[:, k] == 0))
        count = counted(int(strata[:, k].sum()), "row", "rows")
        notes.append(
            f"class {table.class_names[k]!r} has {count}, too few for every split: none in "
            f"{lacking}."
        )
    split = np.full(len(table), "", dtype="<U8")
    split[used] = np.array(names)[part]
    return split


def _hold_out(
    table: ImageTable,
    used: Rows,
    split: Text,
    config: DatasetConfig,
    own: bool,
    notes: list[str],
) -> Text:
    unseen = np.isin(table.domains, config.held_out) & (split != "")
    of_test = np.isin(split, ("test", "id_test"))
    choice = config.held_out_rows or ("test" if own else "all")
    tested = unseen & (of_test | (choice == "all"))
    trained = np.unique(table.domains[~unseen & (split == "train")])
    seen = ~unseen & (np.isin(table.domains, trained) | (not own))
    result = split.copy()
    result[seen & np.isin(split, ("val", "id_val"))] = "id_val"
    result[seen & of_test] = "id_test"
    strange = ~unseen & ~seen & of_test
    if strange.any():
        result[strange] = ""
        names = ", ".join(np.unique(table.domains[strange]).tolist())
        notes.append(
            f"{strange.sum()} test rows of {names} left out: neither held out nor trained on."
        )
    result[unseen] = ""
    result[tested] = "test"
    for name in config.held_out:
        if not (tested & (table.domains == name)).any():
            raise InputError(
                f"held-out domain {name!r} of {table.name} has 0 test rows. "
                f"{_counts(table, used)} Set data.held_out_rows=all to test on all its rows."
            )
    return result


def _counts(table: ImageTable, used: Rows) -> str:
    names, counts = np.unique(table.domains[used], return_counts=True)
    if names.tolist() in ([], [""]):
        return f"Rows found: {len(used)}."
    found = ", ".join(f"{n or '(none)'}: {c}" for n, c in zip(names, counts, strict=True))
    return f"Domains found: {found}."


def _carve_validation(
    table: ImageTable, used: Rows, split: Text, config: DatasetConfig, notes: list[str]
) -> None:
    train = np.flatnonzero(split == "train")
    if not len(train) or not config.val_fraction:  # 0: sets that are published without validation
        return
    fractions = (1 - config.val_fraction, config.val_fraction)
    part = _divide(table, train, fractions, _generator(config, 2))
    split[train[part == 1]] = "id_val" if config.held_out else "val"
    notes.append(
        f"{table.name} has no validation split: {(part == 1).sum()} of its {len(train)} training "
        "rows are used for validation (data.val_fraction, data.split_seed)."
    )


def _fraction_of_training(
    table: ImageTable, rows: Rows, config: DatasetConfig, notes: list[str]
) -> Rows:
    if config.train_fraction >= 1:
        return rows
    strata = _stratify.with_domains(_strata(table, rows), table.domains[rows])
    generator = _generator(config, 3)
    kept = rows[
        _stratify.keep_fraction(strata, table.groups[rows], config.train_fraction, generator)
    ]
    notes.append(
        f"{len(kept)} of {len(rows)} training rows used (data.train_fraction "
        f"{config.train_fraction:g})."
    )
    return kept


def _missing_classes(table: ImageTable, rows: dict[str, Rows], config: DatasetConfig) -> list[str]:
    counts = _strata(table, rows["train"]).sum(0)
    absent = np.flatnonzero(counts == 0)
    missing = [table.class_names[k] for k in absent]
    if not missing:
        return []
    found = ", ".join(f"{n}: {c}" for n, c in zip(table.class_names, counts, strict=True))
    named = ", ".join(repr(name) for name in missing)
    what = "no positive training row" if table.task == "multi-label" else "0 training rows"
    text = f"{'class' if len(missing) == 1 else 'classes'} {named} of {table.name}: {what}"
    if not config.allow_missing_classes:
        raise InputError(
            f"{text} (training rows per class: {found}). Check data.exclude, data.held_out and "
            "data.train_fraction, or set data.allow_missing_classes=true to continue."
        )
    return [f"{text}; it can never be predicted well (training rows per class: {found})."]


def crossing_groups(table: ImageTable, split: NDArray[np.str_]) -> list[str]:
    """No patient may be in two splits, however the name is spelled, unless the dataset says so.

    ``id_test`` and ``test`` count as one here: a patient scanned in a seen and in a held-out domain
    may be tested in both. So are ``id_val`` and ``val``.

    Args:
        table: A valid table; its `shared_groups` are allowed.
        split: ``(N,)`` name of each row's split, empty where it is in none.

    Returns:
        A note for each pair of splits that shares groups by the dataset's own definition.

    Raises:
        InputError: If a group is in two splits otherwise; names it.
    """
    rows = np.flatnonzero((split != "") & (table.groups != ""))
    if not len(rows):
        return []
    folded = np.array([g.strip().casefold() for g in table.groups[rows].tolist()])
    pairs = np.unique(np.column_stack([folded, split[rows]]), axis=0)
    names, start = np.unique(pairs[:, 0], return_index=True)
    allowed = {frozenset(pair) for pair in table.shared_groups}
    crossing, shared = [], Counter[frozenset[str]]()
    for name, of_group in zip(names, np.split(pairs[:, 1], start[1:]), strict=True):
        crossed = {
            frozenset((a, b))
            for a, b in itertools.combinations(of_group.tolist(), 2)
            if a.removeprefix("id_") != b.removeprefix("id_")
        }
        if crossed - allowed:
            crossing.append(name)
        shared.update(crossed & allowed)
    if crossing:
        raise _not_honest(table, split, rows[folded == crossing[0]], len(crossing))
    return [
        f"{table.name}: {count} groups are in {' and '.join(n for n in SPLITS if n in pair)}, by "
        "the dataset's own definition, so scores of the second are optimistic."
        for pair, count in sorted(shared.items(), key=lambda item: sorted(item[0]))
    ]


def _not_honest(
    table: ImageTable, split: NDArray[np.str_], of_first: NDArray[np.int64], count: int
) -> InputError:
    where = " and ".join(n for n in SPLITS if n in split[of_first])
    spellings = " / ".join(repr(g) for g in np.unique(table.groups[of_first]).tolist())
    return InputError(
        f"{table.name}: group {spellings} is in {where}, so the scores would be biased "
        f"({count} such groups). Correct the splits, leave the group out with "
        "data.exclude, or, with held-out domains that share patients, set data.held_out_rows=test."
    )
