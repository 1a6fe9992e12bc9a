"""The section on the cost of training: its table, notes and csv lines."""

from medldr.evaluation.intervals.estimate import Estimate
from medldr.reporting.results.training_cost import TOO_FEW, Cost, Machine, MethodCost
from medldr.reporting.sections.analysis.cost import cost_section

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
