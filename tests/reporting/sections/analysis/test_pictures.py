"""The section with pictures of nearest neighbours."""

import numpy as np
import pytest

from medldr.evaluation.representation.options import Options
from medldr.evaluation.representation.pictures import pictured_neighbours
from medldr.reporting.document import Document, Figures
from medldr.reporting.sections.analysis.pictures import pictures_section
from medldr.reporting.writers.html import html_page


def picture(row):
    return np.full((1, 4, 4), row % 256, dtype=np.uint8)


@pytest.mark.usefixtures("drawn")
def test_each_run_with_images_has_a_figure(synthetic_latents):
    options = Options(queries=2)
    found = {
        "ERM": pictured_neighbours(synthetic_latents(n=60, views=False), options),
        "LatentDR": pictured_neighbours(synthetic_latents(n=60), options),
        "lost": pictured_neighbours(synthetic_latents(n=60), options),
    }
    section = pictures_section(found, {"ERM": picture, "LatentDR": picture})
    drawings = section.of(Figures)[0].drawings
    # Runs with degraded and restored latents come first.
    assert [drawing.title for drawing in drawings] == [
        "LatentDR: nearest neighbours", "ERM: nearest neighbours"
    ]  # fmt: skip
    assert len({drawing.name for drawing in drawings}) == 2
    page = html_page(Document("t", "k", sections=[section]))
    assert page.count("<image") == 2 * 5 + 2 * 3
    assert "bottom" in drawings[0].caption
    assert "bottom" not in drawings[1].caption
