"""Folders in place of a table: trees that other software read wrong or broke on."""

import unicodedata

import numpy as np
import pytest
from own_scans import built, notes_of, picture, refused
from PIL import Image


@pytest.fixture
def tree(tmp_path):
    def write(domains=("a", "b", "c"), classes=("benign", "malignant"), each=8):
        top = tmp_path / "tree"
        for i, domain in enumerate(domains):
            for j, name in enumerate(classes):
                for k in range(each):
                    picture(top / domain / name / f"{k}.png", 1000 * i + 100 * j + k, 120 * j)
        return top

    return write


def of(root, **more):
    return {"root": str(root), "folders": ["domain", "label"], **more}


def test_a_contradiction_and_a_leak_are_told_apart(tree):
    root = tree()
    first = root / "a" / "benign"
    (root / "a" / "malignant" / "copy.png").write_bytes((first / "0.png").read_bytes())
    (root / "c" / "benign" / "copy.png").write_bytes((first / "1.png").read_bytes())
    said = notes_of(None, **of(root, held_out=["c"]))
    assert "1 image is in more than one domain, a leak" in said
    assert "1 image is there with contradicting labels" in said


def test_the_colour_under_transparent_pixels_is_not_seen(tree, tmp_path):
    root = tree()
    for path in root.rglob("*.png"):
        rgba = np.zeros((8, 8, 4), np.uint8)
        rgba[..., :3] = (250, 20, 20) if path.parent.name == "malignant" else 0
        rgba[:4, 0, 3] = 255 if path.stem != "0" else 0
        Image.fromarray(rgba).save(path)
    found = built(None, **of(root))
    assert "48 items: 60–64 of 64 pixels are transparent, which are seen on white" in " ".join(
        found.notes
    )
    assert (np.asarray(found.table.images)[:, :, :, 1:] == 255).all()


def test_folders_called_like_splits_are_not_domains(tree):
    root = tree(("train", "val", "test"))
    assert "are called like splits" in refused(None, **of(root))
    found = built(None, root=str(root), folders=["split", "label"])
    assert {split: len(rows) for split, rows in found.rows.items()} == {
        "train": 16, "val": 16, "test": 16
    }  # fmt: skip


def test_links_empty_folders_and_hidden_files_are_no_items(tree, tmp_path):
    root = tree()
    (root / "a" / "malignant").rename(tmp_path / "store")
    (root / "a" / "malignant").symlink_to(tmp_path / "store")
    (root / "b" / "unsure").mkdir()
    for name in (".DS_Store", "._0.png", "Thumbs.db"):
        (root / "b" / "benign" / name).write_bytes(bytes(64))
    picture(root / "b" / "benign" / ".ipynb_checkpoints" / "0.png")
    picture(root / "__MACOSX" / "benign" / "0.png")
    found = built(None, **of(root))
    assert len(found.table) == 48
    assert found.spec.class_names == ("benign", "malignant")
    assert "1 folder holds no scan, hence no class" in " ".join(found.notes)
    (root / "b" / "benign" / "gone.png").symlink_to("nowhere.png")
    assert "b/benign/gone.png: it is a link that leads nowhere" in refused(None, **of(root))
    assert len(built(None, **of(root, on_bad_file="skip")).table) == 48
    (root / "b" / "benign" / "loop").symlink_to(root)
    assert "is a link to a folder above it" in refused(None, **of(root))


def test_names_are_compared_as_read_and_digits_stay_text(tree):
    root = tree(("01", "1", "02", "1e3"), (unicodedata.normalize("NFC", "Ödem"), "normal"))
    folder = root / "02" / unicodedata.normalize("NFC", "Ödem")
    folder.rename(root / "02" / unicodedata.normalize("NFD", "Ödem"))
    found = built(None, **of(root, held_out=["01", "1e3"]))
    assert found.spec.class_names == ("normal", unicodedata.normalize("NFC", "Ödem"))
    assert found.spec.domains == ("01", "02", "1", "1e3")
    assert found.spec.train_domains == ("02", "1")


def test_twelve_bits_are_not_black(tree):
    root = tree()
    for path in root.rglob("*.png"):
        picture_of_12_bits(path)
    found = built(None, **of(root))
    assert np.asarray(found.table.images).max() > 0.5
    assert "48 items are stored with 16 bits" in " ".join(found.notes)


def picture_of_12_bits(path):
    values = np.random.default_rng(len(str(path))).integers(0, 4000, (8, 8))
    Image.fromarray(values.astype(np.uint16)).save(path)
