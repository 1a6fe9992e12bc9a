"""Each selection rule of a sweep has its own means, named, apart from the reported ones."""

import csv
import io
import json
import statistics

import pytest

from medldr.folders.sweep_record import read_sweep
from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.sections.sweep.csv_lines import csv_fields, csv_lines
from medldr.reporting.sections.sweep.details import REPORTED
from medldr.reporting.writers.cells import printed
from medldr.reporting.writers.csv import csv_text

FURTHER = {"id_val_accuracy": 0.9, "oracle_auc": 2.0}


def accuracy(path):
    return json.loads(path.read_text())["splits"]["test"]["metrics"]["accuracy"]["value"]


@pytest.fixture
def folder(sweep):
    return sweep({"erm": 0.5, "mixup": 1.0}, ("octmnist",), (0, 1, 2), n=30, further=FURTHER)


def test_means_and_deviations_are_over_the_seeds_of_each_rules_own_evaluation(folder):
    page = sweep_page(folder)
    (table,) = [t for t in page.document.section("rules").tables if "Accuracy" in t.caption]
    assert table.columns == [
        "Method", "best validation AUC", "best seen-domain validation accuracy",
        "best test AUC (oracle)",
    ]  # fmt: skip
    for row, name in zip(table.rows, ("erm", "mixup"), strict=True):
        runs = [folder.run(m.run) for m in read_sweep(folder).members if m.row == name]
        expected = [[accuracy(run.evaluation) for run in runs]]
        expected += [[accuracy(run.evaluation_of(rule)) for run in runs] for rule in FURTHER]
        for cell, values in zip(row.cells, expected, strict=True):
            assert cell.estimate.mean == pytest.approx(statistics.mean(values))
            assert printed(cell).extra == f"SD {100 * statistics.stdev(values):.1f}, n 3"
        assert [dict(table.footnotes).get(cell.mark) for cell in row.cells] == [
            REPORTED,
            None,
            None,
        ]


def test_a_rule_that_not_every_run_was_scored_by_has_no_mean(folder):
    run = folder.run(read_sweep(folder).members[0].run)
    run.evaluation_of("id_val_accuracy").unlink()
    table = sweep_page(folder).document.section("rules").tables[0]
    cell = table.rows[0].cells[1]
    assert (printed(cell).text, cell.estimate) == ("n/a", None)
    assert cell.content.reason == "evaluated and defined in 2 of 3 runs"


def test_the_flat_table_has_a_line_for_each_further_rule_and_says_which_is_an_oracle(folder):
    results = sweep_page(folder).results
    text = csv_text(csv_fields(results), csv_lines(results))
    lines = list(csv.DictReader(io.StringIO(text)))
    found = [line for line in lines if line["kind"] == "rule" and line["metric"] == "accuracy"]
    assert [(line["row"], line["rule"], line["oracle"]) for line in found] == [
        ("erm", "id_val_accuracy", "false"),
        ("erm", "oracle_auc", "true"),
        ("mixup", "id_val_accuracy", "false"),
        ("mixup", "oracle_auc", "true"),
    ]
    assert all(line["mean"] and line["sd"] and line["runs"] == "3" for line in found)
    assert {line["rule"] for line in lines if line["kind"] == "result"} == {"val_auc"}
