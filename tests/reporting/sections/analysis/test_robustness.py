"""The section on the robustness index."""

import pytest

from medldr.evaluation.representation.options import Options
from medldr.evaluation.representation.robustness import robustness
from medldr.reporting.document import Bullets
from medldr.reporting.sections.analysis.robustness import robustness_lines, robustness_section

OPTIONS = Options(neighbours=5, draws=50)


@pytest.fixture(scope="module")
def found(synthetic_latents):
    runs = {"ERM": synthetic_latents(n=120, views=False), "LatentDR": synthetic_latents(n=120)}
    return {run: robustness(latents, OPTIONS) for run, latents in runs.items()}


@pytest.fixture(scope="module")
def section(found):
    return robustness_section(found)


def test_what_restoration_changes_is_said_with_its_interval(found, section):
    [said] = section.of(Bullets)[0].items
    change = found["LatentDR"].parts["all"].recovered
    assert said.startswith("LatentDR: robustness index after restoration")
    assert f"+{change.mean:.3f}, 95% CI" in said
    assert ("higher" in said) == (change.low > 0)


def test_without_runs_there_is_none():
    assert robustness_section({}) is None
    assert robustness_lines({}) == []
