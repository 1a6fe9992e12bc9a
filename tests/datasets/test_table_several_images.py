"""Tables with several images per item: channels, views, missing ones, and what identifies them."""

import csv

import nibabel
import numpy as np
import pytest
from PIL import Image
from pydantic import ValidationError

from medldr.data.checks.missing_images import missing_images
from medldr.data.checks.table_checks import count_rows
from medldr.data.checks.windows import unlike_windows
from medldr.data.hashes import hash_table
from medldr.data.inspection import inspect_table
from medldr.datasets.table import Config, load
from medldr.errors import InputError
from medldr.reporting.pages.data_check import data_check_page

NUMBERS = range(8)


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Volumes of T2 and ADC, ADC on a coarser grid, and pictures from two sides."""
    monkeypatch.setenv("MEDLDR_CACHE", str(tmp_path / "cache"))
    random = np.random.default_rng(0)
    rows = []
    for n in NUMBERS:
        for name, shape, mm in (("t2w", (8, 8, 6), 1.0), ("adc", (4, 4, 3), 2.0)):
            values = random.normal(100, 20, shape).astype(np.float32)
            affine = np.diag([mm, mm, mm, 1.0])
            nibabel.save(nibabel.Nifti1Image(values, affine), tmp_path / f"p{n}_{name}.nii.gz")
        for name in ("front", "side"):
            pixels = random.integers(0, 255, (9, 9), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / f"p{n}_{name}.png")
        rows.append({"label": "ab"[n % 2], "patient": f"p{n}"})
        rows[-1] |= {name: f"p{n}_{name}.nii.gz" for name in ("t2w", "adc")}
        rows[-1] |= {name: f"p{n}_{name}.png" for name in ("front", "side")}
    _write(tmp_path, rows)
    return tmp_path, rows


def _write(folder, rows):
    with (folder / "study.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _load(folder, path, **keys):
    given = {"group": "patient", "cache": "memory", **keys}
    return load(Config(name="table", file=folder / "study.csv", path=path, **given))


def test_volumes_become_channels_on_the_grid_of_the_first(study):
    folder, _ = study
    table = _load(folder, ["t2w", "adc"])
    assert table.images.shape == (8, 2, 8, 8, 6)
    assert (table.combined.combine, table.combined.views) == ("channels", 1)
    assert any("adc: 8 of 8 were resampled" in note for note in table.notes)
    alone = _load(folder, "t2w")
    np.testing.assert_array_equal(table.images[:, :1], alone.images[:])
    assert _load(folder, ["adc", "t2w"]).images.shape == (8, 2, 4, 4, 3)


def test_pictures_become_views_and_stay_as_each_is_alone(study):
    folder, _ = study
    table = _load(folder, ["front", "side"])
    assert (table.combined.views, table.images.dtype) == (2, np.uint8)
    for place, name in enumerate(("front", "side")):
        np.testing.assert_array_equal(table.images[:, place], _load(folder, name).images[:, 0])
    assert _load(folder, ["front", "side"], combine="channels").combined.views == 1


def test_each_column_is_scaled_by_its_own_window(study):
    folder, _ = study
    table = _load(folder, ["t2w", "adc"], window={"adc": (0.0, 200.0)})
    np.testing.assert_array_equal(table.images[:, :1], _load(folder, "t2w").images[:])
    assert table.combined.windows == ("auto", (0.0, 200.0))
    assert np.median(table.images[:, 1]) == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("text", ["adc:[0,200]", "{adc: [0,200]}"])
def test_a_window_of_one_column_that_is_written_as_text_says_how(text):
    with pytest.raises(ValidationError, match=r"\{adc: \[0,200\]\}.*data\.window\.adc=\[0,200\]"):
        Config(file="study.csv", path=["t2w", "adc"], window=text)


def test_the_page_of_a_check_shows_each_image_of_an_item(study):
    table = _load(study[0], ["t2w", "adc"])
    page = data_check_page(inspect_table(table, {}, {}, None), (), {"any"})
    shown = next(part for part in page.sections if part.anchor == "pictures").blocks[1].pictures
    assert len(shown) == 2 * len(table)
    assert [one.lines for one in shown[:2]] == [["a, t2w"], ["a, adc"]]
    assert shown[0].png != shown[1].png


@pytest.mark.parametrize("gone", [("adc",), ("t2w",)])
def test_an_item_without_an_image_stops_is_dropped_or_gets_zeros_and_a_flag(study, gone):
    folder, rows = study
    for row in (1, 4):
        rows[row] |= dict.fromkeys(gone, "")
    _write(folder, rows)
    with pytest.raises(InputError) as refused:
        _load(folder, ["t2w", "adc"])
    for word in ("2 rows lack an image", f"no {gone[0]}", "data.on_missing"):
        assert word in str(refused.value)
    assert len(_load(folder, ["t2w", "adc"], on_missing="drop")) == 6
    table = _load(folder, ["t2w", "adc"], on_missing="zeros", size=4)
    place = ("t2w", "adc").index(gone[0])
    assert not table.images[1, place].any()
    assert table.images[1, 1 - place].any()
    flags = [gone[0] if n in (1, 4) else "none" for n in NUMBERS]
    assert table.metadata["missing"].tolist() == flags
    assert any(f"{gone[0]}: missing in 2 of 8 items" in note for note in table.notes)


def test_where_images_are_missing_is_counted_by_split_and_domain(study):
    folder, rows = study
    for n, row in enumerate(rows):
        row |= {"site": ("north", "south")[n // 4], "part": ("train", "test")[n % 2]}
        row |= {"adc": ""} if n in (1, 4, 6) else {}
    _write(folder, rows)
    keys = {"domain": "site", "split": "part"}
    table = _load(folder, ["t2w", "adc"], on_missing="zeros", **keys)
    splits = {name: np.flatnonzero(table.splits == name) for name in ("train", "test")}
    (note,) = missing_images(table, splits)
    assert note.endswith("adc is missing: 2 of 4 in train (south 2); 1 of 4 in test (north 1)")
    counts = {(one["split"], one["domain"]): one["missing"] for one in count_rows(table)}
    assert counts == {("train", "north"): 0, ("train", "south"): 2,
                      ("test", "north"): 1, ("test", "south"): 0}  # fmt: skip
    dropped = _load(folder, ["t2w", "adc"], on_missing="drop", **keys)
    assert any("no adc in 3 (test north 1, train south 2)" in note for note in dropped.notes)
    assert not list(missing_images(dropped, {"train": np.arange(len(dropped))}))


def test_domains_that_are_scaled_unlike_each_other_are_found_column_by_column(study, write_series):
    folder, rows = study
    for n, row in enumerate(rows):
        for name, modality in (("ct", "CT"), ("other", "CT" if n < 4 else "MR")):
            values = np.random.default_rng(n).integers(0, 99, (6, 6, 4)).astype(np.uint16)
            write_series(folder / f"{name}{n}", values, PatientID=f"P{n}", Modality=modality)
            row[name] = f"{name}{n}"
        row["site"] = ("north", "south")[n // 4]
    _write(folder, rows)
    (found,) = unlike_windows(_load(folder, ["ct", "other"], domain="site"))
    assert ", other: domains are scaled unlike each other" in found
    assert "north by ct; south by percentile" in found


def test_a_column_without_any_image_is_refused(study):
    folder, rows = study
    _write(folder, [{**row, "adc": ""} for row in rows])
    with pytest.raises(InputError, match=r"'adc'.*empty in all 8 rows"):
        _load(folder, ["t2w", "adc"], on_missing="zeros")


def test_all_faults_of_a_table_are_in_one_message(study):
    folder, rows = study
    rows = [{**row, "adc": "", "site": "north"} for row in rows]
    rows[1] |= {"t2w": ""}
    rows[2] |= {"label": ""}
    rows[3] |= {"site": ""}
    rows[4] |= {"t2w": "gone.nii.gz"}
    _write(folder, rows)
    with pytest.raises(InputError) as refused:
        _load(folder, ["t2w", "adc"], domain="site", on_bad_file="skip", on_missing="zeros")
    for said in (
        "'adc' (data.path) is empty in all 8 rows",
        "'t2w or adc' (data.path) is empty in 1 of 8 rows: line 3.",
        "'site' (data.domain) is empty in 1 of 8 rows: line 5 (p3_t2w.nii.gz). Fill it in, or",
        "1 row has no label: line 4 (p2_t2w.nii.gz)",
    ):
        assert said in str(refused.value)
    with pytest.raises(InputError, match=r"line 6 .*gone.nii.gz.*there is no such file"):
        _load(folder, ["t2w", "adc"], domain="site")


def test_a_named_file_that_is_absent_is_no_missing_image(study):
    folder, _ = study
    (folder / "p3_adc.nii.gz").unlink()
    with pytest.raises(InputError, match=r"adc: p3_adc.nii.gz: there is no such file"):
        _load(folder, ["t2w", "adc"], on_missing="zeros")
    assert len(_load(folder, ["t2w", "adc"], on_bad_file="skip")) == 7


def test_all_items_off_the_grid_are_in_one_message_of_at_most_eight(study):
    folder, rows = study
    (folder / "p8.nii.gz").write_bytes((folder / "p1_t2w.nii.gz").read_bytes())
    _write(folder, [*rows, {**rows[0], "t2w": "p8.nii.gz"}])
    with pytest.raises(InputError) as refused:
        _load(folder, ["t2w", "adc"], align="refuse")
    said = str(refused.value)
    assert "9 of 9 items cannot be used" in said
    assert said.count("adc: its grid is another") == 8
    assert "and 1 more" in said


def test_images_of_two_patients_in_one_row_are_refused(study, write_series):
    folder, rows = study
    for n in NUMBERS:
        for name, patient in (("ct", f"P{n}"), ("pt", "P0" if n == 5 else f"P{n}")):
            values = np.random.default_rng(n).integers(0, 99, (6, 6, 4)).astype(np.uint16)
            write_series(folder / f"{name}{n}", values, PatientID=patient)
    _write(folder, [{**row, "ct": f"ct{n}", "pt": f"pt{n}"} for n, row in enumerate(rows)])
    with pytest.raises(InputError) as refused:
        _load(folder, ["ct", "pt"])
    assert "1 of 8 items cannot be used" in str(refused.value)
    assert "different patients" in str(refused.value)
    assert "P5" not in str(refused.value)
    table = _load(folder, ["ct", "pt"], on_bad_file="skip")
    assert table.images.shape[:2] == (7, 2)


def test_what_decides_an_image_decides_the_hash(study):
    folder, _ = study
    hashes = {
        hash_table(_load(folder, ["t2w", "adc"])),
        hash_table(_load(folder, ["t2w", "adc"], combine="views", size=4)),
        hash_table(_load(folder, ["t2w", "adc"], combine="channels", size=4)),
        hash_table(_load(folder, ["t2w", "adc"], window={"adc": (0.0, 200.0)})),
        hash_table(_load(folder, "t2w")),
    }
    image = nibabel.load(folder / "p2_adc.nii.gz")
    moved = image.affine.copy()
    moved[0, 3] += 1
    nibabel.save(
        nibabel.Nifti1Image(image.get_fdata(dtype=np.float32), moved), folder / "new.nii.gz"
    )
    (folder / "new.nii.gz").replace(folder / "p2_adc.nii.gz")
    hashes.add(hash_table(_load(folder, ["t2w", "adc"])))
    assert len(hashes) == 6


def test_one_column_in_a_list_is_one_column(study):
    folder, _ = study
    one, listed = _load(folder, "t2w"), _load(folder, ["t2w"])
    assert hash_table(one) == hash_table(listed)
    assert one.combined is None
    assert "combined" not in one.reading


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"path": ["a", "a"]}, "different ones"),
        ({"combine": "views"}, "several images per item"),
        ({"path": ["a", "b"], "window": {"c": "ct"}}, "no column of path"),
        ({"path": ["a", "b"], "window": {"a": (2.0, 1.0)}}, "the smaller first"),
    ],
)
def test_keys_that_mean_nothing_are_refused(keys, said):
    with pytest.raises(ValidationError, match=said):
        Config(name="table", **keys)


def test_a_crop_of_views_is_refused(study):
    folder, _ = study
    crop = {"point": ["x", "y"], "size": [4, 4], "unit": "pixel"}
    _write(folder, [{**row, "x": 4, "y": 4} for row in study[1]])
    with pytest.raises(InputError, match=r"data\.crop"):
        _load(folder, ["front", "side"], crop=crop)
    table = _load(folder, ["front", "side"], crop=crop, combine="channels", size=4)
    assert table.images.shape == (8, 2, 4, 4)


def test_cases_of_a_table_find_the_files_that_nnunet_numbers(study):
    folder, rows = study
    (folder / "imagesTr").mkdir()
    for n in NUMBERS:
        for number, name in enumerate(("t2w", "adc")):
            source = folder / f"p{n}_{name}.nii.gz"
            (folder / "imagesTr" / f"p{n}_{number:04}.nii.gz").write_bytes(source.read_bytes())
    keys = {"case": "patient", "root": folder / "imagesTr"}
    table = _load(folder, ["t2w", "adc"], **keys)
    assert table.ids.tolist() == [f"p{n}" for n in NUMBERS]
    np.testing.assert_array_equal(table.images[:], _load(folder, ["t2w", "adc"]).images[:])
    with pytest.raises(InputError, match=r"8 files are not named .*_0000 is t2w.*p0_0001"):
        _load(folder, "t2w", **keys)
    (folder / "imagesTr" / "p2_0001.nii.gz").unlink()
    (folder / "imagesTr" / "p5_0000.nii.gz").unlink()
    (folder / "imagesTr" / "p5_0001.nii.gz").unlink()
    with pytest.raises(InputError) as refused:
        _load(folder, ["t2w", "adc"], **keys)
    for said in ("p5_0000.nii.gz: there is no such file", "p2_0000.nii.gz): no adc"):
        assert said in str(refused.value)
    _write(folder, [{**row, "patient": f"imagesTr/p{n}"} for n, row in enumerate(rows)])
    kept = {"on_missing": "zeros", "on_bad_file": "skip", "case": "patient", "group": None}
    table = _load(folder, ["t2w", "adc"], **kept)
    assert table.metadata["missing"].tolist() == ["none", "none", "adc", *["none"] * 4]
    for n in NUMBERS:
        (folder / "imagesTr" / f"p{n}_0001.nii.gz").unlink(missing_ok=True)
    alone = _load(folder, "t2w", **kept | {"on_missing": "error"})
    assert alone.ids.tolist()[0] == "imagesTr/p0"
    assert alone.combined is None


def test_files_in_folders_are_numbered_as_nnunet_numbers_them(study):
    folder, _ = study
    tree = folder / "tree"
    for n in NUMBERS:
        place = tree / "ab"[n % 2]
        place.mkdir(parents=True, exist_ok=True)
        for number, name in enumerate(("t2w", "adc")):
            content = (folder / f"p{n}_{name}.nii.gz").read_bytes()
            (place / f"p{n}_{number:04}.nii.gz").write_bytes(content)
    keys = {"name": "table", "root": tree, "folders": ["label"], "cache": "memory"}
    table = load(Config(path=["t2w", "adc"], **keys))
    assert table.ids.tolist()[:2] == ["a/p0_0000.nii.gz", "a/p2_0000.nii.gz"]
    assert table.labels.tolist() == [0] * 4 + [1] * 4
    same = _load(folder, ["t2w", "adc"]).images
    np.testing.assert_array_equal(table.images[:], same[[0, 2, 4, 6, 1, 3, 5, 7]])
    (tree / "a" / "p2_0001.nii.gz").unlink()
    with pytest.raises(InputError, match=r"a/p2_0000.nii.gz: no adc"):
        load(Config(path=["t2w", "adc"], **keys))
    (tree / "b" / "p9.nii.gz").write_bytes(b"x")
    (tree / "b" / "p1_0002.nii.gz").write_bytes(b"x")
    with pytest.raises(InputError, match=r"2 files are not named .*_0001 is adc.*p1_0002.*p9"):
        load(Config(path=["t2w", "adc"], **keys))
