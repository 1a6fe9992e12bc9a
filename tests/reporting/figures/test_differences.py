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


def test_every_difference_is_drawn_with_its_interval(found, styles):
    alt = difference_figure(found, styles, "accuracy").alt
    for difference in found.differences:
        if (difference.family, difference.metric) == ("reference", "accuracy"):
            value = difference.estimate
            assert (
                f"{100 * value.mean:.3g} ({100 * value.low:.3g} to {100 * value.high:.3g})" in alt
            )
