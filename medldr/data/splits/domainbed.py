"""DomainBed's split: each domain is shuffled by itself, and its first rows are held back.

Numbers of published domain-generalization tables belong to this split, whose trials differ in it.
A trial and a domain's place in the list of domains decide it, so all methods of a trial share
it. The part held back is called "out" and the rest "in": a seen domain trains on its in part and
validates on its out part; a held-out domain is scored on its in part, and its out part serves an
oracle only. It ignores classes and groups, so it does not suit patient data.

Source:
    DomainBed (Gulrajani and Lopez-Paz 2021): seeds are md5 of trial and domain, rows are shuffled
    by NumPy's legacy generator. Ours: a domain keeps its place when others are left out, rows
    keep the order of the table, and a table whose groups would be divided is refused.
"""

from __future__ import annotations

import hashlib
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.config import DatasetConfig
from medldr.data.image_table import ImageTable
from medldr.errors import InputError
from medldr.types import SPLITS

FRACTION: Final = 0.2
"""Part of each domain that DomainBed holds back."""


def seed_of(*numbers: object) -> int:
    """DomainBed's seed of some numbers: md5 of their tuple as Python writes it, modulo 2**31.

    Example:
        >>> seed_of(0, 0), seed_of(2, 0)
        (894182419, 472130416)
    """
    digest = hashlib.md5(str(numbers).encode(), usedforsecurity=False).hexdigest()
    return int(digest, 16) % 2**31


def shuffled(count: int, trial: int, domain: int) -> list[int]:
    """Row numbers of a domain in the order in which they are dealt out.

    Args:
        count: Rows of the domain.
        trial: Number of the trial.
        domain: Place of the domain among all, sorted by name, from 0.

    Example:
        >>> shuffled(10, 0, 0)
        [2, 3, 8, 1, 4, 5, 0, 9, 6, 7]
    """
    rows = list(range(count))
    np.random.RandomState(seed_of(trial, domain)).shuffle(rows)
    return rows


def held_back(
    table: ImageTable, rows: NDArray[np.int64], config: DatasetConfig
) -> NDArray[np.int_]:
    """Those of some rows that are in the out part of their domain, ascending.

    Args:
        table: Its domains; all of them count for a domain's place.
        rows: All rows in use of the domains that are asked for, ascending.
        config: ``split_seed`` is the trial, ``val_fraction`` the part held back.
    """
    out = [np.empty(0, dtype=np.int64)]
    for place, name in enumerate(sorted(set(table.domains.tolist()) - {""})):
        of_domain = rows[table.domains[rows] == name]
        order = shuffled(len(of_domain), int(config.split_seed), place)
        out.append(of_domain[order[: int(len(of_domain) * config.val_fraction)]])
    return np.sort(np.concatenate(out))


def domainbed_splits(
    table: ImageTable, used: NDArray[np.int64], config: DatasetConfig, notes: list[str]
) -> NDArray[np.str_]:
    """Name of the split of each row: ``train``, ``id_val``, ``test``, or empty for unused ones.

    Args:
        table: Without splits of its own.
        used: Rows that are not left out, ascending.
        config: Its ``held_out`` names domains of the table.
        notes: Receives what readers of the results should know.

    Raises:
        InputError: If the rule does not suit the data, or would divide a group.
    """
    _refuse(table, used, config)
    out = held_back(table, used, config)
    _refuse_torn_groups(table, used, out)
    split = np.full(len(table), "", dtype=f"<U{max(map(len, SPLITS))}")
    split[used] = "train"
    split[out] = "id_val"
    split[used[np.isin(table.domains[used], config.held_out)]] = "test"
    share = f"{100 * config.val_fraction:g}% of each domain's rows"
    notes.append(
        f"{table.name}: DomainBed's split, trial {config.split_seed}: {share} held back at random, "
        "regardless of class."
    )
    whole = np.setdiff1d(table.domains[used], table.domains[out]).tolist()
    if whole:
        notes.append(
            f"too few rows to hold any back, so means over domains of the held-back part exclude: "
            f"{', '.join(whole)}."
        )
    if config.val_fraction != FRACTION:
        notes.append(
            f"data.val_fraction is {config.val_fraction:g}; published numbers of DomainBed's split "
            f"belong to {FRACTION:g}."
        )
    return split


def _refuse(table: ImageTable, used: NDArray[np.int64], config: DatasetConfig) -> None:
    rule = "data.split_rule: domainbed"
    if (table.splits[used] != "").any():
        raise InputError(
            f"{rule} does not work with {table.name}, which has its own splits. Remove the key "
            "(data.held_out works with the dataset's own splits)"
        )
    domains = sorted(set(table.domains[used].tolist()) - {""})
    if not domains:
        raise InputError(
            f"{rule} divides each domain, but {table.name} has none. Set data.split_rule: "
            "stratified"
        )
    if not config.held_out:
        raise InputError(
            f"{rule} tests on held-out domains, but none is held out. Set data.held_out to one or "
            f"more of: {', '.join(domains)}"
        )
    if config.held_out_rows == "test":
        raise InputError(
            f"{rule} tests on all rows of a held-out domain, which conflicts with "
            "data.held_out_rows: test. Remove that key, or set data.split_rule: stratified"
        )
    nameless = table.ids[used[table.domains[used] == ""]].tolist()
    if nameless:
        raise InputError(
            f"{rule}: {nameless[0]!r} of {table.name} has no domain. Name it, leave all such items "
            "out with data.exclude, or set data.split_rule: stratified"
        )


def _refuse_torn_groups(table: ImageTable, used: NDArray[np.int64], out: NDArray[np.int64]) -> None:
    """No patient of a domain may be in both of its parts."""
    grouped = used[table.groups[used] != ""]
    is_out = np.isin(grouped, out)
    sides: dict[tuple[str, str], dict[bool, str]] = {}  # of each group, however it is spelled
    for domain, group, part in zip(
        table.domains[grouped].tolist(), table.groups[grouped].tolist(), is_out, strict=True
    ):
        sides.setdefault((domain, group.strip().casefold()), {})[bool(part)] = group
    torn = next((key for key, names in sides.items() if len(names) == 2), None)
    if torn is not None:
        raise InputError(
            f"data.split_rule: domainbed puts images of one group of {table.name}, "
            f"{sides[torn][False]!r} of domain {torn[0]!r}, on both sides, so the scores would be "
            "biased. Set data.split_rule: stratified, which keeps groups whole"
        )
