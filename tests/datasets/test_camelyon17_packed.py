"""A pack of Camelyon17: read without opening a patch, and refused when a patch is another."""

import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from medldr.data import list_bad_files, load_table, store
from medldr.data.hashes import hash_table
from medldr.data.reading.pictures import PictureFiles
from medldr.datasets import camelyon17
from medldr.datasets._camelyon17.wilds import installed
from medldr.errors import InputError

# Its import would look for a newer version, on the network.
pytestmark = pytest.mark.skipif(not installed(), reason="the package wilds is not installed")


@pytest.fixture
def section(camelyon17_folder):
    return camelyon17.Config(root=camelyon17_folder)


def pack(section):
    """Pack what the data set itself gives; returns that."""
    table = camelyon17.load(section)
    folder = store.usual_place(section, table.name)
    store.make_pack(table, section, folder, workers=0, console=Console(quiet=True))
    return table


def patch(section, number):
    return sorted(section.root.rglob("*.png"))[number]


def skipping(section):
    return section.model_copy(update={"on_bad_file": "skip"})


def test_no_patch_is_opened_where_there_is_a_pack(section, monkeypatch):
    table = pack(section)

    def opened(*_, **__):
        raise AssertionError("a patch was opened")

    for name in ("examined", "__getitem__"):
        monkeypatch.setattr(PictureFiles, name, opened)
    packed = load_table(section)
    assert isinstance(packed.images, np.memmap)
    assert hash_table(packed) == hash_table(table)
    assert replace(packed, images=table.images).notes == table.notes


@pytest.mark.parametrize("on_bad_file", ["error", "skip"])
def test_a_patch_that_was_replaced_or_taken_away_since_is_told(section, on_bad_file):
    section = section.model_copy(update={"on_bad_file": on_bad_file})
    pack(section)
    Image.new("RGB", (96, 96)).save(patch(section, 7))
    with pytest.raises(InputError, match="has changed since it was packed"):
        load_table(section)
    pack(section)
    load_table(section)
    patch(section, 7).unlink()
    with pytest.raises(InputError, match="has changed since it was packed"):
        load_table(section)


def test_what_was_left_out_is_left_out_of_the_pack_and_still_listed(section):
    patch(section, 3).write_text("no picture at all")
    lost = patch(section, 9)
    lost.unlink()
    table = pack(skipping(section))
    packed = load_table(skipping(section))
    assert isinstance(packed.images, np.memmap)
    assert len(packed) == 58
    assert list_bad_files(packed) == list_bad_files(table)
    assert hash_table(packed) == hash_table(table)
    assert packed.notes == table.notes
    with pytest.raises(InputError, match=rf"1 of the 60 patches .* are missing.*{lost.name}"):
        load_table(section)  # that pack is none of a run that leaves nothing out
    shutil.rmtree(section.root / "camelyon17_v1.0")
    alone = load_table(skipping(section))
    assert list_bad_files(alone) == list_bad_files(table)
    assert hash_table(alone) == hash_table(table)


def test_a_patch_that_was_left_out_and_is_whole_again_is_told(section):
    whole = patch(section, 3).read_bytes()
    patch(section, 3).write_text("no picture at all")
    pack(skipping(section))
    patch(section, 3).write_bytes(whole)
    with pytest.raises(InputError, match="has changed since it was packed"):
        load_table(skipping(section))
    pack(skipping(section))
    assert len(load_table(skipping(section))) == 60


def test_without_wilds_a_pack_is_read_alone(section, monkeypatch):
    table = pack(section)
    monkeypatch.setitem(sys.modules, "wilds", None)
    alone = load_table(section)
    assert hash_table(alone) == hash_table(table)
    assert any("read from its pack alone" in note for note in alone.notes)


def test_a_pack_without_some_patches_is_for_those_who_do_without_them(section, monkeypatch):
    patch(section, 0).unlink()
    pack(skipping(section))
    assert len(load_table(skipping(section)).bad_files) == 1
    with pytest.raises(InputError, match="on_bad_file=skip"):
        load_table(section)
    shutil.rmtree(section.root / "camelyon17_v1.0")
    assert len(load_table(skipping(section)).bad_files) == 1
    with pytest.raises(InputError, match=r"lacks 1 files .* data\.on_bad_file=skip"):
        load_table(section)


def test_the_folder_itself_may_be_named_too_and_finds_the_same_pack(section):
    pack(section)
    inside = camelyon17.Config(root=section.root / "camelyon17_v1.0")
    assert inside.root == section.root
    assert isinstance(load_table(inside).images, np.memmap)


def test_skipping_leaves_out_a_patch_that_only_decoding_finds_broken(section):
    path = patch(section, 3)
    content = bytearray(path.read_bytes())
    middle = len(content) // 2
    content[middle : middle + 40] = bytes(40)
    path.write_bytes(content)
    (bad,) = camelyon17.load(skipping(section)).bad_files
    assert bad.path.endswith(path.name)
