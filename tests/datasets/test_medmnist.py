"""MedMNIST: the catalogue, the official files, and every way in which a file can be wrong."""

import hashlib
import pickle
import re
import subprocess
import sys

import numpy as np
import pytest
from pydantic import ValidationError

from medldr.data import check_table, validate_table
from medldr.datasets._medmnist import catalogue
from medldr.datasets.medmnist import Config, folders, load, present
from medldr.errors import InputError

REAL = ["retinamnist", "breastmnist", "adrenalmnist3d", "vesselmnist3d"]


def any_md5(root, flag, **keys):
    return load(Config(flag=flag, root=root, md5="any", **keys))


# ---------------------------------------------------------------- the catalogue


def test_the_catalogue_has_18_sets_and_60_files():
    files = [catalogue.entry(f, s) for f in catalogue.flags() for s in catalogue.sizes(f)]
    assert len(catalogue.flags()) == 18
    assert len(files) == 60
    assert len({e.file for e in files}) == len({e.md5 for e in files}) == 60
    for e in files:
        suffix = "" if e.size == 28 else f"_{e.size}"
        assert e.url.endswith(f"/{e.flag}{suffix}.npz?download=1")
        assert re.fullmatch("[0-9a-f]{32}", e.md5)


@pytest.mark.parametrize(
    ("flag", "total"),
    [
        ("dermamnist", 10_015),
        ("organsmnist", 25_211),
        ("octmnist", 109_309),
        ("fracturemnist3d", 1_370),
    ],
)
def test_the_papers_four_sets_have_their_published_sizes(flag, total):
    assert sum(catalogue.entry(flag, 28).counts.values()) == total


@pytest.mark.parametrize(
    ("flag", "task", "classes", "channels", "dims", "counts"),
    [
        ("chestmnist", "multi-label", 14, 1, 2, (78_468, 11_219, 22_433)),
        ("retinamnist", "ordinal", 5, 3, 2, (1_080, 120, 400)),
        ("breastmnist", "binary", 2, 1, 2, (546, 78, 156)),
        ("pathmnist", "multi-class", 9, 3, 2, (89_996, 10_004, 7_180)),
        ("organmnist3d", "multi-class", 11, 1, 3, (971, 161, 610)),
        ("synapsemnist3d", "binary", 2, 1, 3, (1_230, 177, 352)),
    ],
)
def test_catalogue_rows_are_the_published_ones(flag, task, classes, channels, dims, counts):
    e = catalogue.entry(flag, 28)
    assert (e.task, len(e.class_names), e.channels, e.spatial_dims) == (
        task,
        classes,
        channels,
        dims,
    )
    assert tuple(e.counts[part] for part in ("train", "val", "test")) == counts


def test_class_orders_that_people_mix_up():
    assert catalogue.entry("organsmnist", 28).class_names[:2] == ("bladder", "femur-left")
    assert catalogue.entry("organmnist3d", 28).class_names[0] == "liver"
    fractures = catalogue.entry("fracturemnist3d", 28).class_names
    assert [name.split()[0] for name in fractures] == ["buckle", "nondisplaced", "displaced"]
    assert catalogue.entry("breastmnist", 28).class_names == ("malignant", "normal, benign")


@pytest.mark.slow  # in a fresh process
def test_reading_the_catalogue_makes_no_folder_and_prints_nothing(tmp_path):
    code = "import medldr.datasets.medmnist as m; m.Config(flag='octmnist', size=64)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={"HOME": str(tmp_path), "PYTHONPATH": ":".join(sys.path)},
        check=True,
    )
    assert done.stdout == done.stderr == ""
    assert not (tmp_path / ".medmnist").exists()


# ---------------------------------------------------------------- configuration


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"flag": "dermmnist"}, r"no data set 'dermmnist'\. Did you mean 'dermamnist'"),
        ({"flag": "pathmnist", "size": 100}, r"no size 100; allowed: 28, 64, 128, 224"),
        ({"flag": "organmnist3d", "size": 224}, r"no size 224; allowed: 28, 64$"),
        ({"flag": "pathmnist", "md5": "abc"}, r"'official', 'any', or an MD5"),
    ],
)
def test_a_wrong_key_names_what_is_allowed(keys, message):
    with pytest.raises(ValidationError) as caught:
        Config(**keys)
    assert re.search(message, caught.value.errors()[0]["msg"])


# ---------------------------------------------------------------- official files


@pytest.mark.parametrize("flag", REAL)
def test_official_files_load_in_their_published_numbers(medmnist_root, flag):
    table = load(Config(flag=flag, root=medmnist_root))
    validate_table(table)
    e = catalogue.entry(flag, 28)
    found = {part: int((table.splits == part).sum()) for part in e.counts}
    assert found == e.counts
    assert table.hashes == {e.file: e.md5}
    assert table.name == f"{flag}_28"
    assert table.labels.dtype == np.int64


def test_arrays_equal_those_of_the_medmnist_package(medmnist_root, monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))  # the package makes a folder there
    import medmnist

    table = load(Config(flag="retinamnist", root=medmnist_root))
    for part in ("train", "val", "test"):
        official = medmnist.RetinaMNIST(split=part, root=str(medmnist_root))
        rows = table.splits == part
        assert np.array_equal(table.images[rows].transpose(0, 2, 3, 1), official.imgs)
        assert np.array_equal(table.labels[rows], official.labels[:, 0])
    assert table.ids[0] == "train/0"
    assert table.ids[-1] == "test/399"


def test_volumes_equal_the_files_own_arrays(medmnist_root):
    table = load(Config(flag="adrenalmnist3d", root=medmnist_root))
    assert table.images.shape == (1584, 1, 28, 28, 28)
    with np.load(medmnist_root / "adrenalmnist3d.npz") as file:
        assert np.array_equal(table.images[table.splits == "val"][:, 0], file["val_images"])


# ---------------------------------------------------------------- synthetic files


@pytest.mark.parametrize(
    "flag", ["breastmnist", "chestmnist", "dermamnist", "fracturemnist3d", "retinamnist"]
)
def test_every_kind_of_set_loads_with_typed_labels_and_channels_first(
    tmp_path, medmnist_file, flag
):
    content = medmnist_file(flag, counts=(4, 2, 2))
    table = any_md5(tmp_path, flag)
    validate_table(table)
    e = catalogue.entry(flag, 28)
    assert table.images.shape == (8, e.channels, *(28,) * e.spatial_dims)
    first = content["train_images"][3]
    assert np.array_equal(
        table.images[3], np.moveaxis(first, -1, 0) if e.channels == 3 else [first]
    )
    if flag == "chestmnist":
        assert table.labels.shape == (8, 14)
        assert table.labels.dtype == np.float32
        assert np.array_equal(table.labels[:4], content["train_labels"])
    else:
        assert table.labels.shape == (8,)
        assert table.labels.dtype == np.int64
        assert np.array_equal(table.labels[4:6], content["val_labels"][:, 0])


def test_a_larger_size_has_its_size_in_file_and_table_name(tmp_path, medmnist_file):
    medmnist_file("breastmnist", 64, counts=(2, 2, 2))
    assert (tmp_path / "breastmnist_64.npz").is_file()
    table = any_md5(tmp_path, "breastmnist", size=64)
    assert table.name == "breastmnist_64"
    assert any("native" in note for note in table.notes)


def test_column_major_files_load_alike(tmp_path, medmnist_file):
    plain = medmnist_file("breastmnist")
    wanted = any_md5(tmp_path, "breastmnist").images
    np.savez(tmp_path / "breastmnist.npz", **{k: np.asfortranarray(v) for k, v in plain.items()})
    assert np.array_equal(any_md5(tmp_path, "breastmnist").images, wanted)


def test_notes_tell_what_every_reader_must_know(tmp_path, medmnist_file):
    medmnist_file("dermamnist")
    medmnist_file("breastmnist")
    assert "lesions" in " ".join(any_md5(tmp_path, "dermamnist").notes)
    notes = " ".join(any_md5(tmp_path, "breastmnist").notes)
    assert "healthy" in notes
    assert "not the official checksum" in notes


def test_a_file_of_ones_own_loads_by_its_own_md5(tmp_path, medmnist_file):
    medmnist_file("dermamnist")
    md5 = hashlib.md5((tmp_path / "dermamnist.npz").read_bytes()).hexdigest()
    table = load(Config(flag="dermamnist", root=tmp_path, md5=md5.upper()))
    assert table.hashes == {"dermamnist.npz": md5}
    with pytest.raises(InputError, match=f"expected {'0' * 32}, found {md5}"):
        load(Config(flag="dermamnist", root=tmp_path, md5="0" * 32))


def test_constant_test_images_are_reported_with_their_indices_and_kept(tmp_path, medmnist_file):
    def blacken(content):
        content["test_images"][-3:] = 0

    medmnist_file("nodulemnist3d", change=blacken, counts=(8, 4, 7))
    table = any_md5(tmp_path, "nodulemnist3d")
    assert check_table(table) == ["nodulemnist3d_28: 3 constant test images: 4, 5, 6"]
    assert (table.splits == "test").sum() == 7


# ---------------------------------------------------------------- wrong files


def test_one_changed_byte_names_file_expected_and_found_md5_and_leaves_it(tmp_path, medmnist_root):
    data = bytearray((medmnist_root / "retinamnist.npz").read_bytes())
    data[-100] ^= 1
    path = tmp_path / "retinamnist.npz"
    path.write_bytes(data)
    found = hashlib.md5(data).hexdigest()
    with pytest.raises(InputError) as caught:
        load(Config(flag="retinamnist", root=tmp_path, download=True))
    message = str(caught.value)
    for part in (str(path), "bd4c0672f1bba3e3a89f0e4e876791e4", found, "https://zenodo.org/"):
        assert part in message
    assert path.read_bytes() == data


def test_a_web_page_under_a_files_name_is_called_one(tmp_path):
    page = "<!DOCTYPE html><html><title>Virus scan warning</title></html>"
    (tmp_path / "pathmnist.npz").write_text(page)
    with pytest.raises(InputError, match=r"wrong checksum.*It is a web page, not data"):
        load(Config(flag="pathmnist", root=tmp_path))
    with pytest.raises(InputError, match=r"pathmnist\.npz: not a readable npz file"):
        any_md5(tmp_path, "pathmnist")
    assert (tmp_path / "pathmnist.npz").read_text() == page


def test_damage_inside_the_archive_is_named(tmp_path, medmnist_file):
    medmnist_file("breastmnist", counts=(200, 6, 6))
    path = tmp_path / "breastmnist.npz"
    data = bytearray(path.read_bytes())
    data[20_000:20_400] = bytes(400)
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"breastmnist\.npz: train_images is damaged"):
        any_md5(tmp_path, "breastmnist")


def replace_array(key, value):
    def change(content):
        if value is None:
            del content[key]
        else:
            content[key] = value(content[key])

    return change


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("val_labels", None, r"lacks val_labels; a MedMNIST file has the keys"),
        ("train_images", lambda a: a / 255, r"train_images is float64 12 x 28 x 28, but .* uint8"),
        ("test_images", lambda a: a[:, 0], r"test_images is uint8 6 x 28, but .* N x 28 x 28"),
        ("train_labels", lambda a: a[:, 0], r"train_labels is uint8 12, but 12 images .* 12 x 1"),
        ("val_labels", lambda a: a * 1.5, r"val_labels is float64"),
        ("test_labels", lambda a: a + 1, r"test_labels holds 2 in row 1, but .* 0 to 1"),
        ("test_labels", lambda a: a.astype(int) - 1, r"test_labels holds -1 in row 0"),
    ],
)
def test_wrong_content_names_file_and_key(tmp_path, medmnist_file, key, value, message):
    medmnist_file("breastmnist", change=replace_array(key, value))
    with pytest.raises(InputError, match=r"breastmnist\.npz: " + message):
        any_md5(tmp_path, "breastmnist")


class Bomb:
    """Would leave a file behind if it were unpickled."""

    def __reduce__(self):
        return (open, ("exploded", "w"))


@pytest.mark.parametrize("key", ["train_labels", "train_images"])
def test_a_pickle_in_the_file_is_refused_and_not_run(tmp_path, medmnist_file, monkeypatch, key):
    monkeypatch.chdir(tmp_path)
    objects = np.array([Bomb()] * 12, dtype=object)
    assert b"exploded" in pickle.dumps(objects)
    medmnist_file("breastmnist", change=replace_array(key, lambda _: objects))
    with pytest.raises(InputError, match=rf"{key} contains Python objects"):
        any_md5(tmp_path, "breastmnist")
    assert not (tmp_path / "exploded").exists()


# ---------------------------------------------------------------- absent files


def test_an_absent_file_says_what_to_place_where(tmp_path, monkeypatch):
    monkeypatch.setattr("medldr.datasets.medmnist.fetch", lambda *a, **k: pytest.fail("network"))
    with pytest.raises(InputError) as caught:
        load(Config(flag="pathmnist", size=224, root=tmp_path))
    for part in (
        "pathmnist_224.npz",
        str(tmp_path),
        "https://zenodo.org/records/10519652/files/pathmnist_224.npz?download=1",
        "2c51a510bcdc9cf8ddb2af93af1eadec",
        "data.download=true",
    ):
        assert part in str(caught.value)
    with pytest.raises(InputError, match=r"^pathmnist\.npz is not in"):
        load(Config(flag="pathmnist", root=tmp_path))


def test_the_packages_own_folder_is_looked_in(tmp_path, medmnist_file, monkeypatch):
    medmnist_file("breastmnist")
    home = tmp_path / "home"
    (home / ".medmnist").mkdir(parents=True)
    (tmp_path / "breastmnist.npz").rename(home / ".medmnist" / "breastmnist.npz")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("MEDLDR_DATA", str(tmp_path / "empty"))
    assert len(any_md5(None, "breastmnist")) == 24


def test_download_goes_to_the_first_folder(tmp_path, monkeypatch):
    asked = []

    def fetch(url, target, *, md5):
        asked.append((url, target, md5))
        raise InputError("stop here")

    monkeypatch.setattr("medldr.datasets.medmnist.fetch", fetch)
    with pytest.raises(InputError, match="stop here"):
        load(Config(flag="octmnist", size=64, root=tmp_path, download=True))
    e = catalogue.entry("octmnist", 64)
    assert asked == [(e.url, tmp_path / "octmnist_64.npz", e.md5)]


def contract_files(root, request):
    """A small file for the contract tests."""
    generator = np.random.default_rng(0)
    arrays = {}
    for part in ("train", "val", "test"):
        arrays[f"{part}_images"] = generator.integers(0, 256, (8, 28, 28), dtype=np.uint8)
        arrays[f"{part}_labels"] = np.arange(8, dtype=np.uint8)[:, None] % 2
    np.savez(root / "breastmnist.npz", **arrays)


def test_nodules_at_64_are_reported_as_enlarged(tmp_path, medmnist_file):
    medmnist_file("nodulemnist3d", 64, counts=(2, 2, 2))
    notes = " ".join(any_md5(tmp_path, "nodulemnist3d", size=64).notes)
    assert "enlarged from the 28-voxel" in notes


def test_half_a_file_is_named_even_where_any_checksum_goes(tmp_path, medmnist_file):
    medmnist_file("breastmnist")
    path = tmp_path / "breastmnist.npz"
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(InputError, match=r"breastmnist\.npz: wrong checksum"):
        load(Config(flag="breastmnist", root=tmp_path))
    with pytest.raises(InputError, match=r"breastmnist\.npz: not a readable npz"):
        any_md5(tmp_path, "breastmnist")


def test_folders_in_order(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MEDLDR_DATA", raising=False)
    assert folders(tmp_path / "x") == [tmp_path / "x"]
    assert folders(None) == [tmp_path / ".cache" / "medldr", tmp_path / ".medmnist"]
    monkeypatch.setenv("MEDLDR_DATA", str(tmp_path / "env"))
    assert folders(None) == [tmp_path / "env", tmp_path / ".medmnist"]


def test_present_tells_where_a_file_is_or_that_it_is_absent(tmp_path, medmnist_file):
    medmnist_file("breastmnist")
    assert present(Config(flag="breastmnist", root=tmp_path)) == f"in {tmp_path}"
    assert present(Config(flag="octmnist", size=64, root=tmp_path)) == "missing (octmnist_64.npz)"


def test_a_file_that_may_not_be_read_is_named(tmp_path, medmnist_file, monkeypatch):
    def refuse(path, kind):
        raise PermissionError(13, "Permission denied", str(path))

    medmnist_file("breastmnist")
    monkeypatch.setattr("medldr.datasets.medmnist.checksum", refuse)
    with pytest.raises(InputError, match=r"breastmnist\.npz cannot be read: .*Permission denied"):
        any_md5(tmp_path, "breastmnist")
