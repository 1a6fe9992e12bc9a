"""Subgroups on a page: each number as it was measured, differences with an interval, no ids."""

import json
import math

import pytest

from medldr.reporting import write_report

COLUMNS = {
    "sex": ["F", "M", "F"],
    "age": [f"{20 + n}" for n in range(60)] + [""],
    "site": ["x"] * 57 + ["rare"] * 3,
}
BANDS = {"bands": {"age": [40, 60]}}


def division_of(split, column, name):
    return split["subgroups"][column]["values"][name]["metrics"]


@pytest.fixture
def page(run_folder, read):
    def made(**given):
        columns = given.pop("columns", COLUMNS)
        files = run_folder(n=300, scored=given.pop("scored", BANDS), columns=columns, **given)
        return files, read(write_report(files))

    return made


def test_every_number_of_a_subgroup_stands_on_the_page(page):
    files, found = page(task="binary", names=("benign", "malignant"))
    split = json.loads(files.evaluation.read_text())["splits"]["test"]
    assert found.errors == []
    assert list(split["subgroups"]) == ["sex", "age", "site"]
    for column, division in split["subgroups"].items():
        rows = found.table(column, "Images (malignant)", "Accuracy (%)", "AUC", "Sensitivity (%)",
                           "Specificity (%)")  # fmt: skip
        assert len(rows) == len(division["values"])
        for row, (name, entry) in zip(rows, division["values"].items(), strict=True):
            assert row[0] == f"{name}{' few groups' if entry['few_groups'] else ''}"
            positive = entry["classes"]["malignant"]
            share = f"{positive} malignant ({positive / sum(entry['classes'].values()):.1%})"
            groups = f", {entry['n_groups']} groups" if entry["n_groups"] != entry["n"] else ""
            assert row[1] == f"{entry['n']} {share}{groups}"
            for text, (metric, number) in zip(row[2:], entry["metrics"].items(), strict=True):
                factor, digits = (1, 3) if metric == "auc" else (100, 1)
                shown = [f"{factor * number[k]:.{digits}f}" for k in ("value", "low", "high")]
                assert text == f"{shown[0]} {shown[1]} to {shown[2]}"
    one, other = (division_of(split, "sex", name)["accuracy"] for name in ("F", "M"))
    apart = one["value"] - other["value"]
    low = apart - math.hypot(one["value"] - one["low"], other["high"] - other["value"])
    high = apart + math.hypot(one["high"] - one["value"], other["value"] - other["low"])
    said = "F minus M, Accuracy: {:+.1f} percentage points (95% CI {:+.1f} to {:+.1f})"
    assert low < 0 < high  # or this test says nothing
    said = said.format(*(100 * value for value in (apart, low, high))).replace("-", "−")
    assert f"{said}: no clear difference." in found.text
    assert "Share of positives: F " in found.text
    assert "Cut at 40 and 60, as the configuration states." in found.text
    assert f"{split['subgroups']['age']['missing']} images have no value here" in found.text


def test_classes_are_counted_in_their_order_where_none_is_positive(page):
    files, found = page()
    split = json.loads(files.evaluation.read_text())["splits"]["test"]
    classes = "Images (buckle / nondisplaced / displaced)"
    rows = found.table("sex", classes, "Accuracy (%)", "AUC")
    for row, entry in zip(rows, split["subgroups"]["sex"]["values"].values(), strict=True):
        assert " / ".join(str(count) for count in entry["classes"].values()) in row[1]


def test_subgroups_that_are_too_small_are_one_row_without_names_and_sizes(page):
    files, found = page(columns={"site": ["x"] * 98 + ["lone clinic", "far clinic"]}, scored={})
    assert " clinic" not in files.report.read_text()
    row = next(row for row in found.table("site") if row[0] == "other (fewer than 10)")
    assert row[1:] == ["–", "n/aa", "n/aa"]
    assert "fewer than 10 images or patients" in found.text


def test_an_id_among_the_values_is_hidden(page):
    values = ["MRN-77test00001"] * 30 + ["y"] * 30
    files, found = page(columns={"ward": values, "note": ["<b>x</b>"] * 60}, scored={})
    assert "MRN-" not in files.report.read_text()
    assert "MRN-" not in files.checklist.read_text()
    assert "[hidden id]" in found.table("ward")[0][0]
