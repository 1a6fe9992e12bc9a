"""Runs that held one domain out each, by data set, as their configurations say.

How a sweep lays its runs out does not matter: the held-out domain may make rows, columns, or be
part of an entry. A data set belongs here if its runs held out two domains or more, one each.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from medldr.reporting.published.domains import published_domains, same_domain
from medldr.reporting.read.describe import dataset_name, held_out, is_swad, section
from medldr.reporting.read.method import row_titles
from medldr.reporting.read.sweep import Entry, Study
from medldr.reporting.read.titles import printed_titles
from medldr.reporting.results.searched_settings import JOINT
from medldr.reporting.results.target_parts import target_value

_AXES: Final = ("held_out", "data")
"""Parts of a row's name that say which domain was held out."""


class Held(NamedTuple):
    """One run that held domains out.

    Attributes:
        row: The method, as printed.
        dataset: The data set.
        domains: What it held out.
        entry: The run.
    """

    row: str
    dataset: str
    domains: tuple[str, ...]
    entry: Entry


@dataclass
class LeftOut:
    """All runs of one data set that held a single domain out.

    Attributes:
        dataset: The data set.
        domains: Domains that were held out, in the order of the data set.
        never: Domains of the data set that no run held out.
        rows: Methods from top to bottom, controls last.
        controls: Those that are set apart.
        searched: Those that were chosen among several settings.
        runs: Method and domain to the runs.
    """

    dataset: str
    domains: list[str]
    never: list[str]
    rows: list[str] = field(default_factory=list)
    controls: list[str] = field(default_factory=list)
    searched: list[str] = field(default_factory=list)
    runs: dict[tuple[str, str], list[Entry]] = field(default_factory=dict)

    def of(self, row: str) -> list[Entry]:
        """All runs of a method."""
        return [entry for domain in self.domains for entry in self.runs.get((row, domain), ())]

    def values(self, row: str, domain: str, target: str, metric: str) -> dict[int, float]:
        """A measure of a method's runs on a domain, by seed; runs without it are not there."""
        found = {}
        for entry in self.runs.get((row, domain), ()):
            value = target_value(judged(entry), target, metric)
            if value is not None:
                found[entry.member.seed] = value
        return found

    def missing(self, row: str) -> list[tuple[str, int, str]]:
        """Runs without a result, also those that nobody planned: domain, seed, state."""
        seeds = sorted({entry.member.seed for entry in self.of(row)})
        lost = []
        for domain in self.domains:
            there = {entry.member.seed: entry for entry in self.runs.get((row, domain), ())}
            for seed in seeds:
                entry = there.get(seed)
                if entry is None:
                    lost.append((domain, seed, "not planned"))
                elif entry.run is None:
                    lost.append((domain, seed, entry.state))
        return lost


def judged(entry: Entry) -> Mapping[str, Any] | None:
    """`evaluation.json` of a run; None where it has none."""
    return None if entry.source is None else entry.source.evaluation


def held_runs(study: Study, entries: Iterable[Entry]) -> list[Held]:
    """Runs that held domains out, in the order of the sweep.

    A run without any file is known by another seed of its label.
    """
    entries = list(entries)
    told = {e.member.label: e.config for e in study.every if e.config}
    places = []
    for entry in entries:
        config = entry.config or told.get(entry.member.label, {})
        domains = held_out(config)
        run = {} if entry.source is None else entry.source.run
        places.append((entry, dataset_name(config, run), domains))
    rows = _methods(study, places)
    return [
        Held(rows[entry.member.row, domains], dataset, domains, entry)
        for entry, dataset, domains in places
        if domains
    ]


def left_out(study: Study) -> list[LeftOut]:
    """Data sets of which two domains or more were held out, one by one."""
    single = [held for held in held_runs(study, study.entries) if len(held.domains) == 1]
    chosen = {pick.row for pick in study.picks if pick.by and pick.settings > 1}
    found = []
    for dataset in dict.fromkeys(held.dataset for held in single):
        of_set = [held for held in single if held.dataset == dataset]
        names = list(dict.fromkeys(held.domains[0] for held in of_set))
        if len(names) < 2:
            continue
        known = set_domains(dataset, [held.entry for held in of_set])
        known = [domain_of(names, name) or name for name in known]
        known += [name for name in names if name not in known]
        made = LeftOut(
            dataset,
            [name for name in known if name in names],
            [name for name in known if name not in names],
        )
        for held in of_set:
            made.runs.setdefault((held.row, held.domains[0]), []).append(held.entry)
            control = held.entry.member.row in study.layout.controls
            made.rows += [] if held.row in made.rows else [held.row]
            made.controls += [held.row] if control and held.row not in made.controls else []
            best = held.entry.member.row in chosen
            made.searched += [held.row] if best and held.row not in made.searched else []
        made.rows.sort(key=lambda row: row in made.controls)
        found.append(made)
    return found


def set_domains(dataset: str, entries: Iterable[Entry]) -> list[str]:
    """All domains of a data set, as a run of it recorded them, or as published tables have them."""
    for entry in entries:
        source = entry.source
        names = None if source is None else section(source.run, "spec").get("domains")
        if names:
            return [str(name) for name in names]
    told = [p.domain for p in published_domains(dataset) if p.domain]
    return list(dict.fromkeys(told))


def domain_of(names: Iterable[str], wanted: str) -> str | None:
    """The name among these that means a domain, however it is written; None if none does."""
    return next((name for name in names if same_domain(name, wanted)), None)


def _methods(
    study: Study, places: Sequence[tuple[Entry, str, tuple[str, ...]]]
) -> dict[tuple[str, tuple[str, ...]], str]:
    """Printed row and held-out domains to the row without what says these domains."""
    headings = study.layout.rows.split(JOINT)
    stripped: dict[tuple[str, tuple[str, ...]], str] = {}
    for entry, _, domains in places:
        raw = study.keys[entry.member.row]
        parts = raw.split(JOINT)
        if len(parts) == len(headings) > 1:
            parts = [p for p, head in zip(parts, headings, strict=True) if head not in _AXES]
        name = JOINT.join(parts) or raw
        stripped[entry.member.row, domains] = _without(name, domains) if domains else name
    chosen_by_oracle = {row for row in study.rows if study.oracle(row)}
    oracles = {
        stripped[entry.member.row, domains]
        for entry, _, domains in places
        if entry.member.row in chosen_by_oracle
    }
    titles = printed_titles(stripped.values(), {**row_titles(), **study.layout.titles}, oracles)
    averaged = any(is_swad(entry.config) for entry, _, _ in places)
    plain = {
        stripped[entry.member.row, domains]
        for entry, _, domains in places
        if entry.config and not is_swad(entry.config)
    }

    def titled(name: str) -> str:
        title = titles[name]
        known = name in plain or "swad" in title.lower()
        return title if known or not averaged else f"{title} + SWAD"

    return {place: titled(name) for place, name in stripped.items()}


def _without(name: str, domains: Sequence[str]) -> str:
    """A label without the words that name the held-out domains.

    Example:
        >>> _without("erm_held_out-photo", ["photo"]), _without("photo_erm", ["photo"])
        ('erm', 'erm')
        >>> _without("photo", ["photo"])
        'photo'
    """
    words = "-".join(re.escape(domain) for domain in domains)
    left = re.sub(rf"(^|_)(held_out-)?{words}(?=_|$)", "", name).strip("_")
    return left or name
