"""CIFAR-LT as pictures in folders of classes, long-tailed already or to be made so."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from medldr.data import validate_table
from medldr.data.splits.make import make_splits
from medldr.datasets.cifar_lt import Config, find, load, require
from medldr.errors import InputError

REAL = Path(__file__).parents[3] / "shared" / "data" / "cifar10_lt"


def section(root, name="cifar10_lt", **keys):
    return Config(**{"set": name, "root": root, "md5": "any", **keys})


def refusal(config):
    with pytest.raises(InputError) as caught:
        load(config)
    return str(caught.value)


def make_tree(root, classes=10, train=4, test=2, size=32, names=None):
    names = names or [f"kind {k}" for k in range(classes)]
    generator = np.random.default_rng(0)
    for part, count in (("train", train), ("test", test)):
        for name in names:
            (root / part / name).mkdir(parents=True)
            for number in range(count):
                pixels = generator.integers(0, 256, (size, size, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(root / part / name / f"{number:04d}.png")


def test_a_tree_of_pictures_is_read(tmp_path):
    make_tree(tmp_path)
    table = load(section(tmp_path, "cifar10_lt"))
    validate_table(table)
    assert len(table) == 60
    assert table.class_names[:2] == ("kind 0", "kind 1")
    assert table.ids[[0, 40]].tolist() == ["train/kind 0/0000.png", "test/kind 0/0000.png"]
    picture = np.asarray(Image.open(tmp_path / "train" / "kind 3" / "0001.png"))
    assert np.array_equal(table.images[13], picture.transpose(2, 0, 1))
    assert table.labels[13] == 3
    assert "not from the published files" in table.notes[0]


def test_a_tree_is_none_of_the_published_files(tmp_path):
    make_tree(tmp_path)
    for refuse in (load, require):  # before a sweep starts, and when it is read
        with pytest.raises(InputError) as caught:
            refuse(section(tmp_path, md5="official"))
        said = str(caught.value)
        assert "have no published checksum" in said
        assert "Set data.md5=any" in said
        assert "cifar-10-python.tar.gz" in said
    require(section(tmp_path))


def test_a_tree_is_found_in_a_folder_of_its_set(tmp_path):
    make_tree(tmp_path / "cifar10_lt", train=1, test=1)
    assert find(section(tmp_path)) == tmp_path / "cifar10_lt"
    assert find(section(tmp_path, "cifar100_lt")) is None


def test_classes_with_numbers_for_names_are_in_the_order_of_numbers(tmp_path):
    make_tree(tmp_path, names=[str(k) for k in range(100)], train=1, test=1)
    table = load(section(tmp_path, "cifar100_lt"))
    assert table.class_names == tuple(map(str, range(100)))


def test_a_wrong_tree_is_refused(tmp_path):
    make_tree(tmp_path / "few", classes=7)
    assert "has 7 class folders, but CIFAR-10 has 10" in refusal(
        section(tmp_path / "few", "cifar10_lt")
    )
    make_tree(tmp_path / "odd")
    (tmp_path / "odd" / "test" / "kind 4").rename(tmp_path / "odd" / "test" / "kind four")
    assert "'kind 4', 'kind four' are classes of train or test alone" in refusal(
        section(tmp_path / "odd", "cifar10_lt")
    )
    make_tree(tmp_path / "large", size=33, train=1, test=1)
    found = refusal(section(tmp_path / "large", "cifar10_lt"))
    assert "20 pictures of 20 cannot be used" in found
    assert "33 x 33 pixels, not 32 x 32" in found
    make_tree(tmp_path / "empty")
    for path in (tmp_path / "empty" / "train" / "kind 2").iterdir():
        path.unlink()
    assert "kind 2 has no picture" in refusal(section(tmp_path / "empty", "cifar10_lt"))


@pytest.mark.skipif(not REAL.is_dir(), reason="the real pictures are not here")
@pytest.mark.slow  # 14,000 pictures
def test_real_pictures_are_long_tailed_as_published():
    table = load(section(REAL, "cifar10_lt"))
    train = np.bincount(table.labels[table.splits == "train"])
    assert train.tolist() == [5000, 2997, 1796, 1077, 645, 387, 232, 139, 83, 50]
    assert (table.splits == "test").sum() == 2000
    config = section(REAL, "cifar10_lt", imbalance={"factor": 200, "order": "label"})
    rows, _ = make_splits(table, config)
    found = np.bincount(table.labels[rows["train"]])
    assert found.tolist() == [int(5000 * 0.005 ** (k / 9)) for k in range(10)]
