"""MetaImage and NRRD: the voxels and places of the NIfTI file with the same volume."""

import os

import numpy as np
import pytest
import SimpleITK

from medldr.data.files.proof import prove_items
from medldr.data.files.read import read_scan
from medldr.data.files.scan import ScanError, Source
from medldr.datasets.table import Config

RAMP = np.arange(4 * 5 * 6, dtype=np.int16).reshape(4, 5, 6) - 40
FILES = ("a.mha", "a.mhd", "b.nrrd", "b.nhdr")
OBLIQUE = (0.8, 0.6, 0, -0.6, 0.8, 0, 0, 0, -1)


def volume(values=RAMP, direction=OBLIQUE, **more):
    image = SimpleITK.GetImageFromArray(values, **more)
    image.SetSpacing((0.5, 0.75, 2.0)[: image.GetDimension()])
    if image.GetDimension() == 3:
        image.SetOrigin((-10, 20, 30))
        image.SetDirection(direction)
    return image


def read(path):
    return read_scan(Source(path))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("dtype", ["int16", "uint8", "float32"])
def test_a_volume_is_that_of_its_nifti_twin(tmp_path, name, packed, dtype):
    image = volume((RAMP + 40).astype(dtype))
    SimpleITK.WriteImage(image, str(tmp_path / name), useCompression=packed)
    SimpleITK.WriteImage(image, str(tmp_path / "twin.nii.gz"))
    scan, twin = read(tmp_path / name), read(tmp_path / "twin.nii.gz")
    np.testing.assert_array_equal(scan.values, twin.values)
    np.testing.assert_allclose(scan.affine, twin.affine, atol=1e-5)
    np.testing.assert_allclose(scan.spacing, twin.spacing, rtol=1e-6)
    assert (scan.mode, scan.bits, scan.warnings) == (twin.mode, twin.bits, ())
    assert scan.kind == ("metaimage" if name.startswith("a") else "nrrd")


@pytest.mark.parametrize("name", FILES)
def test_vectors_are_channels_and_two_axes_are_a_picture(tmp_path, name):
    colours = np.stack([RAMP, RAMP + 1, RAMP + 2], axis=-1)
    SimpleITK.WriteImage(volume(colours, np.eye(3).ravel(), isVector=True), str(tmp_path / name))
    scan = read(tmp_path / name)
    assert scan.values.shape == (3, 6, 5, 4)
    assert (scan.values[1] - scan.values[0] == 1).all()
    SimpleITK.WriteImage(volume(RAMP[0]), str(tmp_path / name))
    flat = read(tmp_path / name)
    np.testing.assert_array_equal(flat.values, RAMP[:1])
    assert (flat.spacing, flat.affine) == ((0.75, 0.5), None)


def test_a_header_without_places_leaves_the_axes_as_stored(tmp_path):
    voxels = RAMP.astype("<i2").tobytes()
    fields = "NDims = 3\nDimSize = 6 5 4\nElementType = MET_SHORT\nElementByteOrderMSB = False\n"
    plain = tmp_path / "a.mha"
    plain.write_bytes(f"{fields}ElementDataFile = LOCAL\n".encode() + voxels)
    scan = read(plain)
    np.testing.assert_array_equal(scan.values[0], RAMP.T)
    assert (scan.spacing, scan.affine, len(scan.warnings)) == (None, None, 2)
    nrrd = "NRRD0005\ntype: short\ndimension: 3\nsizes: 6 5 4\nendian: little\nencoding: raw\n"
    space = "space dimension: 3\nspace directions: (500,0,0) (0,750,0) (0,0,2000)\n"
    (tmp_path / "b.nrrd").write_bytes(
        f'{nrrd}{space}space units: "um" "um" "um"\n\n'.encode() + voxels
    )
    scan = read(tmp_path / "b.nrrd")
    np.testing.assert_array_equal(scan.values[0], RAMP.T)
    assert (scan.spacing, scan.affine) == ((0.5, 0.75, 2.0), None)
    assert "um and were converted to mm" in scan.warnings[0]
    (tmp_path / "bare").write_bytes((tmp_path / "b.nrrd").read_bytes())
    assert read(tmp_path / "bare").kind == "nrrd"


@pytest.mark.parametrize("name", ["a.mhd", "b.nhdr"])
def test_voxels_are_beside_their_header_or_refused(tmp_path, name):
    SimpleITK.WriteImage(volume(), str(tmp_path / name))
    (voxels,) = (path for path in tmp_path.iterdir() if path.suffix == ".raw")
    text = (tmp_path / name).read_text()
    for elsewhere in (f"../{voxels.name}", str(voxels), "LIST", "slice%03d.raw 1 4 1", "c:\\a.raw"):
        (tmp_path / name).write_text(text.replace(voxels.name, elsewhere))
        with pytest.raises(ScanError, match="not in one file beside its header"):
            read(tmp_path / name)
    (tmp_path / name).write_text(text)
    attached = tmp_path / {"a.mhd": "a.mha", "b.nhdr": "b.nrrd"}[name]
    attached.write_text(text)  # whose voxels nobody would look for beside it
    with pytest.raises(ScanError, match="not in one file beside its header"):
        read(attached)
    voxels.rename(tmp_path / "moved")
    with pytest.raises(ScanError, match=r"its \.raw is missing"):
        read(tmp_path / name)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("name", ["a.mha", "b.nrrd"])
def test_what_the_file_cannot_hold_is_refused_before_memory_is_asked_for(tmp_path, name, packed):
    path = tmp_path / name
    SimpleITK.WriteImage(volume(), str(path), useCompression=packed)
    content = path.read_bytes()
    path.write_bytes(content[:-30])
    with pytest.raises(ScanError, match="truncated"):
        read(path)
    path.write_bytes(content.replace(b" 6 5 4\n", b" 60000 50000 4000\n"))
    with pytest.raises(ScanError, match="holds fewer voxels than its header says"):
        read(path)


def test_another_file_of_voxels_is_another_scan(tmp_path, monkeypatch):
    monkeypatch.setenv("MEDLDR_CACHE", str(tmp_path / "cache"))
    header = tmp_path / "a.mhd"
    SimpleITK.WriteImage(volume(), str(header))

    def content():
        return prove_items([Source(header)], ["a"], Config(), "a")[0].content

    first = content()
    assert content() == first
    raw = tmp_path / "a.raw"
    raw.write_bytes((RAMP + 1).astype("<i2").tobytes())
    os.utime(raw, ns=(1, 1))
    assert content() != first
