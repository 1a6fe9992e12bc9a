"""Making the folds of a manifest: one division, K folds, or one fold per domain.

Groups stay whole, classes keep their proportions in every part, and so do domains. Groups whose
names differ only in case or in blanks around them are one group.

Source:
    Our choice. One division, and a domain left out, are what a run of the same seed and fractions
    makes without a manifest (`medldr.data.splits.make`). Folds divide all items into K parts by the
    class within a domain, the class and the domain, the rarest first; fold i tests on part i, and
    its validation part is divided off the rest in the same way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import cast

import numpy as np
from numpy.typing import NDArray

from medldr.data.config import DatasetConfig
from medldr.data.counting import some
from medldr.data.image_table import ImageTable
from medldr.data.splits.make import make_splits, without_excluded
from medldr.data.splits.manifest import Folds, Made, Manifest, Rule, make_manifest
from medldr.data.splits.stratify import class_table, divide, with_domains
from medldr.errors import InputError
from medldr.types import SplitName
from medldr.version import __version__

Rows = NDArray[np.int64]
Parts = dict[SplitName, Rows]

# The streams of one seed; those of `medldr.data.splits.make` have smaller numbers.
_TEST, _VALIDATION = 5, 6


def plan_manifest(
    table: ImageTable, config: DatasetConfig, *, folds: int | None = None, domains: bool = False
) -> Manifest:
    """The splits of a table, which replace any of its own.

    Args:
        table: All images.
        config: ``val_fraction`` and ``test_fraction`` are shares of all items, ``split_seed`` is
            the seed (a number), ``exclude`` names what belongs to no split.
        folds: Make this many folds, each item being tested in exactly one.
        domains: Make a fold per domain that tests on all its items.

    Returns:
        The manifest. Classes may be missing in parts of it; `rare_class_notes` says which.

    Raises:
        InputError: If there are too few groups or domains for it, or a group is in two domains.
    """
    if folds is not None and domains:
        raise InputError(
            "--folds and --leave-one-domain-out are two ways to make folds; choose one of them"
        )
    if config.manifest is not None or config.fold is not None:
        key = "fold" if config.manifest is None else "manifest"
        raise InputError(f"data.{key} is for runs and plays no part in making splits. Leave it out")
    if not config.val_fraction:
        raise InputError(
            f"--val: {config.name} sets no rows aside for validation by default. Add "
            "--val=0.1, for example"
        )
    plain = replace(table, splits=np.full(len(table), "", np.str_), groups=_folded(table.groups))
    left_out = np.ones(len(table), dtype=bool)
    left_out[without_excluded(table, config.exclude, [])] = False
    section = config.model_copy(
        update={
            "exclude": tuple(table.ids[left_out].tolist()),  # groups have other names in `plain`
            "held_out": (),  # runs of one division or of folds may still hold domains out
            "held_out_rows": None,
            "split_rule": "stratified",
            "train_fraction": 1.0,
            "imbalance": None,
            "allow_missing_classes": True,
        }
    )
    rule: Rule = "leave one domain out" if domains else "one division"
    made = Made(
        medldr=__version__,
        rule=rule if folds is None else "folds",
        seed=int(config.split_seed),
        val=config.val_fraction,
        test=config.test_fraction if folds is None else None,
    )
    if folds is not None:
        divisions = _numbered(plain, section, folds)
    elif domains:
        divisions = _by_domain(plain, section)
    else:
        divisions = {"0": _rows(plain, section)}
    for name, parts in divisions.items():
        _refuse_empty(table, name, parts, made)
    ids: Folds = {
        name: {split: table.ids[rows].tolist() for split, rows in parts.items()}
        for name, parts in divisions.items()
    }
    return make_manifest(table.name, made, ids)


def _folded(groups: NDArray[np.str_]) -> NDArray[np.str_]:
    names = [name.strip().casefold() for name in groups.tolist()]
    return np.array(names, dtype=np.str_) if names else groups


def _rows(table: ImageTable, section: DatasetConfig) -> Parts:
    return cast(Parts, make_splits(table, section).rows)


def _by_domain(table: ImageTable, section: DatasetConfig) -> dict[str, Parts]:
    used = without_excluded(table, section.exclude, [])
    names = sorted(set(table.domains[used].tolist()) - {""})
    if len(names) < 2:
        raise InputError(f"--leave-one-domain-out: {table.name} needs two domains or more")
    nameless = used[table.domains[used] == ""]
    if len(nameless):
        raise InputError(
            f"--leave-one-domain-out: no fold would test {str(table.ids[nameless[0]])!r} of "
            f"{table.name}, which has no domain. Name it, or leave the item out with data.exclude"
        )
    return {name: _rows(table, section.model_copy(update={"held_out": (name,)})) for name in names}


def _numbered(table: ImageTable, section: DatasetConfig, folds: int) -> dict[str, Parts]:
    used = without_excluded(table, section.exclude, [])
    groups = table.groups[used]
    units = len(set(groups.tolist()) - {""}) + int((groups == "").sum())
    if not 2 <= folds <= units or units < 3:
        raise InputError(
            f"--folds={folds}: {table.name} has {units:,} groups, or items without one; choose at "
            "least 2 folds and no more than that"
        )
    val = section.val_fraction / (1 - 1 / folds)
    if val >= 1:
        raise InputError(
            f"--val={section.val_fraction:g} leaves nothing to train on in {folds} folds. Choose "
            "less"
        )
    seed = int(section.split_seed)
    part = _divide(table, used, (1 / folds,) * folds, [seed, _TEST])
    divisions: dict[str, Parts] = {}
    for number in range(folds):
        rest = used[part != number]
        inner = _divide(table, rest, (1 - val, val), [seed, _VALIDATION, number])
        divisions[str(number)] = {
            "train": rest[inner == 0],
            "val": rest[inner == 1],
            "test": used[part == number],
        }
    return divisions


def _divide(
    table: ImageTable, rows: Rows, fractions: tuple[float, ...], seed: list[int]
) -> NDArray[np.int64]:
    """The part of each row.

    Equal parts need the class and the domain alone, too: where a class within a domain does not
    divide evenly, they say which part gets the rest, and rests do not pile up in the first one.
    """
    classes = class_table(table.labels[rows], len(table.class_names))
    domains = with_domains(np.ones((len(rows), 1), np.int64), table.domains[rows])
    strata = np.column_stack([with_domains(classes, table.domains[rows]), classes, domains])
    return divide(strata, table.groups[rows], fractions, np.random.default_rng(seed))


def _refuse_empty(table: ImageTable, fold: str, parts: Parts, made: Made) -> None:
    wanted = {"training": ("train",), "validation": ("val", "id_val"), "test": ("test",)}
    for what, names in wanted.items():
        if what == "test" and made.test == 0:
            continue
        if not any(len(parts.get(name, ())) for name in names):  # type: ignore[call-overload]
            raise InputError(
                f"the {what} part of fold {fold!r} of {table.name} would be empty: too few groups "
                "or items. Use fewer folds, or other values of --val and --test"
            )


def rare_class_notes(table: ImageTable, manifest: Manifest) -> list[str]:
    """A sentence per class that some part of some fold lacks.

    Args:
        table: The table that the manifest was made of.
        manifest: Its splits.
    """
    positive = class_table(table.labels, len(table.class_names)) == 1
    lacking: dict[int, list[str]] = {}
    for fold, parts in manifest.folds.items():
        for split, ids in parts.items():
            absent = ~positive[np.isin(table.ids, ids)].any(axis=0)
            for number in np.flatnonzero(absent).tolist():
                lacking.setdefault(number, []).append(f"{split} of fold {fold}")
    return [
        f"class {table.class_names[number]!r} has no item in {some(places)}"
        for number, places in sorted(lacking.items())
    ]
