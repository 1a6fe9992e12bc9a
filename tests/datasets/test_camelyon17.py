"""Camelyon17: the same rows and pixels as WILDS' own loader, and every fault named beforehand."""

import csv
import shutil
import sys
import warnings

import numpy as np
import pytest
from PIL import Image

from medldr.data import check_table, count_rows, load_table
from medldr.data.hashes import changed_columns, hash_parts, hash_table
from medldr.data.splits.make import make_splits, selection_split
from medldr.datasets import camelyon17
from medldr.datasets._camelyon17 import published
from medldr.errors import InputError


def config(root, **keys):
    return camelyon17.Config(root=root, packed="off", **keys)


def read_csv(folder):
    with (folder / "camelyon17_v1.0" / "metadata.csv").open(newline="") as file:
        return list(csv.reader(file))


def write_csv(folder, rows):
    with (folder / "camelyon17_v1.0" / "metadata.csv").open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows(rows)


def change_column(folder, column, change):
    head, *body = read_csv(folder)
    place = head.index(column)
    for number, row in enumerate(body):
        row[place] = change(number, row[place])
    write_csv(folder, [head, *body])


def examine(section):
    return camelyon17.examine(section, lambda item, pixels: None)


def patches(folder):
    return sorted((folder / "camelyon17_v1.0").rglob("*.png"))


# ---------------------------------------------------------------- the table


@pytest.fixture
def original(camelyon17_folder, monkeypatch):
    """WILDS' own data set of a scheme, opened without its version check."""

    def open_(scheme):
        with monkeypatch.context() as patch, warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
            patch.setitem(sys.modules, "outdated", None)
            from wilds.datasets.camelyon17_dataset import Camelyon17Dataset

            return Camelyon17Dataset(root_dir=str(camelyon17_folder), split_scheme=scheme)

    return open_


@pytest.mark.parametrize("scheme", ["official", "mixed-to-test"])
def test_rows_labels_splits_and_pixels_are_those_of_wilds(scheme, original, camelyon17_folder):
    theirs, table = (
        original(scheme),
        camelyon17.load(config(camelyon17_folder, split_scheme=scheme)),
    )
    assert len(table) == len(theirs) == 60
    for split in ("train", "id_val", "val", "test"):
        subset = theirs.get_subset(split)
        rows = np.flatnonzero(table.splits == split)
        assert np.array_equal(rows, subset.indices)
        assert np.array_equal(table.labels[rows], subset.y_array.numpy())
        hospital, slide = subset.metadata_array[:, :2].T.tolist()
        assert table.domains[rows].tolist() == [f"hospital_{n}" for n in hospital]
        assert table.groups[rows].tolist() == [f"slide_{n:02d}" for n in slide]
    for row in range(0, 60, 7):
        theirs_hwc = np.asarray(theirs.get_input(row))
        assert np.array_equal(table.images[row].transpose(1, 2, 0), theirs_hwc)


def test_a_table_says_what_camelyon17_is(camelyon17_folder):
    table = load_table(config(camelyon17_folder))
    assert (table.name, table.task, table.class_names) == (
        "camelyon17",
        "binary",
        ("normal", "tumor"),
    )
    assert table.images.shape == (60, 3, 96, 96)
    assert table.ids[0] == "patch_patient_004_node_0_x_224_y_64"
    assert len(set(table.ids.tolist())) == 60
    assert sorted(set(table.domains.tolist())) == [f"hospital_{n}" for n in range(5)]
    assert {"slide_00", "slide_23"} <= set(table.groups.tolist())
    notes = " ".join(table.notes)
    for text in ("hospitals 0, 3, 4", "hospital 1 (val)", "hospital 2 (test)", "60 of the 455,954"):
        assert text in notes


def test_hospitals_have_their_roles_whatever_the_file_says(camelyon17_folder):
    change_column(camelyon17_folder, "split", lambda number, _: str(number // 10 % 2))
    table = camelyon17.load(config(camelyon17_folder))
    found = {(r["split"], r["domain"]) for r in count_rows(table)}
    assert found == {
        *((split, f"hospital_{n}") for split in ("train", "id_val") for n in (0, 3, 4)),
        ("val", "hospital_1"),
        ("test", "hospital_2"),
    }


def test_mixed_to_test_moves_slide_23_and_says_so(camelyon17_folder):
    table = camelyon17.load(config(camelyon17_folder, split_scheme="mixed-to-test"))
    assert set(table.splits[table.groups == "slide_23"].tolist()) == {"train"}
    assert set(table.groups[table.splits == "test"].tolist()) == {"slide_20"}
    assert table.name != "camelyon17"
    assert any("sees the test hospital" in note for note in table.notes)


def test_val_selects_and_slides_shared_with_id_val_are_a_note(camelyon17_folder):
    section = config(camelyon17_folder)
    rows, notes = make_splits(camelyon17.load(section), section)
    assert {name: len(r) for name, r in rows.items()} == {
        "train": 24,
        "id_val": 12,
        "val": 12,
        "test": 12,
    }
    assert selection_split(rows) == "val"
    assert any("6 groups are in train and id_val" in note for note in notes)


def test_equal_data_has_equal_hashes_wherever_it_lies(camelyon17_folder, tmp_path):
    moved = tmp_path / "elsewhere" / "renamed"
    shutil.copytree(camelyon17_folder / "camelyon17_v1.0", moved)
    here, there = camelyon17.load(config(camelyon17_folder)), camelyon17.load(config(moved))
    assert here.hashes == there.hashes
    Image.new("RGB", (96, 96), (1, 2, 3)).save(sorted(moved.rglob("*.png"))[5])
    changed = camelyon17.load(config(moved))
    assert changed.hashes["metadata.csv"] == here.hashes["metadata.csv"]
    assert changed.hashes["patches"] != here.hashes["patches"]


def test_the_published_counts_add_up():
    counts = published.COUNTS
    assert sum(n for (split, _), n in counts.items() if split == "train") == 302_436
    assert sum(n for (split, _), n in counts.items() if split == "id_val") == 33_560
    assert counts["val", 1] == 34_904
    assert counts["test", 2] == 85_054
    assert sum(counts.values()) == published.TOTAL == 455_954
    assert {hospital for split, hospital in counts if split == "train"} == {0, 3, 4}


# ---------------------------------------------------------------- where it is


@pytest.mark.parametrize("inner", [False, True])
def test_the_root_is_the_folder_or_the_one_that_holds_it(camelyon17_folder, inner):
    root = camelyon17_folder / "camelyon17_v1.0" if inner else camelyon17_folder
    assert len(camelyon17.load(config(root))) == 60
    assert str(camelyon17_folder) in camelyon17.present(config(root))
    camelyon17.require(config(root))


def test_an_absent_folder_is_told_with_address_place_and_layout(tmp_path):
    assert "missing" in camelyon17.present(config(tmp_path))
    for ask in (camelyon17.load, camelyon17.require, examine):
        with pytest.raises(InputError) as told:
            ask(config(tmp_path / "nowhere"))
        for word in ("https://", "nowhere", "data.root", "data.download=true", "patient_004"):
            assert word in str(told.value)
    camelyon17.require(config(tmp_path / "nowhere", download=True))


def test_a_root_that_is_no_folder_is_told_as_what_it_is(tmp_path):
    (tmp_path / "archive").touch()
    with pytest.raises(InputError, match=r"Found a file: .*archive"):
        camelyon17.load(config(tmp_path / "archive"))
    with pytest.raises(InputError, match=r"Found no such folder: .*nowhere"):
        camelyon17.load(config(tmp_path / "nowhere"))
    (tmp_path / "root").mkdir()
    (tmp_path / "root" / ".camelyon17_v1.0.lock").touch()
    with pytest.raises(InputError, match=r"Found nothing in"):
        camelyon17.load(config(tmp_path / "root"))


def test_hospital_folders_in_place_of_patches_are_told_with_the_layout(camelyon17_folder):
    folder = camelyon17_folder / "camelyon17_v1.0"
    (folder / "patches").rename(folder / "hospital_0")
    with pytest.raises(InputError, match=r"no patches/.*Found in .*hospital_0/") as told:
        camelyon17.load(config(camelyon17_folder))
    assert "patches/patient_004_node_4/patch_patient_004_node_4_x_3328_y_21792.png" in str(
        told.value
    )
    (folder / "metadata.csv").unlink()
    with pytest.raises(InputError, match=r"camelyon17_v1\.0.*no metadata\.csv"):
        camelyon17.load(config(camelyon17_folder))


def test_a_folder_that_may_not_be_read_is_named(camelyon17_folder, monkeypatch):
    def closed(self):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr("pathlib.Path.iterdir", closed)
    with pytest.raises(InputError, match=r"camelyon17_v1\.0 cannot be read: Permission denied"):
        camelyon17.load(config(camelyon17_folder))


# ---------------------------------------------------------------- metadata.csv


@pytest.mark.parametrize("column", ["patient", "center"])
def test_a_missing_column_is_named(camelyon17_folder, column):
    head, *body = read_csv(camelyon17_folder)
    place = head.index(column)
    write_csv(camelyon17_folder, [row[:place] + row[place + 1 :] for row in (head, *body)])
    with pytest.raises(InputError, match=rf"metadata\.csv lacks the column {column}\. It has"):
        camelyon17.load(config(camelyon17_folder))


@pytest.mark.parametrize(
    ("column", "value", "needed"),
    [
        ("tumor", "", "0 or 1"),
        ("center", "5", "0 to 4"),
        ("slide", "nan", "a whole number"),
        ("slide", "9" * 20, "a whole number"),
        ("x_coord", "-3", "a whole number"),
        ("patient", "p4", "as in 004"),
    ],
)
def test_a_value_that_cannot_be_is_named_with_its_row(camelyon17_folder, column, value, needed):
    change_column(camelyon17_folder, column, lambda n, old: value if n in (4, 9) else old)
    with pytest.raises(InputError) as told:
        camelyon17.load(config(camelyon17_folder))
    assert f"column {column} holds 2 invalid value(s)" in str(told.value)
    assert f"{value!r} (row 4)" in str(told.value)
    assert needed in str(told.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda rows: [row[1:] for row in rows], "unnamed column that counts the rows"),
        (lambda rows: rows[:1], "no rows"),
        (lambda rows: [], "cannot be read as a CSV file"),
        (
            lambda rows: [*rows[:5], rows[5][:4], *rows[6:]],
            "column y_coord holds 1 invalid value(s), for example '' (row 4)",
        ),
        (lambda rows: [*rows, ["60", *rows[3][1:]]], "rows 2 and 60 list the same patch"),
    ],
)
def test_a_broken_metadata_file_is_named(camelyon17_folder, change, said):
    write_csv(camelyon17_folder, change(read_csv(camelyon17_folder)))
    with pytest.raises(InputError) as told:
        camelyon17.load(config(camelyon17_folder))
    assert "metadata.csv" in str(told.value)
    assert said in str(told.value)


@pytest.mark.parametrize(
    ("hospital", "said"),
    [
        ("2", r"test hospital 2: 0 rows; hospitals found: \{0: 12, 1: 12, 3: 12, 4: 12\}"),
        ("1", r"val hospital 1: 0 rows; hospitals found: \{0: 12, 2: 12, 3: 12, 4: 12\}"),
        ("4", r"train hospital 4: 0 rows; hospitals found: \{0: 12, 1: 12, 2: 12, 3: 12\}"),
    ],
)
def test_a_hospital_without_rows_is_told_with_what_was_found(camelyon17_folder, hospital, said):
    head, *body = read_csv(camelyon17_folder)
    write_csv(camelyon17_folder, [head, *(r for r in body if r[head.index("center")] != hospital)])
    with pytest.raises(InputError, match=said):
        camelyon17.load(config(camelyon17_folder))


def test_a_training_hospital_without_validation_patches_is_a_note(camelyon17_folder):
    centers = [row[7] for row in read_csv(camelyon17_folder)[1:]]
    change_column(
        camelyon17_folder, "split", lambda n, old: "0" if centers[n] in ("0", "3") else old
    )
    notes = camelyon17.load(config(camelyon17_folder)).notes
    assert any("id_val has no patches of hospital 0, 3:" in note for note in notes)


def test_mixed_to_test_needs_slide_23(camelyon17_folder):
    head, *body = read_csv(camelyon17_folder)
    write_csv(camelyon17_folder, [head, *(r for r in body if r[head.index("slide")] != "23")])
    assert len(camelyon17.load(config(camelyon17_folder))) == 54
    with pytest.raises(InputError, match=r"slide 23: 0 rows.*split_scheme=official"):
        camelyon17.load(config(camelyon17_folder, split_scheme="mixed-to-test"))


# ---------------------------------------------------------------- patches that are not whole


def spoil(folder):
    """One patch absent, one cut off, one of another size, one no picture."""
    absent, cut, small, text = patches(folder)[3:40:10]
    absent.unlink()
    cut.write_bytes(cut.read_bytes()[:900])
    Image.new("RGB", (32, 96)).save(small)
    text.write_text("no picture at all")
    return absent, cut, small, text


def test_bad_patches_are_counted_and_named_before_anything_else(camelyon17_folder):
    absent, cut, *_ = spoil(camelyon17_folder)
    with pytest.raises(InputError) as told:
        camelyon17.load(config(camelyon17_folder))
    text = str(told.value)
    assert "1 of the 60 patches listed in metadata.csv are missing" in text
    assert "3 of the 60 patches listed in metadata.csv cannot be used" in text
    for word in (absent.name, cut.name, "truncated", "96 x 32 pixels, not 96 x 96", "not a PNG"):
        assert word in text
    assert "data.on_bad_file=skip" in text


def test_bad_patches_can_be_left_out_and_are_listed(camelyon17_folder):
    whole = camelyon17.load(config(camelyon17_folder))
    spoilt = {path.stem for path in spoil(camelyon17_folder)}
    table = camelyon17.load(config(camelyon17_folder, on_bad_file="skip"))
    assert set(whole.ids.tolist()) - set(table.ids.tolist()) == spoilt
    assert {file.path.rpartition("/")[2].removesuffix(".png") for file in table.bad_files} == spoilt
    assert any("4 of 60 patches were left out" in note for note in table.notes)
    assert table.hashes["patches"] != whole.hashes["patches"]
    for row, name in enumerate(table.ids.tolist()):
        before = int(np.flatnonzero(whole.ids == name)[0])
        assert table.labels[row] == whole.labels[before]
        assert table.groups[row] == whole.groups[before]
        assert np.array_equal(table.images[row], whole.images[before])


def test_a_second_start_decodes_no_patch_and_knows_what_looks_alike(camelyon17_folder, monkeypatch):
    first, second, third, *_ = patches(camelyon17_folder)
    second.write_bytes(first.read_bytes())
    Image.new("RGB", (96, 96), (9, 9, 9)).save(third)
    found = check_table(camelyon17.load(config(camelyon17_folder)))
    assert any(f"1 constant train image: {third.stem}" in text for text in found)
    assert any(f"{first.stem} " in text and f"{second.stem} " in text for text in found)

    def decoded(*_, **__):
        raise AssertionError("a patch was decoded")

    for name in ("whole", "decode"):
        monkeypatch.setattr("medldr.data.reading.pictures." + name, decoded)
    assert check_table(camelyon17.load(config(camelyon17_folder))) == found


# ---------------------------------------------------------------- what `data check` compares


def test_examining_counts_usable_patches_beside_the_published_ones(camelyon17_folder):
    found = examine(config(camelyon17_folder))
    assert found["missing"] == found["unreadable"] == found["extra"] == []
    counts = {(c["split"], c["domain"]): (c["found"], c["published"]) for c in found["counts"]}
    assert counts["train", "hospital_0"] == (8, 53_425)
    assert counts["test", "hospital_2"] == (12, 85_054)
    assert sum(n for n, _ in counts.values()) == 60
    assert sum(n for _, n in counts.values()) == 455_954


def test_examining_decodes_every_patch_and_lists_what_is_too_much(camelyon17_folder):
    victim = patches(camelyon17_folder)[20]
    content = bytearray(victim.read_bytes())
    content[len(content) // 2] ^= 0xFF  # first bytes, last bytes and size stay as they were
    victim.write_bytes(content)
    (victim.parent / "notes.txt").touch()
    with pytest.raises(InputError, match=victim.name):  # before training, too
        camelyon17.load(config(camelyon17_folder))
    found = examine(config(camelyon17_folder))
    ((path, reason),) = found["unreadable"]
    assert path.endswith(victim.name)
    assert "unreadable" in reason
    assert [name.rpartition("/")[2] for name in found["extra"]] == ["notes.txt"]


def test_examining_shows_each_patch_by_its_id(camelyon17_folder):
    spoilt = {path.stem for path in spoil(camelyon17_folder)}
    shown = {}
    camelyon17.examine(config(camelyon17_folder), shown.__setitem__)
    table = camelyon17.load(config(camelyon17_folder, on_bad_file="skip"))
    assert set(shown) == set(table.ids.tolist())
    assert not spoilt & set(shown)
    for row in range(0, len(table), 9):
        assert np.array_equal(shown[table.ids[row]], table.images[row])


# ---------------------------------------------------------------- packages and runs


def test_without_wilds_an_error_says_what_to_install(camelyon17_folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "wilds", None)
    for ask in (camelyon17.load, camelyon17.require, examine):
        with pytest.raises(InputError, match="pip install wilds"):
            ask(config(camelyon17_folder))
    assert "in " in camelyon17.present(config(camelyon17_folder))


def test_a_wilds_that_lacks_a_package_is_told(camelyon17_folder, monkeypatch):
    for name in [name for name in sys.modules if name.partition(".")[0] == "wilds"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "wilds.common.grouper", None)
    with pytest.raises(InputError, match=r"'wilds' cannot be imported: .*grouper"):
        camelyon17.load(config(camelyon17_folder))


def contract_files(root, request):
    """A small folder for the contract tests."""
    request.getfixturevalue("write_camelyon17")(root)


def test_patches_of_equal_bytes_that_changed_places_are_other_data(camelyon17_folder):
    patches = sorted((camelyon17_folder / "camelyon17_v1.0" / "patches").rglob("*.png"))[:2]
    longest = max(path.stat().st_size for path in patches)
    for path in patches:
        path.write_bytes(path.read_bytes().ljust(longest, b"\0"))
    before = load_table(config(camelyon17_folder))
    rows = {"train": np.arange(len(before))}
    contents = [path.read_bytes() for path in patches]
    for path, content in zip(patches, contents[::-1], strict=True):
        path.write_bytes(content)
    after = load_table(config(camelyon17_folder))
    assert hash_table(after) == hash_table(before)  # names and lengths
    changed = changed_columns(hash_parts(after, rows), hash_parts(before, rows))
    assert changed == {"training": ["images"]}
