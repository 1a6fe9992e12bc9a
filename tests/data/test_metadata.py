"""Columns of a metadata file: text as written, joined by item or patient, refused when unclear."""

from dataclasses import replace

import numpy as np
import pytest

from medldr.config import EvaluationConfig
from medldr.data import build_data
from medldr.data.metadata import add_metadata
from medldr.errors import InputError
from medldr.folders.files import checksum

AUTO = EvaluationConfig()


def naming(*columns):
    return EvaluationConfig(subgroups=columns)


@pytest.fixture
def table(make_table):
    groups = ["p1", "p1", "p2", "p2", "", "p3"] * 5
    splits = ["train"] * 18 + ["val"] * 6 + ["test"] * 6
    return make_table([0, 1, 2] * 10, splits=splits, groups=groups)


@pytest.fixture
def write(tmp_path):
    def sheet(text, encoding="utf-8"):
        path = tmp_path / "sheet.csv"
        path.write_bytes(text.encode(encoding))
        return path

    return sheet


def test_values_of_patients_are_text_exactly_as_written(table, write):
    path = write(
        'group,sex,"age, years",note\np1,F,007,NA\np2,, 1.50 ,None\np3,"a ""b""",1e3,"x\ny"\n'
    )
    found = add_metadata(table, path, naming("sex", "age, years", "note"))
    assert list(found.metadata) == ["sex", "age, years", "note"]
    assert found.metadata["sex"][:6].tolist() == ["F", "F", "", "", "", 'a "b"']
    assert found.metadata["age, years"][:6].tolist() == [
        "007",
        "007",
        "1.50",
        "1.50",
        "",
        "1e3",
    ]
    assert found.metadata["note"][:6].tolist() == ["NA", "NA", "None", "None", "", "x\ny"]
    assert found.notes == (
        *table.notes,
        "blanks around 1 cell of sheet.csv are left out (line 3)",
        "5 of 30 images have no row in the metadata table",
    )


def test_rows_of_items_are_found_whatever_their_order_and_a_mark_of_bytes_is_no_name(table, write):
    lines = [f"{n % 4},item_{n}" for n in reversed(range(30))]
    path = write("\ufeffscanner,id\n" + "\r\n".join(lines) + "\r\n\r\n")
    found = add_metadata(table, path, naming("scanner"))
    assert found.metadata["scanner"].tolist() == [f"{n % 4}" for n in range(30)]
    assert found.notes == table.notes


def test_equal_rows_may_repeat_and_rows_of_others_are_left_out(table, write):
    path = write("group,sex\np1,F\np1,F\nelsewhere,M\n")
    found = add_metadata(table, path, naming("sex"))
    assert set(found.metadata["sex"].tolist()) == {"F", ""}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("ID,sex\nitem_0,F\n", "neither a column 'id' .* Did you mean 'id'.* ID, sex"),
        ("id,group,sex\nitem_0,p1,F\n", "a column 'id' and a column 'group'"),
        ("id\nitem_0\n", "no column besides 'id'"),
        ("id,domain\nitem_0,a\n", "the data set itself has a column 'domain'"),
        ("id,sex\n,F\n", "line 2: the column 'id' is empty"),
        ("id,sex\nitem_0,F\nitem_1,F\nitem_0,M\n", "line 4: id 'item_0' appears a second time"),
        ("id,sex\np1,F\n", "no row of .* belongs to any image of toy.*'item_"),
        (
            "group,sex\nitem_0,F\n",
            "none of its values of 'group' is one of the groups there, such as 'p",
        ),
    ],
)
def test_an_unclear_file_is_refused_with_its_name_and_line(table, write, text, said):
    path = write(text)
    with pytest.raises(InputError, match=rf"(?s)^data\.metadata: .*{said}") as refused:
        add_metadata(table, path, AUTO)
    assert str(path) in str(refused.value)


def test_metadata_change_no_hash_of_the_data_and_are_on_record(make_run, table, write):
    path = write("group,sex\np1,F\n")
    groups = np.array(["p1"] * 10 + ["p2"] * 8 + ["p3"] * 6 + [""] * 6)
    table = replace(table, groups=groups)
    named = make_run(table, data={"metadata": path}, evaluation={"subgroups": ["sex"]})
    without, data = build_data(make_run(table)), build_data(named)
    assert (data.data_hash, data.split_hash) == (without.data_hash, without.split_hash)
    assert data.record()["files"] == {"data.metadata": checksum(path)}
    assert without.record()["files"] == {}
    assert without.table.metadata == {}
    assert np.array_equal(data.table.metadata["sex"] == "F", table.groups == "p1")
    assert data.record()["images"] == {"train": 18, "val": 6, "test": 6}
    assert data.record()["groups"] == {"train": 2, "val": 1, "test": 0}


@pytest.fixture
def personal(make_table, write):
    """A table of 40 images of 20 patients, and a sheet that says more of them than it should."""
    columns = {
        "sex": lambda n: "FM"[n % 2],
        "name": lambda n: f"Ms {n}",
        "born": lambda n: f"19{50 + n}-01-31",
        "age": lambda n: f"{40 + n}",
        "file_number": lambda n: f"{n:05d}",
        "report": lambda n: "A lesion of " + "x" * 5000,
        "one": lambda n: "x",
        "pairs": lambda n: f"{n // 2}",
    }
    lines = [",".join(["group", *columns])]
    lines += [",".join([f"p{n}", *(made(n) for made in columns.values())]) for n in range(20)]
    groups = [f"p{n % 20}" for n in range(40)]
    table = make_table([0, 1] * 20, splits=["train"] * 40, groups=groups)
    return table, write("\n".join(lines))


def test_only_columns_that_are_divided_are_read(personal):
    table, path = personal
    found = add_metadata(table, path, AUTO)
    assert list(found.metadata) == ["sex", "age"]
    assert found.metadata["age"].dtype == "<U2"
    (note,) = set(found.notes) - set(table.notes)
    assert note == (
        "metadata that divide no results are left out: name (20 values), born (20 values), "
        "file_number (20 values), report (1 value), one (1 value), pairs (10 values)"
    )
    assert list(add_metadata(table, path, naming("sex", "one")).metadata) == ["sex", "one"]
    bands = EvaluationConfig(subgroups=["sex"], bands={"age": [50]})
    assert list(add_metadata(table, path, bands).metadata) == ["sex", "age"]
    assert list(add_metadata(table, path, naming()).metadata) == []


def test_values_of_too_few_patients_are_no_subgroups(make_table, write):
    """Names of twelve patients would pass for twelve subgroups."""
    groups = [f"p{n % 12}" for n in range(240)]
    table = make_table([0, 1] * 120, splits=["train"] * 240, groups=groups)
    path = write("group,name,sex\n" + "\n".join(f"p{n},Ms {n},{'FM'[n > 9]}" for n in range(12)))
    assert list(add_metadata(table, path, AUTO).metadata) == ["sex"]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (naming("report"), "'report'.*5,012 characters; at most 200"),
        (naming("sexx"), "no column 'sexx'.*'sex'.*Columns: sex, name, born"),
        (EvaluationConfig(bands={"agee": [3]}), "evaluation.bands.*'agee'.*'age'"),
    ],
)
def test_a_named_column_that_is_absent_or_holds_long_texts_is_refused(personal, config, said):
    with pytest.raises(InputError, match=said):
        add_metadata(*personal, config)


def test_a_sheet_of_a_workbook_may_be_the_metadata(table, tmp_path, workbook):
    sex = [["group", "sex"], ["p1", "F"], ["p2", "M"], ["p3", "F"]]
    file = workbook(tmp_path / "clinic.xlsx", {"Scans": [["path"], ["a.png"]], "Patients": sex})
    found = add_metadata(table, tmp_path / "clinic.xlsx#Patients", naming("sex"))
    assert found.metadata["sex"][:3].tolist() == ["F", "F", "M"]
    with pytest.raises(InputError, match="neither a column 'id'"):
        add_metadata(table, file, naming("sex"))
