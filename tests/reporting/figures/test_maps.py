"""Maps as figures: what each panel shows, how large the figure is, and what its caption says."""

import re
from dataclasses import replace

import numpy as np
import pytest

from medldr.evaluation.representation.maps import Map, Maps
from medldr.reporting.figures.maps import MOST_POINTS, map_figures
from medldr.reporting.writers.paper import for_paper

LARGEST = 400_000


def made(n=40, *, method="t-sne", part="all", classes=3, domains=("a", "b", "c"), **more):
    rng = np.random.default_rng(0)
    domain = np.array([domains[i % len(domains)] for i in range(n)])
    how = {"share": 0.42} if method == "pca" else {"perplexity": 30.0}
    return Map(
        method, part, n, 0, np.arange(n), np.full(n, "train"), domain, domain == domains[-1],
        rng.integers(classes, size=n), rng.normal(size=(n, 2)), **how, **more,
    )  # fmt: skip


def maps(*several, classes=3):
    return Maps(tuple(f"class {k}" for k in range(classes)), several)


def marks(svg):
    """Markers of images: those within axes, which legends are not."""
    return sum(len(re.findall("<use", part)) for part in re.findall(
        r'<g clip-path="[^"]*"[^>]*>(.*?)</g>', svg, flags=re.S))  # fmt: skip


def test_each_run_is_shown_by_class_and_by_domain():
    found = {name: maps(made(40, fitted=name != "ERM")) for name in ("ERM", "LatentDR")}
    (drawing,) = map_figures(found, dict.fromkeys(found, "pacs"))
    assert not drawing.error
    assert drawing.name == "maps_tsne_all"
    assert drawing.svg.count(">ERM<") == drawing.svg.count(">LatentDR<") == 2
    assert drawing.svg.count(">by class<") == drawing.svg.count(">by domain<") == 1
    assert marks(drawing.svg) == 160
    for text in ("class: class 0", "domain: a", "seen in training", "unseen"):
        assert f">{text}<" in drawing.svg
    assert drawing.alt == ("All images, by t-SNE: ERM, LatentDR, coloured by class and by domain.")
    assert "turned to fit the map of ERM" in drawing.caption
    assert for_paper(drawing, "pdf").startswith(b"%PDF")


@pytest.mark.slow
@pytest.mark.parametrize("runs", [1, 12])
def test_figures_of_many_images_stay_small(runs):
    kinds = [("pca", "all"), ("t-sne", "all"), ("t-sne", "unseen")][: 3 if runs == 1 else 1]
    found = {
        f"method {i}": maps(*(made(800, method=m, part=p, fitted=i > 0) for m, p in kinds))
        for i in range(runs)
    }
    drawings = map_figures(found, dict.fromkeys(found, "pacs"))
    names = ["maps_pca_all", "maps_tsne_all", "maps_tsne_unseen"]
    assert [d.name for d in drawings] == names[: len(kinds)]
    for drawing in drawings:
        assert not drawing.error
        assert len(drawing.svg) < LARGEST
        shown = min(800, MOST_POINTS // (2 * runs))
        assert marks(drawing.svg) == 2 * runs * shown
        assert drawing.size[0] < 10
        if shown < 800:
            assert f"Shown are {shown} of 800 images" in drawing.caption
    assert "42% of the variance" in drawings[0].svg


def test_the_caption_says_what_was_changed_and_left_out():
    few = replace(made(12), perplexity=11 / 3)
    (drawing,) = map_figures({"ERM": maps(few)}, {"ERM": ""})
    assert "perplexity 3.67, 500 iterations" in drawing.caption
    holed = replace(made(37), images=40, left_out=3)
    (drawing,) = map_figures({"ERM": maps(holed)}, {"ERM": ""})
    assert "3 of 40 images are left out, because their latents are not finite." in drawing.caption
    assert "Shown are" not in drawing.caption
    (drawing,) = map_figures({"ERM": maps(holed), "Mixup": maps(few)}, {"ERM": "", "Mixup": ""})
    assert "perplexity 3.67 to 30" in drawing.caption
    assert "Not turned to fit the map of ERM: Mixup." in drawing.caption
