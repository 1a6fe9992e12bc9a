"""A metric against the size of a batch, drawn."""

import pytest

from medldr.evaluation.intervals.estimate import Estimate
from medldr.reporting.sections.analysis.batch_sizes import (
    BatchCurve,
    BatchLine,
    BatchPoint,
    batch_figure,
)
from medldr.reporting.writers.paper import for_paper

pytestmark = pytest.mark.usefixtures("drawn")


def curve_of(*, per_domain=True, low=True):
    def line(name, gain, **more):
        points = [
            BatchPoint(3 * size, size if per_domain else None, 10,
                       Estimate(0.5 + gain * place, low=0.4 if low else None, high=0.9))
            for place, size in enumerate((4, 8, 32))
        ]  # fmt: skip
        return BatchLine(name, tuple(points), **more)

    lines = (line("ERM", 0.0, reference=True), line("LatentDR (SA)", 0.1),
             line("ERM, half the rate", 0.0, control=True))  # fmt: skip
    return BatchCurve("pacs", "accuracy", "test", lines)


@pytest.mark.parametrize("low", [True, False])
def test_every_point_is_in_the_figure_and_in_its_words(low):
    drawing = batch_figure(curve_of(low=low), 2)
    assert (drawing.error, drawing.name) == ("", "batch_size_2")
    ends = " (40.0 to 90.0)" if low else ""
    first = f"LatentDR (SA): 12 images: 50.0%{ends}; 24 images: 60.0%{ends}; 96 images: 70.0%{ends}"
    assert first in drawing.alt
    assert f"<title>LatentDR (SA), 96 images: 70.0%{ends}</title>" in drawing.svg
    for text in ("Accuracy (%)", "images in a step (of each domain)", "LatentDR (SA)", "(32)"):
        assert f">{text}<" in drawing.svg
    assert for_paper(drawing, "pdf").startswith(b"%PDF")


def test_without_batches_by_domain_only_images_of_a_step_are_named():
    svg = batch_figure(curve_of(per_domain=False)).svg
    assert "(of each domain)" not in svg
    assert ">12<" in svg
