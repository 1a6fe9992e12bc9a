"""The section on distances between domains."""

import pytest

from medldr.evaluation.representation.centres import centres
from medldr.evaluation.representation.options import Options
from medldr.reporting.document import Document, Figures
from medldr.reporting.sections.analysis.centres import centres_section
from medldr.reporting.writers.markdown import markdown_page

OPTIONS = Options(draws=30)


@pytest.fixture(scope="module")
def found(synthetic_latents):
    runs = {"ERM": synthetic_latents(n=90), "LatentDR": synthetic_latents(n=90, shift=0.3)}
    return {run: centres(latents, OPTIONS) for run, latents in runs.items()}


@pytest.fixture(scope="module")
def section(found):
    return centres_section(found)


def test_the_table_names_the_nearest_seen_domain(found, section):
    [table] = section.tables
    assert table.columns == ["Run", "Mean over seen domains", "c (unseen) to the nearest seen",
                             "Mean over all pairs"]  # fmt: skip
    near, distance = found["ERM"].nearest["c"]
    held = table.rows[0].cells[1]
    assert held.content.mean == distance.mean
    assert held.extra == near
    text = markdown_page(Document("t", "k", sections=[section]))
    assert f"{distance.mean:.3f}<br>{distance.low:.3f} to {distance.high:.3f}<br>{near}" in text
    assert len(section.of(Figures)[0].drawings) == 1


def test_runs_that_hold_out_other_domains_share_a_table(synthetic_latents, found):
    other = centres(synthetic_latents(n=90, unseen=("a", "b")), OPTIONS)
    [table] = centres_section({"ERM": found["ERM"], "MMD": other}).tables
    assert table.columns[1] == "Mean over seen domains"
    assert table.rows[1].cells[0].empty
    assert len(table.rows[0].cells) == len(table.columns) - 1
    assert centres_section({}) is None
