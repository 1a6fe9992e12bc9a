"""Groups may be patients: no page names one, and the worst of those large enough is a metric."""

import pytest

from medldr.folders.evaluation_record import SplitRecord
from medldr.reporting import write_report
from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.read.run import read_run
from medldr.reporting.sections.run.result import run_overview
from medldr.reporting.sections.run.tables import metrics_of
from medldr.reporting.sections.sweep.csv_lines import csv_lines
from medldr.reporting.writers.html import html_page

ASKED = {"per_group": True}


@pytest.mark.parametrize("scored", [{}, ASKED])
def test_no_name_of_a_group_is_on_a_page(run_folder, read, scored):
    path = write_report(run_folder(scored=scored))
    assert "MRN-" not in path.read_text()
    assert "Worst group" not in read(path).text  # each has two images


def test_the_worst_of_the_groups_of_ten_images_is_a_metric():
    def groups(n):
        return {f"p{i}": {"n": n, "correct": i, "accuracy": i / n} for i in range(9)}

    small = {"one": {"n": 1, "correct": 0, "accuracy": 0.0}, "none": {"n": 9, "accuracy": None}}
    worst = {"name": "one", "n": 1, "accuracy": {"value": 0.0}}
    low = {"low": {"n": 12, "correct": 1, "accuracy": 1 / 12}}
    split = SplitRecord(groups={**groups(9), **small, **low}, worst_group=worst)
    assert metrics_of(split)["worst_group"].value == 1 / 12
    assert "worst_group" not in metrics_of(SplitRecord(groups=groups(9)))


def test_the_terminal_names_no_group(run_folder):
    (table,) = run_overview(read_run(run_folder(scored=ASKED))).section("result").tables
    assert [row.heading for row in table.rows] == ["Test", "Val", "Guessing"]


def test_a_sweep_keeps_the_worst_group_in_its_csv_alone_and_names_nobody(sweep):
    rows = {"erm": 0.5, "latentdr_pool": 2.0}
    page = sweep_page(sweep(rows, ("octmnist",), scored=ASKED))
    assert "MRN-" not in html_page(page.document)
    lines = [line for line in csv_lines(page.results) if line["metric"] == "worst_group"]
    assert len(lines) == 2


def test_a_grid_of_the_worst_group_has_no_number_of_few_images(sweep):
    asked = {"metrics": ("accuracy", "worst_group")}
    page = sweep_page(
        sweep({"erm": 0.5, "mixup": 2.0}, ("octmnist", "derma"), scored=ASKED, layout=asked)
    )
    (grid,) = page.document.section("grids").tables
    for row in grid.rows:
        assert [cell.estimate for cell in row.cells] == [None] * 3
        assert [dict(grid.footnotes).get(cell.mark) for cell in row.cells[:2]] == [
            "fewer than 10 images"
        ] * 2
    differences = page.document.section("differences").tables
    assert not any("orst" in table.caption for table in differences)
    lines = [
        x for x in csv_lines(page.results) if x["metric"] == "worst_group" and x["row"] == "mixup"
    ]
    assert all(line["mean"] is not None and line["difference"] is not None for line in lines)
    assert len(lines) == 2
