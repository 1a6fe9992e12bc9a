"""The kinds of files that hospitals and microscopes write: read as they are, or refused by name."""

import nibabel
import numpy as np
import openpyxl
import pytest
import SimpleITK
import tifffile
from own_scans import (
    RAMP,
    built,
    dicom_files,
    images_of,
    mapping,
    noise,
    notes_of,
    picture,
    refused,
    run_file,
    table,
)
from pydicom import Dataset, dcmread

from medldr.config import load_config
from medldr.data import build_data


def _tree(folder, ending, write):
    """Sixteen files of two hospitals and two classes."""
    for number in range(16):
        name = f"h{number // 8}/{'ab'[number % 2]}/p{number}{ending}"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write(folder / name, number)
    return folder


def _itk(path, number):
    SimpleITK.WriteImage(SimpleITK.GetImageFromArray(noise(number)), str(path))


def test_a_tree_of_metaimage_or_nrrd_is_one_of_volumes(tmp_path, medldr):
    for ending in (".mha", ".nrrd", ".mhd", ".nhdr"):
        folder = _tree(tmp_path / ending[1:], ending, _itk)
        images = images_of(None, root=str(folder), folders=["domain", "label"], window=(0.0, 200.0))
        shown = np.clip(noise(3).T[::-1, ::-1] / 200, 0, 1)  # ITK's axes: to the left and the back
        np.testing.assert_allclose(images[f"h0/b/p3{ending}"][0], shown, atol=1e-6)
        assert len(images) == 16
        ended = medldr("new", folder, "--yes", "--out", tmp_path / f"{ending[1:]}.yaml")
        assert ended.code == 0, ended.err
        assert "recipe/own_3d" in (tmp_path / f"{ending[1:]}.yaml").read_text()


def test_a_tree_of_whole_slides_or_videos_says_what_to_do(tmp_path, medldr):
    for ending, cure in ((".svs", "Cut it into tiles"), (".avi", "Save the frames that matter")):
        folder = _tree(tmp_path / ending[1:], ending, lambda path, _: path.write_bytes(b"II*\0"))
        said = f"its files end in {ending} (16). "
        text = refused(None, root=str(folder), folders=["domain", "label"])
        assert said in text
        assert cure in text
        ended = medldr("new", folder, "--yes", "--out", tmp_path / "study.yaml")
        assert ended.code == 2
        assert said in " ".join(ended.err.split())
        assert cure in " ".join(ended.err.split())
    assert not (tmp_path / "study.yaml").exists()


def test_a_pair_is_one_scan_and_a_lone_image_lacks_its_header(tmp_path):
    names = []
    for number in range(8):
        name = f"{'ab'[number % 2]}/scan{number}.hdr"
        (tmp_path / name).parent.mkdir(exist_ok=True)
        nibabel.save(nibabel.Nifti1Pair(RAMP + number, np.diag([1, 1, 2, 1])), tmp_path / name)
        names.append(name)
    found = built(None, root=str(tmp_path), folders=["label"]).table
    assert sorted(found.ids.tolist()) == sorted(names)
    assert {one.spacing for one in found.facts} == {(1, 1, 2)}
    nibabel.save(nibabel.Nifti1Image(RAMP, np.eye(4)), tmp_path / "a/scan0.nii")
    nibabel.save(nibabel.Nifti1Image(RAMP + 90, np.eye(4)), tmp_path / "a/scan0.nii.gz")
    images = images_of(None, root=str(tmp_path), folders=["label"], window=(0.0, 300.0))
    for name, more in (("hdr", 0), ("nii", 0), ("nii.gz", 90)):
        np.testing.assert_allclose(images[f"a/scan0.{name}"][0] * 300, RAMP + more, atol=1e-3)
    for name in ("hdr", "nii", "nii.gz"):
        (tmp_path / f"a/scan0.{name}").unlink()
    text = refused(None, root=str(tmp_path), folders=["label"])
    assert "a/scan0.img: its .hdr is missing" in text
    assert "scan0.img: its .hdr is missing" in refused(table(tmp_path, ["a/scan0.img", *names[1:]]))


def _planes(path, number):
    values = np.random.default_rng(number).integers(0, 255, (3, 12, 10)).astype(np.uint8)
    keys = {"photometric": "minisblack", "metadata": {"axes": "CYX"}, "ome": True}
    tifffile.imwrite(path, values, **keys)


def test_three_planes_of_an_ome_tiff_are_one_colour_picture(tmp_path, medldr):
    folder = _tree(tmp_path / "cells", ".tif", _planes)
    found = built(None, root=str(folder), folders=["domain", "label"]).table
    assert found.images.shape[1:] == (3, 12, 10)
    assert {(one.mode, one.frames) for one in found.facts} == {("RGB", 1)}
    ended = medldr("new", folder, "--yes", "--kind", "photo", "--out", tmp_path / "study.yaml")
    assert ended.code == 0, ended.err
    assert "recipe/own_2d" in (tmp_path / "study.yaml").read_text()
    bad = folder / "h0/a/p0.tif"
    keys = {"photometric": "minisblack", "metadata": {"axes": "QYX"}, "ome": True}
    tifffile.imwrite(bad, np.zeros((3, 12, 10), np.uint8), **keys)
    text = refused(None, root=str(folder), folders=["domain", "label"])
    assert "h0/a/p0.tif: its axes are QYX (3 x 12 x 10)" in text


# Windows that files recommend


def _slices(folder, centers, **tags):
    """Eight CT slices of each of three hospitals, and the table of them."""
    rows = []
    for number in range(24):
        hospital, pixels = number // 8, np.random.default_rng(number).integers(0, 4096, (8, 8))
        dataset = dicom_files.dicom(
            pixels.astype(np.uint16), bits=12, RescaleIntercept=-1024, **tags,
            WindowCenter=centers[hospital], WindowWidth=[400, 1500][: len(centers[hospital])],
        )  # fmt: skip
        dicom_files.save(dataset, folder / f"{number}.dcm")
        rows.append((f"{number}.dcm", "ab"[number % 2], f"h{hospital}"))
    return table(folder, rows, "path,label,hospital")


def test_of_several_windows_the_first_is_taken_and_unlike_hospitals_are_a_finding(tmp_path, medldr):
    file = _slices(tmp_path, [[40, -600], [40], [-600, 40]])
    found = built(file, domain="hospital", window="file")
    assert {one.window for one in found.table.facts[:16]} == {(-160.0, 239.0)}
    notes = " ".join(found.notes)
    assert "16 items recommend several windows; their first window is taken" in notes
    shift = "h0, h1 by -160 to 239; h2 by -800 to -401"
    assert shift in notes
    run = run_file(tmp_path, file, domain="hospital", window="file")
    ended = medldr("data", "check", run, "--no-page")
    assert ended.code == 0, ended.err
    assert "a shift that reading makes" in " ".join(ended.out.split())
    assert "a shift that reading makes" not in notes_of(file, domain="hospital", window="ct")


def test_a_sigmoid_or_a_look_up_table_is_refused_where_it_is_asked_for(tmp_path):
    lut = Dataset()
    lut.LUTDescriptor, lut.LUTData = [4, 0, 16], bytes(8)
    centers = [[40]] * 3
    file = _slices(tmp_path, centers, VOILUTFunction="SIGMOID")
    assert "it recommends a sigmoid curve, which is not applied" in refused(file, window="file")
    assert len(built(file, window="ct").table) == 24
    file = _slices(tmp_path, centers, VOILUTSequence=[lut])
    assert "recommend a look-up table, too; their first window" in notes_of(file, window="file")
    for name in tmp_path.glob("*.dcm"):
        dataset = dcmread(name)
        del dataset.WindowCenter, dataset.WindowWidth
        dataset.save_as(name)
    assert "recommends a look-up table (VOI LUT), which is not" in refused(file, window="file")


# Tables of offices


HEAD = ["Pfad", "Diagnose", "Klinik", "Patient", "Alter", "x", "y"]
COLUMNS = {"path": "Pfad", "label": "Diagnose", "domain": "Klinik", "group": "Patient"}


@pytest.fixture
def findings(tmp_path):
    """Rows of sixteen pictures as a German office keeps them."""
    for number in range(16):
        picture(tmp_path / "bilder" / f"{number:02}.png", number)
    return [
        [
            f"bilder\\{n:02}.png",
            "gb"[n % 2],
            ("Köln", "Jena")[n // 8],
            f"P{n // 2:02}",
            40.5 + n,
            3.5,
            3,
        ]
        for n in range(16)
    ]


def _csv(file, rows, encoding="utf-8-sig"):
    cells = [[str(cell).replace(".5", ",5") for cell in row] for row in [HEAD, *rows]]
    cells += [[""] * len(HEAD)] * 2
    file.write_bytes("\r\n".join(map(";".join, cells)).encode(encoding))
    return file


def _workbook(file, rows):
    book = openpyxl.Workbook()
    for row in [HEAD, *rows]:
        book.active.append(row)
    book.save(file)
    return file


def test_a_workbook_and_its_csv_with_decimal_commas_are_one_data_set(tmp_path, findings):
    crop = {"point": ["x", "y"], "size": [5, 5], "unit": "pixel"}
    tables = []
    for file in (_csv(tmp_path / "b.csv", findings), _workbook(tmp_path / "b.xlsx", findings)):
        found = built(file, columns=["Alter"], crop=crop, size=5, **COLUMNS)
        tables.append(found.table)
        assert ("decimal commas of the column 'Alter'" in " ".join(found.notes)) == (
            file.suffix == ".csv"
        )
    one, other = tables
    assert one.hashes == other.hashes
    assert one.metadata["Alter"].tolist() == other.metadata["Alter"].tolist()
    assert one.metadata["Alter"][0] == "40.5"
    assert (len(one), set(one.domains.tolist())) == (16, {"Köln", "Jena"})
    (tmp_path / "renamed.csv").write_bytes((tmp_path / "b.xlsx").read_bytes())
    assert "let the name of a workbook end in .xlsx" in refused(tmp_path / "renamed.csv")
    assert "is not UTF-8" in refused(_csv(tmp_path / "ansi.csv", findings, "cp1252"), **COLUMNS)


def test_a_metadata_table_with_decimal_commas_has_numbers(tmp_path, findings):
    ages = "".join(f"P{n:02};{40 + 3 * n},5\n" for n in range(8))
    (tmp_path / "angaben.csv").write_text(f"group;age\n{ages}", encoding="utf-8-sig")
    file = _csv(tmp_path / "b.csv", findings)
    config = mapping(file, metadata=str(tmp_path / "angaben.csv"), **COLUMNS)
    config["evaluation"]["bands"] = {"age": [50]}
    found = build_data(load_config(config)).table
    assert sorted(set(found.metadata["age"].tolist()))[:2] == ["40.5", "43.5"]


def test_every_fault_of_a_workbook_is_told_at_once(tmp_path, findings):
    findings[2][0], findings[5][4], findings[7][1] = None, "=A1", "#REF!"
    text = refused(_workbook(tmp_path / "b.xlsx", findings), **COLUMNS)
    assert "3 faults: E7 is a formula without a value, B9 is the error #REF!, A4 is empty" in text


def test_every_fault_of_a_column_of_splits_is_told_at_once(tmp_path):
    words = [
        "train",
        "Train",
        " train",
        "training",
        "val",
        "dev",
        "test",
        "TEST",
        "",
        "holdout",
        "tets",
    ]
    rows = [
        (picture(tmp_path / f"{n}.png", n), "ab"[n % 2], f"p{n}" if n != 7 else "P1", word)
        for n, word in enumerate(words)
    ]
    file = table(tmp_path, rows, "path,label,patient,split")
    text = refused(file, group="patient", split="split")
    for said in (
        "1 row names no split: line 10 (8.png)",
        "'holdout' is no split: line 11 (9.png)",
        "'tets' is no split: line 12 (10.png)",
        "group 'p1' is in several splits: line 3 (1.png) in train, line 9 (7.png) in test",
    ):
        assert said in text
    file = table(tmp_path, [r for r in rows[:8] if r[2] != "P1"], "path,label,patient,split")
    assert "words of data.split are read as splits: 'dev' val, 'training' train" in notes_of(
        file, group="patient", split="split"
    )
