"""The section of queries: figures, a table of how far latents are moved, and lines of csv."""

from dataclasses import replace

import numpy as np
import pytest

from medldr.evaluation.representation import planes
from medldr.evaluation.representation.options import Options
from medldr.evaluation.representation.queries import Inserted, chosen_queries, queries
from medldr.reporting.document import Bullets, Document, Figures
from medldr.reporting.sections.analysis.queries import queries_lines, queries_section
from medldr.reporting.writers.html import html_page

OPTIONS = Options(draws=20, points=60)


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """t-SNE with fewer iterations: its quality does not matter here."""
    monkeypatch.setattr(planes, "ITERATIONS", 250)


def measured(latents):
    rng = np.random.default_rng(0)
    held = [Inserted(int(row), *rng.normal(size=(2, 4, 8)).astype(np.float32))
            for row in chosen_queries(latents, OPTIONS)]  # fmt: skip
    return queries(latents, held, np.flatnonzero(latents.split == "train")[:5], OPTIONS)


def test_each_run_has_a_figure_and_two_rows(synthetic_latents):
    found = {"LatentDR (SA)": measured(synthetic_latents(60)),
             "LatentDR (Pool)": measured(synthetic_latents(60, seed=1))}  # fmt: skip
    section = queries_section(found)
    (figures,) = section.of(Figures)
    assert [d.name for d in figures.drawings] == ["queries_1", "queries_2"]
    (table,) = section.tables
    assert [row.heading for row in table.rows] == [
        "LatentDR (SA), degraded", "LatentDR (SA), restored",
        "LatentDR (Pool), degraded", "LatentDR (Pool), restored",
    ]  # fmt: skip
    shown = found["LatentDR (SA)"].moved["restored"]
    cells = table.rows[1].cells
    assert [cell.content.mean for cell in cells[:4]] == [one.mean for one in shown.numbers]
    assert cells[4].content == shown.images
    html = html_page(Document("t", "k", sections=[section]))
    assert f"{shown.per_nearest.mean:.3f}" in html
    assert f"{shown.per_nearest.low:.3f} to {shown.per_nearest.high:.3f}" in html


def test_without_a_map_numbers_and_a_note_remain(synthetic_latents):
    latents = synthetic_latents(12, per_group=0, domains=(), unseen=()).select(np.arange(3))
    latents = replace(latents, split=np.full(3, "train"))
    section = queries_section({"LatentDR": measured(latents)})
    (notes,) = section.of(Bullets)
    assert notes.items == [
        "LatentDR: no map of queries, because fewer than 4 images have latents that are finite."
    ]
    assert not section.of(Figures)
    (table,) = section.tables
    assert table.rows[0].cells[0].content.mean > 0
    assert ("training images are not of several domains") in [text for _, text in table.footnotes]
    assert queries_section({}) is None


def test_lines_are_numbers_and_points(synthetic_latents):
    found = measured(synthetic_latents(60))
    lines = queries_lines({"LatentDR": found})
    assert len({tuple(line) for line in lines}) == 1
    assert next(iter(lines[0])) == "run"
    numbers = [line for line in lines if line["kind"] == "number"]
    assert len(numbers) == 8
    assert numbers[4]["latents"] == "restored"
    assert numbers[4]["metric"] == "moved_per_nearest"
    assert numbers[4]["value"] == found.moved["restored"].per_nearest.mean
    held = [line for line in lines if line["panel"] == "inserted"]
    kinds = [line["latents"] for line in held]
    assert kinds.count("query") == 6
    assert kinds.count("degraded") == kinds.count("restored") == 24
    assert kinds.count("training") == len(found.inserted.background)
    assert held[0]["class"] == found.inserted.kind[0]
    first = tuple(found.inserted.background[0])
    assert (held[0]["x"], held[0]["y"]) == pytest.approx(first, abs=1e-4)
    alone = [line for line in lines if line["panel"] == "one class"]
    assert {line["domain"] for line in alone if line["latents"] == "training"} == {"a", "b"}


def test_an_undefined_number_is_empty_with_its_reason(synthetic_latents):
    latents = synthetic_latents(40, domains=("a",), unseen=())
    lines = queries_lines({"LatentDR": measured(latents)})
    (line, *_) = [one for one in lines if one["metric"] == "nearest_other_domain"]
    assert line["value"] is None
    assert line["reason"] == "training images are not of several domains"
