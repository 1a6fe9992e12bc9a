"""The page of an analysis of runs on two data sets: which of them are compared."""

import re

import numpy as np
import pytest

from medldr.evaluation.representation import planes
from medldr.evaluation.representation.frame import Options
from medldr.evaluation.representation.maps import maps
from medldr.evaluation.representation.measured import measure
from medldr.evaluation.representation.queries import queries
from medldr.reporting.pages.analysis import Analysis, RunFacts, analysis_page, on_terminal
from medldr.reporting.writers.html import html_page

FAST = Options(draws=30)


@pytest.fixture(scope="module")
def two_data_sets(synthetic_latents):
    """A run on one data set, and two on another with more classes and other domains."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planes, "ITERATIONS", 250)
        return _two_data_sets(synthetic_latents)


def _two_data_sets(synthetic_latents):
    ribs = synthetic_latents(90, classes=2)
    photos = {
        name: synthetic_latents(90, classes=4, domains=("p", "q", "r"), unseen=("q",), shift=shift,
                                seed=1, views=False)
        for name, shift in (("PACS, ERM", 1.0), ("PACS, Mixup", 0.2))
    }  # fmt: skip
    runs, facts = {}, {}
    for name, latents in {"ribs": ribs, **photos}.items():
        asked = queries(latents, (), np.empty(0, np.int64), FAST)
        runs[name] = measure(latents, FAST, asked, maps(latents, FAST))
        held = latents.spec
        unseen = ", ".join(d for d in held.domains if d not in held.train_domains)
        facts[name] = RunFacts("phantom" if name == "ribs" else "PACS", unseen, (0,), 90, name)
    return Analysis(runs, facts)


def test_the_page_has_maps_of_each_data_set_and_says_what_does_not_compare(two_data_sets):
    document, _ = analysis_page(two_data_sets)
    page = html_page(document)
    assert "All images, by PCA, phantom" in page
    assert "All images, by PCA, PACS" in page
    assert "do not compare. Those that do: PACS, ERM with PACS, Mixup." in re.sub(r"\s+", " ", page)
    assert "drawing failed" not in page
    assert document.verdict.text.startswith("PACS, Mixup against PACS, ERM")


def test_the_terminal_shows_the_verdict_and_one_table(two_data_sets):
    document, _ = analysis_page(two_data_sets)
    shown = on_terminal(document)
    assert shown.verdict == document.verdict
    assert [len(section.blocks) for section in shown.sections] == [1]
    assert shown.title == shown.subtitle == ""  # the verdict is the first line
