"""The figure of the robustness index."""

from medldr.evaluation.representation.options import Options
from medldr.evaluation.representation.robustness import robustness
from medldr.reporting.figures.for_paper import for_paper
from medldr.reporting.figures.latents.robustness import robustness_figure


def test_it_shows_each_kind_of_latents_and_chance(synthetic_latents):
    found = {"LatentDR": robustness(synthetic_latents(apart=1.0), Options(neighbours=5, draws=50))}
    drawing = robustness_figure(found)
    assert not drawing.error
    for name in ("training", "unseen"):
        for view, index in found["LatentDR"].parts[name].views.items():
            assert f"{view} {index.mean:.3f} ({index.low:.3f} to {index.high:.3f})" in drawing.alt
    assert drawing.svg.count(">neighbours at random</text>") == 1
    assert for_paper(drawing, "pdf").startswith(b"%PDF")


def test_without_an_index_there_is_no_figure():
    assert robustness_figure({}) is None
