"""What sweep folders show beyond their reports, from the folders alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from medldr.folders.sweep_record import SweepFolder
from medldr.reporting.document import Block, Bullets, Heading, Section
from medldr.reporting.prose import section
from medldr.reporting.read.sweep import read_study
from medldr.reporting.results.batch_sizes import batch_curves
from medldr.reporting.results.data_sets import data_sets
from medldr.reporting.results.gains import gains, metric_of_domains
from medldr.reporting.results.pooled import Compared, pooled
from medldr.reporting.results.training_cost import training_cost
from medldr.reporting.sections.analysis.batch import batch_lines, batch_section
from medldr.reporting.sections.analysis.cost import cost_lines, cost_section
from medldr.reporting.sections.analysis.gains import SweepGains, gains_lines, gains_section
from medldr.reporting.sections.analysis.pooled import pooled_lines, pooled_section
from medldr.reporting.sections.held_out import held_out
from medldr.reporting.sections.sweep.common import Results, results_of
from medldr.reporting.sections.sweep.csv_lines import csv_lines
from medldr.reporting.sections.sweep.missing_runs import missing_runs
from medldr.reporting.sections.sweep.result import result

Lines = list[dict[str, object]]


def sweep_sections(folders: Sequence[Path]) -> Iterator[tuple[Section, Lines]]:
    """Every section that these sweeps have something to show in, with the lines of its csv file.

    Runs that failed or are missing are named in the last section and left out of the others.

    Args:
        folders: Sweep folders, or any folders of run folders, finished or not.

    Yields:
        A section, and its lines, which all have the same keys: the columns of the file.

    Raises:
        InputError: If a folder holds no runs, or its `sweep.json` is damaged.
    """
    found = _read(folders)
    scored = {title: of for title, (of, _) in found.items() if of.splits}
    curves = {
        title: batch_curves(of.study, of.columns, of.metrics[0], of.splits[0])
        for title, of in scored.items()
    }
    costs = {
        title: [
            cost
            for data in data_sets(of.study, of.columns)
            if (cost := training_cost(of.study, data, of.metrics[0], of.splits[0])) is not None
        ]
        for title, of in scored.items()
    }
    helps = {
        title: SweepGains(
            of.study.reference,
            (metric := metric_of_domains(of.metrics[0])),
            gains(of.study, of.columns, metric),
            of.study.layout.controls,
        )
        for title, of in scored.items()
    }
    first = next(iter(scored.values()), None)
    compared = [Compared(of.study, of.columns) for of in scored.values()]
    together = [] if first is None else pooled(compared, first.metrics[0], first.splits[0])
    made = (
        (batch_section(curves), batch_lines(curves)),
        (cost_section(costs), cost_lines(costs)),
        (gains_section(helps), gains_lines(helps)),
        (pooled_section(together), pooled_lines(together)),
        (tables_section(found), tables_lines(found)),
    )
    for shown, lines in made:
        if shown is not None:
            keys = dict.fromkeys(key for line in lines for key in line)
            yield shown, [{key: line.get(key, "") for key in keys} for line in lines]


Read = Mapping[str, tuple[Results, list[str]]]
"""Results and notes of each sweep by its title."""


def _read(folders: Sequence[Path]) -> Read:
    found: dict[str, tuple[Results, list[str]]] = {}
    for folder in folders:
        study = read_study(SweepFolder(folder))
        title, number = study.layout.title, 2
        while title in found:
            title, number = f"{study.layout.title} [{number}]", number + 1
        found[title] = results_of(study)
    return found


def tables_section(found: Read) -> Section | None:
    """The grids of each sweep's report, and what is missing in them."""
    blocks = list[Block]()
    for title, (of, notes) in found.items():
        parts = (
            result(of),
            held_out(of.held_out, of.metrics[0]),
            missing_runs(of.study, of.columns),
        )
        blocks.append(Heading(title))
        blocks += [block for part in parts if part is not None for block in part.blocks]
        about = [note for column in of.columns for note in column.notes]
        blocks.append(Bullets([*of.study.notes, *notes, *about]))
    return section("analysis", "tables", *blocks)


def tables_lines(found: Read) -> Lines:
    """The lines of each sweep's `report.csv`."""
    return [{"sweep": title, **line} for title, (of, _) in found.items() for line in csv_lines(of)]
