"""The page of `medldr analyze`: what the latents of runs show, topic by topic."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from numpy.typing import NDArray

from medldr.evaluation.representation.measured import Measured
from medldr.folders.latents_record import ORIGINAL
from medldr.reporting.document import Bullets, Document, Section
from medldr.reporting.prose import section
from medldr.reporting.sections.analysis.centres import centres_lines, centres_section
from medldr.reporting.sections.analysis.geometry import geometry_lines, geometry_section
from medldr.reporting.sections.analysis.maps import maps_lines, maps_section
from medldr.reporting.sections.analysis.neighbours import neighbours_lines, neighbours_section
from medldr.reporting.sections.analysis.operators import operators_lines, operators_section
from medldr.reporting.sections.analysis.pictures import pictures_section
from medldr.reporting.sections.analysis.probes import probes_lines, probes_section
from medldr.reporting.sections.analysis.queries import queries_lines, queries_section
from medldr.reporting.sections.analysis.robustness import robustness_lines, robustness_section
from medldr.reporting.sections.analysis.verdict import verdict
from medldr.reporting.sections.rows import grouped
from medldr.reporting.table import Cell, Row, Table

Lines = Sequence[Mapping[str, object]]
Pictures = Mapping[str, Callable[[int], NDArray[Any]]]
T = TypeVar("T")


@dataclass(frozen=True)
class RunFacts:
    """A run of the page.

    Attributes:
        data: Its data set.
        held_out: The domains that were held out; empty without any.
        seeds: Of the runs behind its alignment and uniformity; all else is of the first.
        images: Images whose latents were analysed.
        folder: Name of its folder.
    """

    data: str
    held_out: str
    seeds: tuple[int, ...]
    images: int
    folder: str


@dataclass(frozen=True)
class Analysis:
    """What a page is made from.

    Attributes:
        runs: By heading, the reference first.
        facts: Of each of these runs.
        pictures: By heading, what gives the image of a row; without the runs that have none.
        sweeps: Sections of sweeps, with the lines of their csv files.
        notes: What to know about the page, in words.
    """

    runs: Mapping[str, Measured]
    facts: Mapping[str, RunFacts]
    pictures: Pictures
    sweeps: Sequence[tuple[Section, Lines]]
    notes: Sequence[str]

    def of(self, topic: Callable[[Measured], T | None]) -> dict[str, T]:
        """One topic of every run that has it."""
        found = {heading: topic(measured) for heading, measured in self.runs.items()}
        return {heading: one for heading, one in found.items() if one is not None}

    @property
    def alike(self) -> list[list[str]]:
        """Headings of runs on the same data set with the same domains held out."""
        facts = self.facts.items()
        return list(grouped(((one.data, one.held_out), name) for name, one in facts).values())


def analysis_page(found: Analysis) -> tuple[Document, dict[str, Lines]]:
    """The page, and the lines of a csv file for each section that has numbers."""
    made = list(_topics(found)) if found.runs else []
    made += found.sweeps
    lines = {shown.anchor: each for shown, each in made if shown is not None and each}
    shown = [
        section("analysis", "result", conclusions(found)),
        section("analysis", "notes", Bullets(found.notes)),
        *(one for one, _ in made),
        section("analysis", "runs", _runs(found)),
    ]
    document = Document(
        _title(found),
        "medldr · analysis of latents" if found.runs else "medldr · analysis of sweeps",
        _size(found),
        (),
        [one for one in shown if one is not None],
    )
    return document, lines


def conclusions(found: Analysis) -> Bullets:
    """What the page shows, in a few sentences."""
    pairs = {}
    for heading, one in found.of(lambda run: run.geometry).items():
        pairs[heading] = (one.main.closeness.alignment, one.main.uniformity)
    probed, judged = found.of(lambda run: run.probes), found.of(lambda run: run.classified)
    return verdict(probed, judged, pairs, found.alike)


def _topics(found: Analysis) -> Iterator[tuple[Section | None, Lines]]:
    geometry, judged = found.of(lambda run: run.geometry), found.of(lambda run: run.classified)
    yield geometry_section(geometry, found.alike), geometry_lines(geometry)
    yield operators_section(judged), operators_lines(judged)
    probed = found.of(lambda run: run.probes)
    yield probes_section(probed), probes_lines(probed)
    near = found.of(lambda run: run.neighbours)
    yield neighbours_section(near), neighbours_lines(near)
    yield pictures_section(found.of(lambda run: run.pictured), found.pictures), ()
    follows = found.of(lambda run: run.robustness)
    yield robustness_section(follows), robustness_lines(follows)
    apart = found.of(lambda run: run.centres)
    yield centres_section(apart), centres_lines(apart)
    drawn = found.of(lambda run: run.maps)
    data = {heading: facts.data for heading, facts in found.facts.items()}
    yield maps_section(drawn, data), maps_lines(drawn)
    asked = found.of(lambda run: run.queries)
    yield queries_section(asked), queries_lines(asked)


def _title(found: Analysis) -> str:
    if not found.runs:
        return "Where methods help, and at what cost"
    names = list(found.runs)
    shown = " and ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} others"
    data = dict.fromkeys(facts.data for facts in found.facts.values())
    return f"Latents of {shown} on {', '.join(data)}"


def _size(found: Analysis) -> str:
    held = dict.fromkeys(facts.held_out for facts in found.facts.values() if facts.held_out)
    return f"held out: {'; '.join(held)}" if held else ""


def _runs(found: Analysis) -> Table | None:
    if not found.facts:
        return None
    columns = ["Run", "Data", "Held out", "Seeds", "Images", "Latents", "Folder"]
    table = Table("Runs of this page", columns, texts=(1, 2, 3, 5, 6), intervals=False)
    for heading, facts in found.facts.items():
        views = "z" if _plain(found.runs[heading]) else "z, z_d, z_r"
        seeds = ", ".join(map(str, facts.seeds))
        words = (facts.data, facts.held_out or "–", seeds, facts.images, views, facts.folder)
        table.rows.append(Row(heading, [Cell(word) for word in words]))
    return table


def _plain(run: Measured) -> bool:
    judged = run.classified
    return judged is None or set(judged.last.views) == {ORIGINAL}
