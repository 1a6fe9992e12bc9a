"""Data sets by their text: tables and trees as users have them, faults in one message."""

from pathlib import Path

import numpy as np
import pytest

from medldr.datasets._table.describe import Columns, describe
from medldr.errors import InputError

IMAGE = Columns(path="image")
REAL = Path(__file__).parents[4] / "shared" / "data"


def refuses(said, *args, **keys):
    with pytest.raises(InputError, match=f"(?s){said}") as caught:
        describe(*args, **keys)
    return str(caught.value)


def test_a_table_is_described_row_by_row(touch, table):
    touch("a/1.png", "a/2.png", "b/3.nii.gz")
    file = table(
        "path,dx,hospital,patient,part,sex,age\n"
        "a/2.png,benign,Köln,P1,Train,F,061\n"
        "a/1.png,malignant,Köln,p1 ,training,,NA\n"
        "b/3.nii.gz,benign,Bonn,P2,dev,M,7\n"
    )
    columns = Columns(
        label="dx", domain="hospital", group="patient", split="part", columns=("sex", "age")
    )
    found = describe(file, None, columns)
    assert len(found) == 3
    assert found.ids.tolist() == ["a/2.png", "a/1.png", "b/3.nii.gz"]
    assert [place.path for place in found.places] == [file.parent / name for name in found.ids]
    assert found.class_names == ("benign", "malignant")
    assert found.labels.tolist() == [0, 1, 0]
    assert found.domains.tolist() == ["Köln", "Köln", "Bonn"]
    assert found.groups.tolist() == ["P1", "P1", "P2"]
    assert found.splits.tolist() == ["train", "train", "val"]
    assert {name: column.tolist() for name, column in found.columns.items()} == {
        "sex": ["F", "", "M"],
        "age": ["061", "NA", "7"],
    }
    assert found.skipped == ()


def test_a_table_without_domains_groups_and_splits_has_empty_ones(touch, table):
    touch("1.png", "2.png")
    found = describe(table("path;label\n1.png;0\n2.png;1\n"))
    for column in (found.domains, found.groups, found.splits):
        assert column.tolist() == ["", ""]


def test_all_faults_are_in_one_message_by_kind(touch, table):
    touch("a.png", "b.png", "c.png")
    file = table("image,label\na.png,0\nb.png,1\nmissing.png,1\na.png,1\n./b.png,1\nC.png,\n")
    said = refuses("cannot be used as it is", file, None, IMAGE)
    assert "2 rows have no file" in said
    assert "line 4 (missing.png): there is no such file" in said
    assert "line 7 (C.png): there is no such file. Did you mean 'c.png'?" in said
    assert "line 2 (a.png) has label '0', line 5 (a.png) '1'" in said
    assert "1 row has no label: line 7 (C.png)" in said
    assert "1 file has no row: c.png" in said


def test_rows_without_a_file_or_a_label_are_left_out_if_asked(touch, table):
    touch("a.png", "b.png", "c.png")
    file = table("image,label\na.png,x\nb.png,\ngone.png,y\nc.png,y\na.png,x\n")
    found = describe(file, None, IMAGE, on_missing_label="skip", on_bad_file="skip")
    assert found.ids.tolist() == ["a.png", "c.png"]
    assert found.skipped == (
        ("b.png", "it has no label"),
        ("gone.png", "there is no such file"),
    )
    assert found.class_names == ("x", "y")
    assert found.notes == (
        "left out of 5 rows: 1 without a file (data.on_bad_file=skip)",
        "left out of 5 rows: 1 without a label (data.on_missing_label=skip)",
        "left out of 5 rows: 1 that repeat an earlier one",
    )
    refuses("1 row has no label", file, None, IMAGE, on_bad_file="skip")
    refuses("1 row has no file", file, None, IMAGE, on_missing_label="skip")


def test_many_faults_are_counted_and_the_first_listed(touch, table):
    touch("a.png")
    lines = [f"{n}.png,{n % 2}" for n in range(30)]
    said = refuses(
        "30 rows have no file", table("image,label\na.png,0\n" + "\n".join(lines)), None, IMAGE
    )
    assert "line 12 (9.png)" in said
    assert "line 13 (10.png)" not in said
    assert "and 20 more" in said


def test_a_root_that_is_one_folder_off_is_named(touch, table):
    root = touch("images/p1.png", "images/p2.png")
    file = table("image,label\np1.png,0\np2.png,1\n")
    refuses(f"They are found with data.root={root / 'images'}", file, None, IMAGE)
    assert len(describe(file, root / "images", IMAGE)) == 2
    refuses(r"data\.root: there is no folder .*none", file, root / "none", IMAGE)
    every = {"on_bad_file": "skip", "on_missing_label": "skip"}
    refuses("They are found with", file, None, IMAGE, **every)


def test_a_link_to_the_same_folder_is_no_second_item(touch, table):
    root = touch("real/a.png", "b.png")
    (root / "linked").symlink_to(root / "real")
    text = "image,label\nreal/a.png,0\nb.png,1\nlinked/a.png,"
    assert len(describe(table(text + "0\n"), None, IMAGE)) == 2
    refuses("line 2 .real/a.png. has label '0', line 4", table(text + "1\n"), None, IMAGE)


def test_several_points_of_one_file_are_items_with_ids(touch, table):
    touch("ct.nii.gz")
    file = table("image,label,id,x\nct.nii.gz,0,n1,10\nct.nii.gz,1,n2,20\n")
    columns = Columns(path="image", id="id", select=("x",))
    found = describe(file, None, columns)
    assert found.ids.tolist() == ["n1", "n2"]
    assert found.columns["x"].tolist() == ["10", "20"]
    columns = Columns(path="image", select=("x",))
    refuses(r"line 2 .*line 3 .*same id 'ct\.nii\.gz'.*data\.id", file, None, columns)
    refuses("line 2 .*has label '0', line 3", file, None, Columns(path="image", id="id"))


@pytest.mark.parametrize(
    ("header", "columns", "said"),
    [
        ("image,label", Columns(), r"data\.path: .*no column 'path'\. Files are named in 'image'"),
        ("path,lable", Columns(), "data.label: .*'label'. Did you mean 'lable'.*Columns: path"),
        ("path,label", Columns(group="patient"), "data.group: .*'patient'. Columns"),
        ("path,label", Columns(columns=("sex",)), "data.columns: .*'sex'"),
        ("path,label", Columns(select=("x",)), "data.crop: .*'x'"),
        ("path,label", Columns(label=()), "data.label needs one column or several"),
        ("path|label", Columns(), "Only one column was found, 'path.label'"),
    ],
)
def test_a_column_that_is_not_there_is_named_with_those_that_are(
    touch, table, header, columns, said
):
    touch("a.png", "b.png")
    file = table(f"{header}\na.png,0\nb.png,1\n".replace(",", "|" if "|" in header else ","))
    refuses(said, file, None, columns)


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        ("path,label,d\na.png,0,x\nb.png,1,\n", Columns(domain="d"), "'d' .data.domain. is empty"),
        ("path,label\n,0\nb.png,1\n", Columns(), "'path' .data.path. is empty in 1 of 2 rows"),
        ("path,label,i\na.png,0,x\nb.png,1,x\n", Columns(id="i"), "line 2 .*line 3 .*same id 'x'"),
        ("path,label,d\na.png,0,X\nb.png,1,x\n", Columns(domain="d"), "would be two domains"),
    ],
)
def test_columns_that_have_to_be_whole(touch, table, text, columns, said):
    touch("a.png", "b.png")
    refuses(said, table(text), None, columns)


def test_a_tree_is_described_as_a_table_is(touch):
    root = touch("Klinik/no/P1/a.png", "Klinik/yes/P2/b.png", "Spital/no/p1/c.png")
    levels = ("domain", "label", "group")
    found = describe(None, root, folders=levels)
    assert found.ids.tolist() == ["Klinik/no/P1/a.png", "Klinik/yes/P2/b.png", "Spital/no/p1/c.png"]
    assert found.labels.tolist() == [0, 1, 0]
    assert found.domains.tolist() == ["Klinik", "Klinik", "Spital"]
    assert found.groups.tolist() == ["P1", "P2", "P1"]
    scoped = describe(None, root, folders=levels, group_scope="domain")
    assert scoped.groups.tolist() == ["Klinik/P1", "Klinik/P2", "Spital/P1"]


def test_a_tree_of_splits_and_classes_in_two_normal_forms(touch):
    root = touch("train/O\u0308dem/a.png", "Valid/\u00d6dem/b.png", "test/no/c.png")
    found = describe(None, root, folders=("split", "label"))
    assert found.class_names == ("no", "\u00d6dem")
    assert dict(zip(found.ids.tolist(), found.splits.tolist(), strict=True)) == {
        "Valid/\u00d6dem/b.png": "val",
        "test/no/c.png": "test",
        "train/O\u0308dem/a.png": "train",
    }
    assert np.bincount(found.labels).tolist() == [1, 2]


def test_names_of_digits_and_marks_stay_as_they_are(touch):
    root = touch("01/0/a.png", "1/1/a.png", "1e3/10/a.png", 'b, "c" & d/2/a.png')
    found = describe(None, root, folders=("domain", "label"))
    assert set(found.domains.tolist()) == {"01", "1", "1e3", 'b, "c" & d'}
    assert found.class_names == ("0", "1", "2", "10")


def test_a_dead_link_stops_or_is_left_out(touch):
    root = touch("x/a.png", "y/b.png")
    (root / "x" / "gone.png").symlink_to(root / "nowhere")
    refuses("x/gone.png: it is a link that leads nowhere", None, root, folders=("label",))
    found = describe(None, root, folders=("label",), on_bad_file="skip")
    assert found.skipped == (("x/gone.png", "it is a link that leads nowhere"),)


def test_the_kind_of_data_set_has_to_be_clear(touch, table):
    root, file = touch("x/a.png"), table("path,label\na,0\n")
    refuses(r"data\.file is not set", None, root)
    refuses("Remove one of them", file, root, folders=("label",))
    refuses(r"data\.root is not set", None, None, folders=("label",))


def test_a_real_table_of_three_laboratories():
    file = REAL / "wbc3" / "labels.csv"
    if not file.is_file():
        pytest.skip(f"real data is absent: {file}")
    found = describe(file, None, Columns(path="image", domain="domain"))
    assert len(found) == 751
    names, counts = np.unique(found.domains, return_counts=True)
    assert dict(zip(names.tolist(), counts.tolist(), strict=True)) == {
        "bccd": 351,
        "cellavision": 100,
        "tecom": 300,
    }


def test_a_real_archive_of_nodules():
    file = REAL / "lidcshape3d.npz"
    if not file.is_file():
        pytest.skip(f"real data is absent: {file}")
    found = describe(file, None, Columns(label="labels", domain="domains", group="patients"))
    assert len(found) == 792
    assert len(set(found.groups.tolist())) == 502
    with np.load(file) as arrays:
        expected = np.concatenate([arrays[f"{s}_labels"] for s in ("train", "val", "test")])
        domains = np.concatenate([arrays[f"{s}_domains"] for s in ("train", "val", "test")])
        names = arrays["domain_names"][domains]
    assert np.array_equal(found.labels, expected[:, 0])
    assert np.array_equal(found.domains, names)
