"""What training costs: seconds per step of each method, on one kind of machine."""

from __future__ import annotations

import itertools
import math
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from medldr.evaluation.intervals.estimate import Estimate, Source, Variance
from medldr.evaluation.intervals.inference import inferred
from medldr.evaluation.representation.frame import Line
from medldr.folders.metrics_log import LogRow, stage_of, while_training
from medldr.folders.run_record import RunRecord, what_ran
from medldr.metric import Metric
from medldr.metrics import metric_facts
from medldr.reporting.document import Section
from medldr.reporting.prose import section
from medldr.reporting.read.study import Entry, Study
from medldr.reporting.results.averages import Averages
from medldr.reporting.results.gains import DataSet
from medldr.reporting.sections.analysis.topics import named
from medldr.reporting.sections.rows import count, method_row
from medldr.reporting.table import Cell, Table

SECONDS: Final = Metric(
    "seconds_per_step",
    "Seconds per step",
    "Wall-clock time of a training step, its share of the validation included.",
    better="lower",
    range=(0.0, math.inf),
)
TIMES: Final = Metric(
    "times_reference",
    "Times the reference",
    "Seconds per step divided by those of the reference.",
    better="lower",
    range=(0.0, math.inf),
)
TOO_FEW: Final = "fewer than two evaluations were logged"
ELSEWHERE: Final = "no run on the machine of the others"


class Machine(NamedTuple):
    """What the time of a step depends on besides the method; None for what a run does not say."""

    device: str | None
    threads: int | None
    processes: int | None

    @property
    def title(self) -> str:
        """In words.

        Example:
            >>> Machine("CPU", 1, 1).title, Machine("NVIDIA H200", None, 2).title
            ('CPU, 1 thread', 'NVIDIA H200, 2 processes')
        """
        words = [self.device or "unknown device"]
        if self.threads is not None:
            words.append(count(self.threads, "thread"))
        if self.processes is not None and self.processes > 1:
            words.append(f"{self.processes} processes")
        return ", ".join(words)


class MethodCost(NamedTuple):
    """One method.

    Attributes:
        row: The method.
        score: Its headline metric; None where no run has it.
        seconds: Seconds per step; undefined with a reason.
        times: Its seconds divided by those of the reference; undefined for the reference itself.
        left_out: Runs on other machines, or without a time.
        control: Whether it is a control.
    """

    row: str
    score: Estimate | None
    seconds: Estimate
    times: Estimate
    left_out: int = 0
    control: bool = False


@dataclass(frozen=True)
class Cost:
    """All methods on one data set.

    Attributes:
        data: The data set, as printed.
        metric: The headline metric.
        split: The split that it is of.
        reference: The method that the others are compared with.
        machine: What the times were measured on.
        methods: In the order of the sweep.
        others: Runs on other machines, by machine.
        intervals: Steps between evaluations; several where methods differ in them.
    """

    data: str
    metric: str
    split: str
    reference: str
    machine: Machine
    methods: tuple[MethodCost, ...]
    others: Mapping[Machine, int]
    intervals: tuple[int, ...]


def seconds_per_step(rows: Sequence[LogRow]) -> float | None:
    """Median over the intervals between evaluations of a run; None with fewer than two.

    Each interval holds one evaluation, whose time is thus included. What is before the first one
    (start-up, compilation) is not counted, and a pause is one interval among many.

    Args:
        rows: Records of `metrics.jsonl`.

    Example:
        >>> seconds_per_step([{"step": 10, "time_s": 9.0}, {"step": 20, "time_s": 11.0}])
        0.2
    """
    per_step = [seconds / steps for steps, seconds in _between(rows)]
    return statistics.median(per_step) if per_step else None


def _between(rows: Sequence[LogRow]) -> list[tuple[int, float]]:
    """Steps and seconds from each evaluation to the next one of the same stage."""
    evaluations = [
        row for row in while_training(rows)
        if all(isinstance(row.get(key), int | float) for key in ("step", "time_s"))
    ]  # fmt: skip
    intervals = [
        (int(b["step"] - a["step"]), float(b["time_s"] - a["time_s"]))
        for a, b in itertools.pairwise(evaluations)
        if stage_of(a) == stage_of(b)
    ]
    return [(steps, seconds) for steps, seconds in intervals if steps > 0 and seconds > 0]


def training_cost(study: Study, data: DataSet, metric: str, split: str) -> Cost | None:
    """Seconds per step and headline metric of every method of a data set.

    Times are compared on one kind of machine only, that of most runs: device, threads, processes.
    They are geometric means over runs with intervals on the log scale, so that a quotient of two
    means is the mean quotient. What the same machine did beside a run is in no file: runs that
    shared it slow each other down.

    Args:
        study: The sweep.
        data: One of its data sets.
        metric: The metric.
        split: The split.

    Returns:
        None where no run has a time.

    Source:
        The paper does not report times; all of this is our choice.
    """
    names = {column.name for column in data.columns}
    runs: dict[str, list[tuple[Machine, float | None]]] = {}
    for entry in study.entries:
        if entry.member.column in names and entry.run is not None and not entry.folds:
            runs.setdefault(entry.member.row, []).append(_timed(entry))
    timed = Counter(m for of in runs.values() for m, seconds in of if seconds is not None)
    if not timed:
        return None
    machine = timed.most_common(1)[0][0]
    logs = {
        row: [math.log(s) for m, s in of if m == machine and s is not None]
        for row, of in runs.items()
    }
    base, averages = logs.get(study.reference, []), Averages(study, metric, split)
    methods = tuple(
        MethodCost(
            row,
            averages.row(data.columns, row),
            _mean(logs[row]) if logs[row] else _undefined(runs[row]),
            Estimate() if row == study.reference else _quotient(logs[row], base),
            len(runs[row]) - len(logs[row]),
            row in study.layout.controls,
        )
        for row in study.rows
        if row in runs
    )
    every = [entry for name in names for entry in study.of(column=name)]
    steps = {n for entry in every for log in entry.logs for n in _usual(log)}
    others = Counter(m for of in runs.values() for m, _ in of if m != machine)
    return Cost(
        data.name, metric, split, study.reference, machine, methods, others, tuple(sorted(steps))
    )


def _usual(log: Sequence[LogRow]) -> list[int]:
    """Steps of most intervals between evaluations; the last one may be shorter."""
    counts = Counter(steps for steps, _ in _between(log))
    return [steps for steps, _ in counts.most_common(1)]


def _timed(entry: Entry) -> tuple[Machine, float | None]:
    record = None if entry.files is None else entry.files.record
    machine = Machine(None, None, None) if record is None else _machine(record)
    return machine, seconds_per_step(entry.logs[0] if entry.logs else ())


def _machine(record: RunRecord) -> Machine:
    device = what_ran(record)["device"]
    if device == "CPU":
        model = (record.provenance.get("hardware") or {}).get("cpu")
        device = f"CPU ({model})" if model else device
    processes = record.content.get("processes")
    # On a GPU the threads of the processor decide little, and differ between machines.
    threads = record.threads if record.device == "cpu" else None
    return Machine(device, threads, processes if isinstance(processes, int) else None)


def _undefined(runs: Sequence[tuple[Machine, float | None]]) -> Estimate:
    timed = any(seconds is not None for _, seconds in runs)
    return Estimate(reason=ELSEWHERE if timed else TOO_FEW, n=0)


def _source(logs: Sequence[float]) -> Source | None:
    """The variance of a mean over runs."""
    n = len(logs)
    return Source(statistics.variance(logs) / n, n - 1) if n > 1 else None


def _mean(logs: Sequence[float]) -> Estimate:
    sources = [source for source in (_source(logs),) if source is not None]
    return _on_log_scale(statistics.fmean(logs), sources, len(logs))


def _quotient(logs: Sequence[float], base: Sequence[float]) -> Estimate:
    if not logs or not base:
        return Estimate(reason=ELSEWHERE)
    mean = statistics.fmean(logs) - statistics.fmean(base)
    sources = [source for source in (_source(logs), _source(base)) if source is not None]
    return _on_log_scale(mean, sources if len(sources) == 2 else (), min(len(logs), len(base)))


def _on_log_scale(mean: float, sources: Sequence[Source], n: int) -> Estimate:
    """The exponential of a mean; Welch and Satterthwaite's degrees of freedom for its interval."""
    on_log = inferred(mean, Variance(tuple(sources)))
    if on_log.low is None or on_log.high is None:
        return Estimate(math.exp(mean), n=n)
    return Estimate(math.exp(mean), low=math.exp(on_log.low), high=math.exp(on_log.high), n=n)


def cost_section(found: Mapping[str, Sequence[Cost]]) -> Section | None:
    """A table for each data set.

    Args:
        found: Costs by the title of their sweep.
    """
    return section("analysis", "cost", *map(cost_table, named(found)))


def cost_table(cost: Cost) -> Table:
    """Seconds per step of each method, how many times the reference's, and its metric."""
    known = metric_facts(cost.metric)
    table = Table(
        f"{cost.data}: cost of a step of training on {cost.machine.title}",
        ["Method", "Runs timed", SECONDS.heading, f"Times {cost.reference}", known.heading],
    )
    for of in cost.methods:
        reference = of.row == cost.reference
        cells = [
            Cell(of.seconds.n or 0),
            table.number(SECONDS, replace(of.seconds, n=None)),
            table.number(TIMES, None if reference else of.times),
            table.number(cost.metric, of.score),
        ]
        row = method_row(of.row, cells, reference=reference, control=of.control)
        table.rows.append(row)
    if cost.others:
        each = "; ".join(f"{count(n, 'run')} on {m.title}" for m, n in cost.others.items())
        table.notes.append(f"Left out, because times of other machines do not compare: {each}.")
    if len(cost.intervals) > 1:
        steps = ", ".join(map(str, cost.intervals))
        table.notes.append(
            f"Runs were validated every {steps} steps: those that were validated more often carry "
            "more of its time."
        )
    return table


def cost_lines(found: Mapping[str, Sequence[Cost]]) -> list[Line]:
    """One line per method of each data set."""
    return [
        {"sweep": sweep, "data": cost.data, "method": of.row, "machine": cost.machine.title,
         "runs": of.seconds.n or 0, "left_out": of.left_out, "seconds_per_step": of.seconds.mean,
         "seconds_low": of.seconds.low, "seconds_high": of.seconds.high,
         "times_reference": of.times.mean, "times_low": of.times.low, "times_high": of.times.high,
         "split": cost.split, "metric": cost.metric, "mean": score.mean, "low": score.low,
         "high": score.high, "reason": of.seconds.reason or score.reason}
        for sweep, costs in found.items()
        for cost in costs
        for of in cost.methods
        for score in [of.score or Estimate()]
    ]  # fmt: skip
