"""Archives of arrays in the form of MedMNIST's, read as tables."""

import numpy as np
import pytest

from medldr.datasets.table import Config, list_items
from medldr.errors import InputError

NAMES = {"label": "labels", "domain": "domains", "group": "patients", "columns": ["size"]}


def listed(file, **keys):
    return list_items(Config(file=file, **{**NAMES, **keys}))


@pytest.fixture
def archive(tmp_path):
    def write(**arrays):
        for split, count in (("train", 3), ("val", 1), ("test", 2)):
            n = np.arange(count)
            arrays.setdefault(f"{split}_images", np.zeros((count, 4, 4), np.uint8))
            arrays.setdefault(f"{split}_labels", (n % 2)[:, None].astype(np.uint8))
            arrays.setdefault(f"{split}_domains", n.astype(np.uint8) % 2)
            arrays.setdefault(f"{split}_patients", n + 100)
            arrays.setdefault(f"{split}_size", n + 0.5)
        path = tmp_path / "a.npz"
        np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
        return path

    return write


def test_each_image_is_a_row(archive):
    found = listed(archive(domain_names=np.array(["ge", "siemens"])))
    assert found.ids.tolist() == [
        *(f"train_images[{n}]" for n in range(3)),
        "val_images[0]",
        "test_images[0]",
        "test_images[1]",
    ]
    assert [one.part for one in found.sources] == found.ids.tolist()
    assert {one.path.name for one in found.sources} == {"a.npz"}
    assert found.splits.tolist() == ["train"] * 3 + ["val"] + ["test"] * 2
    assert found.domains.tolist() == ["ge", "siemens", "ge", "ge", "ge", "siemens"]
    assert found.groups.tolist() == ["100", "101", "102", "100", "100", "101"]
    assert found.columns["size"].tolist() == ["0.5", "1.5", "2.5", "0.5", "0.5", "1.5"]
    assert found.class_names == ("0", "1")
    assert found.labels.tolist() == [0, 1, 0, 0, 0, 1]


def test_numbers_without_names_stay_numbers(archive):
    found = listed(archive())
    assert set(found.domains.tolist()) == {"0", "1"}


def test_several_columns_of_labels_are_several_labels(archive):
    many = {
        f"{split}_labels": np.eye(n, 3)
        for split, n in zip(("train", "val", "test"), (3, 1, 2), strict=True)
    }
    found = listed(archive(**many))
    assert found.multi_label
    assert found.class_names == ("labels_0", "labels_1", "labels_2")
    np.testing.assert_array_equal(found.labels[:3], np.eye(3))
    found = listed(archive(**many, label_names=np.array(["x", "y", "z"])))
    assert found.class_names == ("x", "y", "z")


def test_an_archive_without_splits(tmp_path):
    path = tmp_path / "b.npz"
    np.savez(path, images=np.zeros((2, 4, 4)), labels=np.array(["b", "a"]))
    found = listed(path, domain=None, group=None, columns=[])
    assert found.splits.tolist() == ["", ""]
    assert found.labels.tolist() == [1, 0]
    assert found.sources[1].part == "images[1]"


@pytest.mark.parametrize(
    ("arrays", "said"),
    [
        ({"val_labels": np.array([[0]], object)}, "val_labels contains Python objects"),
        ({"val_labels": None}, "no array 'val_labels'"),
        (
            {"val_labels": np.zeros((4, 1))},
            r"val_labels has the shape \(4, 1\), but there are 1 im",
        ),
        ({"val_domains": np.zeros((1, 2))}, r"val_domains has the shape \(1, 2\); one value"),
        ({"domain_names": np.array(["ge"])}, "domains has the number 1, but domain_names has only"),
    ],
)
def test_arrays_that_do_not_fit_are_named(archive, arrays, said):
    with pytest.raises(InputError, match=said):
        listed(archive(**arrays))


def test_another_archive_says_what_it_has(tmp_path):
    np.savez(tmp_path / "c.npz", x=np.zeros(3))
    with pytest.raises(InputError, match=r"neither an array 'images' nor train_images.*It has x;"):
        listed(tmp_path / "c.npz")
    (tmp_path / "d.npz").write_text("no archive")
    with pytest.raises(InputError, match="not a readable npz file"):
        listed(tmp_path / "d.npz")
