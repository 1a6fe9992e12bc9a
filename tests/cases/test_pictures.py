"""Pictures that other software read wrong or broke on: each read right or named, by the command.

Each situation is a small tree ``<hospital>/<class>/<picture>`` made here by value.
"""

import json
import os
import struct
import unicodedata
import zlib

import numpy as np
import pytest
from PIL import Image
from ruamel.yaml import YAML

from medldr.config import load_config
from medldr.data import build_data
from medldr.folders.files import RunFolder

CLASSES = ("benign", "malignant")
SIZE = 16


def noise(seed, level=20, channels=3):
    """Noise around a grey level that tells the class."""
    shape = (SIZE, SIZE, channels)
    return (np.random.default_rng(seed).integers(0, 60, shape) + level).astype(np.uint8)


def save(path, pixels, **keys):
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, **keys)


@pytest.fixture
def tree(tmp_path):
    """Write a tree of eight pictures for each class of each domain."""

    def write(domains=("hospital_a", "hospital_b", "hospital_c"), classes=CLASSES, each=8):
        top = tmp_path / "tree"
        for i, domain in enumerate(domains):
            for j, name in enumerate(classes):
                for k in range(each):
                    save(top / domain / name / f"{k}.png", noise(100 * i + 10 * j + k, 20 + 90 * j))
        return top

    return write


@pytest.fixture
def mapping():
    def of(root, **data):
        return {
            "data": {"name": "domain_folders", "root": str(root), "size": SIZE, **data},
            "transform": {"name": "none"},
            "model": {"name": "resnet18", "stem": "small", "width": 0.125},
            "algorithm": {"name": "erm"},
            "training": {"epochs": 1, "batch_size": 8, "lr": 0.01, "precision": "float32"},
            "evaluation": {"draws": 100},
            "machine": {"device": "cpu", "report": False},
        }

    return of


@pytest.fixture
def trained(medldr, mapping, tmp_path, out):
    """Train on a tree by the command: how it ended, and the run folder (None without one)."""

    def run(root, *words, **data):
        file = tmp_path / "case.yaml"
        with file.open("w") as stream:
            YAML(typ="safe").dump(mapping(root, **data), stream)
        ended = medldr("train", file, *words, "--out", out)
        folders = (
            sorted(out.iterdir(), key=lambda path: path.stat().st_mtime) if out.exists() else []
        )
        return ended, RunFolder(folders[-1]) if folders else None

    return run


@pytest.fixture
def check(medldr):
    """Check a tree by the command, with its text on one line."""

    def run(root, *words):
        ended = medldr("data", "check", "domain_folders", root, f"size={SIZE}", *words)
        return ended.code, " ".join((ended.out + ended.err).split())

    return run


def notes(folder):
    return " ".join(json.loads(folder.run.read_text())["data"]["notes"])


def unseen(folder):
    """What the evaluation says of the held-out hospital."""
    return json.loads(folder.evaluation.read_text())["splits"]["test"]


# 16 bits of grey


def test_a_16_bit_ramp_and_its_8_bit_twin_are_the_same_picture(tree, mapping):
    root = tree()
    ramp = np.arange(256, dtype=np.uint16).reshape(SIZE, SIZE)
    save(root / "hospital_a" / "benign" / "ramp8.png", ramp.astype(np.uint8))
    save(root / "hospital_a" / "benign" / "ramp16.png", ramp * 257)
    table = build_data(load_config(mapping(root))).table
    rows = [table.ids.tolist().index(f"hospital_a/benign/ramp{bits}.png") for bits in (8, 16)]
    one, other = table.images[np.array(rows)]
    assert np.array_equal(one, other)
    assert len(np.unique(other)) == 256
    assert (other == 255).sum() == 3  # one white pixel, in three channels


def test_x_rays_of_12_bits_are_not_black(tree, trained, check):
    root = tree()
    for i, path in enumerate(sorted(root.rglob("*.png"))):
        level = 1500 * (path.parent.name == "malignant")
        values = np.linspace(0, 2000, SIZE**2).reshape(SIZE, SIZE) + level
        save(path, (values + np.random.default_rng(i).integers(0, 500, values.shape)).astype("u2"))
    said = "48 pictures have more than 8 bits; their greatest value is"
    code, text = check(root)
    assert code == 0
    assert said in text
    assert "read as 12-bit pictures" in text
    ended, folder = trained(root, "training.epochs=2", held_out=["hospital_c"])
    assert ended.code == 0, ended.err
    assert said in notes(folder)
    assert unseen(folder)["metrics"]["auc"]["value"] > 0.9


# Modes, alpha, EXIF


def test_one_folder_of_every_mode_holds_one_picture(tree, mapping):
    root = tree()
    grey = Image.fromarray(np.random.default_rng(7).integers(0, 256, (SIZE, SIZE), dtype=np.uint8))
    folder = root / "hospital_a" / "benign"
    for mode in ("L", "LA", "RGB", "RGBA", "P"):
        grey.convert(mode).save(folder / f"mode_{mode}.png")
    grey.convert("CMYK").save(folder / "mode_CMYK.tif")
    table = build_data(load_config(mapping(root))).table
    rows = [n for n, item in enumerate(table.ids.tolist()) if "mode_" in item]
    assert len(rows) == 6
    for image in table.images[np.array(rows)]:
        assert np.array_equal(image, [np.asarray(grey)] * 3)


def test_the_colour_under_transparent_pixels_tells_nothing(tree, trained, check):
    root = tree()
    for path in root.rglob("*.png"):
        rgba = np.zeros((SIZE, SIZE, 4), np.uint8)
        rgba[..., :3] = (250, 20, 20) if path.parent.name == "malignant" else 0
        seed = int(path.stem) + 100 * ord(path.parent.parent.name[-1])
        rgba[4:12, 4:12] = np.dstack([noise(seed, 100), np.full((SIZE, SIZE), 255)])[4:12, 4:12]
        save(path, rgba)
    ended, folder = trained(root, held_out=["hospital_c"])
    assert ended.code == 0, ended.err
    assert unseen(folder)["metrics"]["auc"]["value"] == 0.5  # both classes look alike
    assert "48 pictures have transparent pixels, which are seen on white" in notes(folder)
    code, text = check(root)
    assert code == 3
    assert "48 pictures have transparent pixels" in text
    assert "24 images are there with contradicting labels" in text


def test_a_photograph_lying_down_is_trained_upright(tree, mapping):
    root = tree()
    upright = np.random.default_rng(3).integers(0, 256, (SIZE, SIZE, 3), dtype=np.uint8)
    exif = Image.Exif()
    exif[274] = 6
    folder = root / "hospital_a" / "benign"
    save(folder / "lying.png", np.rot90(upright), exif=exif)
    save(folder / "upright.png", upright)
    for keys, alike in (({}, True), ({"exif": False}, False)):
        table = build_data(load_config(mapping(root, **keys))).table
        ids = table.ids.tolist()
        rows = [ids.index(f"hospital_a/benign/{name}.png") for name in ("lying", "upright")]
        one, other = table.images[np.array(rows)]
        assert np.array_equal(one, other) == alike


# Damaged, hidden and linked files


def spoil(root):
    """An empty file, half a picture, a web page, and a picture broken inside."""
    folder = root / "hospital_c" / "benign"  # the unseen hospital, which training never reads
    whole = (folder / "0.png").read_bytes()
    half = len(whole) // 2
    (folder / "0.png").write_bytes(b"")
    (folder / "1.png").write_bytes(whole[:half])
    (folder / "2.png").write_text("<html>404 Not Found</html>")
    (folder / "3.png").write_bytes(whole[:half] + bytes(40) + whole[half + 40 :])
    return [f"hospital_c/benign/{number}.png" for number in range(4)], whole


def test_damaged_pictures_of_the_unseen_hospital_are_named_before_training(tree, trained, check):
    root = tree()
    bad, whole = spoil(root)
    ended, folder = trained(root, held_out=["hospital_c"])
    assert ended.code == 2
    assert all(f"{path} (" in ended.err for path in bad)
    assert folder is None or not folder.metrics.exists()
    code, text = check(root)
    assert code == 2
    assert all(f"{path}: " in text for path in bad)
    left_out, folder = trained(root, "data.on_bad_file=skip", held_out=["hospital_c"])
    assert left_out.code == 3, left_out.err
    assert all(path in folder.bad_files.read_text() for path in bad)
    for number, path in enumerate(bad):
        (root / path).write_bytes(whole)
        save(root / path, noise(900 + number))
    mended, _ = trained(root, "label=mended", held_out=["hospital_c"])
    assert mended.code == 0, mended.err


def test_files_that_systems_leave_behind_are_no_pictures_and_no_classes(tree, mapping, check):
    root = tree(each=2)
    folder = root / "hospital_a" / "malignant"
    for name in (".DS_Store", "._0.png", "Thumbs.db"):
        (folder / name).write_bytes(bytes(64))
    for name in (".ipynb_checkpoints", "__MACOSX"):
        save(root / name / "benign" / "0.png", noise(1))
        save(root / "hospital_b" / name / "0.png", noise(2))
    table = build_data(load_config(mapping(root))).table
    assert table.class_names == CLASSES
    assert len(table) == 12
    code, text = check(root)
    assert code == 0
    assert "hospital_a/malignant/Thumbs.db" in text


def test_links_are_followed_a_dead_one_is_named_and_a_loop_refused(tree, tmp_path, check, trained):
    root = tree()
    store = tmp_path / "store"
    (root / "hospital_a" / "malignant").rename(store)
    (root / "hospital_a" / "malignant").symlink_to(store)
    code, _ = check(root)
    assert code == 0
    dead = root / "hospital_b" / "benign" / "gone.png"
    dead.symlink_to("nowhere.png")
    code, text = check(root)
    assert code == 2
    assert "1 file missing hospital_b/benign/gone.png" in text
    ended, folder = trained(root, "data.on_bad_file=skip")
    assert ended.code == 3
    assert "hospital_b/benign/gone.png" in folder.bad_files.read_text()
    dead.unlink()
    (root / "hospital_b" / "benign" / "loop").symlink_to(root)
    code, text = check(root)
    assert code == 2
    assert "loop is a link to a folder above it" in text


def test_a_second_start_reads_no_picture_again(tree, trained, monkeypatch):
    root = tree()
    for path in root.rglob("*.png"):
        os.utime(path, (1_000_000_000, 1_000_000_000))
    assert trained(root)[0].code == 0

    def read(*_, **__):
        raise AssertionError("a picture was read to be proved")

    monkeypatch.setattr("medldr.data.reading.pictures.examine_own", read)
    ended, folder = trained(root, "label=again")
    assert ended.code == 0, ended.err
    assert folder.model.exists()


# Folders of other layouts and names


def test_splits_are_not_trained_on_as_if_they_were_domains(tree, trained, check, out):
    root = tree(domains=("train", "val", "test"))
    ended, _ = trained(root)
    code, text = check(root)
    for exit_code, said in ((ended.code, ended.err), (code, text)):
        assert exit_code == 2
        assert "called like splits" in said
        assert "data.folders=[split, label]" in said
    assert not list(out.glob("*/metrics.jsonl"))


def test_two_forms_of_one_name_are_one_class(tree, trained):
    root = tree(classes=(unicodedata.normalize("NFC", "Ödem"), "normal"))
    composed = root / "hospital_b" / unicodedata.normalize("NFC", "Ödem")
    composed.rename(root / "hospital_b" / unicodedata.normalize("NFD", "Ödem"))
    for hospital in ("hospital_b", "hospital_c"):
        ended, folder = trained(root, f"label={hospital}", held_out=[hospital])
        assert ended.code == 0, ended.err
        assert "has no picture of" not in notes(folder)
    data = json.loads(folder.evaluation.read_text())
    assert data["class_names"] == ["normal", unicodedata.normalize("NFC", "Ödem")]


# Huge pictures, odd shapes and endings


def chunk(kind, data):
    body = kind + data
    return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))


def huge(path, edge):
    """A PNG of one bit per pixel, so that the file is small."""
    packer = zlib.compressobj(9)
    row = b"\0" + b"\xaa" * (edge // 8)
    data = b"".join(packer.compress(row) for _ in range(edge)) + packer.flush()
    header = struct.pack(">IIBBBBB", edge, edge, 1, 0, 0, 0, 0)
    parts = chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + parts)


@pytest.mark.slow
def test_a_whole_scan_is_read_up_to_a_limit_and_named_above_it(tree, trained, check):
    root = tree(each=4)
    folder = root / "hospital_a" / "benign"
    huge(folder / "large.png", 10_000)
    code, text = check(root)
    assert code == 0
    assert "decompression" not in text.lower()
    huge(folder / "huge.png", 14_000)
    ended, _ = trained(root, held_out=["hospital_b"])
    assert ended.code == 2
    for word in ("huge.png", "196,000,000 pixels", "178,956,970", "cut a whole slide into patches"):
        assert word in ended.err
    assert "bomb" not in ended.err
    assert "large.png" not in ended.err


def test_odd_shapes_and_endings_are_read_and_told_by_name(tree, check):
    root = tree(domains=("hospital_a", "hospital_b"), each=4)
    folder = root / "hospital_a" / "benign"
    save(folder / "dot.png", np.full((1, 1, 3), 99, np.uint8))
    save(folder / "line.png", np.full((1, 900, 3), 99, np.uint8))
    kinds = {
        "CAPITALS.PNG": "PNG", "photo.JPG": "JPEG", "scan.TIFF": "TIFF", "web.jfif": "JPEG",
        "old.gif": "GIF", "new.webp": "WEBP", "win.BMP": "BMP",
    }  # fmt: skip
    for number, (name, kind) in enumerate(kinds.items()):
        Image.fromarray(noise(500 + number)).save(folder / name, format=kind)
    code, text = check(root)
    assert code == 0
    assert "25 images of 16 x 16 pixels" in text
    assert "not listed in the table" not in text
    assert "2 constant images: hospital_a/benign/dot.png, hospital_a/benign/line.png" in text
    assert "1 picture has one edge more than 4 times as long as the other" in text


# The same picture twice


def test_a_contradiction_and_a_leak_are_told_apart_by_check_and_train(tree, trained, check):
    root = tree()
    a = root / "hospital_a"
    (a / "malignant" / "copy.png").write_bytes((a / "benign" / "0.png").read_bytes())
    leak = root / "hospital_c" / "benign" / "copy.png"
    leak.write_bytes((a / "benign" / "1.png").read_bytes())
    code, text = check(root)
    assert code == 3
    ended, folder = trained(root, held_out=["hospital_c"])
    assert ended.code == 0, ended.err
    for said in (text, notes(folder)):
        assert "1 image is in more than one domain, a leak" in said
        assert "hospital_a/benign/1.png = hospital_c/benign/copy.png" in said
        assert "1 image is there with contradicting labels" in said
        assert (
            "hospital_a/benign/0.png (benign) = hospital_a/malignant/copy.png (malignant)" in said
        )
