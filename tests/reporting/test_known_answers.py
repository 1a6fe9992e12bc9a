"""Six sweeps with known answers: word, numbers and what is missing, from the files of real runs."""

import io
import re

import numpy as np
import pytest
from known_answers import DOMAINS, DRAWN, SWEEPS, predictions, write_known
from rich.console import Console
from scipy import stats

from medldr.reporting.document import Bullets, Figures, Pairs, Paragraph
from medldr.reporting.pages.sweep import sweep_page, terminal_page
from medldr.reporting.results.averages import average_differences
from medldr.reporting.writers.terminal import LINES, print_document

pytestmark = pytest.mark.slow  # writes the files of 150 runs

DIRECTION = re.compile(
    r"\b(higher|lower|better|worse|best|worst|highest|lowest|gains?|loses|improve\w*)\b", re.I
)
WORDS = {
    "better": ("better", "good"), "worse": ("worse", "bad"), "not_clear": ("not clear", "open"),
    "disagrees": ("worse", "bad"), "one_seed": ("not compared", "open"),
    "failed": ("better", "good"),
}  # fmt: skip


@pytest.fixture(scope="module")
def pages(tmp_path_factory, write_run):
    """The page of each sweep; its figures are blank."""
    folder = tmp_path_factory.mktemp("known")
    return {
        name: sweep_page(write_known(name, folder / name, write_run)) for name in SWEEPS
    }  # fmt: skip


def correct(known, row, domain):
    """``(seeds, images)``: which answers of each run are right."""
    runs = [predictions(known, row, domain, seed) for seed in known.seeds]
    return np.array([run.prob.argmax(1) == run.label for run in runs], float)


def expected(known, domains):
    """Difference of accuracy, ends and p as section 4.2 of the statistics has them, exactly."""
    right = {row: [correct(known, row, domain) for domain in domains]
             for row in ("latentdr_pool", "erm")}  # fmt: skip
    seeds = {row: np.mean([of.mean(1) for of in runs], axis=0) for row, runs in right.items()}
    k, d = len(known.seeds), len(domains)
    within = units = df = 0.0
    for ours, theirs in zip(*right.values(), strict=True):
        images = ours.shape[1]
        one = (ours.mean(0) - theirs.mean(0)).var(ddof=1) / images / d**2
        units, df = units + one, df + one**2 / (images - 1)
        for runs in (ours, theirs):  # what a run makes of an image is in the spread of seeds too
            each = runs.var(axis=1, ddof=1).mean() / images
            within += (each - runs.mean(0).var(ddof=1) / images) / (k - 1) / d**2
    spreads = [of.var(ddof=1) / k for of in seeds.values()]
    variance = units + max(0.0, sum(spreads) - within)
    of_seeds = (k - 1) * sum(spreads) / np.hypot(*spreads)
    nu = variance**2 / (sum(spreads) ** 2 / of_seeds + df)
    nu = max(nu, min(of_seeds, right["erm"][0].shape[1] - 1))
    found = seeds["latentdr_pool"].mean() - seeds["erm"].mean()
    half = stats.t.ppf(0.975, nu) * variance**0.5
    return found, half, 2 * stats.t.sf(abs(found) / variance**0.5, nu)


@pytest.mark.parametrize("name", SWEEPS)
def test_the_word_is_the_known_answer(pages, name):
    verdict = pages[name].document.verdict
    assert (verdict.word, verdict.tone) == WORDS[name]
    assert pages[name].results.study.layout.verdict == "LatentDR (Pool)"


@pytest.mark.parametrize("name", ["better", "worse", "not_clear", "failed"])
def test_the_numbers_are_those_of_another_computation(pages, name):
    known = SWEEPS[name]
    domains = [d for d in DOMAINS if known.failed is None or d != known.failed[1]]
    value, half, p = expected(known, domains)
    text = pages[name].document.verdict.text.replace("−", "-")
    ends = r"95% CI ([-+][\d.]+) to ([-+][\d.]+)"
    size = rf"accuracy ([-+][\d.]+) percentage points \({ends}, p ([<=] .+?)\)"
    shown, low, high, said = re.search(size, text).groups()
    assert float(shown) == pytest.approx(100 * value, abs=0.051)
    # The bootstrap's variance of the images is that of 100 draws.
    assert (float(high) - float(low)) / 2 == pytest.approx(100 * half, rel=0.15)
    assert (
        said == "< 0.001"
        if p < 1e-5
        else float(said.removeprefix("= ")) == pytest.approx(p, abs=0.06)
    )


def test_what_is_missing_or_cannot_be_said_is_said(pages):
    failed, single = (pages[name].document.verdict for name in ("failed", "one_seed"))
    assert "on average over 2 of 3 held-out domains (Turin is incomplete)" in failed.text
    assert "Missing: 1 of 27 runs without a result (failed): LatentDR (Pool), Turin, seed 1." in (
        failed.more
    )
    assert "cannot be compared as methods with a single seed. These networks of" in single.text
    disagrees = pages["disagrees"].document.verdict.text
    assert "By AUC, however, LatentDR (Pool) is better than ERM, +0." in disagrees
    unclear = pages["not_clear"].document.verdict.text
    assert re.search(r"could have seen a difference of [\d.]+ percentage points", unclear)


def texts(page):
    """Every sentence of a page and of what is printed, but for its tables."""
    document = page.document
    yield from [document.verdict.text, *document.verdict.more, *(b.text for b in document.banners)]
    for section in document.sections:
        yield section.title
        for block in section.blocks:
            if isinstance(block, Paragraph):
                yield block.text
            elif isinstance(block, Bullets):
                yield from block.items
            elif isinstance(block, Pairs):
                yield from (text for _, text in block.items)
            elif isinstance(block, Figures):
                yield from (text for d in block.drawings for text in (d.title, d.caption, d.alt))
        yield from (note for table in section.tables for note in (table.caption, *table.notes))
    shown = terminal_page(page, styled=False).sections[0]
    yield from (block.text for block in shown.of(Paragraph))


@pytest.mark.parametrize(("name", "said"), [("not_clear", 0), ("one_seed", 0), ("better", 1)])
def test_a_word_of_direction_stands_beside_a_method_only_where_it_is_clear(pages, name, said):
    sentences = {part for text in texts(pages[name]) for part in re.split(r"(?<=\.) ", text)}
    found = [part for part in sentences if "LatentDR" in part and DIRECTION.search(part)]
    assert len(found) == said, found


def test_no_sentence_of_a_random_sweep_has_a_direction_that_is_not_clear(tmp_path, write_run):
    words = []
    for name in DRAWN:
        page = sweep_page(write_known(name, tmp_path / name, write_run))
        split, metrics = page.results.splits[0], page.results.metrics
        averages = [average_differences(page.results.study, page.results.columns, metric, split)
                    for metric in metrics]  # fmt: skip
        clear = [
            of.p_holm is not None and of.p_holm < 0.05 and of.estimate.low * of.estimate.high > 0
            for of in (each["LatentDR (Pool)"] for each in averages)
        ]
        said = [text for text in texts(page) if "LatentDR" in text and DIRECTION.search(text)]
        assert bool(said) == any(clear), (name, said)
        words.append(page.document.verdict.word)
    assert {"better", "not clear", "not compared"} <= set(words)  # or nothing was tested


@pytest.mark.parametrize("name", SWEEPS)
def test_the_terminal_has_at_most_25_lines_of_80_letters(pages, name):
    out = Console(file=io.StringIO(), width=80, highlight=False)
    print_document(terminal_page(pages[name], "runs/known", styled=False), out, lines=LINES - 1)
    lines = out.file.getvalue().splitlines()
    assert len(lines) < LINES  # and the path of the page
    assert max(map(len, lines)) <= 80
    assert lines[0].startswith(pages[name].document.verdict.headline)
    rows = [line.split("  ")[0] for line in lines]
    assert {"ERM", "LatentDR (Pool)"} < set(rows)


def test_the_first_screen_is_one_figure_and_one_table_and_the_rest_is_folded(pages):
    first, *others = pages["better"].document.sections
    assert (len(first.of(Figures)), len(first.tables), first.folded) == (1, 1, False)
    assert all(section.folded for section in others)
    alt = first.of(Figures)[0].drawings[0].alt
    assert alt.count("Average") == 2  # of the method and of the control
