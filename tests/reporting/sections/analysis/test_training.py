"""Sections on what training takes: sizes of a batch, and the cost of a step."""

import pytest

from medldr.evaluation.intervals.estimate import Estimate
from medldr.reporting.document import Bullets, Figures
from medldr.reporting.sections.analysis.batch_sizes import (
    BatchCurve,
    BatchLine,
    BatchPoint,
    batch_section,
)
from medldr.reporting.sections.analysis.training_cost import (
    TOO_FEW,
    Cost,
    Machine,
    MethodCost,
    cost_section,
)


def line(name, sizes, steps=10, **more):
    points = [
        BatchPoint(3 * size, size, steps, Estimate(0.01 * size, low=0.0, high=0.5, n=3, planned=3))
        for size in sizes
    ]
    return BatchLine(name, tuple(points), **more)


def curve_of(*lines, data="pacs"):
    return BatchCurve(data, "accuracy", "test", lines)


ERM, SA = line("ERM", (4, 8, 16), reference=True), line("LatentDR (SA)", (4, 8, 32))


def notes_of(*lines):
    (bullets,) = batch_section({"A sweep": [curve_of(*lines)]}).of(Bullets)
    return bullets.items


def test_a_figure_of_each_curve_says_what_it_leaves_out():
    made = batch_section({"A sweep": [curve_of(ERM, SA)], "Another": [curve_of(ERM, SA)]})
    (figures,) = made.of(Figures)
    assert [drawing.title for drawing in figures.drawings] == [
        f"{sweep}, pacs: Accuracy against the size of a batch" for sweep in ("A sweep", "Another")
    ]
    said = notes_of(ERM._replace(incomplete=(96,), domains=4), SA._replace(repeated=(12, 24)))
    assert "4 domains that were held out one at a time" in said[1]
    assert said[2] == "pacs: ERM has no mean at 96: some held-out domains lack a result."
    assert said[3].startswith("pacs: LatentDR (SA) has several results at 12, 24: shown is the one")
    assert len(notes_of(ERM, SA)) == 1


@pytest.mark.parametrize(("steps", "said"), [(10, False), (20, True)])
def test_numbers_of_steps_that_differ_are_said(steps, said):
    last = notes_of(ERM, line("LatentDR", (4, 8, 16), steps))[-1]
    assert ("made more steps or fewer" in last) == said


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
    assert (mixup.cells[1].estimate, mixup.cells[2].estimate, mixup.apart) == (None, None, True)
    assert table.footnotes == [("a", TOO_FEW)]
    assert table.notes == []


def test_other_machines_and_other_intervals_are_said():
    (table,) = cost_section({"A": [cost_of({Machine("H200", None, 1): 2}, (10, 20))]}).tables
    assert "2 runs on H200." in table.notes[0]
    assert "every 10, 20 steps" in table.notes[1]
