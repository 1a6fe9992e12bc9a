"""From folders to the page of an analysis: read, measure, draw, write."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Final

import numpy as np

from medldr.analysis.plan import PlannedRun, plan
from medldr.analysis.runs import AnalysedRun, RunReader
from medldr.config.sections import held_out
from medldr.evaluation.latents.training_batches import can_mix
from medldr.evaluation.representation.frame import Options
from medldr.evaluation.representation.geometry import geometry, mean_over_seeds
from medldr.evaluation.representation.maps import Maps, maps
from medldr.evaluation.representation.measured import Measured, measure
from medldr.evaluation.representation.queries import Inserted, Queries, chosen_queries, queries
from medldr.folders.files import read_json, write_json, write_text
from medldr.folders.latents_record import DEGRADED, RESTORED
from medldr.reporting.document import Document
from medldr.reporting.pages.analysis import Analysis, Lines, RunFacts, analysis_page
from medldr.reporting.sections.analysis.sweeps import read_sweeps
from medldr.reporting.writers.csv import csv_text
from medldr.reporting.writers.html import html_page
from medldr.reporting.writers.paper import write_figures

LIST: Final = "files.json"
KINDS: Final = (".csv", ".svg", ".pdf")


@dataclass(frozen=True)
class Written:
    """What an analysis wrote.

    Attributes:
        document: What its page says.
        page: `analysis.html`.
        figures: The files of figures, svg and pdf.
        tables: The csv files.
    """

    document: Document
    page: Path
    figures: tuple[Path, ...]
    tables: tuple[Path, ...]


def write_made(out: Path, document: Document, lines: Mapping[str, Lines]) -> Written:
    """Write a page with its csv files and figures, in place of those of an earlier analysis.

    Args:
        out: The folder. What an earlier analysis wrote there is removed, anything else stays.
        document: The page.
        lines: Of each csv file, by its name.

    Raises:
        InputError: If the list of earlier files cannot be read.
        StorageError: If a file cannot be written.
    """
    _remove_earlier(out)
    tables = []
    for name, each in lines.items():
        fields = list(dict.fromkeys(key for line in each for key in line))
        tables.append(out / f"{name}.csv")
        write_text(tables[-1], csv_text(fields, each))
    figures = write_figures(document, out / "figures")
    written = [path.relative_to(out).as_posix() for path in (*tables, *figures)]
    write_json(out / LIST, written)
    page = out / "analysis.html"
    write_text(page, html_page(document))
    return Written(document, page, tuple(figures), tuple(tables))


def _remove_earlier(out: Path) -> None:
    """Files of another analysis beside this page would be taken for its own."""
    if not (out / LIST).is_file():
        return
    for name in read_json(out / LIST):
        path = PurePosixPath(str(name))
        folder = path.parts[:-1]
        if folder in ((), ("figures",)) and path.suffix in KINDS and ".." not in path.parts:
            (out / path).unlink(missing_ok=True)


Say = Callable[[str], None]


def analyze(
    folders: Sequence[Path | str],
    out: Path | str = "analysis",
    options: Options | None = None,
    *,
    device: str | None = None,
    done: Say = lambda _: None,
) -> Written:
    """Analyse trained runs and sweeps, and write the page, its csv files and its figures.

    Args:
        folders: Run folders, the reference first; or sweep folders.
        out: The folder to write; the files of an earlier analysis there are removed.
        options: What is drawn, and how much is compared.
        device: Device on which latents are made, where they are not kept; unset: each run's own.
        done: Told what is being done.

    Raises:
        InputError: If a folder is neither a finished run nor a sweep, or its latents are needed and
            its data is not there or has changed.
        StorageError: If a file cannot be written.
    """
    options = options or Options()
    planned = plan([Path(folder) for folder in folders])
    reader = RunReader(options.seed, device)
    looked = Looked(reader, options, done)
    for run in planned.runs:  # one by one, since latents are large
        looked.at(run)
    done("sweeps")
    sweeps = read_sweeps(planned.sweeps)
    found = Analysis(
        looked.measured, looked.facts, looked.pictures, sweeps,
        _sentences([*planned.notes, *sweeps.notes]), _sentences(looked.notes),
    )  # fmt: skip
    done("figures")
    document, lines = analysis_page(found)
    return write_made(Path(out), document, lines)


def _sentences(notes: Sequence[str]) -> list[str]:
    return [f"{note[:1].upper()}{note[1:]}." for note in dict.fromkeys(notes)]


class Looked:
    """What was seen of the runs so far; their latents are let go of.

    Args:
        reader: Reads runs.
        options: What is drawn, and how much is compared.
        done: Told what is being done.

    Attributes:
        measured: Numbers by heading.
        facts: Facts by heading.
        pictures: By heading, what gives the image of a row.
        notes: What to know about the runs, in words.
    """

    def __init__(self, reader: RunReader, options: Options, done: Say) -> None:
        self._reader, self._options, self._done = reader, options, done
        self._first: dict[str, Maps] = {}  # by data set
        self.measured: dict[str, Measured] = {}
        self.facts: dict[str, RunFacts] = {}
        self.pictures: dict[str, Callable[[int], np.ndarray]] = {}
        self.notes: list[str] = []

    def at(self, planned: PlannedRun) -> None:
        """Measure a run; maps are made to fit those of the first run on the same data set."""
        heading, options = planned.heading, self._options
        self._done(f"latents of {heading}")
        run = self._reader.read(planned.folder, heading)
        self.notes += [f"{heading}: {note}" for note in run.notes]
        self._done(f"maps of {heading}")
        drawn = maps(run.latents, options, self._first.get(run.dataset))
        self._first.setdefault(run.dataset, drawn)
        self._done(f"queries of {heading}")
        asked = _queries(run, options)
        self._done(f"neighbours and probes of {heading}")
        measured = measure(run.latents, options, asked, drawn, own_classifier=run.own_classifier)
        self._done(f"pictures of {heading}")
        self._look_at_images(run, measured)
        self.notes += [f"{heading}: {note}" for note in measured.notes]
        measured, seeds = self._over_seeds(planned, run, measured)
        self.measured[heading] = measured
        self.facts[heading] = _facts(run, seeds)

    def _look_at_images(self, run: AnalysedRun, measured: Measured) -> None:
        if measured.pictured is None:
            return
        images, note = self._reader.images(run, measured.pictured.rows)
        if images is not None:
            self.pictures[run.heading] = images.__getitem__
        elif note not in self.notes:
            self.notes.append(note)

    def _over_seeds(
        self, planned: PlannedRun, run: AnalysedRun, measured: Measured
    ) -> tuple[Measured, list[int]]:
        """Alignment and uniformity become means over the seeds of the method."""
        seeds = [run.config.seed]
        every = [measured.frames["geometry"]]
        for folder in planned.further:
            self._done(f"another seed of {planned.heading}")
            other = self._reader.read(folder)
            seed = other.config.seed
            self.notes += [f"{planned.heading}, seed {seed}: {note}" for note in other.notes]
            if found := geometry(other.latents, self._options):
                every.append(found)
                seeds.append(seed)
        frames = {**measured.frames, "geometry": mean_over_seeds(every)}
        return replace(measured, frames=frames), seeds


def _queries(run: AnalysedRun, options: Options) -> Queries | None:
    """The queries of a run, put into random batches where its D and R are there."""
    latents, operators = run.latents, run.operators
    if operators is None or not can_mix(latents):
        return queries(latents, (), np.empty(0, np.int64), options)
    inserted = []
    for number, query in enumerate(chosen_queries(latents, options).tolist()):
        made = operators.insert(latents, query, options.batches, options.seed + number)
        inserted.append(Inserted(query, made.get(DEGRADED), made.get(RESTORED)))
    batch = operators.first_batch(latents, 0 if run.stored else options.seed)
    return queries(latents, inserted, batch, options)


def _facts(run: AnalysedRun, seeds: Sequence[int]) -> RunFacts:
    held = ", ".join(held_out(run.config.model_dump(mode="json")))
    return RunFacts(run.dataset, held, tuple(seeds), len(run.latents), run.files.path.name)
