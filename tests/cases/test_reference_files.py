"""The reference files of known troubles, written by their own script, read as a table's items.

Each folder has an `expected.json`, whose numbers are asserted. Tests are skipped where the script
is not beside this repository.
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from own_scans import RAMP, built, images_of, notes_of, refused, table
from PIL import Image

SCRIPT = Path(__file__).parents[2].parent / "shared" / "cases" / "make_cases.py"


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """All folders, written once."""
    if not SCRIPT.is_file():
        pytest.skip(f"the script of the reference files is absent: {SCRIPT}")
    out = tmp_path_factory.mktemp("reference")
    subprocess.run([sys.executable, SCRIPT, out], check=True, capture_output=True)
    return out


@pytest.fixture
def folder(written, tmp_path, request):
    """A copy of the folder of the test's parameter, and what is expected of it."""
    (name,) = [path.name for path in written.iterdir() if path.name.startswith(request.param)]
    copy = Path(shutil.copytree(written / name, tmp_path / name))
    return copy, json.loads((copy / "expected.json").read_text(encoding="utf-8"))


def of(name):
    return pytest.mark.parametrize("folder", [name], indirect=True, ids=[name])


def volumes(folder, *names, **keys):
    """Values of some volumes, scaled to 0 to 1 between -200 and 200 unless keys say otherwise."""
    low, high = keys.pop("window", (-200.0, 200.0))
    found = images_of(table(folder, list(names)), window=(low, high), **keys)
    return {name: image * (high - low) + low for name, image in found.items()}


# Volumes


@of("A01")
def test_not_finite(folder):
    path, _ = folder
    found = volumes(path, "few_nonfinite.nii.gz", "constant_zero.nii.gz")
    finite = np.isfinite(found["few_nonfinite.nii.gz"])
    assert finite.all()
    changed = np.abs(found["few_nonfinite.nii.gz"][0] - RAMP) > 1e-3
    assert changed.sum() <= 3
    assert not images_of(path / "scans.csv")["constant_zero.nii.gz"].any()
    assert "3 of 120 numbers are not finite" in notes_of(path / "scans.csv")
    assert "all_nan.nii.gz: " in refused(table(path, ["all_nan.nii.gz", "constant_zero.nii.gz"]))


@of("A02")
@pytest.mark.parametrize("kind", ["f4", "i2"])
def test_byte_order(folder, kind):
    found = volumes(folder[0], f"big_{kind}.nii", f"little_{kind}.nii")
    for values in found.values():
        np.testing.assert_allclose(values[0], RAMP, atol=1e-3)


@of("A03")
def test_slope(folder):
    found = volumes(folder[0], "slope.nii.gz", "slope_zero.nii")
    assert found["slope.nii.gz"][0, 0, 0, 0] == pytest.approx(-100, abs=1e-3)
    assert found["slope.nii.gz"][0, 5, 4, 3] == pytest.approx(-40.5, abs=1e-3)
    assert found["slope_zero.nii"][0, 5, 4, 3] == pytest.approx(119, abs=1e-3)


@of("A04")
def test_orientation(folder):
    path, expected = folder
    names = [f"{name}.nii.gz" for name in ("ras", "lps", "axes_permuted", "qform_only")]
    for values in volumes(path, *names).values():
        np.testing.assert_allclose(values[0], RAMP, atol=1e-3)
        assert values[0, 1, 2, 3] == pytest.approx(expected["voxel_1_2_3"], abs=1e-3)
    assert {one.spacing for one in built(path / "scans.csv").table.facts} == {(1.0, 1.0, 2.0)}


@of("A05")
def test_channels(folder):
    path, expected = folder
    facts = [built(table(path, [name, twin(path, name)])).table.facts[0] for name in
             ("xyzc.nii.gz", "xyz1.nii.gz")]  # fmt: skip
    assert [list(one.shape) for one in facts] == [expected["xyzc_shape"], expected["xyz1_shape"]]
    said = refused(table(path, ["xyzc.nii.gz", "xyz1.nii.gz"]))
    assert "xyzc.nii.gz" in said
    assert "xyz1.nii.gz" in said


@of("A06")
def test_vectors(folder):
    path, expected = folder
    found = built(table(path, ["itk_vector.nii.gz", twin(path, "itk_vector.nii.gz")])).table
    assert list(found.images.shape[1:]) == expected["shape"]


@of("A07")
def test_zipped(folder):
    path, _ = folder
    names = ["good.nii.gz", "not_gzip.nii.gz", "truncated.nii.gz", "empty.nii.gz"]
    said = refused(table(path, names))
    assert "2 of 4 items" in said
    assert "truncated.nii.gz: " in said
    assert "empty.nii.gz: " in said
    found = volumes(path, *names, on_bad_file="skip")
    assert found["not_gzip.nii.gz"][0, 5, 4, 3] == pytest.approx(119, abs=1e-3)


@of("A20")
def test_sizes(folder):
    path, _ = folder
    file = table(path, [f"{name}.nii.gz" for name in "abcd"])
    said = refused(file)
    for word in ("8 x 8 x 4 (a.nii.gz)", "8 x 8 x 6 (b.nii.gz)", "data.size"):
        assert word in said
    assert built(file, size=8).table.images.shape == (4, 1, 8, 8, 8)


def twin(path, name):
    """A copy of a file, so that a table has two classes."""
    shutil.copy(path / name, path / f"twin_{name}")
    return f"twin_{name}"


# DICOM


@of("A08")
def test_negatives(folder):
    found = volumes(folder[0], "mono2.dcm", "mono1.dcm", window=(0.0, 4095.0))
    np.testing.assert_array_equal(found["mono1.dcm"], found["mono2.dcm"])
    assert found["mono2.dcm"][0, 0, 0] == 0
    assert found["mono2.dcm"][0, 3, 3] == pytest.approx(4095)


@of("A09")
def test_missing_elements(folder):
    path, _ = folder
    names = ["full.dcm", "no_rescale_no_spacing.dcm"]
    found = volumes(path, *names, window=(-2000.0, 2000.0))
    ends = [(image[0, 0, 0], image[0, 3, 3]) for image in map(found.get, names)]
    assert np.allclose(ends, [(-1024, -994), (0, 15)], atol=1e-2)
    facts = built(path / "scans.csv").table.facts
    assert [one.spacing for one in facts] == [(0.5, 0.25), None]
    assert "no_rescale_no_spacing.dcm: it does not say its spacing" in refused(
        path / "scans.csv", spacing=1, size=4
    )


@of("A10")
def test_frames(folder):
    path, expected = folder
    film = expected["three_frames"]
    names = ["three_frames.dcm", twin(path, "three_frames.dcm")]
    assert "it has 3 frames" in refused(table(path, names), dims=2)
    middle = volumes(path, *names, dims=2, frame="middle", window=(0.0, 255.0))
    pixel = middle["three_frames.dcm"][:, 2, 3]
    np.testing.assert_allclose(pixel, film["pixel_f1_r2_c3"], atol=1e-3)
    one = built(table(path, ["one_frame.dcm", twin(path, "one_frame.dcm")])).table
    assert one.images.shape == (2, film["channels"], film["rows"], film["columns"])


@of("A11")
def test_jpeg2000(folder):
    path, _ = folder
    file = table(path, ["lossless.dcm", twin(path, "lossless.dcm")])
    image = images_of(file, window=(0.0, 255.0))["lossless.dcm"][0]
    np.testing.assert_allclose(image * 255, np.load(path / "truth.npy"), atol=1e-3)
    assert "stream_cut.dcm: " in refused(table(path, ["lossless.dcm", "stream_cut.dcm"]))


@of("A12")
def test_colours(folder):
    path, expected = folder
    for image in volumes(path, "ybr_full.dcm", "rgb.dcm", window=(0.0, 255.0)).values():
        np.testing.assert_allclose(image.transpose(1, 2, 0), expected["rgb"], atol=2)


@of("A13")
def test_without_first_bytes(folder):
    path, _ = folder
    names = ["bare.dcm", twin(path, "bare.dcm"), "notes.dcm"]
    said = refused(table(path, names))
    assert "1 of 3 items" in said
    assert "notes.dcm: not a DICOM file" in said
    image = volumes(path, *names, on_bad_file="skip")["bare.dcm"]
    assert (image[0, 0, 0], image[0, 3, 3]) == pytest.approx((0, 15), abs=1e-3)
    assert "it lacks the 132 bytes" in notes_of(path / "scans.csv", on_bad_file="skip")


@of("A14")
def test_mixed_series(folder):
    path, expected = folder
    shutil.copytree(path / "patient", path / "twin")
    image = volumes(path, "patient", "twin")["patient"]
    assert image.shape == (1, 4, 4, expected["main_series_slices"])
    np.testing.assert_allclose(image[0, 0, 0], expected["values"], atol=1e-3)
    assert "files of other series are left out: 1" in notes_of(path / "scans.csv")


# Pictures


@of("A15")
def test_sixteen_bits(folder):
    path, expected = folder
    found = images_of(table(path, ["ramp16.png", "ramp8.png"]))
    np.testing.assert_allclose(found["ramp16.png"], found["ramp8.png"], atol=1e-6)
    assert len(np.unique(found["ramp16.png"])) == expected["distinct_levels"]
    assert (found["ramp16.png"] == 1).sum() == expected["white_pixels"]


@of("A16")
@pytest.mark.parametrize("channels", [1, 3])
def test_modes(folder, channels):
    path, _ = folder
    names = sorted(file.name for file in path.iterdir() if file.suffix in (".png", ".jpg"))
    found = images_of(table(path, names), channels=channels)
    grey = np.asarray(Image.open(path / "L.png")).astype(float)
    assert len(found) == 7
    for name, image in found.items():
        assert image.shape == (channels, *grey.shape)
        assert np.abs(image - grey).max() <= (6 if name.endswith("jpg") else 0)


@of("A17")
def test_photographs(folder):
    path, expected = folder
    found = images_of(table(path, ["orientation6.jpg", "upright.png"]))
    assert found["orientation6.jpg"].shape[1:] == tuple(expected["display_size_wh"][::-1])
    assert np.abs(found["orientation6.jpg"] - found["upright.png"]).max() <= 8


@of("A18")
def test_damaged_pictures(folder):
    path, expected = folder
    keys = {"root": str(path), "folders": ["label"]}
    said = refused(None, **keys)
    assert all(f"{name}: " in said for name in expected["bad"])
    kept = built(None, on_bad_file="skip", **keys).table
    assert len(kept) == expected["good"]
    assert [file.path for file in kept.bad_files] == expected["bad"]


@of("A19")
def test_hidden_files(folder):
    path, expected = folder
    found = built(None, root=str(path / "train"), folders=["label"]).table
    assert list(found.class_names) == expected["classes"]
    assert len(found) == expected["images"]


# Tables


def labels(path, name, **keys):
    return built(path / name, root=str(path / "images"), path="image", **keys)


@of("B01")
@pytest.mark.parametrize("name", ["bom", "bom_quoted_crlf", "semicolon", "utf16"])
def test_what_excel_writes(folder, name):
    path, expected = folder
    found = labels(path, f"{name}.csv").table
    assert len(found) == expected["rows"]
    assert found.labels.tolist() == expected["labels"]


@of("B04")
def test_kinds_of_numbers(folder):
    path, expected = folder
    for name, classes in expected["names"].items():
        found = labels(path, f"{name}.csv")
        assert list(found.spec.class_names) == classes
        assert found.table.labels.tolist() == [0, 1, 2, 0, 1, 2]
    keys = {"root": str(path / "images"), "path": "image"}
    assert "line 3 (p1.png) has '0.5'" in refused(path / "fraction.csv", **keys)


@of("B05")
def test_missing_labels(folder):
    path, expected = folder
    named = expected["multilabel"]
    found = labels(path, "multilabel.csv", label=["edema", "effusion"])
    known = (~np.isnan(found.table.labels)).sum(0).tolist()
    assert known == [named["edema"]["known"], named["effusion"]["known"]]
    said = " ".join(found.notes)
    assert "label edema: 2 known, 1 missing, 1 uncertain" in said
    assert "label effusion: 3 known, 1 missing" in said
    keys = {"root": str(path / "images"), "path": "image"}
    assert "1 row has no label: line 3 (p1.png)" in refused(path / "single.csv", **keys)
    assert labels(path, "single.csv", on_missing_label="skip").spec.class_names == ("a", "b")


@of("B06")
def test_leaks(folder):
    path, expected = folder
    keys = {"root": str(path / "images"), "path": "image", "group": "patient", "split": "split"}
    said = refused(path / "split.csv", **keys)
    for split in expected["shared_patients"]["P23_case_and_space_folded"]:
        assert split in said
    assert "'P23'" in said
    (pair,) = expected["duplicate_files"]
    assert " = ".join(pair) in notes_of(path / "split.csv", **{**keys, "group": None})


@of("B07")
def test_a_rare_class(folder):
    path, expected = folder
    found = labels(path, "labels.csv")
    assert list(found.spec.class_names) == list(expected["counts"])
    assert any("'rare' has 1 row" in note for note in found.notes)


@of("B08")
def test_names(folder):
    path, expected = folder
    found = built(path / "labels.csv", path="image").table
    assert len(found) == expected["rows"]


@of("B09")
def test_table_and_files(folder):
    path, expected = folder
    said = refused(path / "labels.csv", root=str(path / "images"), path="image")
    for kind in ("missing_files", "files_without_label", "conflicting"):
        for name in expected[kind]:
            assert name in said
