"""What one threshold gives stands together: sensitivity with the specificity that it cost."""

import re

import pytest

from medldr.metrics import metric_facts
from medldr.reporting.document import Paragraph
from medldr.reporting.pages.comparison import overview
from medldr.reporting.pages.sweep import sweep_page, terminal_page
from medldr.reporting.sections.comparison.tables import metrics_table
from medldr.reporting.writers.terminal import terminal_document

HALVES = ("sensitivity_at_specificity", "specificity_at_threshold")


@pytest.fixture(scope="module")
def page(write_sweep_folder, tmp_path_factory):
    return sweep_page(
        write_sweep_folder(
            tmp_path_factory.mktemp("pairs"), {"erm": 0.5, "mixup": 2.0}, ("breastmnist", "own"),
            n=40, layout={"metrics": HALVES}, task="binary", names=("benign", "malignant"),
        )
    )  # fmt: skip


def test_grids_and_differences_have_both_halves_in_a_cell(page):
    assert page.results.metrics == [HALVES[0]]
    (grid,) = page.document.section("result").tables
    column = page.results.columns[0]
    cell = grid.rows[1].cells[0]
    assert cell.content.mean == column.estimate("test", HALVES[0], "Mixup").mean
    half = column.estimate("test", HALVES[1], "Mixup")
    ends = f"{100 * half.low:.1f} to {100 * half.high:.1f}"
    assert cell.extra == f"specificity {100 * half.mean:.1f} ({ends})"
    average = grid.rows[1].cells[-1]
    halves = [c.estimate("test", HALVES[1], "Mixup").mean for c in page.results.columns]
    assert grid.columns[-1] == "Average"
    assert average.extra.startswith(f"specificity {100 * sum(halves) / 2:.1f} (")
    assert any("set for 90% specificity" in note for note in grid.notes)
    assert not any(cell.content.marks for row in grid.rows for cell in row.cells if cell.estimate)
    (table,) = page.document.section("differences").tables
    difference = column.difference("test", HALVES[1], "Mixup").estimate.mean
    shown = f"specificity {100 * difference:+.1f} (".replace("-", "−")
    assert shown in table.rows[0].cells[0].extra


def test_tables_of_a_comparison_have_both_halves_in_a_cell(page):
    compared = page.results.columns[0].comparison
    number = metrics_table(compared, "test", differences=False)
    sensitivity, specificity = (metric_facts(key).heading for key in HALVES)
    assert specificity not in number.columns
    place = number.columns.index(sensitivity) - 1
    half = compared.estimate("test", HALVES[1], "Mixup").mean
    shown = next(row for row in number.rows if row.heading == "Mixup").cells[place]
    assert shown.extra.startswith(f"specificity {100 * half:.1f} (")
    less = metrics_table(compared, "test", differences=True).rows[0].cells[place]
    half = compared.difference("test", HALVES[1], "Mixup").estimate.mean
    assert f"; specificity {100 * half:+.1f} (".replace("-", "−") in less.extra
    terminal = overview(compared, HALVES[0]).sections[0].tables[0]
    assert all("specificity " in cell.extra for cell in terminal.rows[1].cells[1:3])


def test_a_verdict_names_both_halves_and_no_direction_where_they_pull_apart(page):
    verdict = page.document.verdict
    assert re.search(r"sensitivity [^;]*\) and specificity", verdict.text)
    column = page.results.columns[0]
    both = {column.difference("test", key, "Mixup").finding for key in HALVES}
    assert (verdict.word in both) is (both != {"better", "worse"})


def test_the_terminal_and_the_size_of_the_split_say_what_a_reader_needs(page):
    from rich.console import Console

    out = Console(width=80, file=None, record=True)
    with out.capture() as said:
        out.print(terminal_document(terminal_page(page)))
    text = " ".join(said.get().split())
    assert text.count("specificity ") >= 4
    (small,) = page.document.section("result").of(Paragraph)
    positives = page.results.columns[0].comparison.splits["test"].class_shares["malignant"] * 40
    assert f"40 images of 20 groups (patients, slides), {positives:.0f} “malignant”" in small.text
