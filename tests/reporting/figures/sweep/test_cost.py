"""A metric against the cost of training, drawn."""

import pytest
from matplotlib.figure import Figure

from medldr.evaluation.intervals.estimate import Estimate
from medldr.reporting.figures.sweep.cost import cost_figure
from medldr.reporting.results.training_cost import Cost, Machine, MethodCost

ERM = MethodCost("ERM", Estimate(0.6, low=0.5, high=0.7), Estimate(0.1, low=0.09, high=0.11),
                 Estimate())  # fmt: skip
LATENTDR = MethodCost("LatentDR", Estimate(0.7), Estimate(0.15), Estimate(1.5))
UNTIMED = MethodCost("Mixup", Estimate(0.65), Estimate(reason="no time"), Estimate())
UNSCORED = MethodCost("CORAL", None, Estimate(0.2), Estimate(2.0))


def figure(*methods, metric="accuracy"):
    cost = Cost("pacs", metric, "test", "ERM", Machine("CPU", 1, 1), methods, {}, (10,))
    return cost_figure(cost, 3)


@pytest.mark.parametrize(("metric", "corner"), [("accuracy", "top left"), ("ece", "bottom left")])
def test_which_corner_is_good_depends_on_the_metric(metric, corner):
    assert corner in figure(ERM, LATENTDR, metric=metric).caption


def test_a_single_method_is_no_figure():
    assert figure(ERM, UNTIMED, UNSCORED) is None
    assert figure() is None


def test_a_wide_interval_does_not_press_the_points_together():
    """Two runs may have an interval many times as wide as all the points."""
    wide = LATENTDR._replace(
        seconds=Estimate(0.15, low=0.01, high=9.0), score=Estimate(0.61, low=0.0, high=1.0)
    )
    figure_of = Figure()
    figure(ERM, wide).paint(figure_of)
    (axes,) = figure_of.axes
    assert axes.get_xlim() == pytest.approx((0.0, 1.3 * 0.15))
    assert axes.get_ylim() == pytest.approx((60 - 8, 61 + 8))
