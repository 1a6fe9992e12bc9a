"""A pack that is damaged, or no longer what its data set is, is never read from."""

import os
import shutil
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from rich.console import Console

from medldr.data import build_data, load_table, store
from medldr.data.checks.table_checks import look_at, looks_of
from medldr.data.loading.pixels import copied
from medldr.data.loading.workers import ahead
from medldr.errors import InputError
from medldr.folders.files import read_json, write_json


def _change_pixels(lazy, section):
    path = section.root / "pixels" / "004.raw"
    path.write_bytes(bytes(16))
    os.utime(path, ns=(1, 1))
    return lazy, "files behind its pictures have been replaced or modified"


def _drop_rows(lazy, section):
    kept = {name: getattr(lazy, name)[:8] for name in ("labels", "ids", "splits", "groups")}
    images = type(lazy.images)(lazy.images.folder, 8, (1, 4, 4))
    return (
        replace(lazy, images=images, domains=lazy.domains[:8], **kept),
        "2 of its rows are gone, for example item_8",
    )


def _rename_rows(lazy, section):
    ids = lazy.ids.copy()
    ids[0] = "other"
    return replace(lazy, ids=ids), "1 of its rows are new, for example other"


def _reorder_rows(lazy, section):
    order = [1, 0, *range(2, 10)]
    return replace(lazy, ids=lazy.ids[order]), "its rows are in a different order"


def _change_a_label(lazy, section):
    labels = lazy.labels.copy()
    labels[3] = 0
    return (
        replace(lazy, labels=labels),
        "its labels differ in 1 of its rows, for example item_3: now 0, then 1",
    )


def _change_a_checksum(lazy, section):
    return replace(lazy, hashes={"list.csv": "00"}), r"list\.csv has a different checksum"


def _change_the_size(lazy, section):
    images = type(lazy.images)(lazy.images.folder, 10, (1, 8, 2))
    return replace(lazy, images=images), r"images' size is now \(1, 8, 2\), then \(1, 4, 4\)"


@pytest.mark.parametrize(
    "change",
    [
        _change_pixels,
        _drop_rows,
        _rename_rows,
        _reorder_rows,
        _change_a_label,
        _change_a_checksum,
        _change_the_size,
    ],
)
def test_a_changed_source_is_told_with_what_changed_and_can_be_packed_again(
    change, lazy, section, make_pack, assert_equal_tables
):
    folder, _ = make_pack(lazy, section)
    changed, told = change(lazy, section)
    sys.modules[section.name].table = changed
    with pytest.raises(
        InputError, match=rf"toy has changed since it was packed in .*: .*{told}"
    ) as error:
        load_table(section)
    assert "medldr data pack" in str(error.value)
    assert load_table(section.model_copy(update={"packed": "off"})) is changed
    assert make_pack(changed, section) == (folder, "replaced")
    assert_equal_tables(load_table(section), changed)
    assert not list(folder.parent.glob("*.old"))


def test_pixels_in_memory_that_changed_are_told(make_table, section, make_pack):
    table = make_table([0, 1] * 4)
    module = sys.modules[section.name]
    del module.require
    module.load = lambda config: table
    make_pack(table, section)
    assert isinstance(load_table(section).images, np.memmap)
    table.images[5, 0, 1, 1] ^= 1
    with pytest.raises(InputError, match="pixels changed from row 0 on"):
        load_table(section)


def test_touched_files_with_the_same_pictures_are_accepted_once_compared(lazy, section, make_pack):
    make_pack(lazy, section)
    os.utime(section.root / "pixels" / "002.raw", ns=(7, 7))
    with pytest.raises(InputError, match=r"`medldr data pack \.\.\. --verify` compares them all"):
        load_table(section)
    pack = store.find_pack(section)
    assert store.verify(pack, lazy, workers=0, console=Console(quiet=True)) == "renewed"
    assert isinstance(load_table(section).images, np.memmap)
    assert (
        store.verify(store.find_pack(section), lazy, workers=0, console=Console(quiet=True))
        == "same"
    )


def test_a_pack_that_was_made_anew_while_it_was_compared_is_not_written_over(
    lazy, section, make_pack, monkeypatch
):
    make_pack(lazy, section)
    os.utime(section.root / "pixels" / "002.raw", ns=(7, 7))
    from medldr.data.store import packing

    compare = packing.verify_source

    def meanwhile(*args, **kwargs):
        compare(*args, **kwargs)
        make_pack(lazy, section)

    with monkeypatch.context() as patch:
        patch.setattr(packing, "verify_source", meanwhile)
        with pytest.raises(InputError, match="was packed again during the comparison"):
            store.verify(store.find_pack(section), lazy, workers=0, console=Console(quiet=True))
    assert store.find_pack(section).facts.stamp == lazy.images.stamp


def test_verifying_finds_a_picture_that_is_not_the_packed_one(
    lazy, section, small_blocks, make_pack
):
    make_pack(lazy, section)
    _change_pixels(lazy, section)
    (section.root / "pixels" / "007.raw").write_bytes(bytes(3))
    pack = store.find_pack(section)
    told = r"2 of 10 images .* differ from the source:\n  item_4: different pixels\n  item_7: .*cut"
    with pytest.raises(InputError, match=told):
        store.verify(pack, lazy, workers=2, console=Console(quiet=True))


def test_verifying_finds_a_bit_that_turned_in_the_pack(lazy, section, small_blocks, make_pack):
    folder, _ = make_pack(lazy, section)
    flip(folder / "images.npy", -60)  # in row 6, which is in rows 6 to 8
    with pytest.raises(
        InputError, match=r"1 of 4 blocks differ from what was written \(rows 6 to 8\)"
    ):
        store.verify(store.find_pack(section), None, workers=0, console=Console(quiet=True))


def flip(path, place, bit=4):
    content = bytearray(path.read_bytes())
    content[place] ^= bit
    path.write_bytes(content)


READS = {
    "a row": lambda images, data: images[6],
    "a part": lambda images, data: images[4:8],
    "some rows": lambda images, data: images[np.array([0, -3])],
    "a mask": lambda images, data: images[np.arange(10) == 8],
    "an epoch": lambda images, data: [
        *data.pixels.batches(
            "train", np.arange(10), np.array([1, 7]), [slice(0, 2)], device=CPU, workers=0
        )
    ],
    "a sample": lambda images, data: data.pixels.row(7),
    "on a device": lambda images, data: copied(
        data.pixels.host, np.array([2, 8]), CPU, data.pixels._prove
    ),
}
CPU = torch.device("cpu")


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_a_bit_that_turned_in_a_pack_is_found_when_its_block_is_first_read(
    read, lazy, section, small_blocks, make_run, make_pack
):
    lazy = sys.modules[section.name].table = replace(lazy, hashes={"list.csv": "00"})
    folder, _ = make_pack(lazy, section)
    flip(folder / "images.npy", -60)  # in row 6, which is in rows 6 to 8
    data = build_data(make_run(lazy).model_copy(update={"data": section}))
    images = data.table.images
    np.testing.assert_array_equal(images[0], lazy.images[0])
    with pytest.raises(InputError, match=r"images\.npy is damaged: rows 6 to 8 .*pack it again"):
        read(images, data)
    assert images[9].shape == (1, 4, 4)


def test_each_block_is_hashed_once_whoever_reads_it(
    lazy, section, small_blocks, make_pack, monkeypatch
):
    make_pack(lazy, section)
    images = load_table(section).images
    assert images.proof.proved.tolist() == [0, 0, 0, 0]
    list(ahead(lambda row: images[row], [1, 7], 1))  # in a process of its own
    assert images.proof.proved.tolist() == [1, 0, 1, 0]
    monkeypatch.setattr("medldr.data.proven.hashlib", None)
    np.testing.assert_array_equal(images[6], lazy.images[6])


def test_what_was_looked_at_when_packing_is_kept_with_a_checksum(
    lazy, section, make_pack, monkeypatch
):
    folder, _ = make_pack(lazy, section)
    expected = look_at(lazy.images[:])
    with monkeypatch.context() as patch:
        patch.setattr("medldr.data.checks.table_checks.each_part", None)  # nothing is read
        found = looks_of(load_table(section).images, np.arange(10), title="")
    assert found == expected
    flip(folder / "looks.npy", -1)
    with pytest.raises(InputError, match=r"looks\.npy is damaged"):
        looks_of(load_table(section).images, np.arange(10), title="")
    pack = store.find_pack(section)
    with pytest.raises(InputError, match=r"looks\.npy is damaged"):
        store.verify(pack, None, workers=0, console=Console(quiet=True))


def test_a_pack_of_an_earlier_version_is_read_as_ever(lazy, section, make_run, make_pack):
    folder, _ = make_pack(lazy, section)
    run = make_run(lazy).model_copy(update={"data": section})
    now = build_data(run).hashes()
    facts = read_json(folder / "pack.json")
    del facts["files"]["looks.npy"], facts["checksums"]
    write_json(folder / "pack.json", facts)
    (folder / "looks.npy").unlink()
    assert build_data(run).hashes() == now


def _truncate(folder):
    with (folder / "images.npy").open("r+b") as file:
        file.truncate(200)
    return "it has 200 bytes, but 288 were written"


def _remove_images(folder):
    (folder / "images.npy").unlink()
    return r"images\.npy cannot be read: there is no such file"


def _another_array(folder):
    np.save(folder / "images.npy", np.zeros((10, 1, 2, 8), np.uint8))
    return r"it is uint8 \(10, 1, 2, 8\), not uint8 \(10, 1, 4, 4\)"


def _no_array(folder):
    (folder / "images.npy").write_bytes(bytes(288))
    return r"images\.npy is not the array that was written"


def _another_format(folder):
    write_json(folder / "pack.json", {"format": 2})
    return "has format 2, but this version of medldr reads 1"


def _half_a_description(folder):
    facts = read_json(folder / "pack.json")
    del facts["columns"]
    write_json(folder / "pack.json", facts)
    return r"pack\.json: columns is missing"


def _another_note(folder):
    facts = read_json(folder / "pack.json")
    write_json(folder / "pack.json", {**facts, "notes": ["none"]})
    return r"pack\.json is not as it was written: its checksum differs"


def _no_description(folder):
    (folder / "pack.json").write_text("[1]")
    return r"pack\.json should contain a mapping"


@pytest.mark.parametrize(
    "damage",
    [
        _truncate,
        _remove_images,
        _another_array,
        _no_array,
        _another_format,
        _half_a_description,
        _another_note,
        _no_description,
    ],
)
def test_a_damaged_pack_is_refused_with_the_cure_and_can_be_made_again(
    damage, lazy, section, make_pack, assert_equal_tables
):
    folder, _ = make_pack(lazy, section)
    told = damage(folder)
    for packed in ("auto", folder):
        with pytest.raises(InputError, match=told) as error:
            load_table(section.model_copy(update={"packed": packed}))
        assert "medldr data pack" in str(error.value)
    assert make_pack(lazy, section)[1] == "replaced"
    assert_equal_tables(load_table(section), lazy)


def test_a_table_that_was_edited_is_not_taken_for_the_packed_one(lazy, section, make_pack):
    folder, _ = make_pack(lazy, section)
    text = (folder / "table.csv").read_text()
    (folder / "table.csv").write_text(text.replace("item_3,1", "item_3,0"))
    shutil.rmtree(section.root / "pixels")
    with pytest.raises(InputError, match=r"table\.csv is damaged or was changed"):
        load_table(section)


def test_only_a_whole_pack_of_this_data_set_can_be_named(lazy, section, tmp_path, make_pack):
    def read(folder, **keys):
        return load_table(section.model_copy(update={"packed": folder, **keys}))

    with pytest.raises(InputError, match=r"nothing is not a pack: it has no pack\.json"):
        read(tmp_path / "nothing")
    (tmp_path / "half.partial").mkdir()
    with pytest.raises(InputError, match="half is an unfinished pack"):
        read(tmp_path / "half")
    with pytest.raises(InputError, match="is an unfinished pack"):
        read(tmp_path / "half.partial")
    folder, _ = make_pack(lazy, section, tmp_path / "pack")
    with pytest.raises(InputError, match=r"is a pack of toys\.files \(nothing else set\), but .* "):
        read(folder, variant="rotated")
