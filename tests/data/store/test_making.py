"""Making a pack: what is in its way is reported, and nothing half made looks whole."""

import os
import threading
import time
import types
from dataclasses import replace

import numpy as np
import pytest

from medldr.data import load_table, store
from medldr.data.store.array import Blocks
from medldr.errors import InputError
from medldr.folders.alone import alone
from medldr.folders.files import StorageError


def test_only_a_pack_is_ever_replaced(lazy, section, tmp_path, make_pack):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").touch()
    with pytest.raises(InputError, match="exists and is not a pack"):
        make_pack(lazy, section, tmp_path / "mine")
    make_pack(lazy, section, tmp_path / "pack")
    with pytest.raises(InputError, match="is a pack of"):
        make_pack(lazy, section.model_copy(update={"variant": "x"}), tmp_path / "pack")
    with pytest.raises(InputError, match="is a name reserved for unfinished packs"):
        make_pack(lazy, section, tmp_path / "pack.partial")
    assert (tmp_path / "mine" / "thesis.txt").exists()


@pytest.mark.parametrize("workers", [0, 2])
def test_every_unreadable_picture_is_named_and_there_is_no_pack(
    workers, lazy, section, small_blocks, make_pack
):
    for row in (1, 2, 8):
        (section.root / "pixels" / f"{row:03d}.raw").write_bytes(b"short")
    with pytest.raises(InputError) as error:
        make_pack(lazy, section, workers=workers)
    text = str(error.value)
    assert text.startswith("3 of 10 images cannot be read, so ")
    assert all(f"{row:03d}.raw is cut off" in text for row in (1, 2, 8))
    assert store.find_pack(section) is None


def test_pictures_that_could_not_be_read_for_a_moment_are_told_too(lazy, section, make_pack):
    class Moody(type(lazy.images)):
        def __getitem__(self, rows):
            if isinstance(rows, slice) and not self.calm:
                raise InputError("the disk is away")
            return super().__getitem__(rows)

    images = Moody(lazy.images.folder, 10, (1, 4, 4))
    images.calm = False
    with pytest.raises(InputError, match=r"images cannot be read.*\n  the disk is away\n"):
        make_pack(replace(lazy, images=images), section)
    images.calm = True
    assert make_pack(replace(lazy, images=images), section)[1] == "made"


def test_room_is_looked_for_before_anything_is_written(lazy, section, monkeypatch, make_pack):
    usage = types.SimpleNamespace(free=1000)
    monkeypatch.setattr("medldr.data.store.array.shutil.disk_usage", lambda path: usage)
    folder = store.usual_place(section, "toy")
    with pytest.raises(
        StorageError, match=r"no space for .*: [\d,]+ bytes needed, 1,000 free.*out="
    ):
        make_pack(lazy, section)
    assert not folder.exists()
    assert not list(section.root.rglob("*.npy"))


@pytest.mark.parametrize("workers", [0, 1])
def test_a_disk_that_is_full_meanwhile_is_told_and_the_rest_is_kept(
    workers, lazy, section, small_blocks, make_pack
):
    import resource

    make_limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    folder = store.usual_place(section, "toy")
    # The file has its full length from the start, so only a limit below that simulates no room.
    resource.setrlimit(resource.RLIMIT_FSIZE, (250, make_limits[1]))
    try:
        with pytest.raises(StorageError, match="no space left to write"):
            make_pack(lazy, section, workers=workers)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, make_limits)
    assert not folder.exists()
    assert make_pack(lazy, section)[1] == "made"


def test_a_place_that_cannot_be_written_asks_for_another(lazy, section, tmp_path, make_pack):
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="Choose another place with out="):
        make_pack(lazy, section, tmp_path / "file" / "pack")


def test_a_pack_that_is_there_is_left_alone(lazy, section, make_pack):
    folder, _ = make_pack(lazy, section)
    before = (folder / "images.npy").stat()
    lazy.images.reads = 0
    assert make_pack(lazy, section) == (folder, "there")
    assert lazy.images.reads == 0
    after = (folder / "images.npy").stat()
    assert (after.st_ino, after.st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


def test_an_empty_table_is_no_pack(make_table, section, make_pack):
    table = make_table([0], classes=2)
    none = {n: getattr(table, n)[:0] for n in ("images", "labels", "ids", "splits", "groups")}
    with pytest.raises(InputError, match="toy has no images"):
        make_pack(replace(table, domains=table.domains[:0], **none), section)


def test_of_two_packers_one_works_and_the_other_waits(lazy, section, tmp_path, make_pack, capsys):
    folder = tmp_path / "packs" / "pack"
    folder.parent.mkdir()
    results, said = [], ""
    other = threading.Thread(target=lambda: results.append(make_pack(lazy, section, folder)))
    with alone(folder, "packing"):
        other.start()
        until = time.monotonic() + 20
        while "waiting for it" not in said:
            assert time.monotonic() < until
            said += capsys.readouterr().err
            time.sleep(0.01)
        assert results == []
        assert not folder.exists()
    other.join(20)
    assert results == [(folder, "made")]


def test_a_disk_that_keeps_other_bytes_is_found_before_the_pack_is_whole(
    lazy, section, small_blocks, monkeypatch, make_pack, assert_equal_tables
):
    from medldr.data.store import array, packing

    def forgetful(images, blocks, folder, plan, **rest):
        digests = array.write_array(images, blocks, folder, plan, **rest)
        with (array.partial_of(folder) / array.IMAGES).open("r+b") as file:
            file.seek(-1, os.SEEK_END)
            file.write(b"\x07")
        return digests

    monkeypatch.setattr(packing, "write_array", forgetful)
    (section.root / "pixels" / "009.raw").write_bytes(bytes(16))
    with pytest.raises(
        StorageError, match=r"1 of 4 blocks of images\.npy in .* does not read back"
    ):
        make_pack(lazy, section)
    assert store.find_pack(section) is None
    monkeypatch.setattr(packing, "write_array", array.write_array)
    assert make_pack(lazy, section)[1] == "made"
    assert_equal_tables(load_table(section), lazy)


def test_every_row_is_in_one_block_and_no_block_is_empty():
    for rows in (1, 3, 4, 10):
        blocks = Blocks(rows=rows, each=3)
        assert [n for k in range(len(blocks)) for n in range(rows)[blocks[k]]] == [*range(rows)]
        assert sum(blocks.size(k) for k in range(len(blocks))) == rows
    for shape, each in (((5, 3, 10_000, 10_000), 1), ((455_954, 3, 96, 96), 606)):
        images = np.broadcast_to(np.uint8(0), shape)
        assert Blocks.of(images) == Blocks(shape[0], each)
