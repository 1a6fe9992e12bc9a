"""Published numbers of leave-one-domain-out benchmarks: means, domains, and their spread.

Every number is of a ResNet-50 that began with ImageNet's weights, and of the 80 % of the held-out
domain. A mean over the domains has an empty domain.

Source:
    The table of DomainBed's release of 2020 (`domainbed-2020`); the tables of SWAD and MIRO and the
    LatentDR paper (`swad`); Fish, SelfReg and mDSDI have protocols of their own. Fishr searched
    within DomainBed's protocol. Numbers that the LatentDR paper prints with a † stand here under
    whom they belong to. Where two printed copies differ, the note of the number says so. DomainBed
    prints standard errors and the LatentDR paper standard deviations; the other ± are read as
    standard errors, which is our reading. DomainBed's mixup mixes two domains and is none of ours.
    The LatentDR paper searched on PACS alone, and what it found are our settings: its numbers are
    of one setting, as a run of ours is.
"""

from __future__ import annotations

import csv
import functools
import importlib.resources
from dataclasses import dataclass

TRAINING_DOMAIN = "training-domain"
ORACLE = "oracle"
CROSS_VALIDATION = "leave-one-domain-out"

METHOD_TITLES = {
    "interdomain_mixup": "Mixup between domains",
    "mtl": "MTL",
    "arm": "ARM",
    "rsc": "RSC",
    "selfreg": "SelfReg",
    "mdsdi": "mDSDI",
}
"""Methods that only others have."""


@dataclass(frozen=True)
class PublishedDomain:
    """One published number.

    Attributes:
        dataset: ``pacs``, ``vlcs``, ``office_home``, ``terra_incognita`` or ``domain_net``.
        protocol: Protocol id: ``domainbed-2020``, ``swad``, or the source's own.
        model: Network: ``resnet50``.
        method: ``erm``, ``erm+swad``, ``latentdr_pool`` ...
        selection: ``training-domain``, ``leave-one-domain-out`` or ``oracle``.
        search: What was searched for the best settings of the number; empty: they are known, and
            ours.
        domain: The held-out domain; empty for the mean over all of them.
        value: As a fraction of one.
        sd: Standard deviation over seeds; None where none was printed.
        se: Standard error over trials; None where none was printed.
        source: Who published it.
        note: What else is known of how it was made, and other printed copies of it.
    """

    dataset: str
    protocol: str
    model: str
    method: str
    selection: str
    search: str
    domain: str
    value: float
    sd: float | None
    se: float | None
    source: str
    note: str


def published_domains(
    dataset: str,
    *,
    method: str | None = None,
    domain: str | None = None,
    selection: str | None = None,
    protocol: str | None = None,
    source: str | None = None,
) -> tuple[PublishedDomain, ...]:
    """Published numbers of a data set, in the order of sources and methods.

    Args:
        dataset: The data set.
        method: One method alone.
        domain: One held-out domain alone; empty: the means over the domains.
        selection: One selection rule alone.
        protocol: One protocol alone.
        source: One source alone.

    Example:
        >>> [(p.source, p.value, p.se) for p in published_domains("pacs", method="mldg", domain="")]
        [('DomainBed', 0.849, 0.01)]
        >>> ours = published_domains("pacs", method="latentdr_pool", domain="sketch")
        >>> [(p.protocol, p.value, p.sd) for p in ours]
        [('swad', 0.792, 0.017)]
        >>> published_domains("phantom_fracture")
        ()
    """
    wanted = {
        "method": method,
        "domain": domain,
        "selection": selection,
        "protocol": protocol,
        "source": source,
    }
    return tuple(
        entry for entry in _all()
        if entry.dataset == dataset
        and all(value is None or getattr(entry, key) == value for key, value in wanted.items())
    )  # fmt: skip


def same_domain(one: str, other: str) -> bool:
    """Whether two names mean one domain: case, spaces and underscores do not count.

    Example:
        >>> same_domain("Real World", "real_world"), same_domain("art_painting", "Art")
        (True, False)
    """
    return _plain(one) == _plain(other)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.casefold() if letter.isalnum())


@functools.cache
def _all() -> tuple[PublishedDomain, ...]:
    file = importlib.resources.files("medldr.reporting.published") / "domains.csv"
    rows = csv.DictReader(file.read_text(encoding="utf-8").splitlines())
    return tuple(_entry(row) for row in rows)


def _entry(row: dict[str, str]) -> PublishedDomain:
    sd, se = (float(row[key]) if row[key] else None for key in ("sd", "se"))
    return PublishedDomain(**{**row, "value": float(row["value"]), "sd": sd, "se": se})  # type: ignore[arg-type]
