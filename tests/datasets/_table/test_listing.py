"""Data sets by their text: tables and trees as users have them, faults in one message."""

from pathlib import Path

import numpy as np
import pytest

from medldr.data.files.config import CropConfig
from medldr.datasets.table import Config, list_items
from medldr.errors import InputError

REAL = Path(__file__).parents[4] / "shared" / "data"


@pytest.fixture
def refuses(listed):
    def run(said, *args, **keys):
        with pytest.raises(InputError, match=f"(?s){said}") as caught:
            listed(*args, **keys)
        return str(caught.value)

    return run


def columns_of(found):
    return found.domains.tolist(), found.groups.tolist(), found.splits.tolist()


def test_a_table_is_listed_row_by_row(listed, tmp_path):
    found = listed(
        ["a/1.png", "a/2.png", "b/3.nii.gz"],
        "path,dx,hospital,patient,part,sex,age\n"
        "a/2.png,benign,Köln,P1,Train,F,061\n"
        "a/1.png,malignant,Köln,p1 ,training,,NA\n"
        "b/3.nii.gz,benign,Bonn,P2,dev,M,7\n",
        label="dx", domain="hospital", group="patient", split="part", columns=["sex", "age"],
    )  # fmt: skip
    assert len(found) == 3
    assert found.ids.tolist() == ["a/2.png", "a/1.png", "b/3.nii.gz"]
    assert [one.path for one in found.sources] == [tmp_path / "files" / name for name in found.ids]
    assert found.class_names == ("benign", "malignant")
    assert found.labels.tolist() == [0, 1, 0]
    assert columns_of(found) == (
        ["Köln", "Köln", "Bonn"], ["P1", "P1", "P2"], ["train", "train", "val"]
    )  # fmt: skip
    assert {name: column.tolist() for name, column in found.columns.items()} == {
        "sex": ["F", "", "M"],
        "age": ["061", "NA", "7"],
    }
    assert found.skipped == ()
    assert found.take(np.array([2])).sources == found.sources[2:]


def test_a_table_without_domains_groups_and_splits_has_empty_ones(listed):
    found = listed(["1.png", "2.png"], "path;label;part\n1.png;0;\n2.png;1;\n", split="part")
    assert columns_of(found) == (["", ""],) * 3


def test_all_faults_are_in_one_message_by_kind(refuses):
    text = "path,label\na.png,0\nb.png,1\nmissing.png,1\na.png,1\n./b.png,1\nC.png,\n"
    said = refuses("cannot be used as it is", ["a.png", "b.png", "c.png"], text)
    assert "2 rows have no file" in said
    assert "line 4 (missing.png): there is no such file" in said
    assert "line 7 (C.png): there is no such file. Did you mean 'c.png'?" in said
    assert "line 2 (a.png) has label '0', line 5 (a.png) '1'" in said
    assert "1 row has no label: line 7 (C.png)" in said
    assert "1 file has no row: c.png" in said


def test_rows_without_a_file_or_a_label_are_left_out_if_asked(listed, refuses):
    files = ["a.png", "b.png", "c.png"]
    text = "path,label,name\na.png,x,1\nb.png,,2\ngone.png,y,3\nc.png,y,4\na.png,x,1\n"
    skip = {"on_missing_label": "skip", "on_bad_file": "skip"}
    found = listed(files, text, **skip)
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
    # By their ids, by which a manifest of splits knows them.
    assert [one.path for one in listed(files, text, id="name", **skip).skipped] == ["2", "3"]
    refuses("1 row has no label", files, text, on_bad_file="skip")
    refuses("1 row has no file", files, text, on_missing_label="skip")
    refuses("2 rows have no label", files, "path,label\na.png,\nb.png,\n", **skip)


def test_many_faults_are_counted_and_the_first_listed(refuses):
    lines = "\n".join(f"{n}.png,{n % 2}" for n in range(30))
    said = refuses("30 rows have no file", ["a.png"], "path,label\na.png,0\n" + lines)
    assert "line 8 (5.png)" in said
    assert "line 9 (6.png)" not in said
    assert "and 24 more" in said


def test_a_root_that_is_one_folder_off_is_named(listed, refuses, tmp_path):
    root = tmp_path / "files"
    given = ["images/p1.png", "images/p2.png"], "path,label\np1.png,0\np2.png,1\n"
    refuses(f"They are found with data.root={root / 'images'}", *given)
    assert len(listed(*given, root=root / "images")) == 2
    refuses(r"data\.root: there is no folder .*none", *given, root=root / "none")
    refuses("They are found with", *given, on_bad_file="skip")


def test_a_link_to_the_same_folder_is_no_second_item(listed, refuses, tmp_path):
    (tmp_path / "files" / "real").mkdir(parents=True)
    (tmp_path / "files" / "linked").symlink_to(tmp_path / "files" / "real")
    text = "path,label\nreal/a.png,0\nb.png,1\nlinked/a.png,"
    assert len(listed(["real/a.png", "b.png"], text + "0\n")) == 2
    refuses("line 2 .real/a.png. has label '0', line 4", [], text + "1\n")


def test_several_points_of_one_file_are_items_with_ids(listed, refuses):
    files, text = ["ct.nii.gz"], "path,label,id,x,y\nct.nii.gz,0,n1,10,1\nct.nii.gz,1,n2,20,2\n"
    crop = CropConfig(point=("x", "y"), size=(3, 3))
    found = listed(files, text, id="id", crop=crop)
    assert found.ids.tolist() == ["n1", "n2"]
    assert [one.point for one in found.sources] == [(10, 1), (20, 2)]
    assert not found.columns
    refuses(r"line 2 .*line 3 .*same id 'ct\.nii\.gz'.*data\.id", files, text, crop=crop)
    refuses("line 2 .*has label '0', line 3", files, text, id="id")
    for cell, said in (("", "column 'x' is empty in 1 of 2 rows, such as that of n1"),
                       ("nan", "nan, 1 of n1 are not all numbers")):  # fmt: skip
        refuses(said, files, text.replace("n1,10", f"n1,{cell}"), id="id", crop=crop)


@pytest.mark.parametrize(
    ("text", "keys", "said"),
    [
        ("image,label", {}, r"data\.path: .*no column 'path'\. Files are named in 'image'"),
        ("path,lable", {}, "data.label: .*'label'. Did you mean 'lable'.*Columns: path"),
        ("path,label", {"group": "patient"}, "data.group: .*'patient'. Columns"),
        ("path,label", {"columns": ["sex"]}, "data.columns: .*'sex'"),
        ("path,label", {"crop": CropConfig(mask="x")}, "data.crop: .*'x'"),
        ("path,label", {"label": ()}, "data.label needs one column or several"),
        ("path|label", {}, "Only one column was found, 'path.label'"),
        ("path,label,d\na.png,0,x\nb.png,1,\n", {"domain": "d"}, "'d' .data.domain. is empty"),
        ("path,label\n,0\nb.png,1\n", {}, "'path' .data.path. is empty in 1 of 2 rows"),
        ("path,label,i\na.png,0,x\nb.png,1,x\n", {"id": "i"}, "line 2 .*line 3 .*same id 'x'"),
        ("path,label,d\na.png,0,X\nb.png,1,x\n", {"domain": "d"}, "would be two domains"),
        ("path,label\na.png,0\nb.png,1\n", {"group_pattern": "(b)"}, r"1 of 2 paths: line 2 \(a"),
    ],
)
def test_columns_that_are_absent_or_have_gaps_are_named(refuses, text, keys, said):
    if "\n" not in text:
        text += "\na.png,0\nb.png,1\n".replace(",", "|" if "|" in text else ",")
    refuses(said, ["a.png", "b.png"], text, **keys)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["train", ""], r"1 row names no split: line 3 \(b.png\).*data.split unset"),
        (["train", "tset"], r"'tset' is no split: line 3 .*Write one of train, "),
        (["train", "Holdout"], "'Holdout' is no split: line 3"),
        (["0", "1"], "'0' is the number of a fold: .*'1' is .*medldr data split"),
        (["fold_1", "fold2"], "'fold_1' is the number of a fold"),
        (["train", "1"], "'1' is the number of a fold"),
    ],
)
def test_unclear_splits_are_refused(refuses, words, said):
    text = "path,label,part\na.png,0,{}\nb.png,1,{}\n".format(*words)
    refuses(said, ["a.png", "b.png"], text, split="part")


def test_groups_come_from_a_column_or_the_path(listed):
    files = ["a/P1_0.png", "b/p1_1.png"]
    text = "path,label,site,patient\na/P1_0.png,0,x,P1\nb/p1_1.png,1,y,\n"
    pattern = {"group_pattern": r"([Pp]\d+)_"}
    found = listed(files, text, **pattern)
    assert found.groups.tolist() == ["P1", "P1"]
    assert "1 group is written in several ways" in found.notes[0]
    found = listed(files, text, domain="site", group_scope="domain", **pattern)
    assert found.groups.tolist() == ["x/P1", "y/P1"]
    found = listed(files, text, domain="site", group="patient", group_scope="domain")
    assert found.groups.tolist() == ["x/P1", ""]
    assert found.notes == ("1 of 2 rows have no group (line 3): each counts as a group of its own",)


def test_a_tree_is_listed_as_a_table_is(listed):
    files = ["Klinik/no/P1/a.png", "Klinik/yes/P2/b.png", "Spital/no/p1/c.png"]
    levels = ("domain", "label", "group")
    found = listed(files, folders=levels)
    assert found.ids.tolist() == files
    assert found.labels.tolist() == [0, 1, 0]
    assert columns_of(found) == (["Klinik", "Klinik", "Spital"], ["P1", "P2", "P1"], [""] * 3)
    scoped = listed(files, folders=levels, group_scope="domain")
    assert scoped.groups.tolist() == ["Klinik/P1", "Klinik/P2", "Spital/P1"]


def test_a_tree_of_splits_and_classes_in_two_normal_forms(listed):
    splits = {
        "Valid/\u00d6dem/b.png": "val", "test/no/c.png": "test", "train/O\u0308dem/a.png": "train"
    }  # fmt: skip
    found = listed(list(splits), folders=("split", "label"))
    assert found.class_names == ("no", "\u00d6dem")
    assert dict(zip(found.ids.tolist(), found.splits.tolist(), strict=True)) == splits
    assert np.bincount(found.labels).tolist() == [1, 2]


def test_names_of_digits_and_marks_stay_as_they_are(listed):
    files = ["01/0/a.png", "1/1/a.png", "1e3/10/a.png", 'b, "c" & d/2/a.png']
    found = listed(files, folders=("domain", "label"))
    assert set(found.domains.tolist()) == {"01", "1", "1e3", 'b, "c" & d'}
    assert found.class_names == ("0", "1", "2", "10")


def test_a_dead_link_stops_or_is_left_out(listed, refuses, tmp_path):
    (tmp_path / "files" / "x").mkdir(parents=True)
    (tmp_path / "files" / "x" / "gone.png").symlink_to(tmp_path / "nowhere")
    files = ["x/a.png", "y/b.png"]
    refuses("x/gone.png: it is a link that leads nowhere", files, folders=("label",))
    found = listed(files, folders=("label",), on_bad_file="skip")
    assert found.skipped == (("x/gone.png", "it is a link that leads nowhere"),)


def test_the_kind_of_data_set_has_to_be_clear(refuses):
    refuses(r"data\.file is not set", ["x/a.png"])
    refuses("Remove one of them", ["x/a.png"], "path,label\na,0\n", folders=("label",))
    refuses(r"data\.root is not set", [], root=None, folders=("label",))


def test_a_real_table_of_three_laboratories():
    file = REAL / "wbc3" / "labels.csv"
    if not file.is_file():
        pytest.skip(f"real data is absent: {file}")
    found = list_items(Config(file=file, path="image", domain="domain"))
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
    found = list_items(Config(file=file, label="labels", domain="domains", group="patients"))
    assert len(found) == 792
    assert len(set(found.groups.tolist())) == 502
    with np.load(file) as arrays:
        expected = np.concatenate([arrays[f"{s}_labels"] for s in ("train", "val", "test")])
        domains = np.concatenate([arrays[f"{s}_domains"] for s in ("train", "val", "test")])
        names = arrays["domain_names"][domains]
    assert np.array_equal(found.labels, expected[:, 0])
    assert np.array_equal(found.domains, names)
