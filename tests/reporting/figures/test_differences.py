"""Paired differences as a figure: named after what they show, one below the other."""

import pytest

from medldr.evaluation.comparison.compare import make_comparison
from medldr.metrics import metric_facts
from medldr.reporting.pages.comparison import difference_figure
from medldr.reporting.table import interval

DOMAINS = {"domains": ("a", "b", "c"), "held_out": ("c",)}


@pytest.fixture
def found(run_folder):
    """Three methods on seen and unseen domains."""
    names = ("m_erm-1-s0", "m_mixup-2-s0", "m_sa-3-s0")
    folders = [run_folder(name, seed=k, **DOMAINS) for k, name in enumerate(names)]
    return make_comparison(folders).short_names()[1]


def test_every_difference_is_drawn_with_its_interval(found):
    alt, known = difference_figure(found, "accuracy").alt, metric_facts("accuracy")
    for difference in found.differences:
        if (difference.family, difference.metric) == ("reference", "accuracy"):
            value = difference.estimate
            ends = interval(value, known, signed=True)
            assert f"{known.show_difference(value.mean)} ({ends})" in alt
