"""The section on nearest neighbours, its verdict and its lines."""

import pytest

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.neighbours import SAME_CLASS, SAME_UNSEEN, neighbours
from medldr.evaluation.representation.options import Options
from medldr.metric import Metric
from medldr.reporting.document import Bullets, Document
from medldr.reporting.sections.analysis.neighbours import (
    PART_OF,
    neighbours_lines,
    neighbours_section,
)
from medldr.reporting.sections.analysis.numbers import cell, difference
from medldr.reporting.table import Table
from medldr.reporting.writers.markdown import markdown_page

OPTIONS = Options(neighbours=5, draws=50)


@pytest.fixture(scope="module")
def found(synthetic_latents):
    plain = synthetic_latents(n=120, views=False, shift=0.0)
    both = synthetic_latents(n=120, shift=0.0)
    return {"ERM": neighbours(plain, OPTIONS), "LatentDR (SA)": neighbours(both, OPTIONS)}


@pytest.fixture(scope="module")
def section(found):
    return neighbours_section(found)


def test_tables_have_a_row_for_each_kind_of_latents_and_one_of_chance(found, section):
    training, _, unseen = section.tables
    headings = [row.heading for row in training.rows]
    assert headings == ["ERM", "LatentDR (SA)", "LatentDR (SA), degraded",
                        "LatentDR (SA), restored", "Drawn at random"]  # fmt: skip
    assert training.rows[-1].apart
    shares = found["LatentDR (SA)"].parts["training"].views["degraded"]
    assert training.rows[2].cells[1].content.mean == shares[SAME_CLASS].mean
    assert training.columns[3] == "Of these, in an unseen domain (%)"
    assert PART_OF in training.notes
    assert len(unseen.columns) == 5  # there is no other unseen domain
    assert PART_OF not in unseen.notes
    n = found["ERM"].parts["training"].n
    assert training.caption == f"Nearest neighbours of training images (n = {n})"


def test_lines_hold_every_number(found):
    lines = neighbours_lines(found)
    # Three parts of the queries and five shares, of one run with z alone and one with all.
    assert len(lines) == 3 * 5 * (1 + 3 + 1)
    assert list(lines[0])[:6] == ["run", "queries", "latents", "neighbours", "k", "n"]
    part = found["LatentDR (SA)"].parts["unseen"]
    [line] = [x for x in lines if (x["run"], x["queries"], x["latents"], x["neighbours"]) ==
              ("LatentDR (SA)", "unseen", "degraded", SAME_CLASS)]  # fmt: skip
    share = part.views["degraded"][SAME_CLASS]
    assert (line["value"], line["low"], line["high"]) == (share.mean, share.low, share.high)
    assert line["at_random"] == part.chance[SAME_CLASS]
    undefined = [x for x in lines if x["value"] is None]
    assert {x["neighbours"] for x in undefined} == {SAME_UNSEEN}
    assert all(x["reason"] for x in undefined)
    assert any(x["latents"] == "restored minus degraded" for x in lines)


def test_without_domains_and_without_runs(synthetic_latents):
    assert neighbours_section({}) is None
    assert neighbours_lines({}) == []
    held = {"ERM": neighbours(synthetic_latents(n=60, domains=(), unseen=()), OPTIONS)}
    section = neighbours_section(held)
    assert [table.columns for table in section.tables] == [
        ["Latents", "Same class (%)", "Other class (%)"]
    ] * 2
    assert "of the same class after restoration" in section.of(Bullets)[0].items[0]


def test_a_clear_difference_needs_an_interval_on_one_side_of_0():
    share = Metric("share", "Share", "")
    assert difference(Estimate(-0.2, low=-0.3, high=-0.1), share).startswith("less (−0.200, 95%")
    assert difference(Estimate(0.2), share) == "no clear difference (+0.200, without a CI)"
    touching = difference(Estimate(0.2, low=0.0, high=0.4), share)
    assert touching.startswith("no clear difference")


def test_a_reason_is_a_footnote():
    table = Table("t", ["a"])
    metric = Metric("share", "Share", "")
    assert cell(table, Estimate(reason="too few"), metric).mark == "a"
    assert cell(table, Estimate(0.5, reason="no interval"), metric).mark == "b"
    assert cell(table, None, metric).empty
    assert [text for _, text in table.footnotes] == ["too few", "no interval"]


def test_images_without_a_domain_are_not_called_broken(synthetic_latents):
    latents = synthetic_latents(n=60)
    latents.domain[:3] = ""
    text = markdown_page(
        Document("t", "k", sections=[neighbours_section({"ERM": neighbours(latents, OPTIONS)})])
    )
    assert "Left out, because they have no domain: 3 images." in text
    assert "not finite:" not in text
