"""Groups on a page: only where they were asked for, the lowest first, true to the evaluation."""

import json

from medldr.folders.evaluation_record import SplitRecord, read_evaluation
from medldr.reporting import write_report
from medldr.reporting.document import Paragraph
from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.sections.run.numbers import MOST, group_table
from medldr.reporting.sections.run.terminal import run_overview
from medldr.reporting.sections.sweep.csv_lines import csv_lines
from medldr.reporting.writers.html import html_page

ASKED = {"per_group": True}


def test_no_name_of_a_group_is_on_a_page_unless_it_was_asked_for(run_folder, read):
    path = write_report(run_folder())
    found = read(path)
    assert "groups" not in found.sections
    assert "MRN-" not in path.read_text()
    assert "Worst group" not in found.text


def test_the_page_has_every_group_sorted_and_the_worst_in_its_headline(run_folder, read):
    files = run_folder(scored=ASKED, domains=("a", "b"))
    found = read(write_report(files))
    split = json.loads(files.evaluation.read_text())["splits"]["test"]
    rows = found.table("Group", "Domain", "Images")
    assert len(rows) == len(split["groups"])
    shown = [float(row[3].split()[0]) for row in rows]
    assert shown == sorted(shown)
    for row in rows:
        entry = split["groups"][row[0].split()[0]]
        assert row[1] == entry["domain"]
        assert row[2] == str(entry["n"])
        numbers = [f"{100 * entry[key]:.1f}" for key in ("accuracy", "low", "high")]
        assert row[3] == "{} {} to {}".format(*numbers)
    worst = split["worst_group"]
    assert [row[0] for row in rows if "worst" in row[0]] == [f"{worst['name']} worst"]
    assert f"in {worst['name']} ({worst['n']} images)." in found.text
    measured = next(row for row in found.table("Metric") if row[0] == "Worst group accuracy (%)")
    assert measured[1] == f"{100 * worst['accuracy']['value']:.1f}"
    card = found.text.index("Worst group accuracy")
    assert card < found.text.index("Results by split")
    assert found.errors == []


def test_of_thousands_of_groups_a_page_shows_the_lowest(run_folder):
    groups = {
        f"p{i}": {"n": 2, "correct": i % 3, "accuracy": (i % 3) / 2, "domain": ""}
        for i in range(3 * MOST)
    }
    groups["unknown"] = {"n": 1, "correct": 0, "accuracy": None, "domain": ""}
    worst = {"name": "p0", "n": 2, "accuracy": {"value": 0.0}}
    table = group_table(SplitRecord(groups=groups, worst_group=worst))
    assert len(table.rows) == MOST
    assert {row.cells[1].estimate.mean for row in table.rows} == {0.0}
    said = "The 100 groups with the lowest accuracy, of 301; evaluation.json lists all."
    assert table.notes == [said]
    assert "Domain" not in table.columns


def test_an_older_evaluation_without_groups_has_no_table():
    assert group_table(SplitRecord()) is None


def test_the_terminal_names_no_group(run_folder):
    files = run_folder(scored=ASKED)
    (table,) = run_overview(read_evaluation(files)).section("result").tables
    names = [row.heading for row in table.rows]
    assert "  worst group" in names
    assert not any("MRN" in name for name in names)


def test_a_sweep_shows_the_worst_group_where_its_runs_have_it_and_names_nobody(sweep):
    rows = {"erm": 0.5, "latentdr_pool": 2.0}
    page = sweep_page(sweep(rows, ("octmnist",), scored=ASKED))
    section = page.document.section("groups")
    (table,) = section.tables
    column = page.results.columns[0]
    assert len(table.rows) == 2
    for row in table.rows:
        reached = column.estimate("test", "worst_group", row.heading)
        assert row.cells[0].estimate.mean == reached.mean
    assert any("low by chance alone" in text.text for text in section.of(Paragraph))
    assert "MRN-" not in html_page(page.document)
    lines = [line for line in csv_lines(page.results) if line["metric"] == "worst_group"]
    assert len(lines) == 2
