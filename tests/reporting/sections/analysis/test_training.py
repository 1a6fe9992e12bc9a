"""Sections on what training takes: sizes of a batch, and the cost of a step."""

import pytest

from medldr.evaluation.intervals.estimate import Estimate
from medldr.reporting.document import Figures
from medldr.reporting.results.batch_sizes import BatchCurve, BatchLine, BatchPoint
from medldr.reporting.results.training_cost import TOO_FEW, Cost, Machine, MethodCost
from medldr.reporting.sections.analysis.training import batch_section, cost_section


def line(name, sizes, steps=10, **more):
    points = [
        BatchPoint(3 * size, size, steps, Estimate(0.01 * size, low=0.0, high=0.5, n=3, planned=3))
        for size in sizes
    ]
    return BatchLine(name, tuple(points), **more)


def curve_of(*lines, data="pacs"):
    return BatchCurve(data, "accuracy", "test", lines)


ERM, SA = line("ERM", (4, 8, 16), reference=True), line("LatentDR (SA)", (4, 8, 32))


def test_sizes_are_columns_and_what_is_missing_is_a_dash():
    found = {"A sweep": [curve_of(ERM._replace(incomplete=(96,), domains=4), SA)]}
    made = batch_section(found)
    (table,) = made.tables
    assert table.columns == ["Method", *(f"{3 * n} ({n} of each domain)" for n in (4, 8, 16, 32))]
    erm, sa = table.rows
    assert [cell.empty for cell in erm.cells] == [False, False, False, True]
    assert [cell.empty for cell in sa.cells] == [False, False, True, False]
    assert sa.cells[3].estimate.mean == pytest.approx(0.32)
    assert (erm.tags, sa.tags) == (("reference",), ())
    assert "4 domains that were held out one at a time" in table.notes[0]
    assert table.notes[1] == "ERM has no mean at 96: some held-out domains lack a result."
    (figures,) = made.of(Figures)
    assert [drawing.title for drawing in figures.drawings] == [
        "pacs: Accuracy against the size of a batch"
    ]


def test_a_result_that_is_not_shown_is_told():
    several = curve_of(ERM._replace(repeated=(12, 24)))
    (table,) = batch_section({"A sweep": [several]}).tables
    assert table.notes == [
        "ERM has several results at 12, 24: shown is the one that comes first in the tables of the "
        "sweep."
    ]


@pytest.mark.parametrize(("steps", "said"), [(10, False), (20, True)])
def test_numbers_of_steps_that_differ_are_said(steps, said):
    made = batch_section({"A": [curve_of(ERM, line("LatentDR", (4, 8, 16), steps))]})
    assert ("made more steps or fewer" in made.blocks[-1].__dict__.get("text", "")) == said


ONE = Machine("CPU (A)", 1, 1)
METHODS = (
    MethodCost("ERM", Estimate(0.6, n=3), Estimate(0.1, low=0.09, high=0.11, n=3), Estimate()),
    MethodCost("LatentDR", Estimate(0.7, n=3), Estimate(0.15, n=2),
               Estimate(1.5, low=1.2, high=1.9), left_out=1),
    MethodCost("Mixup", None, Estimate(reason=TOO_FEW), Estimate(reason=TOO_FEW), control=True),
)  # fmt: skip


def cost_of(others=(), intervals=(10,)):
    return Cost("pacs", "accuracy", "test", "ERM", ONE, METHODS, dict(others), intervals)


def test_the_table_has_the_quotient_and_names_what_is_missing():
    made = cost_section({"A": [cost_of()]})
    (table,) = made.tables
    assert table.columns == ["Method", "Runs timed", "Seconds per step", "Times ERM",
                             "Accuracy (%)"]  # fmt: skip
    assert "CPU (A), 1 thread" in table.caption
    erm, latentdr, mixup = table.rows
    assert [row.cells[0].content for row in table.rows] == [3, 2, 0]
    assert erm.cells[2].empty
    assert latentdr.cells[2].estimate.mean == 1.5
    assert (mixup.cells[1].empty, mixup.cells[2].empty, mixup.apart) == (True, True, True)
    assert table.footnotes == [("a", TOO_FEW)]
    assert table.notes == []


def test_other_machines_and_other_intervals_are_said():
    (table,) = cost_section({"A": [cost_of({Machine("H200", None, 1): 2}, (10, 20))]}).tables
    assert "2 runs on H200." in table.notes[0]
    assert "every 10, 20 steps" in table.notes[1]
