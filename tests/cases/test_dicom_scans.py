"""DICOM files that other software read wrong or broke on, in a table of one's own.

Each is read right, or refused before training in one message that names the file and the cure.
"""

import io

import numpy as np
import pydicom
import pytest
from own_scans import built, dicom_files, images_of, nifti, notes_of, refused, run_file, table
from PIL import Image
from pydicom.encaps import encapsulate
from pydicom.uid import (
    BasicTextSRStorage,
    CTImageStorage,
    JPEG2000Lossless,
    MultiFrameTrueColorSecondaryCaptureImageStorage,
    RTDoseStorage,
    SegmentationStorage,
)

from medldr import data_check
from medldr.commands.new_study.asking import Asker
from medldr.commands.new_study.folder_levels import guess_tree
from medldr.data.files.read import read_scan
from medldr.data.files.scan import Source
from medldr.errors import InputError
from medldr.prediction.items import find_items

# Single files


def radiograph(seed, shape=(8, 8)):
    return np.random.default_rng(seed).integers(0, 4096, shape).astype(np.uint16)


def radiographs(folder, count=6, **tags):
    names = [f"r{n}.dcm" for n in range(count)]
    for n, name in enumerate(names):
        pixels = radiograph(n)
        dicom_files.save(
            dicom_files.dicom(pixels, bits=12, **{"Modality": "DX", **tags}), folder / name
        )
    return names


def test_a_picture_and_its_negative_are_one(tmp_path):
    pixels = radiograph(99)
    for name, stored, kind in (("two", pixels, 2), ("one", 4095 - pixels, 1)):
        tags = {"PhotometricInterpretation": f"MONOCHROME{kind}", "Modality": "DX"}
        dicom_files.save(dicom_files.dicom(stored, bits=12, **tags), tmp_path / f"{name}.dcm")
    found = images_of(table(tmp_path, ["one.dcm", "two.dcm", *radiographs(tmp_path)]))
    np.testing.assert_array_equal(found["one.dcm"], found["two.dcm"])
    np.testing.assert_allclose(found["one.dcm"][0] * 4095, pixels, atol=1e-3)


def test_elements_that_are_missing_are_not_made_up(tmp_path):
    full = {"RescaleSlope": "2", "RescaleIntercept": "-1024", "PixelSpacing": [0.5, 0.25]}
    stored = np.arange(16, dtype=np.uint16).reshape(4, 4)
    for name, tags in (("full", full), ("bare", {})):
        dicom_files.save(dicom_files.dicom(stored, **tags), tmp_path / f"{name}.dcm")
    file = table(tmp_path, ["full.dcm", "bare.dcm"])
    found = images_of(file, window=(-1024.0, 1024.0))
    np.testing.assert_allclose(found["full.dcm"][0] * 2048 - 1024, stored * 2.0 - 1024, atol=1e-3)
    np.testing.assert_allclose(found["bare.dcm"][0] * 2048 - 1024, stored, atol=1e-3)
    assert [one.spacing for one in built(file).table.facts] == [(0.5, 0.25), None]
    assert "1 item: its pixel spacing is unknown" in notes_of(file)
    said = refused(file, spacing=0.5, size=4)
    assert "bare.dcm: it does not say its spacing" in said
    assert "full.dcm" not in said


def test_frames_are_neither_rows_nor_channels(tmp_path):
    film = np.random.default_rng(5).integers(0, 256, (3, 4, 6, 3)).astype(np.uint8)
    keys = {"frames": True, "colour": True, "Modality": "US"}
    for n in range(4):
        dicom_files.save(dicom_files.dicom(film, **keys), tmp_path / f"{n}.dcm")
    file = table(tmp_path, [f"{n}.dcm" for n in range(4)])
    assert "0.dcm: it has 3 frames, but pictures have one" in refused(file, dims=2)
    for frame, number in (("first", 0), ("middle", 1)):
        image = images_of(file, dims=2, frame=frame)["0.dcm"]
        np.testing.assert_allclose(image * 255, film[number].transpose(2, 0, 1), atol=1e-3)
    volume = images_of(file)["0.dcm"]
    assert volume.shape == (3, 6, 4, 3)
    np.testing.assert_allclose(volume[:, 3, 2, 1] * 255, film[1, 2, 3], atol=1e-3)
    assert "the last axis of 4 items are frames or pages" in notes_of(file)
    dicom_files.save(dicom_files.dicom(film[:1], **keys), tmp_path / "0.dcm")
    assert "both pictures (1, such as 0.dcm) and volumes (3, such as 1.dcm)" in refused(file)


def test_a_film_of_one_frame_is_a_picture(tmp_path):
    film = np.random.default_rng(5).integers(0, 256, (1, 4, 6, 3)).astype(np.uint8)
    for n in range(2):
        whole = dicom_files.dicom(film, frames=True, colour=True, Modality="US")
        dicom_files.save(whole, tmp_path / f"{n}.dcm")
    image = images_of(table(tmp_path, ["0.dcm", "1.dcm"]))["0.dcm"]
    np.testing.assert_allclose(image * 255, film[0].transpose(2, 0, 1), atol=1e-3)


def test_a_cut_jpeg2000_stream_is_named_and_never_black(tmp_path):
    pixels = np.random.default_rng(11).integers(0, 256, (32, 32)).astype(np.uint8)
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG2000", no_jp2=True, irreversible=False)
    code = stream.getvalue()
    for name, part in (("whole", code), ("again", code), ("cut", code[: len(code) // 3])):
        packed = dicom_files.dicom(pixels, syntax=JPEG2000Lossless, Modality="DX")
        packed.PixelData = encapsulate([part])
        packed["PixelData"].VR = "OB"
        packed["PixelData"].is_undefined_length = True
        dicom_files.save(packed, tmp_path / f"{name}.dcm")
    image = images_of(table(tmp_path, ["whole.dcm", "again.dcm"]))["whole.dcm"]
    np.testing.assert_allclose(image[0] * 255, pixels, atol=1e-3)
    assert "cut.dcm: " in refused(table(tmp_path, ["whole.dcm", "again.dcm", "cut.dcm"]))


def test_ybr_is_not_taken_for_rgb(tmp_path):
    rgb = np.array([[[255, 0, 0], [0, 255, 0]], [[0, 0, 255], [128, 128, 128]]], np.uint8)
    ybr = np.asarray(Image.fromarray(rgb).convert("YCbCr"))
    for name, stored, kind in (("rgb", rgb, "RGB"), ("ybr", ybr, "YBR_FULL")):
        whole = dicom_files.dicom(stored, colour=True, PhotometricInterpretation=kind)
        dicom_files.save(whole, tmp_path / f"{name}.dcm")
    for image in images_of(table(tmp_path, ["rgb.dcm", "ybr.dcm"]), window=(0.0, 255.0)).values():
        np.testing.assert_allclose(image * 255, rgb.transpose(2, 0, 1), atol=2)


def test_what_is_there_but_empty_is_absent_and_told(tmp_path):
    empty = dict.fromkeys(("RescaleSlope", "RescaleIntercept", "WindowCenter"), "")
    place, values = np.diag([0.25, 0.5, 2, 1]), np.arange(80, dtype=np.int16).reshape(5, 4, 4)
    full = {"RescaleSlope": 1, "RescaleIntercept": -1024}
    for name, tags in (("empty", empty), ("full", full)):
        dicom_files.series(tmp_path / name, values, place, **tags)
    file = table(tmp_path, ["empty", "full"])
    found = images_of(file, window=(-1024.0, 1024.0))
    np.testing.assert_allclose(found["empty"][0] * 2048 - 1024, values, atol=1e-3)
    notes = notes_of(file)
    assert "1 item: elements that are empty count as absent: RescaleIntercept, RescaleSl" in notes
    assert "1 item: it does not say how its numbers become Hounsfield units" in notes
    first = tmp_path / "full" / "001.dcm"
    bare = pydicom.dcmread(first)
    bare.ImagePositionPatient = None
    bare.save_as(first)
    said = refused(file)
    assert "1 of its 4 slices do not say where they lie" in said
    assert "(ImagePositionPatient, ImageOrientationPatient): 001.dcm." in said


def test_colours_are_on_the_scale_of_screens_whatever_the_modality(tmp_path):
    table_of = np.random.default_rng(3).integers(0, 256, (16, 3)).astype(np.uint8)
    index = np.random.default_rng(4).integers(0, 16, (6, 4)).astype(np.uint8)
    rgb = table_of[index]
    made = {"pixel": dicom_files.dicom(rgb, colour=True)}
    made["plane"] = dicom_files.dicom(rgb.transpose(2, 0, 1), colour=True, PlanarConfiguration=1)
    made["plane"].Rows, made["plane"].Columns = index.shape
    for name, first, bits in (("p8", 0, 8), ("p16", 0, 16), ("first16", 16, 16)):
        colours = table_of.astype("<u2") * 257 if bits == 16 else table_of
        tags = {"PhotometricInterpretation": "PALETTE COLOR"}
        for colour, values in zip(("Red", "Green", "Blue"), colours.T, strict=True):
            tags[f"{colour}PaletteColorLookupTableDescriptor"] = [16, first, bits]
            tags[f"{colour}PaletteColorLookupTableData"] = values.tobytes()
        made[name] = dicom_files.dicom(index + np.uint8(first), **tags)
    for name, dataset in made.items():
        assert dataset.Modality == "CT"
        dicom_files.save(dataset, tmp_path / f"{name}.dcm")
    for image in images_of(table(tmp_path, [f"{name}.dcm" for name in made])).values():
        np.testing.assert_allclose(image * 255, rgb.transpose(2, 0, 1), atol=1e-3)


def test_a_file_without_its_first_bytes_is_read_and_told(tmp_path):
    names = radiographs(tmp_path)
    whole = pydicom.dcmread(tmp_path / names[0])
    with (tmp_path / "bare.dcm").open("wb") as stream:
        keys = {"implicit_vr": True, "little_endian": True, "enforce_file_format": False}
        pydicom.dcmwrite(stream, pydicom.Dataset(whole), **keys)
    file = table(tmp_path, [*names, "bare.dcm"])
    found = images_of(file)
    np.testing.assert_array_equal(found["bare.dcm"], found[names[0]])
    assert "1 item: it lacks the 132 bytes that a DICOM file begins with" in notes_of(file)


def series(folder, seed=0, slices=3, uid=None, description=None, number=None):
    values = np.random.default_rng(seed).integers(0, 900, (5, 4, slices)).astype(np.int16)
    tags = {"SeriesInstanceUID": uid} if uid else {}
    names = [f"{description or 'IM'}{n}" for n in range(slices)]
    place = np.diag([1.0, 1, 2, 1])
    tags |= {"SeriesDescription": description or "CHEST", "SeriesNumber": number}
    dicom_files.series(folder, values, place, names=names, **tags)
    return values


@pytest.fixture
def patients(tmp_path):
    """Folders of slices, and the values of the first."""
    values = [series(tmp_path / f"p{n}", n) for n in range(4)]
    return [f"p{n}" for n in range(4)], values[0]


def test_a_folder_of_slices_without_endings_is_a_volume(tmp_path, patients):
    names, values = patients
    for rows in (names, [f"{name}/" for name in names], [str(tmp_path / name) for name in names]):
        found = images_of(table(tmp_path, rows), window=(0.0, 1000.0))
        assert found.keys() == set(names)
        np.testing.assert_allclose(found["p0"][0] * 1000, values, atol=1e-3)


def test_a_localizer_is_left_out_and_two_series_are_not_guessed_between(tmp_path, patients):
    names, values = patients
    file = table(tmp_path, names)
    pixels = np.zeros((8, 8), np.uint16)
    other = dicom_files.dicom(pixels, SeriesInstanceUID="1.2.3", SeriesDescription="LOCALIZER")
    dicom_files.save(other, tmp_path / "p0" / "IM9")
    np.testing.assert_allclose(
        images_of(file, window=(0.0, 1000.0))["p0"][0] * 1000, values, atol=1e-3
    )
    assert "1 item: files of other series are left out: 1" in notes_of(file)
    series(tmp_path / "p1", 9, uid="1.2.4", description="THIN", number=7)
    said = refused(file)
    assert "p1: the folder holds 2 series or films" in said
    assert "CT, slices: 3; series 7, CT, slices: 3. Say which" in said
    assert "CHEST" not in said  # a description may name the patient
    assert images_of(table(tmp_path, ["p0", "p1#1.2.4"]))["p1#1.2.4"].shape == (1, 5, 4, 3)


def test_what_was_made_of_a_scan_is_no_scan_beside_it(tmp_path, patients):
    names, values = patients
    file, folder = table(tmp_path, names), tmp_path / "p0"
    made = {
        "SEG": (SegmentationStorage, np.ones((3, 4, 5), np.uint8), False),
        "RTDOSE": (RTDoseStorage, np.ones((3, 4, 5), np.uint16), False),
        "CT": (MultiFrameTrueColorSecondaryCaptureImageStorage, np.zeros((2, 8, 8, 3), "u1"), True),
    }
    for n, (modality, (storage, pixels, colour)) in enumerate(made.items()):
        keys = {"SOPClassUID": storage, "SeriesInstanceUID": f"1.2.9.{n}", "Modality": modality}
        dataset = dicom_files.dicom(pixels, frames=True, colour=colour, **keys)
        dicom_files.save(dataset, folder / f"X{modality}")
    said = "files of other series are left out: 3 (captured screen, CT 1, RTDOSE 1, SEG 1)"
    assert said in notes_of(file)
    assert "(p0)" not in notes_of(file)  # a record names no patient
    study = run_file(tmp_path, file)
    assert f"1 item: {said} (p0)" in " ".join(data_check(study, no_page=True).inspection.notes)
    data_check(study, page=tmp_path / "page.html")
    assert "(p0)" not in (tmp_path / "page.html").read_text()
    images = images_of(file, window=(0.0, 1000.0))
    np.testing.assert_allclose(images["p0"][0] * 1000, values, atol=1e-3)
    assert [item.name for item in find_items([folder], 3)] == [str(folder)]
    assert "#" not in " ".join(item.name for item in find_items([tmp_path], 3))
    (scan,) = find_items([folder], 3)
    assert read_scan(scan.source, 3).warnings == (said,)
    with pytest.raises(InputError, match="4 folders that are one DICOM series, and so one scan"):
        guess_tree(tmp_path, Asker(interactive=False))
    # Alone, each is what somebody named.
    for path in folder.glob("IM*"):
        path.unlink()
    assert len(find_items([folder], 3)) == 1


LOCALIZER = {"ImageType": ["ORIGINAL", "PRIMARY", "LOCALIZER"]}


@pytest.mark.parametrize("uid", ["1.2.3", None])
def test_localizers_are_pictures_of_their_own(tmp_path, patients, uid):
    names, values = patients
    for n, shape in enumerate([(8, 8), (4, 5)]):  # the second as large as a slice, and parallel
        place = dicom_files.geometry(np.diag([1.0, 1, 2, 1]), n)
        one = dicom_files.dicom(np.zeros(shape, np.int16), **place, **LOCALIZER)
        one.SeriesInstanceUID = uid or one.SeriesInstanceUID
        dicom_files.save(one, tmp_path / "p0" / f"scout{n}")
    file = table(tmp_path, names)
    images = images_of(file, window=(0.0, 1000.0))
    np.testing.assert_allclose(images["p0"][0] * 1000, values, atol=1e-3)
    said = "files of other series are left out: 2 (localizer, CT 2)"
    assert f"1 item: {said}" in notes_of(file)
    (item,) = find_items([tmp_path / "p0"], 3)
    assert read_scan(item.source, 3).warnings == (said,)
    assert len(find_items([tmp_path / "p0"], 2)) == 5
    alone = read_scan(Source(tmp_path / "p0" / "scout0"))
    assert "it is a localizer" in " ".join(alone.warnings)


def without_picture(storage, modality, **tags):
    made = dicom_files.dicom(np.zeros((4, 4), np.uint8), SOPClassUID=storage, Modality=modality)
    del made.Rows, made.Columns, made.PixelData
    for name, value in tags.items():
        setattr(made, name, value)
    return made


@pytest.fixture
def with_made_ones(tmp_path):
    """A tree of radiographs, and in one folder what was made of the first."""
    for kind in "ab":
        radiographs(tmp_path / "tree" / kind, StudyInstanceUID=None)
    folder, flat = tmp_path / "tree" / "a", np.ones((8, 8), np.uint8)
    deep, report = np.ones((3, 8, 8), np.uint16), np.zeros((8, 8, 3), np.uint8)
    made = [
        dicom_files.dicom(flat, SOPClassUID=SegmentationStorage, Modality="SEG"),
        dicom_files.dicom(deep, frames=True, SOPClassUID=RTDoseStorage, Modality="RTDOSE"),
        dicom_files.dicom(report, colour=True, StudyInstanceUID=None),
        without_picture(BasicTextSRStorage, "SR"),
        without_picture("1.3.12.2.1107.5.9.1", "OT"),
    ]
    other = dicom_files.dicom(report, colour=True, StudyInstanceUID="1.2.3", Modality="US")
    for n, one in enumerate([*made, other]):
        dicom_files.save(one, folder / f"made{n}.dcm")
    return folder


def test_among_pictures_what_was_made_of_them_is_no_item_anywhere(tmp_path, with_made_ones):
    tree, left = {"root": str(tmp_path / "tree"), "folders": ["label"]}, "left out beside them: 5"
    kinds = "(captured screen, CT 1, OT 1, RTDOSE 1, SEG 1, SR 1)"
    found = built(None, **tree).table
    assert len(found) == 13  # a capture of another study is a picture
    assert "a/made5.dcm" in found.ids
    assert f"made of scans, so {left} {kinds}" in " ".join(found.notes)
    study = run_file(tmp_path, None, **tree)
    assert "made4.dcm" in " ".join(data_check(study, no_page=True).inspection.notes)
    notes = []
    items = find_items([tmp_path / "tree"], 2, notes=notes)
    assert len(items) == 13
    assert f"{left} {kinds}" in notes[0]
    # Whoever names one gets it, or is told why not.
    file = table(tmp_path, ["tree/a/made0.dcm", "tree/b/r0.dcm"])
    assert len(built(file).table) == 2
    assert "made3.dcm: it holds no picture" in refused(
        table(tmp_path, ["tree/a/made3.dcm", "tree/b/r0.dcm"])
    )


def test_a_picture_cut_off_among_others_is_refused_and_no_document(tmp_path, with_made_ones):
    broken = without_picture(CTImageStorage, "CT")
    dicom_files.save(broken, with_made_ones / "cut.dcm")
    tree = {"root": str(tmp_path / "tree"), "folders": ["label"]}
    assert "a/cut.dcm: it holds no picture" in refused(None, **tree)
    assert len(find_items([tmp_path / "tree"], 2)) == 14


@pytest.mark.parametrize("tags", [{}, {"SliceThickness": "2"}, {"PixelSpacing": None}])
def test_a_folder_of_one_slice_is_the_picture_of_its_file(tmp_path, tags):
    turned = np.array([[0, -1, 0, 0], [-1, 0, 0, 0], [0, 0, -2, 0], [0, 0, 0, 1.0]])
    values = np.random.default_rng(0).integers(0, 900, (5, 4, 1)).astype(np.int16)
    dicom_files.series(tmp_path / "one", values, turned, names=["1.dcm"], **tags)
    found = images_of(table(tmp_path, ["one", "one/1.dcm"]), dims=2, window=(0.0, 1000.0))
    np.testing.assert_array_equal(found["one"], found["one/1.dcm"])
    assert found["one"].shape == (1, 5, 4)  # stored with 4 rows


def test_a_network_of_one_slice_of_each_volume_is_given_volumes(tmp_path, patients):
    names, _ = patients
    radiographs(tmp_path / "pictures", count=1)
    items = find_items([tmp_path], 2, slices=False)
    assert [item.source.path.name for item in items] == [*names, "r0.dcm"]


def test_a_folder_one_level_too_high_says_so(tmp_path):
    for n in range(2):
        series(tmp_path / f"p{n}" / "CT_1", n)
    assert "Name the folder that the slices" in refused(table(tmp_path, ["p0", "p1"]))


def test_kinds_of_files_may_be_mixed_but_not_their_scales_in_silence(tmp_path, patients):
    names, values = patients
    nifti(tmp_path / "same.nii", values.astype(np.float32), np.diag([1.0, 1, 2, 1]))
    file = table(tmp_path, ["same.nii", *names])
    found = images_of(file, window="ct")
    np.testing.assert_allclose(found["same.nii"], found["p0"], atol=1e-6)
    assert "CHECK THE WINDOW" in notes_of(file)
    assert "CHECK THE WINDOW" not in notes_of(file, window="ct")


def test_pictures_of_all_kinds_are_on_one_scale(tmp_path):
    names = radiographs(tmp_path)
    grey = (radiograph(0) >> 4).astype(np.uint8)
    Image.fromarray(grey).save(tmp_path / "grey.png")
    Image.fromarray(np.dstack([grey] * 3)).save(tmp_path / "colour.png")
    found = images_of(table(tmp_path, [*names, "grey.png", "colour.png"]))
    assert {image.shape for image in found.values()} == {(3, 8, 8)}
    np.testing.assert_array_equal(found["grey.png"], found["colour.png"])
    np.testing.assert_allclose(found["grey.png"], found[names[0]], atol=1 / 255)


# How the patient lay

_STANDARD = {"axial": ("L", "P"), "coronal": ("L", "F"), "sagittal": ("P", "F")}
_DIRECTIONS = {
    "L": (1, 0, 0), "R": (-1, 0, 0), "P": (0, 1, 0), "A": (0, -1, 0),
    "H": (0, 0, 1), "F": (0, 0, -1),
}  # fmt: skip
_OPPOSITE = {"L": "R", "R": "L", "P": "A", "A": "P", "H": "F", "F": "H"}


def recordings(shown, row, column):
    """A picture recorded in every way: its pixels, and the directions of rows and columns."""
    for transposed in (False, True):
        for flip_row in (False, True):
            for flip_column in (False, True):
                pixels = shown[:: -1 if flip_column else 1, :: -1 if flip_row else 1]
                along = [_OPPOSITE[row] if flip_row else row]
                along += [_OPPOSITE[column] if flip_column else column]
                yield (pixels.T, along[::-1]) if transposed else (pixels, along)


@pytest.mark.parametrize("plane", list(_STANDARD))
def test_a_slice_is_one_picture_however_it_was_recorded(tmp_path, plane):
    shown = np.random.default_rng(1).integers(0, 900, (5, 4)).astype(np.int16)
    names = []
    for n, (pixels, along) in enumerate(recordings(shown, *_STANDARD[plane])):
        lie = {
            "ImageOrientationPatient": [x for letter in along for x in _DIRECTIONS[letter]],
            "ImagePositionPatient": [0, 0, 0],
            "SliceThickness": 1,
            "PixelSpacing": [2, 1] if pixels.shape == shown.shape else [1, 2],
        }
        dataset = dicom_files.dicom(np.ascontiguousarray(pixels), **lie)
        names.append(dicom_files.save(dataset, tmp_path / f"{n}.dcm").name)
    file = table(tmp_path, names)
    for image in images_of(file, window=(0.0, 1000.0)).values():
        np.testing.assert_allclose(image[0] * 1000, shown, atol=1e-3)
    assert {one.spacing for one in built(file).table.facts} == {(2.0, 1.0)}
    assert "7 items: it was turned upright" in notes_of(file)
    for name in names:  # the volume of the slice alone is the same picture
        folder = tmp_path / name.removesuffix(".dcm")
        folder.mkdir()
        (tmp_path / name).rename(folder / name)
    folders = table(tmp_path, [name.removesuffix(".dcm") for name in names], name="folders.csv")
    for image in images_of(folders, window=(0.0, 1000.0)).values():
        np.testing.assert_allclose(image[0] * 1000, shown, atol=1e-3)


def test_a_projection_is_upright_but_keeps_the_side_that_it_is_seen_from(tmp_path):
    shown = radiograph(5, (5, 4))
    names = []
    for n, (pixels, along) in enumerate(recordings(shown, "L", "F")):
        dataset = dicom_files.dicom(
            np.ascontiguousarray(pixels), bits=12, Modality="DX", PatientOrientation=along
        )
        names.append(dicom_files.save(dataset, tmp_path / f"{n}.dcm").name)
    images = images_of(table(tmp_path, names), window=(0.0, 4095.0))
    for n, along in enumerate((["A", "F"], ["P", "F"], ["A", "R"], ["P", "L"], ["", ""])):
        dataset = dicom_files.dicom(shown, bits=12, Modality="DX", PatientOrientation=along)
        names.append(dicom_files.save(dataset, tmp_path / f"side{n}.dcm").name)
    images |= images_of(table(tmp_path, names), window=(0.0, 4095.0))
    assert len(images) == 13
    for image in images.values():
        np.testing.assert_allclose(image[0] * 4095, shown, atol=1e-3)
