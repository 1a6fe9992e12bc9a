"""The figure of linear probes: class and domain, with what guessing and labels reach."""

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.probes import LABELS, Probed, Probes
from medldr.reporting.figures.latents.probes import probes_figure


def probed(names=("a", "b"), **values):
    return Probed(names=names, accuracy={k: Estimate(v) for k, v in values.items()})


NONE = Probed(reason="the data have no domains")


def test_class_and_domain_have_panels_with_guessing_and_labels():
    domain = probed(("x", "y", "z"), original=0.9, **{LABELS: 0.4})
    drawing = probes_figure({"ERM": Probes(probed(original=0.75), domain)})
    assert drawing.alt == "Class: ERM, original 75.0. Domain: ERM, original 90.0."
    assert ">guessing</text>" in drawing.svg
    assert ">class alone</text>" in drawing.svg
    assert "Dotted line" in drawing.caption


def test_nothing_told_is_no_figure():
    assert probes_figure({"ERM": Probes(NONE, NONE)}) is None
