"""Which domains are held out, each in turn, and why others are not.

Source:
    Our choice: every domain is, the largest eight of many, for each costs as much as the others. A
    domain is not, where nothing could be learnt without it (it alone has a class) or tested on it.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from typing import Final, NamedTuple

from medldr.data.config import DatasetConfig
from medldr.data.image_table import ImageTable
from medldr.data.splits.make import make_splits
from medldr.data.splits.stratify import class_table
from medldr.errors import InputError
from medldr.sweeps.plan.table import ALLOWED

MOST: Final = 8


class HeldOut(NamedTuple):
    """Domains that are held out.

    Attributes:
        names: The domain, by its name in labels of runs; empty where none is held out.
        train: Images that train: where the largest domain is held out, or none is.
        tested: Images of the test split where a domain is held out; of the name "" where none is.
        why: What was found.
        cautions: What readers should look at.
        private: Why domains are not held out, in words that may name patients.
    """

    names: dict[str, str]
    train: int
    tested: dict[str, int]
    why: str
    cautions: tuple[str, ...]
    private: tuple[str, ...]


def choose_held_out(table: ImageTable, config: DatasetConfig) -> HeldOut:
    """The domains that are held out.

    Each is proven by making its splits; where there is none, the data set by making its own.

    Args:
        table: All images.
        config: The section `data`, without held-out domains.

    Raises:
        InputError: If no domain can be held out and the data cannot be divided, either.
    """
    config = config.with_seed(0)
    sizes = Counter(table.domains[table.domains != ""].tolist())
    chosen: list[str] = []
    cautions: list[str] = []
    private: list[str] = []
    tested: dict[str, int] = {}
    train = 0
    if len(sizes) > 1:
        for domain, _ in sorted(sizes.items(), key=lambda item: (-item[1], item[0])):
            if len(chosen) == MOST:
                break
            try:
                rows = make_splits(table, config.model_copy(update={"held_out": (domain,)})).rows
            except InputError as error:
                cautions.append(f"{domain!r} is not held out: {_reason(table, domain)}.")
                private.append(f"{domain!r} cannot be held out: {error}")
                continue
            train = train or len(rows["train"])
            tested[domain] = len(rows["test"])
            chosen.append(domain)
    if chosen:
        why = f"Each run leaves one of {len(sizes):,} domains out and is tested on it."
        if len(sizes) - len(cautions) > MOST:
            why += f" The {MOST} with the most images are; add others as you like."
        return HeldOut(labels(sorted(chosen)), train, tested, why, tuple(cautions), tuple(private))
    rows = make_splits(table, config).rows
    why = "No domain is held out: "
    if not sizes:
        why += "none are named. Results say nothing about other hospitals."
    elif len(sizes) == 1:
        why += f"all scans are of {next(iter(sizes))!r}."
    else:
        why += "none can be."
    tested = {"": len(rows.get("test", ()))}
    return HeldOut({}, len(rows["train"]), tested, why, tuple(cautions), tuple(private))


def _reason(table: ImageTable, domain: str) -> str:
    """Why a domain cannot be held out, without ids."""
    inside = table.domains == domain
    classes = class_table(table.labels, len(table.class_names))
    elsewhere = classes[~inside].sum(axis=0).tolist()
    here = classes[inside].sum(axis=0).tolist()
    alone = [
        name for name, a, b in zip(table.class_names, here, elsewhere, strict=True) if a and not b
    ]
    if alone:
        return f"no other domain has the class {', '.join(map(repr, alone))}"
    return "its splits cannot be made, for the reason that a run with data.held_out gives"


def labels(domains: Sequence[str]) -> dict[str, str]:
    """Names for the labels of runs, made of the letters that these may have.

    Example:
        >>> labels(["Köln: Süd", "Koln Sud", "007"])
        {'Koln_Sud': 'Köln: Süd', 'Koln_Sud_2': 'Koln Sud', '007': '007'}
    """
    found: dict[str, str] = {}
    for domain in domains:
        plain = unicodedata.normalize("NFKD", domain).encode("ascii", "ignore").decode()
        name = re.sub(r"[^A-Za-z0-9_.+-]+", "_", plain).strip("_.+-")
        name = base = name if ALLOWED.fullmatch(name) else "domain"
        number = 1
        while name in found:
            number += 1
            name = f"{base}_{number}"
        found[name] = domain
    return found
