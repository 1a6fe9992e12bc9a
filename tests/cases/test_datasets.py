"""Group c of the cases: MedMNIST files, and domains that are held out."""

import hashlib
import json
import sys

import numpy as np
import pytest
import torch

from medldr.config import load_config
from medldr.data import build_data
from medldr.folders.files import RunFolder

SMALL = (
    *("data.md5=any", "model.width=0.125", "training.epochs=1", "training.batch_size=4"),
    *("training.precision=float32", "evaluation.draws=100", "machine.report=false"),
)


@pytest.fixture
def data_of():
    """The data of a MedMNIST set in a folder, as training sees it."""

    def build(flag, root):
        source = {"extends": ["recipe/medmnist", f"data/{flag}", "algorithm/erm"]}
        config = load_config(source, [*SMALL, f"data.root={root}"])
        data = build_data(config)
        loader = data.train_loader(config, sampler="shuffle", device="cpu")
        return data.spec, next(iter(loader.batches(0)))

    return build


@pytest.mark.parametrize(
    ("flag", "task", "classes", "channels"),
    [("octmnist", "multi-class", 4, 1), ("breastmnist", "binary", 2, 1)],
)
def test_a_label_column_becomes_class_numbers(
    flag, task, classes, channels, medmnist_file, data_of
):
    spec, batch = data_of(flag, medmnist_file(flag, classes))
    assert (spec.task, spec.num_classes, spec.channels) == (task, classes, channels)
    assert batch.label.dtype == torch.int64
    assert batch.label.shape == (4,)
    assert batch.image.shape == (4, channels, 28, 28)
    assert spec.class_counts == tuple([12 // classes] * classes)


def test_colour_files_have_three_channels(medmnist_file, data_of):
    spec, batch = data_of("bloodmnist", medmnist_file("bloodmnist", 8, channels=3))
    assert (spec.num_classes, spec.channels) == (8, 3)
    assert batch.image.shape == (4, 3, 28, 28)
    assert batch.label.shape == (4,)


def test_fourteen_labels_are_fourteen_outputs_counted_per_label(
    medmnist_file, data_of, medldr, tmp_path
):
    root = medmnist_file("chestmnist", 2, labels=14)
    spec, batch = data_of("chestmnist", root)
    with np.load(root / "chestmnist.npz") as file:
        positives = file["train_labels"].sum(0)
    assert (spec.task, spec.num_classes, spec.channels) == ("multi-label", 14, 1)
    assert spec.class_counts == tuple(positives.tolist())
    assert batch.label.dtype == torch.float32
    assert batch.label.shape == (4, 14)
    config = tmp_path / "chest.yaml"
    config.write_text("extends: [recipe/medmnist, data/chestmnist, algorithm/erm]\n")
    ended = medldr("train", config, *SMALL, f"data.root={root}", "--out", tmp_path / "runs")
    assert ended.code == 0, ended.err
    (folder,) = (tmp_path / "runs").iterdir()
    row = json.loads((folder / "metrics.jsonl").read_text())
    assert row["train/loss"] == pytest.approx(np.log(2), abs=0.3)  # one cross-entropy per label
    wrong = ("algorithm.loss=cross_entropy", "--out", tmp_path / "wrong")
    refused = medldr("train", config, *SMALL, f"data.root={root}", *wrong)
    assert refused.code == 2
    assert "binary_cross_entropy" in refused.err


@pytest.mark.parametrize(
    ("flag", "content"),
    [
        ("pathmnist", b"<!DOCTYPE html><html><title>Virus scan warning</title></html>"),
        ("breastmnist", None),
    ],
    ids=["a web page", "half a file"],
)
def test_a_wrong_file_is_named_with_both_checksums_and_kept(flag, content, medmnist_file, medldr):
    root = medmnist_file(flag, 2)
    path = root / f"{flag}.npz"
    content = content or path.read_bytes()[:5000]
    path.write_bytes(content)
    ended = medldr("data", "check", flag, f"data.root={root}", "data.download=true")
    assert ended.code == 2
    found = hashlib.md5(content, usedforsecurity=False).hexdigest()
    (expected,) = {w for w in ended.err.replace(",", " ").split() if len(w) == 32} - {found}
    for word in (str(path), found, expected, f"/{flag}.npz"):
        assert word in ended.err
    assert "https://" in ended.err
    assert path.read_bytes() == content
    assert [p.name for p in root.iterdir()] == [path.name]


FILES = {
    "a label as a float": ({"train_labels": lambda a: a.astype(float)}, "train_labels is float64"),
    "a label that is NaN": ({"val_labels": lambda a: a * np.nan}, "val_labels is float64"),
    "a negative label": ({"train_labels": lambda a: a.astype(int) - 1}, "holds -1 in row 0"),
    "labels without a column": ({"test_labels": lambda a: a[:, 0]}, "test_labels is uint8 6,"),
    "one-hot labels": ({"train_labels": lambda a: np.eye(2, dtype="u1")[a[:, 0]]}, "12 x 2"),
    "labels as text": ({"train_labels": lambda a: a.astype(str)}, "train_labels is <U3"),
    "labels as objects": ({"train_labels": lambda a: a.astype(object)}, "Python objects"),
    "a label too few": ({"train_labels": lambda a: a[:-1]}, "12 images"),
    "another size": ({"train_images": lambda a: a[:, :20, :20]}, "N x 28 x 28"),
    "channels first": ({"train_images": lambda a: a[:, None]}, "12 x 1 x 28 x 28"),
    "16 bit": ({"train_images": lambda a: a.astype("u2")}, "train_images is uint16"),
    "no training image": (
        {"train_images": lambda a: a[:0], "train_labels": lambda a: a[:0]},
        "no row is left to train on",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_of_another_format_is_named_before_the_first_epoch(
    name, medmnist_file, medldr, tmp_path
):
    changed, said = FILES[name]
    root = medmnist_file("breastmnist", 2, **changed)
    out = tmp_path / "runs"
    ended = medldr("train", "breastmnist_erm", *SMALL, f"data.root={root}", "--out", out)
    assert ended.code == 2
    assert "breastmnist" in ended.err
    assert said in ended.err
    assert not list(out.glob("*/metrics.jsonl"))


@pytest.mark.parametrize("damage", ["cut", "flipped", "renamed key", "no array at all"])
def test_a_damaged_archive_is_named(damage, medmnist_file, medldr):
    root = medmnist_file("breastmnist", 2)
    path = root / "breastmnist.npz"
    content = bytearray(path.read_bytes())
    if damage == "cut":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        content[3000:3100] = bytes(255 - byte for byte in content[3000:3100])
        path.write_bytes(content)
    elif damage == "renamed key":
        with np.load(path) as file:
            arrays = dict(file)
        np.savez(path, images_train=arrays.pop("train_images"), **arrays)
    else:
        np.savez(path)
    ended = medldr("data", "check", "breastmnist", f"data.root={root}", "data.md5=any")
    assert ended.code == 2
    assert str(path) in ended.err
    assert "Traceback" not in ended.err


def test_more_arrays_than_needed_do_no_harm(medmnist_file, medldr):
    root = medmnist_file("breastmnist", 2)
    path = root / "breastmnist.npz"
    with np.load(path) as file:
        np.savez(path, more=np.zeros(3), **dict(file))
    assert medldr("data", "stats", "breastmnist", f"data.root={root}", "data.md5=any").code == 0


def test_a_set_without_any_image_is_one_message(medmnist_file, medldr):
    root = medmnist_file("breastmnist", 2, counts=(0, 0, 0))
    for command in ("check", "stats"):
        ended = medldr("data", command, "breastmnist", f"data.root={root}", "data.md5=any")
        assert ended.code == 2
        assert ended.err.startswith("error: breastmnist_28")


def test_without_network_the_message_says_which_file_goes_where(medmnist_file, medldr, tmp_path):
    root = tmp_path / "medmnist"
    words = ["data", "check", "pathmnist", f"data.root={root}", "data.size=224"]
    ended = medldr(*words)
    assert ended.code == 2
    for word in ("pathmnist_224.npz", str(root), "https://", "2c51a510bcdc9cf8ddb2af93af1eadec"):
        assert word in ended.err
    medmnist_file("pathmnist_224", 9, channels=3, size=224, counts=(9, 2, 2))
    placed = medldr(*words, "data.md5=any")
    assert placed.code == 0, placed.err
    assert "13 images of 224 x 224 pixels" in placed.out
    assert "pathmnist.npz" in medldr("data", "check", "pathmnist", f"data.root={root}").err
    odd = medldr("data", "check", "pathmnist", f"data.root={root}", "data.size=100")
    assert odd.code == 2
    assert "28, 64, 128, 224" in odd.err


def test_constant_images_are_reported_with_their_numbers_and_not_dropped(medmnist_file, medldr):
    def blank_end(images):
        images[-3:] = 0
        return images

    root = medmnist_file("pneumoniamnist", 2, test_images=blank_end)
    ended = medldr("data", "check", "pneumoniamnist", f"data.root={root}", "data.md5=any")
    assert ended.code == 0
    assert "3 constant test images: 3, 4, 5" in " ".join(ended.out.split())
    assert "24 images of 28 x 28 pixels" in ended.out


def test_packages_of_one_dataset_are_needed_by_no_other(train, medldr, monkeypatch):
    for name in ("wilds", "torch_geometric", "torch_scatter"):
        monkeypatch.setitem(sys.modules, name, None)
    assert train("training.epochs=1").code == 0
    assert medldr("data", "list").code == 0


# The situation of a test domain without rows, on any dataset with domains


def test_an_empty_test_domain_says_what_was_found(train, rows, out):
    given = rows("0", train="0101", val="01", test="01") + rows("1", train="0101", val="01")
    for name, found in (("2", "Domains: 0, 1"), ("1", "0 test rows. Domains found: 0: 8, 1: 6")):
        ended = train(f"data.held_out=['{name}']", given=given)
        assert ended.code == 2
        assert found in ended.err
    assert "data.held_out_rows=all" in ended.err
    assert not list(out.glob("*/metrics.jsonl"))
    whole = train("data.held_out=['1']", "data.held_out_rows=all", given=given)
    assert whole.code == 0, whole.err


def test_a_dataset_without_test_rows_is_scored_on_what_it_has(train, rows, the_run):
    ended = train(given=rows(train="01010101", val="0101"))
    assert ended.code == 0, ended.err
    assert list(json.loads(the_run().evaluation.read_text())["splits"]) == ["val"]
    only = train("evaluation.splits=[test]", given=rows(train="0101", val="01"), name="only")
    assert only.code == 2
    assert "evaluation.splits" in only.err
    assert "train, val" in only.err


@pytest.fixture
def three_domains(rows):
    return [
        row for domain in "ABC" for row in rows(domain, train="01010101", val="0101", test="0101")
    ]


def test_the_order_of_held_out_domains_changes_nothing(medldr, write, three_domains, tmp_path):
    folders = []
    for number, held_out in enumerate((["B", "A"], ["A", "B"])):
        path = write(three_domains, data={"held_out": held_out}, machine={"report": True})
        ended = medldr("train", path, "--out", tmp_path / str(number))
        assert ended.code == 0, ended.err
        (folder,) = (tmp_path / str(number)).iterdir()
        folders.append(RunFolder(folder))
    one, other = folders
    for name in ("model", "predictions", "evaluation", "splits"):
        assert getattr(one, name).read_bytes() == getattr(other, name).read_bytes()
    scored = json.loads(one.evaluation.read_text())
    assert set(scored["splits"]["test"]["domains"]) == {"A", "B"}
    assert set(scored["splits"]["id_val"]["domains"]) == {"C"}
    assert scored["selection"]["split"] == "id_val"
    assert "seen-domain validation" in one.report.read_text()


def test_no_row_of_a_held_out_domain_chooses_the_model(train, three_domains, out):
    for spoilt in ("", "A"):
        ended = train(
            "data.held_out=[A]",
            f"data.spoilt={spoilt!r}",
            f"label=spoilt{spoilt}",
            given=three_domains,
        )
        assert ended.code == 0, ended.err
    one, other = (RunFolder(path) for path in sorted(out.iterdir()))
    assert one.model.read_bytes() == other.model.read_bytes()
    assert one.metrics.read_text().count("\n") == 2
    assert one.predictions.read_bytes() != other.predictions.read_bytes()


# Camelyon17: what of wilds is needed, and folders that were rearranged


def test_camelyon17_needs_neither_torch_scatter_nor_torch_geometric(
    camelyon17_folder, medldr, monkeypatch
):
    for name in ("torch_geometric", "torch_scatter", "ogb", "outdated"):
        monkeypatch.setitem(sys.modules, name, None)
    ended = medldr("data", "check", "camelyon17", camelyon17_folder)
    assert ended.code == 0, ended.err
    assert "60 images of 96 x 96 pixels" in ended.out


def test_without_wilds_the_error_says_what_to_install_and_the_other_datasets_work(
    camelyon17_folder, medmnist_file, medldr, monkeypatch
):
    monkeypatch.setitem(sys.modules, "wilds", None)
    for words in (("data", "check", "camelyon17"), ("data", "stats", "camelyon17")):
        ended = medldr(*words, f"data.root={camelyon17_folder}")
        assert ended.code == 2
        assert "pip install wilds" in ended.err
        assert "Traceback" not in ended.err
    root = medmnist_file("breastmnist", 2)
    other = medldr("data", "check", "breastmnist", f"data.root={root}", "data.md5=any")
    assert other.code == 0, other.err
    assert medldr("data", "list").code == 0


CAMELYON17_RUN = (
    *("model.width=0.125", "training.epochs=1", "training.batch_size=8"),
    *("training.precision=float32", "evaluation.draws=100", "machine.report=false"),
)


def test_metadata_without_the_test_hospital_says_what_was_found(
    camelyon17_folder, medldr, tmp_path
):
    path = camelyon17_folder / "camelyon17_v1.0" / "metadata.csv"
    head, *rows = path.read_text().splitlines()
    kept = [row for row in rows if row.split(",")[7] in "01"]
    path.write_text("\n".join([head, *kept]) + "\n")
    root = f"data.root={camelyon17_folder}"
    for words in (
        ("data", "stats", "camelyon17", root),
        ("train", "camelyon17_erm", root, *CAMELYON17_RUN, "--out", tmp_path / "runs"),
    ):
        ended = medldr(*words)
        assert ended.code == 2
        assert "test hospital 2: 0 rows; hospitals found: {0: 12, 1: 12}" in ended.err
        assert "Traceback" not in ended.err
    assert not list(tmp_path.glob("runs/*/metrics.jsonl"))


def test_hospital_folders_in_place_of_patches_are_answered_with_the_layout(
    camelyon17_folder, medldr, tmp_path
):
    folder = camelyon17_folder / "camelyon17_v1.0"
    (folder / "patches").rename(folder / "hospital_1")
    (folder / "hospital_0").mkdir()
    root = f"data.root={camelyon17_folder}"
    for words in (
        ("data", "check", "camelyon17", camelyon17_folder),
        ("train", "camelyon17_erm", root, *CAMELYON17_RUN, "--out", tmp_path / "runs"),
    ):
        ended = medldr(*words)
        assert ended.code == 2
        for word in ("no patches/", "hospital_0/, hospital_1/", "patches/patient_004_node_4/"):
            assert word in ended.err
    assert not list(tmp_path.glob("runs/*/metrics.jsonl"))


def test_patches_that_were_left_out_are_listed_in_the_run_folder(
    camelyon17_folder, medldr, tmp_path
):
    lost = sorted(camelyon17_folder.rglob("*.png"))[17]
    lost.unlink()
    words = ("train", "camelyon17_erm", f"data.root={camelyon17_folder}", *CAMELYON17_RUN)
    refused = medldr(*words, "--out", tmp_path / "runs")
    assert refused.code == 2
    assert lost.name in refused.err
    ended = medldr(*words, "data.on_bad_file=skip", "--out", tmp_path / "runs")
    assert ended.code == 3, ended.err
    assert "1 of 60 patches were left out" in ended.err
    (folder,) = (RunFolder(p) for p in (tmp_path / "runs").iterdir() if RunFolder(p).model.exists())
    assert folder.bad_files.read_text().splitlines() == [
        "path,reason",
        f"{lost.relative_to(camelyon17_folder / 'camelyon17_v1.0')},there is no such file",
    ]
    assert lost.stem not in folder.predictions.read_text()
    assert json.loads(folder.run.read_text())["protocol"] == "camelyon17-wilds+modified"
