"""From folders to the page of an analysis: read, measure, draw, write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from medldr.analysis.runs import AnalysedRun, Sources, images_of, read_runs
from medldr.analysis.sweep_runs import SweepRuns, runs_of_sweep
from medldr.config.sections import held_out
from medldr.errors import InputError
from medldr.evaluation.representation.geometry import geometry
from medldr.evaluation.representation.geometry_over_seeds import mean_over_seeds
from medldr.evaluation.representation.maps import Maps, maps
from medldr.evaluation.representation.measured import Measured, measure
from medldr.evaluation.representation.options import Options
from medldr.evaluation.representation.queries import Inserted, Queries, chosen_queries, queries
from medldr.folders.files import write_text
from medldr.folders.latents_record import DEGRADED, RESTORED
from medldr.reporting.pages.analysis import Analysis, Pictures, RunFacts, analysis_page, conclusions
from medldr.reporting.read.loose_runs import is_run_folder
from medldr.reporting.sections.analysis.sweeps import sweep_sections
from medldr.reporting.writers.csv import csv_text
from medldr.reporting.writers.html import html_page
from medldr.reporting.writers.paper import write_figures

Say = Callable[[str], None]


@dataclass(frozen=True)
class Written:
    """What an analysis wrote.

    Attributes:
        page: `analysis.html`.
        figures: The files of figures, svg and pdf.
        tables: The csv files.
        verdict: The conclusions of the page.
        notes: What to know about it.
    """

    page: Path
    figures: tuple[Path, ...]
    tables: tuple[Path, ...]
    verdict: tuple[str, ...]
    notes: tuple[str, ...]


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
        out: The folder to write; files of an earlier analysis are replaced.
        options: What is drawn, and how much is compared.
        device: Device on which latents are made, where they are not kept; unset: each run's own.
        done: Told what is being done.

    Raises:
        InputError: If a folder is neither a finished run nor a sweep, or its latents are needed and
            its data is not there or has changed.
        StorageError: If a file cannot be written.
    """
    options = options or Options()
    paths = [Path(folder) for folder in folders]
    for path in paths:
        if not path.is_dir():
            raise InputError(f"the folder {path} does not exist")
    single = [path for path in paths if is_run_folder(path)]
    sweeps = [path for path in paths if path not in single]
    chosen = [runs_of_sweep(path) for path in sweeps]
    first = [("", path) for path in single]
    first += [each for sweep in chosen for each in sweep.first_seeds.items()]
    runs = read_runs(
        [path for _, path in first], [title for title, _ in first],
        seed=options.seed, device=device, done=done,
    )  # fmt: skip
    sources = Sources()
    pictures, lost = _pictures(runs, sources, done)
    measured = _measure(runs, options, done)
    seeds = {run.heading: [run.config.seed] for run in runs}
    for run in runs:
        more = _other_seeds(run, chosen)
        if more:
            done(f"other seeds of {run.heading}")
            _mean(run, more, measured, seeds, options, device)
    done("sweeps")
    found = Analysis(
        measured,
        {run.heading: _facts(run, seeds[run.heading]) for run in runs},
        pictures,
        list(sweep_sections(sweeps)) if sweeps else [],
        _notes(runs, chosen, lost),
    )
    return _write(found, Path(out), done)


def _measure(runs: Sequence[AnalysedRun], options: Options, done: Say) -> dict[str, Measured]:
    """Every run by its heading; maps of later runs are made to fit those of the first."""
    found: dict[str, Measured] = {}
    reference: Maps | None = None
    for run in runs:
        done(f"maps of {run.heading}")
        drawn = maps(run.latents, options, reference)
        reference = reference or drawn
        done(f"queries of {run.heading}")
        asked = _queries(run, options)
        done(f"neighbours and probes of {run.heading}")
        found[run.heading] = measure(run.latents, options, asked, drawn)
    return found


def _queries(run: AnalysedRun, options: Options) -> Queries | None:
    """The queries of a run, put into random batches where its D and R are there."""
    latents, operators = run.latents, run.operators
    if operators is None:
        return queries(latents, (), np.flatnonzero(latents.split == "train")[:0], options)
    inserted = []
    for number, query in enumerate(chosen_queries(latents, options).tolist()):
        made = operators.insert(latents, query, options.batches, options.seed + number)
        inserted.append(Inserted(query, made.get(DEGRADED), made.get(RESTORED)))
    batch = operators.first_batch(latents, 0 if run.stored else options.seed)
    return queries(latents, inserted, batch, options)


def _other_seeds(run: AnalysedRun, chosen: Sequence[SweepRuns]) -> list[Path]:
    """Run folders of the same method with further seeds."""
    for sweep in chosen:
        for folders in sweep.rows.values():
            if folders[0].resolve() == run.files.path.resolve():
                return folders[1:]
    return []


def _mean(
    run: AnalysedRun,
    more: Sequence[Path],
    measured: dict[str, Measured],
    seeds: dict[str, list[int]],
    options: Options,
    device: str | None,
) -> None:
    """Alignment and uniformity become means over the seeds of the method."""
    one = measured[run.heading]
    if one.geometry is None:
        return
    every = [one.geometry]
    for other in more:  # one by one, since latents are large
        (read,) = read_runs([other], seed=options.seed, device=device)
        each = geometry(read.latents, options)
        if each is not None:
            every.append(each)
            seeds[run.heading].append(read.config.seed)
    measured[run.heading] = replace(one, geometry=mean_over_seeds(every))


def _pictures(
    runs: Sequence[AnalysedRun], sources: Sources, done: Say
) -> tuple[Pictures, list[str]]:
    found, notes = {}, []
    for run in runs:
        done(f"images of {run.heading}")
        image, note = images_of(run, sources)
        if image is not None:
            found[run.heading] = image
        notes += [note] if note else []
    return found, notes


def _facts(run: AnalysedRun, seeds: Sequence[int]) -> RunFacts:
    config = run.config.model_dump(mode="json")
    held = ", ".join(held_out(config))
    return RunFacts(run.dataset, held, tuple(seeds), len(run.latents), run.files.path.name)


def _notes(
    runs: Sequence[AnalysedRun], chosen: Sequence[SweepRuns], lost: Sequence[str]
) -> list[str]:
    said = [*(note for sweep in chosen for note in sweep.notes), *lost]
    said += [f"{run.heading}: {note}" for run in runs for note in run.notes]
    return [f"{note[:1].upper()}{note[1:]}." for note in dict.fromkeys(said)]


def _write(found: Analysis, out: Path, done: Say) -> Written:
    done("figures")
    document, lines = analysis_page(found)
    tables = []
    for name, each in lines.items():
        fields = list(dict.fromkeys(key for line in each for key in line))
        tables.append(out / f"{name}.csv")
        write_text(tables[-1], csv_text(fields, each))
    page = out / "analysis.html"
    write_text(page, html_page(document))
    figures = write_figures(document, out / "figures")
    verdict = tuple(conclusions(found).items)
    return Written(page, tuple(figures), tuple(tables), verdict, tuple(found.notes))
