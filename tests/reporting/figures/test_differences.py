"""Paired differences as a figure: named after what they show, one below the other."""

import pytest

from medldr.evaluation import compare
from medldr.evaluation.comparison.comparison import Comparison
from medldr.reporting.figures.forest import difference_figure

DOMAINS = {"domains": ("a", "b", "c"), "held_out": ("c",)}


@pytest.fixture
def found(run_folder):
    """Three methods on seen and unseen domains."""
    names = ("m_erm-1-s0", "m_mixup-2-s0", "m_sa-3-s0")
    folders = [run_folder(name, seed=k, **DOMAINS) for k, name in enumerate(names)]
    return Comparison.of(compare(folders)).short_names()[1]


@pytest.mark.usefixtures("quick")
def test_a_column_has_figures_of_its_own_name_without_single_domains(found):
    alone = difference_figure(found, "auc")
    column = difference_figure(found, "auc", "Derma", 1)
    assert alone.name == "difference-auc"
    assert column.name == "difference-auc-1"
    assert column.title == "Derma, AUC: difference from erm"
    assert "mixup, Test, seen domains, n = 48" in alone.alt
    assert "mixup, Test, seen domains " in column.alt
    assert "n = 48" not in column.alt
    assert column.error == ""
    accuracy = difference_figure(found, "accuracy")
    assert "mixup, b " in accuracy.alt
    assert "mixup, b " not in difference_figure(found, "accuracy", "Derma", 1).alt


@pytest.mark.usefixtures("quick")
def test_every_difference_is_drawn_with_its_interval(found):
    alt = difference_figure(found, "accuracy").alt
    for score in found.scores:
        if score.metric == "accuracy" and score.difference is not None:
            value = score.difference.estimate
            assert (
                f"{100 * value.mean:.3g} ({100 * value.low:.3g} to {100 * value.high:.3g})" in alt
            )


def test_a_single_method_has_no_figure(run_folder):
    assert difference_figure(Comparison.of(compare([run_folder()]))) is None
