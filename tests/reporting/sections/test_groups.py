"""Groups on a page: only where they were asked for, the lowest first, true to the evaluation."""

import json

from medldr.folders.evaluation_record import SplitRecord
from medldr.reporting import write_report
from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.read.run import read_run
from medldr.reporting.sections.run.result import run_overview
from medldr.reporting.sections.run.tables import MOST, group_table, metrics_of
from medldr.reporting.sections.sweep.csv_lines import csv_lines
from medldr.reporting.writers.html import html_page

ASKED = {"per_group": True}


def test_no_name_of_a_group_is_on_a_page_unless_it_was_asked_for(run_folder, read):
    path = write_report(run_folder())
    found = read(path)
    assert "groups" not in found.sections
    assert "MRN-" not in path.read_text()
    assert "Worst group" not in found.text


def test_the_page_has_every_group_sorted(run_folder, read):
    files = run_folder(scored=ASKED, domains=("a", "b"))
    found = read(write_report(files))
    split = json.loads(files.evaluation.read_text())["splits"]["test"]
    rows = found.table("Group", "Domain", "Images")
    assert len(rows) == len(split["groups"])
    shown = [float(row[3].split()[0]) for row in rows]
    assert shown == sorted(shown)
    for row in rows:
        entry = split["groups"][row[0]]
        assert row[1] == entry["domain"]
        assert row[2] == str(entry["n"])
        numbers = [f"{100 * entry[key]:.1f}" for key in ("accuracy", "low", "high")]
        assert row[3] == "{} {} to {}".format(*numbers)
    assert "Worst group" not in found.text  # each has two images
    assert found.errors == []


def groups(n):
    return {f"p{i}": {"n": n, "correct": i % 3, "accuracy": (i % 3) / n} for i in range(3 * MOST)}


def test_of_thousands_of_groups_a_page_shows_some_and_the_worst_of_ten_images():
    small = {"one": {"n": 1, "correct": 0, "accuracy": 0.0}, "none": {"n": 9, "accuracy": None}}
    split = SplitRecord(groups=groups(12) | small, worst_group={"name": "one", "n": 1,
                        "accuracy": {"value": 0.0}})  # fmt: skip
    table = group_table(split)
    assert len(table.rows) == MOST
    assert {row.cells[2].estimate.mean for row in table.rows} == {0.0}
    assert table.notes == ["The first 100 of 302 groups in this order; evaluation.json lists all."]
    (worst,) = [row.heading for row in table.rows if row.tags]
    assert split.groups[worst].n == 12
    assert metrics_of(split)["worst_group"].value == 0.0
    assert "worst_group" not in metrics_of(SplitRecord(groups=groups(9)))


def test_the_terminal_names_no_group(run_folder):
    (table,) = run_overview(read_run(run_folder(scored=ASKED))).section("result").tables
    assert [row.heading for row in table.rows] == ["Test", "Val", "Guessing"]


def test_a_sweep_keeps_the_worst_group_of_few_images_in_its_csv_alone_and_names_nobody(sweep):
    rows = {"erm": 0.5, "latentdr_pool": 2.0}
    page = sweep_page(sweep(rows, ("octmnist",), scored=ASKED))
    assert page.document.section("groups") is None  # each has two images
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
