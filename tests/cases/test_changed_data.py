"""Files or tables that change under a run: new images, or a refusal, and never the old ones."""

import numpy as np
import pytest
from own_scans import built as data_of
from own_scans import dicom_files, images_of, nifti, noise, run_file, table, volumes
from PIL import Image

from medldr.folders.files import RunFolder
from medldr.folders.run_record import add_to_run_record

pytestmark = pytest.mark.auto_precision


def scans_of(folder, affine):
    """A table of volumes of equal voxels, and of a point in mm of each."""
    names = [nifti(folder / f"v{n}.nii.gz", noise(n, (12, 10, 8)), affine) for n in range(8)]
    rows = [(name, "ab"[n % 2], 5, 5, 4) for n, name in enumerate(names)]
    return table(folder, rows, "path,label,x,y,z")


def pictures_of(folder, **tags):
    """A table of DICOM pictures whose pixels depend on their number alone."""
    bits = tags.pop("bits", 12)
    for number in range(8):
        pixels = (np.arange(64, dtype=np.uint16) * 10 + number).reshape(8, 8)
        plain = {"Modality": "DX", "RescaleIntercept": None, "RescaleSlope": None}
        dataset = dicom_files.dicom(pixels, bits=bits, **{**plain, **tags})
        dicom_files.save(dataset, folder / f"{number}.dcm")
    return table(folder, [f"{number}.dcm" for number in range(8)])


def moved(x):
    """The affine of a volume of 1 mm that begins at ``x``."""
    return np.array([[1, 0, 0, x], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1.0]])


AROUND = {"point": ["x", "y", "z"], "point_in": "ras_mm", "size": [4, 4, 4]}
HEADERS = {
    "spacing": (
        {"size": [6, 6, 6], "spacing": [2, 2, 2]},
        lambda folder, changed: scans_of(folder, np.diag([1, 1, 6 if changed else 2, 1.0])),
    ),
    "origin": (
        {"size": [4, 4, 4], "crop": AROUND},
        lambda folder, changed: scans_of(folder, moved(-2 if changed else 0)),
    ),
    "window": (
        {"window": "file"},
        lambda folder, changed: pictures_of(
            folder, WindowCenter=500 if changed else 300, WindowWidth=600
        ),
    ),
    "modality": (
        {},
        lambda folder, changed: pictures_of(folder, Modality="MR" if changed else "DX"),
    ),
    "stored bits": ({}, lambda folder, changed: pictures_of(folder, bits=14 if changed else 12)),
}


@pytest.mark.parametrize(("keys", "write"), HEADERS.values(), ids=HEADERS)
def test_equal_voxels_under_a_corrected_header_are_new_images(tmp_path, keys, write):
    before = images_of(write(tmp_path, changed=False), **keys)
    hashed = data_of(tmp_path / "scans.csv", **keys).data_hash
    after = images_of(write(tmp_path, changed=True), **keys)
    assert hashed != data_of(tmp_path / "scans.csv", **keys).data_hash
    assert before.keys() == after.keys()
    assert not any(np.array_equal(before[item], after[item]) for item in before)


@pytest.fixture
def finished(tmp_path, medldr):
    """A finished run on eight volumes: its YAML file, the table, and how it is started again."""
    scans = tmp_path / "scans"
    file = table(scans, volumes(scans))
    run = run_file(tmp_path, file, size=[4, 4, 4])

    def start(*words):
        return medldr("train", run, "--out", tmp_path / "runs", *words)

    assert start().code == 0
    return file, start


def test_a_finished_run_whose_data_is_as_it_was_is_only_read(finished):
    _, start = finished
    again = start()
    assert (again.code, "already finished" in again.out) == (0, True)
    assert "not compared" not in again.err


def test_swapped_labels_are_refused_by_name_until_the_run_is_started_over(finished):
    file, start = finished
    rows = [line.split(",") for line in file.read_text().split()[1:]]
    table(file.parent, [(path, {"a": "b", "b": "a"}[label]) for path, label in rows])
    refused = start()
    assert refused.code == 2
    assert "labels of the training part" in refused.err
    assert "labels of the judged part" in refused.err
    assert "--restart" in refused.err
    assert start("--restart").code == 0
    assert start().code == 0


def test_a_changed_image_of_the_judged_part_is_told_apart_from_training(finished):
    file, start = finished
    (run,) = (file.parents[1] / "runs").iterdir()
    splits = RunFolder(run).splits.read_text()
    judged = next(f"v{n}.nii.gz" for n in range(8) if f"v{n}" in splits.split('"test"')[1])
    nifti(file.parent / judged, np.zeros((6, 5, 4), np.float32) + np.arange(4, dtype=np.float32))
    refused = start()
    assert refused.code == 2
    assert "images of the judged part" in refused.err
    assert "training part" not in refused.err


def test_data_that_is_not_here_is_not_compared(finished):
    file, start = finished
    file.parent.rename(file.parent.with_name("away"))
    again = start()
    assert (again.code, "not compared" in again.err) == (0, True)


def test_a_run_of_another_reader_is_refused(finished):
    file, start = finished
    (run,) = (file.parents[1] / "runs").iterdir()
    add_to_run_record(RunFolder(run), data={"reader": None})
    refused = start()
    assert refused.code == 2
    assert "earlier" in refused.err
    assert "--restart" in refused.err


def test_a_sweep_refuses_finished_members_whose_data_has_changed(tmp_path, medldr):
    scans = tmp_path / "scans"
    file = table(scans, volumes(scans))
    run = run_file(tmp_path, file, size=[4, 4, 4])
    sweep = tmp_path / "sweep.yaml"
    sweep.write_text("common: {extends: [run.yaml]}\nruns: [{label: one}]\nseeds: [0, 1]\n")
    for seed in (0, 1):  # as the sweep would, without a process for each
        words = ("label=one", f"seed={seed}", "--out", tmp_path / "out")
        assert medldr("train", run, *words).code == 0
    assert medldr("sweep", sweep, "--out", tmp_path / "out").code == 0
    rows = [line.split(",") for line in file.read_text().split()[1:]]
    table(scans, [(path, {"a": "b", "b": "a"}[label]) for path, label in rows])
    refused = medldr("sweep", sweep, "--out", tmp_path / "out")
    assert refused.code == 2
    assert "labels of the training part" in refused.err
    assert "one and 1 more run" in refused.err
    assert "--restart" in refused.err


def trained(medldr, tmp_path, *words):
    return medldr(
        *("train", *words, "model.width=0.125", "training.epochs=1", "training.batch_size=8"),
        *("machine.device=cpu", "machine.report=false", "evaluation.draws=100"),
        *("--out", tmp_path / "runs"),
    )


def test_a_published_file_is_compared_by_its_checksum_and_not_read_again(
    tmp_path, medldr, monkeypatch
):
    random = np.random.default_rng(0)

    def write(flip):
        arrays = {}
        for part in ("train", "val", "test"):
            arrays[f"{part}_images"] = random.integers(0, 256, (8, 28, 28), dtype=np.uint8)
            arrays[f"{part}_labels"] = np.array([[0], [1]] * 4, np.uint8) ^ flip
        np.savez(tmp_path / "breastmnist.npz", **arrays)

    write(0)
    words = ("breastmnist_erm", f"data.root={tmp_path}", "data.md5=any")
    assert trained(medldr, tmp_path, *words).code == 0
    with monkeypatch.context() as patch:
        patch.setattr("medldr.datasets.medmnist.load", lambda config: pytest.fail("read again"))
        assert trained(medldr, tmp_path, *words).code == 0
    write(1)
    refused = trained(medldr, tmp_path, *words)
    assert refused.code == 2
    assert "labels of the training part" in refused.err


def test_a_picture_of_a_tree_is_told_by_its_content_even_where_its_size_is_the_same(
    tmp_path, medldr
):
    random = np.random.default_rng(0)
    for place in ("a/no", "a/yes", "b/no", "b/yes"):
        (tmp_path / "tree" / place).mkdir(parents=True)
        for number in range(6):
            pixels = random.integers(0, 256, (16, 16, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(tmp_path / "tree" / place / f"{number}.bmp")
    run = run_file(tmp_path, None, name="domain_folders", root=str(tmp_path / "tree"), size=16)
    text = run.read_text().replace("allow_missing_classes: true, ", "")
    run.write_text(text)
    start = ("train", run, "--out", tmp_path / "runs")
    first = medldr(*start)
    assert (first.code, medldr(*start).code) == (0, 0), first.err
    path = tmp_path / "tree" / "a" / "no" / "3.bmp"
    path.write_bytes(path.read_bytes()[:-1] + b"\x00")
    refused = medldr(*start)
    assert refused.code == 2
    assert "images of the" in refused.err
