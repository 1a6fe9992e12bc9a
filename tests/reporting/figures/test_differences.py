"""Paired differences as a figure: named after what they show, one below the other."""

import pytest

from medldr.evaluation.comparison.compare import make_comparison
from medldr.reporting.figures.drawing import looks
from medldr.reporting.figures.forest import difference_figure

DOMAINS = {"domains": ("a", "b", "c"), "held_out": ("c",)}


@pytest.fixture
def found(run_folder):
    """Three methods on seen and unseen domains."""
    names = ("m_erm-1-s0", "m_mixup-2-s0", "m_sa-3-s0")
    folders = [run_folder(name, seed=k, **DOMAINS) for k, name in enumerate(names)]
    return make_comparison(folders).short_names()[1]


@pytest.fixture
def styles(found):
    """How its methods are drawn."""
    return looks(found.names, found.reference)


def test_a_column_has_figures_of_its_own_name_without_single_domains(found, styles):
    alone = difference_figure(found, styles, "auc")
    column = difference_figure(found, styles, "auc", "Derma", 1)
    assert alone.name == "difference-auc"
    assert column.name == "difference-auc-1"
    assert column.title == "Derma, AUC: difference from erm"
    assert "mixup, Test, seen domains, n = 48" in alone.alt
    assert "mixup, Test, seen domains " in column.alt
    assert "n = 48" not in column.alt
    assert column.error == ""
    accuracy = difference_figure(found, styles, "accuracy")
    assert "mixup, b " in accuracy.alt
    assert "mixup, b " not in difference_figure(found, styles, "accuracy", "Derma", 1).alt


def test_every_difference_is_drawn_with_its_interval(found, styles):
    alt = difference_figure(found, styles, "accuracy").alt
    for difference in found.differences:
        if (difference.family, difference.metric) == ("reference", "accuracy"):
            value = difference.estimate
            assert (
                f"{100 * value.mean:.3g} ({100 * value.low:.3g} to {100 * value.high:.3g})" in alt
            )


def test_a_single_method_has_no_figure(run_folder):
    assert difference_figure(make_comparison([run_folder()]), {}) is None


def test_methods_keep_their_colours_and_unseen_domains_are_told_by_their_points(found):
    names = found.names
    drawing = difference_figure(found, looks(names, names[0], [names[2]]), "auc")
    assert not drawing.error
    assert f"{names[0]} (reference)" in drawing.svg
    broken = [part for part in drawing.svg.split("<path") if "stroke-dasharray" in part]
    controls = sum(part.startswith(names[2]) for part in drawing.alt.split(": ", 1)[1].split("; "))
    assert len(broken) == controls > 0  # the intervals of the control, and nothing else
    assert all("stroke: var(--muted)" in part for part in broken)
    assert "stroke: var(--blue)" in drawing.svg
    assert "stroke: var(--orange)" not in drawing.svg
