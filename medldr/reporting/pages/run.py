"""The page of one run, made from the files of its folder and nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from medldr.config.method import method_title
from medldr.config.sections import dataset_name
from medldr.reporting.document import Document, Section
from medldr.reporting.prose import section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.published.held_out import run_published
from medldr.reporting.sections.run import numbers, predictions
from medldr.reporting.sections.run.card import card
from medldr.reporting.sections.run.clinical import clinical
from medldr.reporting.sections.run.mistakes import mistakes
from medldr.reporting.sections.run.provenance import provenance, settings
from medldr.reporting.sections.run.recalibration import recalibration
from medldr.reporting.sections.run.result import banners, notes, result
from medldr.reporting.sections.run.rules import rules
from medldr.reporting.sections.run.subgroups import subgroups


def run_page(files: RunFiles) -> Document:
    """The page of one run."""
    seed = files.config.get("seed", files.facts.get("seed", "?"))
    sections = [made for made in _sections(files) if made is not None]
    return Document(
        f"{method_title(files.config)} on {dataset_name(files.config, files.facts)}",
        "medldr · report of one run",
        f"{files.name} · seed {seed}",
        banners(files),
        sections,
    )


def _sections(files: RunFiles) -> Iterator[Section | None]:
    """From top to bottom; None for one that has nothing to show."""
    scored = files.evaluation
    yield result(files)
    yield notes(files)
    if scored is not None:
        yield section("run", "published", run_published(files))
        yield numbers.splits(scored)
        yield clinical(files)
        yield rules(files)
        yield numbers.domains(scored)
        yield numbers.groups(scored)
        yield subgroups(files)
    yield predictions.curves(files)
    yield predictions.latents(files)
    if scored is not None:
        yield predictions.confusion(scored)
        yield predictions.judging(scored)
        yield recalibration(scored)
        yield numbers.classes(scored)
        yield mistakes(files)
    yield card(files)
    yield settings(files)
    yield provenance(files)
    if scored is not None:
        yield numbers.glossary(scored)
