"""The page of `medldr analyze`: what the latents of runs show, question by question."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from medldr.reporting.document import Bullets, Document, Section
from medldr.reporting.prose import assemble, section
from medldr.reporting.sections.analysis.answers import answers, verdict
from medldr.reporting.sections.analysis.gains import gains_answers
from medldr.reporting.sections.analysis.sweeps import Sweeps
from medldr.reporting.sections.analysis.topics import (
    Pictures,
    Runs,
    centres_section,
    csv_lines,
    geometry_section,
    maps_section,
    neighbours_section,
    of_runs,
    operators_section,
    pictures_section,
    probes_section,
    queries_section,
    robustness_section,
)
from medldr.reporting.sections.rows import grouped
from medldr.reporting.table import Cell, Row, Table

Lines = Sequence[Mapping[str, object]]
TOPICS: Final[Mapping[str, Callable[[Runs], Section | None]]] = {
    "operators": operators_section, "probes": probes_section, "neighbours": neighbours_section,
    "robustness": robustness_section, "centres": centres_section, "queries": queries_section,
}  # fmt: skip
"""The questions below the first one, each with its csv file."""
QUERY_COLUMNS: Final = ("kind", "latents", "metric", "value", "low", "high", "images", "reason",
                        "panel", "class", "domain", "x", "y")  # fmt: skip


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
        sweeps: What sweep folders show.
        left_out: What the page is not of, in words: other columns of a sweep, further methods.
        notes: What else to know about the page, in words.
    """

    runs: Runs
    facts: Mapping[str, RunFacts]
    pictures: Pictures = field(default_factory=dict)
    sweeps: Sweeps = field(default_factory=Sweeps)
    left_out: Sequence[str] = ()
    notes: Sequence[str] = ()

    @property
    def alike(self) -> list[list[str]]:
        """Headings of runs on the same data set with the same domains held out."""
        facts = self.facts.items()
        return list(grouped(((one.data, one.held_out), name) for name, one in facts).values())


def analysis_page(found: Analysis) -> tuple[Document, dict[str, Lines]]:
    """The page, and the lines of a csv file for each topic that has numbers."""
    runs = found.runs
    data = {run: facts.data for run, facts in found.facts.items()}
    made = {name: partial(make, runs) for name, make in TOPICS.items()}
    sections = assemble("analysis", [
        ("geometry", lambda: geometry_section(runs)),
        ("result", lambda: _result(found)),
        *((name, made[name]) for name in ("operators", "probes", "neighbours")),
        ("pictures", lambda: pictures_section(runs, found.pictures)),
        *((name, made[name]) for name in ("robustness", "centres")),
        ("maps", lambda: maps_section(runs, data)),
        ("queries", made["queries"]),
        *found.sweeps.sections(),
        ("notes", lambda: section("analysis", "notes", Bullets(found.notes))),
        ("runs", lambda: section("analysis", "runs", _runs(found))),
    ])  # fmt: skip
    document = Document(
        _title(found), "medldr · analysis of latents", _size(found), (), sections,
        verdict(runs, found.alike, _caveats(found)),
    )  # fmt: skip
    return document, _lines(found)


def on_terminal(page: Document) -> Document:
    """The verdict of a page and its first table, as a command prints them."""
    first = page.section("geometry")
    tables = [] if first is None else [replace(table, notes=[]) for table in first.tables]
    return replace(page, title="", subtitle="", sections=[Section("geometry", "", "", [*tables])])


def _lines(found: Analysis) -> dict[str, Lines]:
    runs = found.runs
    lines = {
        topic: csv_lines(of_runs(runs, topic), seeds=topic == "geometry")
        for topic in ("geometry", *TOPICS)
    }
    points = [{"run": run, **point} for run, held in runs.items() if held.queries is not None
              for point in held.queries.points()]  # fmt: skip
    empty = dict.fromkeys(("run", *QUERY_COLUMNS), "")
    lines["queries"] = [{**empty, **line} for line in (*lines["queries"], *points)]
    lines["maps"] = [{"run": run, **x} for run, held in runs.items() for x in held.maps.points()]
    return {name: each for name, each in {**lines, **found.sweeps.lines()}.items() if each}


def _result(found: Analysis) -> Section | None:
    said = [text for text in answers(found.runs, found.alike) if text]
    said += gains_answers(found.sweeps.gains)
    return section("analysis", "result", Bullets(said, "verdict"))


def _caveats(found: Analysis) -> list[str]:
    """What must not be missed: what is not on the page, and what does not compare."""
    said = list(found.left_out)
    if len(found.alike) > 1:
        with_others = "; ".join(" with ".join(names) for names in found.alike if len(names) > 1)
        said.append(
            "Runs on different data sets, or with different domains held out, do not compare."
            + (f" Those that do: {with_others}." if with_others else "")
        )
    return said


def _title(found: Analysis) -> str:
    names = list(found.runs)
    shown = " and ".join(names) if len(names) < 3 else f"{names[0]} and {len(names) - 1} others"
    data = dict.fromkeys(facts.data for facts in found.facts.values())
    return f"Latents of {shown} on {', '.join(data)}"


def _size(found: Analysis) -> str:
    held = dict.fromkeys(facts.held_out for facts in found.facts.values() if facts.held_out)
    return f"held out: {'; '.join(held)}" if held else ""


def _runs(found: Analysis) -> Table:
    columns = ["Run", "Data", "Held out", "Seeds", "Images", "Latents", "Folder"]
    table = Table("Runs of this page", columns, texts=(1, 2, 3, 5, 6), intervals=False)
    for heading, facts in found.facts.items():
        views = "z, z_d, z_r" if found.runs[heading].moves else "z"
        seeds = ", ".join(map(str, facts.seeds))
        words = (facts.data, facts.held_out or "–", seeds, facts.images, views, facts.folder)
        table.rows.append(Row(heading, [Cell(word) for word in words]))
    return table
