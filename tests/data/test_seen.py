"""Which images a run has seen: found whatever they are called, and nothing but equal ones."""

import csv
import hashlib
import hmac
import json

import nibabel
import numpy as np
import pytest
import torch
from PIL import Image

from medldr import plugins
from medldr.data.files.rules import reading_of
from medldr.data.files.scan import Source
from medldr.data.image_table import ImageTable
from medldr.data.reading.new_item import ItemReader
from medldr.data.seen import (
    PICTURE,
    STORED,
    VALUES,
    digests_of,
    kind_of,
    known_images,
    line_of,
    read_seen,
    write_seen,
)
from medldr.errors import InputError
from medldr.folders.checksums import checksums_of
from medldr.folders.files import RunFolder, load_tensors
from medldr.folders.run_record import add_to_run_record, read_run_record

ALL = np.arange


def _run(path, name="0a1b2c3d", seed=0, start=None, weights=None):
    files = RunFolder(path)
    path.mkdir(parents=True)
    add_to_run_record(files, status="done", hash=name, seed=seed)
    config = {"training": {"init_from": start and str(start)}, "model": {"weights": weights}}
    files.config.write_text(json.dumps(config))
    return files


def _table(images, ids=None):
    n = len(images)
    blank = np.full(n, "")
    return ImageTable(
        name="toy",
        task="multi-class",
        class_names=("a", "b"),
        images=images,
        labels=np.zeros(n, np.int64),
        ids=np.array(ids or [str(row) for row in range(n)]),
        splits=blank,
        domains=blank,
        groups=blank,
    )


@pytest.fixture
def images():
    return np.random.default_rng(0).integers(0, 256, (6, 1, 4, 5), dtype=np.uint8)


def test_the_file_holds_sorted_hmacs_of_values_type_and_shape(images, tmp_path):
    images[1] = images[0]  # counts once
    images[2] = 7  # of a single colour: equal everywhere
    files = _run(tmp_path / "run", seed=3)
    write_seen(files, _table(images), {"train": ALL(4), "val": ALL(4, 5), "test": ALL(5, 6)})
    key = hashlib.sha256(b"medldr seen images 0a1b2c3d 3").digest()

    def expected(*rows):
        inner = [
            hashlib.blake2b(b"|u1 (1, 4, 5)" + images[row].tobytes(), digest_size=16).digest()
            for row in rows
        ]
        return sorted(hmac.new(key, one, "sha256").digest()[:16] for one in inner)

    found = load_tensors(files.seen)
    assert found.keys() == {"values/train", "values/val"}
    assert [bytes(row) for row in found["values/train"].numpy()] == expected(0, 3)
    assert [bytes(row) for row in found["values/val"].numpy()] == expected(4)
    assert found["values/train"].dtype == torch.uint8


def test_images_are_known_by_their_values_alone(images, tmp_path):
    files = _run(tmp_path / "run")
    write_seen(files, _table(images), {"train": ALL(3), "val": ALL(3, 4), "test": ALL(4, 6)})
    other = np.concatenate([images[[4, 3, 0]], images[:1] ^ 1])
    known, lacking = known_images(files.path, _table(other, ["p", "q", "r", "s"]))
    assert known.tolist() == [False, True, True, False]  # judged, selected, trained, changed
    assert lacking == []
    for changed in (images.astype(np.float32), images.reshape(6, 1, 5, 4), images[:, :, ::-1]):
        assert not known_images(files.path, _table(np.ascontiguousarray(changed)))[0].any()


def test_runs_do_not_share_a_key(images, tmp_path):
    made = [_run(tmp_path / "a"), _run(tmp_path / "b", seed=1), _run(tmp_path / "c", "1" * 8)]
    for files in made:
        write_seen(files, _table(images), {"train": ALL(6)})
    stored = [{bytes(row) for row in load_tensors(f.seen)["values/train"].numpy()} for f in made]
    assert not stored[0] & stored[1]
    assert not stored[0] & stored[2]


def test_what_a_run_started_from_has_been_seen_too(images, tmp_path):
    first, second = _run(tmp_path / "a"), _run(tmp_path / "b", seed=1, start=tmp_path / "a")
    write_seen(first, _table(images), {"train": ALL(2)})
    write_seen(second, _table(images), {"train": ALL(2, 4)})
    assert known_images(second.path, _table(images))[0].tolist() == [True] * 4 + [False] * 2
    first.seen.unlink()
    known, lacking = known_images(second.path, _table(images))
    assert known.tolist() == [False, False, True, True, False, False]
    assert "not compared" in lacking[0]
    assert "medldr evaluate" in lacking[0]


def test_lines_of_runs_are_followed_through_files_and_end(tmp_path):
    bare = tmp_path / "w.safetensors"
    bare.touch()
    first = _run(tmp_path / "runs" / "a", weights=str(bare))
    weights = first.selected("last")
    weights.parent.mkdir()
    weights.touch()
    second = _run(tmp_path / "runs" / "b", start=weights)
    line = [getattr(one, "path", one) for one in line_of(second.path)]
    assert line == [second.path, first.path, bare]
    first.config.write_text(json.dumps({"training": {"init_from": str(second.path)}}))
    assert len(list(line_of(second.path))) == 2  # not for ever


def test_images_hashed_otherwise_are_said_not_to_be_compared(images, tmp_path):
    files = _run(tmp_path / "run")
    np.save(tmp_path / "i.npy", images)
    packed = _table(np.load(tmp_path / "i.npy", mmap_mode="r"))
    assert kind_of(packed) == STORED
    write_seen(files, packed, {"train": ALL(6)})
    known, lacking = known_images(files.path, _table(images))
    assert not known.any()
    assert "or of another kind" in lacking[0]


@pytest.mark.parametrize("damage", ["changed", "cut"])
def test_a_damaged_file_is_named_with_its_cure(images, tmp_path, damage):
    files = _run(tmp_path / "run")
    write_seen(files, _table(images), {"train": ALL(6)})
    if damage == "changed":
        add_to_run_record(files, checksums=checksums_of(files))
    content = files.seen.read_bytes()
    files.seen.write_bytes(content[:-1] + b"?" if damage == "changed" else content[:20])
    with pytest.raises(InputError, match=r"seen_images.*medldr evaluate"):
        read_seen(files, read_run_record(files))


def _write(folder):
    """Pictures of 8 and 16 bits, grey and colour, and a row for each."""
    random = np.random.default_rng(1)
    rows = []
    for number in range(6):
        grey = random.integers(0, 256, (9, 7), dtype=np.uint8)
        colour = random.integers(0, 256, (9, 7, 3), dtype=np.uint8)
        pixels = (grey, colour)[number % 2] if number < 4 else grey.astype(np.uint16) * 200
        name = f"{'ab'[number % 2]}/{number}.png"
        (folder / name).parent.mkdir(exist_ok=True)
        Image.fromarray(pixels).save(folder / name)
        rows.append((name, "ab"[number % 2]))
    with (folder / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("path", "label"), *rows])
    return [name for name, _ in rows]


def _digests(table, sources, kind):
    reader = ItemReader(reading_of(table), table.images.shape[2:], table.images.dtype)
    reader.digests = {kind}
    return [reader.read(source).digests[kind] for source in sources]


def test_new_items_have_the_digests_of_training(tmp_path):
    names = _write(tmp_path)
    module = plugins.load("datasets", "table")
    table = module.load(module.Config(file=tmp_path / "t.csv", size=6, cache="off"))
    assert kind_of(table) == VALUES
    sources = [Source(tmp_path / name) for name in names]
    kept = digests_of(table, ALL(6))
    assert len(set(kept)) == 6
    assert _digests(table, sources, VALUES) == list(kept)
    # The same picture in another file is found; one that lost something is not.
    with Image.open(sources[1].path) as picture:
        picture.save(tmp_path / "again.bmp")
        picture.save(tmp_path / "lossy.jpg")
    again = [Source(tmp_path / name) for name in ("again.bmp", "lossy.jpg")]
    found, lossy = _digests(table, again, VALUES)
    assert found == kept[1]
    assert lossy not in kept


def test_new_pictures_have_the_digests_of_a_tree(tmp_path):
    for domain in ("x", "y"):
        (tmp_path / domain).mkdir()
        _write(tmp_path / domain)
        (tmp_path / domain / "t.csv").unlink()
    module = plugins.load("datasets", "domain_folders")
    table = module.load(module.Config(root=tmp_path, size=8))
    assert kind_of(table) == PICTURE
    sources = [Source(tmp_path / name) for name in table.ids]
    assert _digests(table, sources, PICTURE) == list(digests_of(table, ALL(len(table))))
    # Where only the pack is there, what it stores is compared.
    packed = [table.images[row] for row in range(len(table))]
    np.save(tmp_path / "i.npy", np.stack(packed))
    stored = _table(np.load(tmp_path / "i.npy", mmap_mode="r"))
    assert _digests(table, sources, STORED) == list(digests_of(stored, ALL(len(table))))


def test_the_item_of_an_array_has_the_digest_of_training(tmp_path):
    volume = np.random.default_rng(2).integers(0, 256, (1, 5, 6, 7), dtype=np.uint8)
    table = _table(volume[None])
    np.save(tmp_path / "v.npy", volume[0])
    assert _digests(table, [Source(tmp_path / "v.npy")], VALUES) == list(digests_of(table, ALL(1)))


def test_the_header_of_a_scan_does_not_count(tmp_path):
    values = np.random.default_rng(3).integers(0, 99, (4, 5, 6)).astype(np.int16)
    for name, spacing in (("one", 1.0), ("other", 2.5)):
        image = nibabel.Nifti1Image(values, np.diag([spacing] * 3 + [1.0]))
        image.header["descrip"] = name
        nibabel.save(image, tmp_path / f"{name}.nii.gz")
    with (tmp_path / "t.csv").open("w", newline="") as file:
        lines = [("path", "label"), ("one.nii.gz", "a"), ("other.nii.gz", "b")]
        csv.writer(file).writerows(lines)
    module = plugins.load("datasets", "table")
    table = module.load(module.Config(file=tmp_path / "t.csv", size=4, cache="off"))
    assert len(set(digests_of(table, ALL(2)))) == 1
