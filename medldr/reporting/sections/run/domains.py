"""Results of a run in each domain that it was tested on, seen and unseen."""

from __future__ import annotations

from collections.abc import Mapping

from medldr.evaluation.estimate import Estimate
from medldr.folders.evaluation_record import DomainRecord
from medldr.metrics import PERCENT, measure
from medldr.reporting.document import Figures, Paragraph, Section
from medldr.reporting.figures.forest import domain_figure
from medldr.reporting.read.run import RunFiles
from medldr.reporting.results.headline import tested_domains, worst_domain
from medldr.reporting.sections.domain_gap import gap_sentence
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import bracketed, ordered


def domains(files: RunFiles) -> Section | None:
    """The section of the page; None without domains."""
    found = {} if files.evaluation is None else tested_domains(files.evaluation)
    if files.evaluation is None or not found:
        return None
    text = f"A domain is a source of images, such as a hospital or a scanner. {_worst_text(found)}"
    figure = domain_figure(found)
    made = Section("domains", "Results by domain", "Domains", [Paragraph(text.rstrip())])
    made.add(Paragraph(gap_sentence(files.evaluation)), domain_table(found))
    made.add(Figures([figure] if figure is not None else []))
    return made


def _worst_text(found: Mapping[str, DomainRecord]) -> str:
    worst = worst_domain(found)
    number = found[worst].metrics["accuracy"] if worst else None
    if number is None or number.value is None:
        return ""
    known = measure("accuracy")
    value = f"{known.show(number.value)}{PERCENT}{bracketed(number, known)}"
    return f"The worst one is {worst}, with an accuracy of {value}."


def domain_table(found: Mapping[str, DomainRecord]) -> Table:
    """Results in each domain, unseen ones first, the one with the lowest accuracy marked."""
    keys = ordered(key for entry in found.values() for key in entry.metrics)
    table = Table("Results per domain", ["Domain", "Images"])
    table.columns += [measure(key).heading for key in keys]
    worst = worst_domain(found)
    for name, entry in sorted(found.items(), key=lambda item: (item[1].seen, item[0])):
        tags = ["seen" if entry.seen else "unseen"]
        tags += ["few groups"] if entry.few_groups else []
        tags += ["worst"] if name == worst else []
        scored = {key: Estimate.of(number) for key, number in entry.metrics.items()}
        cells = [Cell() if entry.n is None else Cell(entry.n)]
        cells += [table.number(key, scored.get(key)) for key in keys]
        table.rows.append(Row(name, cells, tuple(tags), "worst" if name == worst else ""))
    if any(entry.few_groups for entry in found.values()):
        table.notes.append("Few groups: under 20, so that the intervals are too narrow.")
    return table
