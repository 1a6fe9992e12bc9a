"""Volumes that other software read wrong or broke on, in a table of one's own.

Each is read right, or refused before training in one message that names the file and the cure.
"""

import gzip

import nibabel
import numpy as np
import pytest
from own_scans import (
    RAMP,
    built,
    images_of,
    nifti,
    noise,
    notes_of,
    refused,
    run_file,
    table,
    volumes,
)

from medldr.folders.files import RunFolder

WINDOW = (0.0, 119.0)
"""With it an image times 119 is the ramp again."""


@pytest.fixture
def trained(medldr, tmp_path, out):
    """Train on a table by the command: how it ended, and the run folder (None without one)."""

    def run(file, **data):
        ended = medldr("train", run_file(tmp_path, file, **data), "--out", out)
        folders = sorted(out.iterdir(), key=lambda p: p.stat().st_mtime) if out.exists() else []
        return ended, RunFolder(folders[-1]) if folders else None

    return run


# NIfTI: numbers, byte order, scaling


def test_a_few_numbers_that_are_not_finite_are_replaced_and_counted(tmp_path):
    values = RAMP.copy()
    values[0, 0, 0], values[5, 4, 3], values[1, 1, 1] = np.nan, np.inf, -np.inf
    names = [nifti(tmp_path / "few.nii.gz", values), nifti(tmp_path / "zero.nii", 0 * RAMP)]
    file = table(tmp_path, [*names, *volumes(tmp_path)])
    found = images_of(file, window=WINDOW)
    expected = np.where(np.isfinite(values), values, 1.0)
    np.testing.assert_allclose(found["few.nii.gz"][0] * 119, expected, atol=1e-4)
    assert not images_of(file)["zero.nii"].any()
    assert "1 item: 3 of 120 numbers are not finite (1 NaN, 2 infinite)" in notes_of(file)


def test_a_volume_without_a_finite_number_stops_or_is_left_out(tmp_path, trained):
    nifti(tmp_path / "blank.nii", np.full((6, 5, 4), np.nan, np.float32))
    file = table(tmp_path, ["blank.nii", *volumes(tmp_path)])
    ended, folder = trained(file)
    assert ended.code == 2
    assert "blank.nii: none of its numbers is finite" in ended.err
    assert "data.on_bad_file=skip" in ended.err
    assert folder is None or not folder.metrics.exists()
    ended, folder = trained(file, on_bad_file="skip", val_fraction=0.25, test_fraction=0.25)
    assert ended.code == 3, ended.err
    assert folder.bad_files.read_text().splitlines()[1].startswith("blank.nii,none of its")


@pytest.mark.parametrize("kind", ["f4", "i2"])
def test_both_byte_orders_are_one_volume(tmp_path, kind):
    for order in "<>":
        header = nibabel.Nifti1Header(endianness=order)
        header.set_data_dtype(f"{order}{kind}")
        image = nibabel.Nifti1Image(RAMP.astype(f"{order}{kind}"), np.eye(4), header)
        nibabel.save(image, tmp_path / f"{'big' if order == '>' else 'little'}.nii")
    file = table(tmp_path, ["big.nii", "little.nii"])
    found = images_of(file, window=WINDOW)
    assert found["big.nii"][0, 1, 2, 3] * 119 == pytest.approx(31)
    np.testing.assert_array_equal(found["big.nii"], found["little.nii"])


def test_slope_and_intercept_hold_wherever_images_are_kept(tmp_path):
    for name, slope in (("slope.nii.gz", 0.5), ("none.nii", 0.0)):
        image = nibabel.Nifti1Image(RAMP.astype(np.int16), np.eye(4))
        image.header.set_slope_inter(slope or 1, -100 if slope else 0)
        nibabel.save(image, tmp_path / name)
    content = bytearray((tmp_path / "none.nii").read_bytes())
    content[112:116] = bytes(4)  # the slope as stored, which nibabel won't write as 0
    (tmp_path / "none.nii").write_bytes(content)
    file = table(tmp_path, ["slope.nii.gz", "none.nii"])
    for cache in ("disk", "memory", "off"):
        found = images_of(file, window=(-200.0, 200.0), cache=cache)
        scaled = found["slope.nii.gz"][0] * 400 - 200
        assert (scaled[0, 0, 0], scaled[5, 4, 3]) == pytest.approx((-100, -40.5), abs=1e-3)
        assert found["none.nii"][0, 5, 4, 3] * 400 - 200 == pytest.approx(119, abs=1e-3)


# NIfTI: places and channels


def test_one_object_stored_in_four_ways_is_one_image(tmp_path):
    ras = np.diag([1.0, 1, 2, 1])
    lps = np.diag([-1.0, -1, 2, 1])
    lps[:2, 3] = 5, 4
    turned = np.zeros((4, 4))
    turned[0, 2], turned[1, 0], turned[2, 1], turned[3, 3] = 1, 1, 2, 1
    names = [
        nifti(tmp_path / "ras.nii", RAMP, ras),
        nifti(tmp_path / "lps.nii", RAMP[::-1, ::-1], lps),
        nifti(tmp_path / "turned.nii", RAMP.transpose(1, 2, 0), turned),
    ]
    only = nibabel.Nifti1Image(RAMP[::-1, ::-1], None)
    only.set_qform(lps, 1)
    only.set_sform(None, 0)
    only.to_filename(tmp_path / "qform.nii")
    file = table(tmp_path, [*names, "qform.nii"])
    for image in images_of(file, window=WINDOW).values():
        np.testing.assert_allclose(image[0] * 119, RAMP, atol=1e-4)
    assert {one.spacing for one in built(file).table.facts} == {(1.0, 1.0, 2.0)}


def test_a_volume_that_does_not_say_how_the_patient_lay_is_told(tmp_path):
    image = nibabel.Nifti1Image(RAMP, None)
    image.header["pixdim"][1:4] = 0
    image.to_filename(tmp_path / "nowhere.nii")
    file = table(tmp_path, ["nowhere.nii", *volumes(tmp_path)])
    said = notes_of(file)
    assert "1 item: its header does not say how the patient lay" in said
    assert "1 item: its spacing is unknown" in said
    assert "nowhere" not in said
    wrong = refused(file, spacing=1, size=8)
    assert "1 of 9 items" in wrong
    assert "nowhere.nii: it does not say its spacing, which data.spacing needs" in wrong


@pytest.mark.parametrize("shape", [(6, 5, 4, 2), (6, 5, 4, 1, 2)])
def test_channels_come_first_however_they_are_stored(tmp_path, shape):
    pair = np.stack([RAMP, RAMP + 1000], axis=-1).reshape(shape)
    file = table(tmp_path, [nifti(tmp_path / f"{n}.nii", pair) for n in range(4)])
    image = images_of(file, window=(0.0, 1119.0))["0.nii"]
    assert image.shape == (2, 6, 5, 4)
    np.testing.assert_allclose(image[1] * 1119, RAMP + 1000, atol=1e-3)
    assert "each item has 2 channels" in notes_of(file)
    for asked in (1, 3):
        said = refused(file, channels=asked)
        assert f"0.nii: it has 2 channels, but data.channels asks for {asked}" in said


def test_a_fourth_axis_of_one_is_no_second_channel_and_a_long_one_is_no_picture(tmp_path):
    names = [nifti(tmp_path / f"{n}.nii", noise(n)[..., None]) for n in range(4)]
    assert images_of(table(tmp_path, names))["0.nii"].shape == (1, 6, 5, 4)
    nifti(tmp_path / "0.nii", noise(0, (6, 5, 4, 70)))
    said = refused(table(tmp_path, names))
    assert "0.nii: it has 70 channels" in said
    assert "series over time" in said


def test_both_files_of_a_pair_count(tmp_path):
    names = [f"{n}.hdr" for n in range(4)]
    for n, name in enumerate(names):
        nibabel.save(nibabel.Nifti1Pair(noise(n), np.eye(4)), tmp_path / name)
    file = table(tmp_path, names)
    before = images_of(file, window=(0.0, 200.0))["0.hdr"]
    (tmp_path / "0.img").write_bytes(RAMP.tobytes(order="F"))
    after = images_of(file, window=(0.0, 200.0))["0.hdr"]
    assert not np.allclose(before, after)
    np.testing.assert_allclose(after[0] * 200, RAMP, atol=1e-4)
    (tmp_path / "1.img").unlink()
    assert "1.hdr: its .img is missing" in refused(file)


# Files that are damaged, or called otherwise than they are


def test_damaged_volumes_are_named_before_training_and_misnamed_ones_are_read(tmp_path, trained):
    good = volumes(tmp_path)
    whole = (tmp_path / good[0]).read_bytes()
    (tmp_path / "cut.nii.gz").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "empty.nii.gz").write_bytes(b"")
    (tmp_path / "plain.nii.gz").write_bytes(nibabel.Nifti1Image(RAMP, np.eye(4)).to_bytes())
    file = table(tmp_path, [*good, "cut.nii.gz", "empty.nii.gz", "plain.nii.gz"])
    ended, folder = trained(file)
    assert ended.code == 2
    assert "2 of 11 items cannot be used" in ended.err
    assert "cut.nii.gz: the file is truncated" in ended.err
    assert "empty.nii.gz: the file is empty" in ended.err
    assert "plain.nii.gz" not in ended.err
    assert folder is None or not folder.metrics.exists()
    found = images_of(file, on_bad_file="skip", window=WINDOW)
    assert len(found) == 9
    np.testing.assert_allclose(found["plain.nii.gz"][0] * 119, RAMP, atol=1e-4)


def test_a_file_is_read_anew_under_a_better_name(tmp_path):
    names = volumes(tmp_path)
    content = nibabel.Nifti1Image(RAMP, np.eye(4)).to_bytes()
    (tmp_path / "brain.npy").write_bytes(content)
    assert "brain.npy: not an .npy file" in refused(table(tmp_path, [*names, "brain.npy"]))
    (tmp_path / "brain.npy").rename(tmp_path / "brain.nii")
    assert "brain.nii" in images_of(table(tmp_path, [*names, "brain.nii"]))


@pytest.mark.parametrize("name", ["brain", "brain.gz", "IM0001", "brain.nii.GZ"])
def test_nifti_is_known_by_its_content(tmp_path, name):
    content = nibabel.Nifti1Image(RAMP, np.eye(4)).to_bytes()
    zipped = name.lower().endswith("gz")
    (tmp_path / name).write_bytes(gzip.compress(content) if zipped else content)
    file = table(tmp_path, [*volumes(tmp_path), name])
    np.testing.assert_allclose(images_of(file, window=WINDOW)[name][0] * 119, RAMP, atol=1e-4)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.nii.gz", b"PK\x03\x04" + bytes(500), "not a NIfTI file"),
        ("a.mha", b"ObjectType = Image\n" + bytes(400), "its header has no end"),
        ("a.nrrd", b"NRRD0004\n\n" + bytes(400), "its header or its voxels are damaged"),
        ("a.mp4", b"\0\0\0\x18ftyp" + bytes(400), "A video is not read. Save the frames"),
        ("a.SVS", b"II*\0" + bytes(400), "A whole slide is not read. Cut it into tiles"),
        ("a.npz", b"PK\x03\x04" + bytes(400), "the file is damaged or truncated"),
        ("a.dcm", b"this is not a DICOM file\n", "not a DICOM file"),
        ("a", b"this is not a DICOM file\n" * 20, "not a DICOM file"),
    ],
)
def test_what_is_no_scan_is_named_with_the_reason(tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    file = table(tmp_path, [*volumes(tmp_path), name])
    assert f"{name}: " in refused(file)
    assert said in refused(file)
    assert len(built(file, on_bad_file="skip").table) == 8


# Pictures and volumes, sizes


def test_volumes_of_one_slice_are_pictures(tmp_path):
    names = [nifti(tmp_path / f"{n}.nii", noise(n, (6, 5, 1)), np.eye(4)) for n in range(4)]
    image = images_of(table(tmp_path, names), window=(0.0, 200.0))["0.nii"]
    # As radiologists see it: the patient's right on the left, the front at the top.
    shown = noise(0, (6, 5, 1))[::-1, ::-1, 0].T
    np.testing.assert_allclose(image[0] * 200, np.clip(shown, 0, 200), atol=1e-3)


def test_a_slice_of_each_volume_may_be_taken(tmp_path):
    file = table(tmp_path, volumes(tmp_path))
    assert "v0.nii.gz: it has 4 slices, but pictures have one" in refused(file, dims=2)
    for frame, number in (("first", 0), ("middle", 2)):
        image = images_of(file, dims=2, frame=frame, window=(0.0, 200.0))["v0.nii.gz"]
        shown = noise(0)[::-1, ::-1, number].T
        np.testing.assert_allclose(image[0] * 200, np.clip(shown, 0, 200), atol=1e-3)


def test_volumes_of_different_sizes_need_a_size(tmp_path, trained):
    shapes = [(8, 8, 4), (8, 8, 6), (10, 7, 5)]
    names = [nifti(tmp_path / f"{n}.nii", noise(n, shapes[n % 3])) for n in range(9)]
    file = table(tmp_path, names)
    ended, _ = trained(file)
    assert ended.code == 2
    for word in ("8 x 8 x 4 (0.nii)", "8 x 8 x 6 (1.nii)", "Set data.size=[64, 64, 64]"):
        assert word in ended.err
    found = images_of(file, size=[8, 8, 8])
    assert {image.shape for image in found.values()} == {(1, 8, 8, 8)}
    assert "has 3 axes, but 2 numbers" in refused(file, size=[8, 8])
