"""The page of one run, made from the files of its folder and nothing else."""

from __future__ import annotations

from medldr.config.method import method_title
from medldr.config.sections import dataset_name
from medldr.reporting.document import Document, Section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.beside_published import beside_published
from medldr.reporting.sections.published.run import run_published
from medldr.reporting.sections.run.banners import banners, notes
from medldr.reporting.sections.run.curves import curves, latents
from medldr.reporting.sections.run.domains import domains
from medldr.reporting.sections.run.groups import groups
from medldr.reporting.sections.run.predictions import classes, confusion, judging
from medldr.reporting.sections.run.provenance import provenance
from medldr.reporting.sections.run.result import result
from medldr.reporting.sections.run.rules import rules
from medldr.reporting.sections.run.settings import settings
from medldr.reporting.sections.run.splits import glossary, splits


def published(files: RunFiles) -> Section | None:
    """The numbers of a run beside published ones; None where nothing was published."""
    return beside_published(run_published(files))


SECTIONS = (
    result, notes, published, splits, rules, domains, groups, curves, latents, confusion, judging,
    classes, settings, provenance, glossary,
)  # fmt: skip
"""From top to bottom; each makes a section of a run's files, or None."""


def run_page(files: RunFiles) -> Document:
    """The page of one run."""
    seed = files.config.get("seed", files.facts.get("seed", "?"))
    sections = [make(files) for make in SECTIONS]
    return Document(
        title=f"{method_title(files.config)} on {dataset_name(files.config, files.facts)}",
        kicker="medldr · report of one run",
        subtitle=f"{files.name} · seed {seed}",
        banners=banners(files),
        sections=[section for section in sections if section is not None],
    )
