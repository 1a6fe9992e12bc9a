"""Subgroups on a page: every number as it was measured, gaps without an interval, no ids."""

import json

import pytest

from medldr.reporting import write_report

COLUMNS = {
    "sex": ["F", "M", "F"],
    "age": [f"{20 + n}" for n in range(60)] + [""],
    "site": ["x"] * 57 + ["rare"] * 3,
}
BANDS = {"bands": {"age": [40, 60]}}


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
        rows = found.table(column, "Images", "Groups (patients)", "Positives", "Accuracy (%)",
                           "AUC", "Sensitivity (%)", "Specificity (%)")  # fmt: skip
        assert len(rows) == len(division["values"])
        for row, (name, entry) in zip(rows, division["values"].items(), strict=True):
            lowest = division["gaps"]["accuracy"]["lowest"] == name
            tag = f" lowest of {len(rows)}" if lowest else ""
            assert row[0] == f"{name}{tag}{' few groups' if entry['few_groups'] else ''}"
            assert row[1:4] == [
                str(entry["n"]), str(entry["n_groups"]), str(entry["classes"]["malignant"])
            ]  # fmt: skip
            for text, (metric, number) in zip(row[4:], entry["metrics"].items(), strict=True):
                factor, digits = (1, 3) if metric == "auc" else (100, 1)
                shown = [f"{factor * number[k]:.{digits}f}" for k in ("value", "low", "high")]
                assert text == f"{shown[0]} {shown[1]} to {shown[2]}"
    gap = split["subgroups"]["sex"]["gaps"]["accuracy"]
    said = f"Accuracy is lowest for {gap['lowest']} (lowest of 2) and highest for {gap['highest']}"
    assert f"{said}: a gap of {100 * gap['value']:.1f} percentage points." in found.text
    assert "Cut at 40 and 60, as the configuration states." in found.text
    assert f"{split['subgroups']['age']['missing']} images have no value here" in found.text


def test_classes_are_counted_in_their_order_where_none_is_positive(page):
    files, found = page()
    split = json.loads(files.evaluation.read_text())["splits"]["test"]
    classes = "Images: buckle / nondisplaced / displaced"
    rows = found.table("sex", "Images", "Groups (patients)", classes, "Accuracy (%)", "AUC")
    for row, entry in zip(rows, split["subgroups"]["sex"]["values"].values(), strict=True):
        assert row[3] == " / ".join(str(count) for count in entry["classes"].values())


def test_subgroups_that_are_too_small_are_one_row_without_names_and_sizes(page):
    files, found = page(columns={"site": ["x"] * 98 + ["lone clinic", "far clinic"]}, scored={})
    assert " clinic" not in files.report.read_text()
    row = next(row for row in found.table("site") if row[0] == "other (fewer than 10)")
    assert row[1:] == ["–", "–", "–", "n/aa", "n/aa"]
    assert "fewer than 10 images or patients" in found.text
    assert "lowest of" not in found.table("site")[0][0]


def test_an_id_among_the_values_is_hidden(page):
    values = ["MRN-77test00001"] * 30 + ["y"] * 30
    files, found = page(columns={"ward": values, "note": ["<b>x</b>"] * 60}, scored={})
    assert "MRN-" not in files.report.read_text()
    assert "MRN-" not in files.checklist.read_text()
    assert "[hidden id]" in found.table("ward")[0][0]
