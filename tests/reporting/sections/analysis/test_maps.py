"""The section of maps: figures, notes on what could not be made, and lines of csv."""

from dataclasses import replace

import numpy as np
import pytest

from medldr.evaluation.representation import planes
from medldr.evaluation.representation.maps import maps
from medldr.evaluation.representation.options import Options
from medldr.folders.latents_record import View
from medldr.reporting.document import Bullets, Document, Figures
from medldr.reporting.sections.analysis.maps import maps_lines, maps_section
from medldr.reporting.writers.html import html_page


@pytest.fixture(autouse=True)
def few(monkeypatch):
    """t-SNE with fewer iterations: its quality does not matter here."""
    monkeypatch.setattr(planes, "ITERATIONS", 250)


def with_z(latents, z):
    view = View(z.astype(np.float32), latents.views["original"].logits)
    return replace(latents, views={"original": view})


@pytest.mark.parametrize("n", [1, 3])
def test_with_few_images_a_note_stands_in_place_of_the_maps(synthetic_latents, n):
    """Case H01: the rest of the page is written."""
    latents = synthetic_latents(12, domains=(), unseen=()).select(np.arange(n))
    found = {"ERM": maps(latents, Options())}
    section = maps_section(found)
    assert not section.of(Figures)
    (notes,) = section.of(Bullets)
    assert notes.items[0] == (
        "ERM: no map of all images by PCA or t-SNE, because fewer than 4 images have latents that "
        "are finite."
    )
    assert "no map of all images" in html_page(Document("t", "k", sections=[section]))
    assert {line["reason"] for line in maps_lines(found)} == {planes.TOO_FEW}


def test_latents_that_are_all_nan_or_equal_are_noted(synthetic_latents):
    latents = synthetic_latents(20)
    nan = maps(with_z(latents, np.full_like(latents.z, np.nan)), Options())
    same = maps(with_z(latents, np.ones_like(latents.z)), Options())
    section = maps_section({"A": maps(latents, Options()), "B": nan, "C": same})
    (notes,) = section.of(Bullets)
    assert "(20 of 20 are not finite)." in notes.items[0]
    assert notes.items[0].startswith("B: no map of all images")
    assert any(note.startswith("C: no map") and "are the same" in note for note in notes.items)
    assert len(section.of(Figures)[0].drawings) == 3


def test_lines_are_all_points_without_what_names_an_image(synthetic_latents):
    latents = synthetic_latents(30)
    latents = replace(latents, row=latents.row + 70_000, group=latents.group + 90_000)
    found = {"ERM": maps(latents, Options())}
    lines = maps_lines(found)
    assert len(lines) == 60 + latents.unseen.sum()
    assert {tuple(line) for line in lines} == {(
        "run", "kind", "images", "split", "domain", "class", "unseen", "x", "y", "reason"
    )}  # fmt: skip
    one = found["ERM"].maps[0]
    for i, line in enumerate(lines[:30]):
        assert (line["split"], line["domain"]) == (one.split[i], one.domain[i])
        assert line["class"] == f"class {one.label[i]}"
        assert line["unseen"] is bool(one.unseen[i])
        assert (line["x"], line["y"]) == pytest.approx(tuple(one.xy[i]), abs=1e-4)
    numbers = {value for line in lines for value in line.values() if isinstance(value, int)}
    assert not numbers & {*latents.row.tolist(), *latents.group.tolist()}


def test_data_sets_have_figures_of_their_own(synthetic_latents):
    few = maps(synthetic_latents(30, classes=2), Options())
    many = maps(synthetic_latents(30, classes=3, seed=1), Options(), few)
    section = maps_section({"ribs": few, "PACS": many}, {"ribs": "phantom", "PACS": "PACS"})
    (figures,) = section.of(Figures)
    assert [d.name for d in figures.drawings] == [
        "maps_pca_all", "maps_pca_all_2", "maps_tsne_all", "maps_tsne_all_2", "maps_tsne_unseen",
        "maps_tsne_unseen_2",
    ]  # fmt: skip
    assert [d.title for d in figures.drawings[:2]] == [
        "All images, by PCA, phantom", "All images, by PCA, PACS"
    ]  # fmt: skip
