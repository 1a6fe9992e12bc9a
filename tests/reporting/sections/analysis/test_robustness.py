"""The section on the robustness index."""

import pytest

from medldr.evaluation.representation.options import Options
from medldr.evaluation.representation.robustness import robustness
from medldr.reporting.document import Bullets, Document, Figures
from medldr.reporting.sections.analysis.robustness import robustness_lines, robustness_section
from medldr.reporting.writers.html import html_page

OPTIONS = Options(neighbours=5, draws=50)


@pytest.fixture(scope="module")
def found(synthetic_latents):
    runs = {"ERM": synthetic_latents(n=120, views=False), "LatentDR": synthetic_latents(n=120)}
    return {run: robustness(latents, OPTIONS) for run, latents in runs.items()}


@pytest.fixture(scope="module")
def section(found):
    return robustness_section(found)


def test_numbers_stand_by_run_and_images(found, section):
    [table] = section.tables
    assert [row.heading for row in table.rows] == [
        "ERM", "LatentDR", "LatentDR, degraded", "LatentDR, restored", "Drawn at random"
    ]  # fmt: skip
    assert table.columns[1] == "All images, n = 120"
    assert len(table.columns) == 5
    index = found["LatentDR"].parts["unseen"].views["degraded"]
    assert table.rows[2].cells[3].content.mean == index.mean
    assert table.rows[-1].cells[0].content.mean == found["ERM"].parts["all"].chance
    assert len(section.of(Figures)[0].drawings) == 1
    assert "de Jong" in html_page(Document("t", "k", sections=[section]))


def test_what_restoration_changes_is_said_with_its_interval(found, section):
    [said] = section.of(Bullets)[0].items
    change = found["LatentDR"].parts["all"].recovered
    assert said.startswith("LatentDR: robustness index after restoration")
    assert f"+{change.mean:.3f}, 95% CI" in said
    assert ("higher" in said) == (change.low > 0)


def test_lines_hold_every_number(found):
    lines = robustness_lines(found)
    assert len(lines) == 4 * 1 + 4 * (3 + 1)
    assert list(lines[0]) == ["run", "queries", "latents", "k", "n", "at_random", "value", "low",
                              "high", "reason"]  # fmt: skip
    index = found["ERM"].parts["all"].views["original"]
    assert (lines[0]["value"], lines[0]["low"]) == (index.mean, index.low)


def test_runs_on_other_images_have_chance_of_their_own(found, synthetic_latents):
    other = robustness(synthetic_latents(n=80, seed=3), OPTIONS)
    [table] = robustness_section({"ERM": found["ERM"], "MMD": other}).tables
    assert [row.heading for row in table.rows][-2:] == [
        "Drawn at random, ERM", "Drawn at random, MMD"
    ]  # fmt: skip
    assert table.columns[1] == "All images, n = 120 or 80"


def test_without_runs_there_is_none():
    assert robustness_section({}) is None
    assert robustness_lines({}) == []
