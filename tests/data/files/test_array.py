"""Arrays: which axis is what, what is refused, and that a stack is read once."""

import io
import os
import time
import zipfile

import numpy as np
import pytest

from medldr.data.files import array as arrays
from medldr.data.files.array import read_array
from medldr.data.files.read import read_scan
from medldr.data.files.scan import ScanError, Source


def _npy(tmp_path, array, dims):
    np.save(tmp_path / "a.npy", array)
    return read_array(Source(tmp_path / "a.npy"), dims)


def _numbers(*shape, kind=np.uint8):
    return np.random.default_rng(0).integers(0, 200, shape).astype(kind)


def test_pictures(tmp_path):
    grey, colour = _numbers(8, 6), _numbers(8, 6, 3)
    np.testing.assert_array_equal(_npy(tmp_path, grey, 2).values, grey[None])
    np.testing.assert_array_equal(_npy(tmp_path, grey[..., None], 2).values, grey[None])
    np.testing.assert_array_equal(_npy(tmp_path, grey[None], 2).values, grey[None])
    first = np.moveaxis(colour, -1, 0)
    np.testing.assert_array_equal(_npy(tmp_path, colour, 2).values, first)
    np.testing.assert_array_equal(_npy(tmp_path, first, 2).values, first)
    seen = _npy(tmp_path, np.concatenate([colour, colour[..., :1]], axis=-1), 2)
    np.testing.assert_array_equal(seen.values, first)
    assert "alpha" in seen.warnings[0]


def test_volumes(tmp_path):
    volume = _numbers(5, 6, 7, kind=np.int16)
    scan = _npy(tmp_path, volume, 3)
    np.testing.assert_array_equal(scan.values, volume[None])
    assert (scan.kind, scan.mode, scan.spacing, scan.bits) == ("array", "int16", None, None)
    channels = _numbers(4, 5, 6, 7)
    np.testing.assert_array_equal(_npy(tmp_path, channels, 3).values, channels)


@pytest.mark.parametrize(
    ("shape", "dims", "why"),
    [
        ((5, 6, 7), 2, "5 x 6 x 7, not that of a picture.*set dims to 3"),
        ((8, 6, 2), 2, "not that of a picture"),
        ((8, 6), 3, "8 x 6, not that of a volume"),
        ((9, 5, 6, 7), 3, "not that of a volume"),
        ((5, 6, 7, 3), 3, "channels, which come first"),
        ((4,), 2, "not that of a picture"),
        ((), 2, "a single number"),
        ((0, 5), 2, "no numbers"),
    ],
)
def test_other_shapes_are_refused(tmp_path, shape, dims, why):
    with pytest.raises(ScanError, match=why):
        _npy(tmp_path, np.zeros(shape), dims)


def test_types(tmp_path):
    assert _npy(tmp_path, np.eye(3, dtype=bool), 2).values.dtype == np.uint8
    assert _npy(tmp_path, np.eye(3, dtype=bool), 2).bits == 1
    assert _npy(tmp_path, _numbers(3, 3), 2).bits == 8
    assert _npy(tmp_path, _numbers(3, 3, kind=">u2"), 2).bits == 16
    assert _npy(tmp_path, _numbers(3, 3, kind=">u2"), 2).values.dtype.isnative
    assert _npy(tmp_path, _numbers(3, 3, kind=np.float16), 2).values.dtype == np.float32
    for array, why in (
        (np.ones((3, 3), complex), "complex"),
        (np.full((3, 3), "a"), "not numbers"),
        (np.array([[1, None]], object), "Python objects"),
    ):
        with pytest.raises(ScanError, match=why):
            _npy(tmp_path, array, 2)


def test_fortran_order_changes_nothing(tmp_path):
    volume = _numbers(5, 6, 7)
    scan = _npy(tmp_path, np.asfortranarray(volume), 3)
    np.testing.assert_array_equal(scan.values, volume[None])
    assert scan.values.flags.c_contiguous


def test_what_is_read_can_be_written_to_and_leaves_the_file_alone(tmp_path):
    grey = _numbers(4, 4)
    np.save(tmp_path / "a.npy", grey)
    np.savez(tmp_path / "b.npz", x=grey)
    for read in (
        lambda: read_array(Source(tmp_path / "a.npy"), 2),
        lambda: read_array(Source(tmp_path / "b.npz", "x"), 2),
    ):
        read().values[:] = 0
        np.testing.assert_array_equal(read().values[0], grey)


def test_a_stack_is_loaded_once_until_it_changes(tmp_path, monkeypatch):
    loads = []
    load = np.load
    monkeypatch.setattr(arrays.np, "load", lambda *a, **k: loads.append(a) or load(*a, **k))
    stack = _numbers(6, 4, 5, 3)
    path = tmp_path / "a.npz"
    np.savez_compressed(path, images=stack, other=stack[:2])
    for index in range(6):
        scan = read_array(Source(path, f"images[{index}]"), 2)
        np.testing.assert_array_equal(scan.values, np.moveaxis(stack[index], -1, 0))
    assert len(loads) == 1
    np.savez(path, images=stack + 1)
    np.testing.assert_array_equal(
        read_array(Source(path, "images[0]"), 2).values, np.moveaxis(stack[0] + 1, -1, 0)
    )
    assert len(loads) == 2


def test_what_an_archive_does_not_hold(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, train_images=_numbers(3, 4, 4), odd=np.array([[None]], object), one=np.array(1))
    for part, why in (
        ("train_image[0]", "no array 'train_image', but .*Did you mean 'train_images'"),
        ("train_images[3]", "has no item 3: it has 3"),
        ("one[0]", "has no item 0"),
        ("odd", "Python objects"),
        ("[3]", "is no array of an archive"),
    ):
        with pytest.raises(ScanError, match=why):
            read_array(Source(path, part), 2)


def test_the_only_array_of_an_archive_needs_no_name(tmp_path):
    volume = _numbers(8, 8, 8)
    np.savez_compressed(tmp_path / "one.npz", volume=volume)
    scan = read_scan(Source(tmp_path / "one.npz"), 3)
    np.testing.assert_array_equal(scan.values, volume[None])
    np.savez(tmp_path / "two.npz", image=volume, mask=volume > 9)
    with pytest.raises(ScanError, match=r"no array '', but 'image', 'mask'.*after a #"):
        read_scan(Source(tmp_path / "two.npz"), 3)


def test_a_header_that_claims_more_than_memory_holds_is_one_message(tmp_path):
    header = io.BytesIO()
    claimed = {"descr": "<f8", "fortran_order": False, "shape": (10**5, 10**5, 10**3)}
    np.lib.format.write_array_header_1_0(header, claimed)
    with zipfile.ZipFile(tmp_path / "huge.npz", "w") as archive:
        archive.writestr("volume.npy", header.getvalue() + bytes(100))
    with pytest.raises(ScanError, match="more memory than is free: its header is damaged"):
        read_scan(Source(tmp_path / "huge.npz"), 3)


def test_broken_files(tmp_path):
    np.save(tmp_path / "a.npy", _numbers(40, 40))
    np.savez(tmp_path / "b.npz", x=_numbers(40, 40))
    for name in ("a.npy", "b.npz"):
        whole = (tmp_path / name).read_bytes()
        broken = tmp_path / f"secret_{name}"
        for content, why in (
            (whole[: len(whole) // 2], "damaged or truncated"),
            (b"", "empty"),
            (b"<html>", "not an .np"),
        ):
            broken.write_bytes(content)
            with pytest.raises(ScanError, match=why) as told:
                read_array(Source(broken), 2)
            assert "secret" not in str(told.value)
    form = {"descr": "<f8", "fortran_order": False, "shape": (-5, 10)}
    with (tmp_path / "a.npy").open("wb") as stream:
        np.lib.format.write_array_header_1_0(stream, form)
        stream.write(bytes(100))
    with pytest.raises(ScanError, match="damaged"):
        read_array(Source(tmp_path / "a.npy"), 2)


def test_an_archive_that_took_another_s_place_is_read_again(tmp_path):
    first, second = _numbers(8, 6), _numbers(8, 6) + 1
    for name, stored in (("a.npz", first), ("b.npz", second)):
        np.savez(tmp_path / name, image=stored)
        os.utime(tmp_path / name, (9, 9))
    source = Source(tmp_path / "a.npz", "image")
    np.testing.assert_array_equal(read_array(source, 2).values[0], first)
    time.sleep(0.02)  # a tick of the clock of the file system
    (tmp_path / "b.npz").rename(tmp_path / "a.npz")
    np.testing.assert_array_equal(read_array(source, 2).values[0], second)
