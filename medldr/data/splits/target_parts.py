"""The two parts of held-out domains: ``target_in`` and ``target_out``.

Published tables of domain generalization score 80% of a held-out domain (in) and let an oracle
choose on the other 20% (out). Other literature scores all of it. Every dataset with held-out
domains therefore has both parts, which together are its split ``test``.

Source:
    DomainBed's own parts with ``data.split_rule: domainbed``. Ours otherwise: 80% and 20% of each
    class within each held-out domain, whole groups, from ``data.split_seed`` alone. A domain's
    parts do not depend on which others are held out, unless they share groups with it.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medldr.data.config import DatasetConfig
from medldr.data.image_table import ImageTable
from medldr.data.splits import stratify as _stratify
from medldr.data.splits.domainbed import held_back
from medldr.data.splits.manifest import held_out_domains

PARTS: Final = ("target_in", "target_out")
"""What is scored, and what is left to an oracle."""

FRACTIONS: Final = (0.8, 0.2)

_PURPOSE: Final = 4  # splits use smaller numbers, so no two draw the same


def target_parts(
    table: ImageTable, test: NDArray[np.int64], config: DatasetConfig
) -> dict[str, NDArray[np.int64]]:
    """Rows of each part, ascending; without held-out domains there is none.

    Args:
        table: All images.
        test: Rows of the split ``test``, ascending.
        config: Held-out domains, rule and seed of the split.
    """
    if not held_out_domains(config):
        return {}
    out = held_back(table, test, config) if config.split_rule == "domainbed" else None
    if out is None:
        out = _stratified(table, test, int(config.split_seed))
    inside = np.isin(test, out)
    rows = dict(zip(PARTS, (test[~inside], test[inside]), strict=True))
    return {name: found for name, found in rows.items() if len(found)}


def part_column(
    rows: NDArray[np.int64], parts: Mapping[str, NDArray[np.int64]]
) -> NDArray[np.str_]:
    """The part of each row, empty where it is in none.

    Example:
        >>> part_column(np.array([4, 1, 7]), {"target_in": np.array([1, 2, 4])}).tolist()
        ['target_in', 'target_in', '']
    """
    column = np.full(len(rows), "", dtype=f"<U{max(map(len, PARTS))}")
    for name, members in parts.items():
        column[np.isin(rows, members)] = name
    return column


def _stratified(table: ImageTable, test: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    domains = table.domains[test]
    grouped = table.groups[test] != ""
    pairs = set(zip(table.groups[test][grouped].tolist(), domains[grouped].tolist(), strict=True))
    if len(pairs) != len({group for group, _ in pairs}):  # a patient of two domains stays whole
        return test[_out(table, test, [seed, _PURPOSE])]
    out = []
    for name in np.unique(domains).tolist():
        rows = test[domains == name]
        out.append(rows[_out(table, rows, [seed, _PURPOSE, zlib.crc32(name.encode())])])
    return np.concatenate(out)


def _out(table: ImageTable, rows: NDArray[np.int64], seed: list[int]) -> NDArray[np.bool_]:
    strata = _stratify.class_table(table.labels[rows], len(table.class_names))
    strata = _stratify.with_domains(strata, table.domains[rows])
    generator = np.random.default_rng(seed)
    part = _stratify.divide(strata, table.groups[rows], FRACTIONS, generator)
    return np.equal(part, 1)
