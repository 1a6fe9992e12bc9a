"""Runs that held domains out, and their methods named without these domains.

How a sweep lays its runs out does not matter: the held-out domain may make rows, columns, or be
part of an entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from medldr.config.method import row_titles
from medldr.config.sections import SWAD_TITLES, dataset_name, held_out, swad_form
from medldr.folders.sweep_record import JOINT
from medldr.reporting.published.numbers import domain_names, same_domain
from medldr.reporting.read.study import Entry, Study, printed_titles

_AXES: Final = ("held_out", "data")
"""Axes, without their section, whose values say which domain was held out."""


class HeldRun(NamedTuple):
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


def held_runs(study: Study, entries: Sequence[Entry]) -> list[HeldRun]:
    """Runs that held domains out, in the order of the sweep.

    A run without any file is known by another seed of its label.
    """
    known = {e.member.label: e.config for e in study.every if e.config}
    places = []
    for entry in entries:
        config = entry.config or known.get(entry.member.label, {})
        facts = {} if entry.files is None else entry.files.facts
        row, domains = entry.member.row, held_out(config)
        places.append(HeldRun(row, dataset_name(config, facts), domains, entry))
    rows = _methods(study, places)
    return [run._replace(row=rows[run.row, run.domains]) for run in places if run.domains]


def set_domains(dataset: str, entries: Iterable[Entry]) -> list[str]:
    """All domains of a data set, as a run of it recorded them, or as published tables have them."""
    for entry in entries:
        record = None if entry.files is None else entry.files.record
        if record is not None and record.spec is not None and record.spec.domains:
            return list(record.spec.domains)
    return domain_names(dataset)


def domain_of(names: Iterable[str], wanted: str) -> str | None:
    """The name among these that means a domain, however it is written; None if none does."""
    return next((name for name in names if same_domain(name, wanted)), None)


def _methods(study: Study, places: Sequence[HeldRun]) -> dict[tuple[str, tuple[str, ...]], str]:
    """Printed row and held-out domains to the row without what says these domains."""
    stripped: dict[tuple[str, tuple[str, ...]], str] = {}
    names: dict[str, list[str]] = {}
    for row, _, domains, entry in places:
        axes = entry.member.row_values
        kept = [value for axis, value in axes.items() if axis.rpartition(".")[2] not in _AXES]
        values = [_without(value, domains) for value in kept or axes.values()]
        stripped[row, domains] = JOINT.join(values)
        names[JOINT.join(values)] = values
    oracles = {name for (row, _), name in stripped.items() if study.oracle(row)}
    titles = printed_titles(names, {**row_titles(), **study.layout.titles}, oracles)
    forms: dict[str, set[str]] = {}
    for run in places:
        if run.entry.config:
            name = stripped[run.row, run.domains]
            forms.setdefault(name, set()).add(swad_form(run.entry.config))
    for name, title in titles.items():
        # A method whose runs are all missing is averaged as the others are.
        form, *others = forms.get(name) or set().union(*forms.values()) or {""}
        if form and not others and "swad" not in title.lower():
            titles[name] = f"{title} + {SWAD_TITLES[form]}"
    return {place: titles[name] for place, name in stripped.items()}


def _without(name: str, domains: Sequence[str]) -> str:
    """A label without the words that name the held-out domains.

    Example:
        >>> _without("erm_held_out-photo", ["photo"]), _without("photo_erm", ["photo"])
        ('erm', 'erm')
        >>> _without("photo", ["photo"])
        'photo'
    """
    if not domains:
        return name
    words = "-".join(re.escape(domain) for domain in domains)
    left = re.sub(rf"(^|_)(held_out-)?{words}(?=_|$)", "", name).strip("_")
    return left or name
