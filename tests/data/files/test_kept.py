"""What the folder of kept images holds, and what becomes of it."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from medldr.data.files.image import ScanImages
from medldr.data.files.memory import cache_folder
from medldr.data.files.scan import Source
from medldr.data.store import stored
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
    old = Path(stored(images(), "disk", "t").filename).parent
    used = Path(stored(images(window=(0.0, 0.5)), "disk", "t").filename).parent
    left = cache_folder("scans") / "killed.partial"
    left.mkdir()
    long_ago = time.time() - 40 * 24 * 3600
    for path in (old, used, left):
        os.utime(path, (long_ago, long_ago))
    stored(images(window=(0.0, 0.5)), "disk", "t")  # which uses it
    stored(images(window=(0.0, 0.9)), "disk", "t")
    assert [path.exists() for path in (old, used, left)] == [False, True, False]


def test_reading_that_was_stopped_goes_on_with_what_is_missing(images, monkeypatch):
    monkeypatch.setattr("medldr.data.store.kept._BLOCK_BYTES", 1)  # an image is a block
    image, read = ScanImages.image, []

    def stopping(self, row):
        if row == 2 and 2 not in read:
            read.append(row)
            raise KeyboardInterrupt
        read.append(row)
        return image(self, row)

    monkeypatch.setattr(ScanImages, "image", stopping)
    monkeypatch.setattr("medldr.data.store.kept.cores", lambda: 0)
    with pytest.raises(KeyboardInterrupt):
        stored(images(), "disk", "t")
    kept = stored(images(), "disk", "t")
    assert read == [0, 1, 2, 2]
    np.testing.assert_array_equal(kept, images()[:])


def test_an_array_that_is_not_as_it_was_written_is_read_anew(images):
    path = Path(stored(images(), "disk", "t").filename)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    np.testing.assert_array_equal(stored(images(), "disk", "t"), images()[:])


def test_an_item_that_is_gone_leaves_nothing_behind(images, tmp_path):
    table = images()
    (tmp_path / "1.npy").unlink()
    with pytest.raises(InputError, match=r"1\.npy"):
        stored(table, "disk", "t")
    assert not list(cache_folder("scans").rglob("*.npy"))


def test_without_a_folderimages_are_kept_in_memory(images, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MEDLDR_CACHE", str(tmp_path / "file"))
    found = stored(images(), "disk", "t")
    assert not isinstance(found, np.memmap)
    np.testing.assert_array_equal(found, images()[:])
