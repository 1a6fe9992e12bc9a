"""Figures of a run's own classifier on original, degraded and restored latents."""

from medldr.evaluation.representation.operators import operators
from medldr.evaluation.representation.options import Options
from medldr.reporting.figures.latents.operators import (
    operators_figures,
)

FAST = Options(draws=50)


def test_classes_and_domains_have_a_figure_each(synthetic_latents):
    judged = operators(synthetic_latents(), FAST)
    by_class, by_domain = operators_figures({"LatentDR": judged})
    assert (by_class.name, by_domain.name) == ("operators_class", "operators_domain")
    assert not by_class.error
    assert not by_domain.error
    recall = judged.last.views["degraded"].by_class[1]
    shown = f"class 1, degraded {100 * recall.mean:.1f} ({100 * recall.low:.1f} to "
    assert shown in by_class.alt
    assert by_domain.alt.count("original") == 3
    assert "c (unseen), restored" in by_domain.alt


def test_runs_without_d_and_r_are_not_drawn(synthetic_latents):
    plain = operators(synthetic_latents(views=False), FAST)
    assert operators_figures({"ERM": plain}) == []
    both = {"ERM": plain, "LatentDR": operators(synthetic_latents(), FAST)}
    assert [drawing.alt.count("ERM") for drawing in operators_figures(both)] == [0, 0]


def test_of_many_runs_the_first_are_drawn(synthetic_latents):
    judged = operators(synthetic_latents(n=60, domains=(), unseen=()), FAST)
    (drawing,) = operators_figures({f"run {i}": judged for i in range(8)})
    assert drawing.caption.endswith("Shown are the first 6 of 8 runs.")
    assert ">run 5</text>" in drawing.svg
    assert ">run 6</text>" not in drawing.svg
