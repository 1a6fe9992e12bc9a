"""The section of queries: figures, a table of how far latents are moved, and lines of csv."""

from dataclasses import replace

import numpy as np
import pytest

from medldr.evaluation.representation import planes
from medldr.evaluation.representation.options import Options
from medldr.evaluation.representation.queries import Inserted, chosen_queries, queries
from medldr.reporting.document import Bullets, Document, Figures
from medldr.reporting.sections.analysis.queries import queries_section
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
