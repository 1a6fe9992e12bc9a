"""Images beside their nearest neighbours."""

import base64
import io
import re

import numpy as np
import pytest
from PIL import Image

from medldr.errors import InputError
from medldr.evaluation.representation.frame import Options
from medldr.evaluation.representation.pictures import (
    PicturedNeighbours,
    Retrieved,
    Shown,
    pictured_neighbours,
)
from medldr.reporting.figures.pictures import _pixels, neighbour_pictures
from medldr.reporting.writers.paper import for_paper

QUERY = Shown(0, "cat", "photo", unseen=False)
SAME, FAR, WRONG = (
    Shown(1, "cat", "photo", unseen=False),
    Shown(2, "cat", "sketch", unseen=True),
    Shown(3, "dog", "photo", unseen=False),
)
FOUND = PicturedNeighbours(
    (Retrieved(QUERY, {"degraded": (WRONG, SAME), "restored": (FAR, SAME)}),)
)


def picture(row):
    return np.full((3, 8, 8), 20 * row + 10, dtype=np.uint8)


def embedded(svg):
    """Images within an SVG, as arrays."""
    found = re.findall(r'href="data:image/png;base64,\s*([^"]+)"', svg)
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(text)))) for text in found]


def test_the_page_holds_the_images_themselves():
    drawing = neighbour_pictures("neighbour_pictures", "LatentDR", FOUND, picture)
    assert not drawing.error
    values = [int(image[0, 0, 0]) for image in embedded(drawing.svg)]
    assert sorted(values) == [10, 30, 30, 50, 70]
    assert for_paper(drawing, "pdf").startswith(b"%PDF")


def test_a_volume_shows_its_middle_axial_slice_as_heat_maps_do():
    volume = np.random.default_rng(0).integers(256, size=(1, 6, 5, 4), dtype=np.uint8)
    assert np.array_equal(_pixels(volume), volume[0, :, :, 2].T[::-1, ::-1])
    assert _pixels(np.ones((3, 4, 5), np.float32)).shape == (4, 5, 3)
    assert _pixels(np.zeros((2, 4, 5), np.uint8)).shape == (4, 5)
    assert max(_pixels(np.zeros((1, 300, 200), np.uint8)).shape) == 96


@pytest.mark.parametrize("queries", [1, 4])
def test_any_number_of_queries_fits(synthetic_latents, queries):
    latents = synthetic_latents(n=60, domains=(), unseen=(), views=queries > 1)
    found = pictured_neighbours(latents, Options(queries=queries))
    drawing = neighbour_pictures("n", "ERM", found, lambda row: np.zeros((1, 4, 4, 4), np.uint8))
    assert not drawing.error
    assert len(embedded(drawing.svg)) == queries * (5 if queries > 1 else 3)


@pytest.mark.parametrize("error", [OSError, InputError])
def test_an_image_that_cannot_be_read_costs_the_figure_and_the_page_names_no_file(error, caplog):
    def broken(row):
        raise error("the file is gone")

    assert neighbour_pictures("n", "ERM", FOUND, broken) is None
    assert "the file is gone" in caplog.text
    assert neighbour_pictures("n", "ERM", PicturedNeighbours(()), picture) is None
