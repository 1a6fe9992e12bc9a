"""The page of a sweep: complete, true to its numbers, self-contained, naming nobody."""

import numpy as np
import pytest

from medldr.folders.sweep_record import read_sweep
from medldr.reporting import write_sweep_report
from medldr.reporting.document import Bullets
from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.writers.html import html_page


@pytest.fixture
def page(whole, read, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(html_page(whole.document), encoding="utf-8")
    return read(path)


def sentences(page, anchor):
    """The sentences that a section begins with."""
    return page.document.section(anchor).of(Bullets)[0].items


def test_the_page_is_whole_loads_nothing_and_has_every_section(page, whole):
    assert page.errors == []
    assert page.sections == [
        "result", "grids", "differences", "missing", "notes", "calibration",
        "published", "curves", "runs",
    ]  # fmt: skip
    assert [url for url in page.urls if not url.startswith(("#", "data:"))] == []
    assert len(set(page.ids)) == len(page.ids)
    assert page.banners[0] == "A demonstration."
    assert any(text.startswith("ORACLE SELECTION in Mixup") for text in page.banners)
    assert "Missing: 4 of 30 runs without a result (1 failed, 3 not run)." in page.text
    assert "Two <sets> & 100 %" in page.text
    assert page.figures == page.captions == page.svgs == 2 + 2 * 4
    assert len(page.tables) == sum(len(section.tables) for section in whole.document.sections)


def test_the_page_shows_the_numbers_of_the_grid_and_names_nobody(page, whole, grids_of):
    for grid in grids_of(whole).values():
        for row, cells in grid.cells.items():
            for cell in (*cells, grid.averages[row]):
                assert cell is None or cell.mean is None or cell.mean in page.values
    rows = {row[0]: row[1:] for row in page.table("Method", "Derma_1")}
    assert rows["ERM, half the ratea control"][1] == "not run"  # a is the sign of a footnote
    assert rows["ERM reference"][1].endswith("n 3")
    for name in ("DOE_JANE", "MRN-"):
        assert name not in page.text


def test_a_sweep_that_has_not_begun_says_so(sweep):
    gone = {("erm", "octmnist", seed) for seed in (0, 1, 2)}
    folder = sweep({"erm": 1.0}, ("octmnist",), without=gone)
    page = sweep_page(folder)
    assert page.document.verdict.text == "No run has a result yet."
    assert page.results.splits == []
    assert page.document.section("result") is None
    written = write_sweep_report(folder)
    assert "No run has a result yet." in written.page.read_text()


def test_a_measure_that_does_not_exist_is_told_and_the_others_are_shown(sweep):
    layout = {"metrics": ("acuracy", "acc", "test/auc")}
    page = sweep_page(sweep({"erm": 1.0}, ("octmnist",), n=20, layout=layout))
    assert page.results.metrics == ["accuracy", "auc"]
    (note,) = [n for n in sentences(page, "notes") if "acuracy" in n]
    assert "Did you mean 'accuracy'?" in note


def test_without_patient_ids_the_page_says_that_images_count_as_independent(sweep, score_other):
    folder = sweep({"erm": 1.0}, ("octmnist",), n=20)
    said = "No patient ids: intervals count images as independent"

    def notes():
        found = sweep_page(folder).document.section("notes")
        return [] if found is None else [n for b in found.of(Bullets) for n in b.items]

    assert not any(note.startswith(said) for note in notes())
    for member in read_sweep(folder).members:
        score_other(folder.run(member.run), group=np.full(40, ""))
    assert sum(note.startswith(said) for note in notes()) == 1
