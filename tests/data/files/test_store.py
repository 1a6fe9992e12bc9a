"""What the folder of kept images holds, and what becomes of it."""

import os
import time

import numpy as np
import pytest

from medldr.data.files.image import ScanImages
from medldr.data.files.memory import cache_folder
from medldr.data.files.scan import Source
from medldr.data.scans.store import stored
from medldr.errors import InputError


@pytest.fixture
def images(tmp_path, rules, monkeypatch):
    """Images of some volumes, and a folder of their own to keep them in."""
    monkeypatch.setenv("MEDLDR_CACHE", str(tmp_path / "cache"))

    def make(count=3, **changed):
        random = np.random.default_rng(0)
        sources = []
        for number in range(count):
            np.save(tmp_path / f"{number}.npy", random.random((4, 5, 6), np.float32))
            sources.append(Source(tmp_path / f"{number}.npy"))
        contents = [f"content {number}" for number in range(count)]
        return ScanImages(sources, contents, rules(size=(4, 4, 4), **changed), (4, 4, 4))

    return make


def test_an_array_is_written_once_and_read_by_all_others(images, monkeypatch):
    first = stored(images(), "disk", "t")
    monkeypatch.setattr(ScanImages, "image", lambda *_: pytest.fail("read again"))
    np.testing.assert_array_equal(stored(images(), "disk", "t"), first)


def test_other_rules_are_another_array(images):
    first = stored(images(), "disk", "t")
    other = stored(images(window=(0.0, 0.5)), "disk", "t")
    assert first.filename != other.filename
    assert not np.array_equal(first, other)


def test_arrays_unused_for_a_month_go_when_another_is_written(images):
    old = stored(images(), "disk", "t").filename
    used = stored(images(window=(0.0, 0.5)), "disk", "t").filename
    left = cache_folder("scans") / "killed.partial"
    left.touch()
    long_ago = time.time() - 40 * 24 * 3600
    for path in (old, used, left):
        os.utime(path, (long_ago, long_ago))
    stored(images(window=(0.0, 0.5)), "disk", "t")  # which uses it
    stored(images(window=(0.0, 0.9)), "disk", "t")
    there = {path.name for path in cache_folder("scans").iterdir()}
    assert os.path.basename(used) in there
    assert os.path.basename(old) not in there
    assert os.path.basename(old).replace(".npy", ".sha256") not in there
    assert "killed.partial" not in there


def test_an_item_that_is_gone_leaves_nothing_behind(images, tmp_path):
    table = images()
    (tmp_path / "1.npy").unlink()
    with pytest.raises(InputError, match=r"1\.npy"):
        stored(table, "disk", "t")
    assert not list(cache_folder("scans").glob("*.npy"))
    assert not list(cache_folder("scans").glob("*.partial"))


def test_without_a_folder_images_are_kept_in_memory(images, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MEDLDR_CACHE", str(tmp_path / "file"))
    found = stored(images(), "disk", "t")
    assert not isinstance(found, np.memmap)
    np.testing.assert_array_equal(found, images()[:])
