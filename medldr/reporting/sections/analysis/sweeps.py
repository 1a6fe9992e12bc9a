"""What sweep folders show of their methods beyond their reports, from the folders alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from medldr.evaluation.representation.frame import Line
from medldr.folders.sweep_record import SweepFolder
from medldr.reporting.document import Section
from medldr.reporting.read.sweep import read_study
from medldr.reporting.results.gains import (
    Compared,
    Pooled,
    data_sets,
    gains,
    metric_of_domains,
    pooled,
)
from medldr.reporting.sections.analysis import batch_sizes, training_cost
from medldr.reporting.sections.analysis import gains as topic
from medldr.reporting.sections.analysis.gains import SweepGains
from medldr.reporting.sections.rows import count
from medldr.reporting.sections.sweep.common import Results, results_of

Lines = list[Line]


@dataclass(frozen=True)
class Sweeps:
    """What sweeps show, by their titles.

    Attributes:
        curves: Metrics against the size of a batch.
        costs: What training costs.
        gains: Differences from the reference, by domain.
        pooled: The gains of all data sets together.
        notes: Runs that are missing, in words.
    """

    curves: Mapping[str, Sequence[batch_sizes.BatchCurve]] = field(default_factory=dict)
    costs: Mapping[str, Sequence[training_cost.Cost]] = field(default_factory=dict)
    gains: Mapping[str, SweepGains] = field(default_factory=dict)
    pooled: Sequence[Pooled] = ()
    notes: Sequence[str] = ()

    def sections(self) -> list[tuple[str, Callable[[], Section | None]]]:
        """Name and maker of each section."""
        return [
            ("gains", lambda: topic.gains_section(self.gains)),
            ("pooled", lambda: topic.pooled_section(self.pooled)),
            ("batch", lambda: batch_sizes.batch_section(self.curves)),
            ("cost", lambda: training_cost.cost_section(self.costs)),
        ]

    def lines(self) -> dict[str, Lines]:
        """The lines of each csv file."""
        return {
            "batch": batch_sizes.batch_lines(self.curves),
            "cost": training_cost.cost_lines(self.costs),
            "gains": topic.gains_lines(self.gains), "pooled": topic.pooled_lines(self.pooled),
        }  # fmt: skip


def read_sweeps(folders: Sequence[Path]) -> Sweeps:
    """Everything that these sweeps show; runs that failed or are missing are counted alone.

    Args:
        folders: Sweep folders, or any folders of run folders, finished or not.

    Raises:
        InputError: If a folder holds no runs, or its `sweep.json` is damaged.
    """
    every = dict(_read(folders))
    found = {title: of for title, of in every.items() if of.splits}
    first = next(iter(found.values()), None)
    compared = [Compared(of.study, of.columns) for of in found.values()]
    return Sweeps(
        curves={
            title: batch_sizes.batch_curves(of.study, of.columns, of.metrics[0], of.splits[0])
            for title, of in found.items()
        },
        costs={title: list(_costs(of)) for title, of in found.items()},
        gains={title: _gains(of) for title, of in found.items()},
        pooled=[] if first is None else pooled(compared, first.metrics[0], first.splits[0]),
        notes=[
            f"{title}: {count(missing, 'run')} of {len(of.study.every)} did not finish or cannot "
            "be read; `medldr report` names them"
            for title, of in every.items()
            if (missing := sum(entry.files is None for entry in of.study.every))
        ],
    )


def _read(folders: Sequence[Path]) -> Iterator[tuple[str, Results]]:
    known = set[str]()
    for folder in folders:
        study = read_study(SweepFolder(folder))
        title, number = study.layout.title, 2
        while title in known:
            title, number = f"{study.layout.title} [{number}]", number + 1
        known.add(title)
        yield title, results_of(study)[0]


def _costs(of: Results) -> Iterator[training_cost.Cost]:
    for data in data_sets(of.study, of.columns):
        cost = training_cost.training_cost(of.study, data, of.metrics[0], of.splits[0])
        if cost is not None:
            yield cost


def _gains(of: Results) -> SweepGains:
    metric = metric_of_domains(of.metrics[0])
    found = gains(of.study, of.columns, metric)
    return SweepGains(of.study.reference, metric, found, of.study.layout.controls)
