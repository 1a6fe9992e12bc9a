"""The section on distances between domains."""

import pytest

from medldr.evaluation.representation.centres import centres
from medldr.evaluation.representation.options import Options
from medldr.reporting.document import Document, Figures
from medldr.reporting.sections.analysis.centres import centres_lines, centres_section
from medldr.reporting.writers.html import html_page
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


def test_lines_hold_pairs_and_means(found):
    lines = centres_lines(found)
    assert len(lines) == 2 * (3 + 1 + 1 + 1)
    first = lines[0]
    assert (first["run"], first["of"], first["domain"], first["other_domain"]) == (
        "ERM", "pair", "a", "b"
    )  # fmt: skip
    assert first["value"] == found["ERM"].pairs["a", "b"].mean
    assert {line["unseen"] for line in lines} == {"", "c"}
    assert lines[-1]["of"] == "nearest seen domain"


def test_more_than_six_runs_are_said_to_be_more(found, section):
    many = {f"run {n}": found["ERM"] for n in range(7)}
    assert "first 6 runs" in html_page(Document("t", "k", sections=[centres_section(many)]))
    assert "first 6 runs" not in html_page(Document("t", "k", sections=[section]))


def test_runs_that_hold_out_other_domains_share_a_table(synthetic_latents, found):
    other = centres(synthetic_latents(n=90, unseen=("a", "b")), OPTIONS)
    [table] = centres_section({"ERM": found["ERM"], "MMD": other}).tables
    assert table.columns[1] == "Mean over seen domains"
    assert table.rows[1].cells[0].empty
    assert len(table.rows[0].cells) == len(table.columns) - 1
    assert centres_section({}) is None
