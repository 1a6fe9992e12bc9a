"""Files or tables that change under a run: new images, or a refusal, and never the old ones."""

import shutil

import numpy as np
import pytest
from own_scans import built as data_of
from own_scans import dicom_files, images_of, nifti, noise, picture, run_file, table, volumes
from PIL import Image

from medldr import evaluate
from medldr.errors import InputError
from medldr.folders.files import RunFolder, read_json
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


def cut(folder, changed):
    """Volumes with a mask, which marks another place once it is changed."""
    rows = []
    for number in range(8):
        marks = np.zeros((12, 10, 8), np.float32)
        marks[2 + 4 * changed : 5 + 4 * changed, 2:5, 2:5] = 1
        names = nifti(folder / f"v{number}.nii.gz", noise(number, marks.shape)), f"m{number}.nii.gz"
        nifti(folder / names[1], marks)
        rows.append((names[0], "ab"[number % 2], names[1]))
    return table(folder, rows, "path,label,mask")


def pointed(folder, changed):
    """Volumes and a point of each, which is another once it is changed."""
    scans_of(folder, moved(0))
    rows = [(f"v{n}.nii.gz", "ab"[n % 2], 5 + 3 * changed, 5, 4) for n in range(8)]
    return table(folder, rows, "path,label,x,y,z")


HEADERS["mask"] = {"size": [4, 4, 4], "crop": {"mask": "mask"}}, cut
HEADERS["point"] = {"size": [4, 4, 4], "crop": AROUND}, pointed


@pytest.mark.parametrize(("keys", "write"), HEADERS.values(), ids=HEADERS)
def test_equal_voxels_under_a_corrected_header_are_new_images(tmp_path, keys, write):
    before = images_of(write(tmp_path, changed=False), **keys)
    hashed = data_of(tmp_path / "scans.csv", **keys).hashes()
    after = images_of(write(tmp_path, changed=True), **keys)
    changed = data_of(tmp_path / "scans.csv", **keys).hashes()
    for what in ("data_hash", "train_data_hash", "test_data_hash"):
        assert hashed[what] != changed[what]
    assert before.keys() == after.keys()
    assert not any(np.array_equal(before[item], after[item]) for item in before)


@pytest.fixture(scope="module")
def as_it_was(tmp_path_factory):
    """A folder as `make` leaves it, always at the same place: made once, then put back."""
    places = tmp_path_factory.mktemp("places")

    def folder(name, make):
        here, kept = places / name, places / f"{name}-kept"
        if kept.exists():
            shutil.rmtree(here)
            shutil.copytree(kept, here)
        else:
            make(here)
            shutil.copytree(here, kept)
        return here

    return folder


@pytest.fixture
def finished(as_it_was, medldr):
    """A finished run on eight volumes: the table, and how the run is started again."""

    def start(*words, at=None):
        at = at or here
        return medldr("train", at / "run.yaml", "--out", at / "runs", *words)

    def make(at):
        run_file(at, table(at / "scans", volumes(at / "scans")), size=[4, 4, 4])
        assert start(at=at).code == 0

    here = as_it_was("finished", make)
    return here / "scans" / "scans.csv", start


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
    assert "--restart" not in refused.err
    assert f"medldr evaluate {run} --new-test" in refused.err
    assert evaluate(run, new_test=True).run.folder == run
    assert start().code == 0


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
    def write(flip):
        random, arrays = np.random.default_rng(0), {}
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


def write_tree(folder):
    """Pictures of two hospitals and two classes, whose files have the same size."""
    random = np.random.default_rng(0)
    for place in ("a/no", "a/yes", "b/no", "b/yes"):
        (folder / place).mkdir(parents=True)
        for number in range(6):
            pixels = random.integers(0, 256, (16, 16, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / place / f"{number}.bmp")


def test_a_picture_of_a_tree_is_told_by_its_content_even_where_its_size_is_the_same(
    tmp_path, medldr
):
    write_tree(tmp_path / "tree")
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


def write_split_table(folder, brighter=(), labels=None, count=12, more=()):
    """Pictures with splits of their own, some of them brighter, and their table."""
    splits = ("train", "train", "val", "test")
    names = [
        picture(folder / f"p{n}.png", seed=n, level=100 * (n in brighter)) for n in range(count)
    ]
    rows = [(name, (labels or "aaaabbbbaaaa")[n], splits[n % 4]) for n, name in enumerate(names)]
    return table(folder, [*rows, *more], "path,label,split")


TEST_PICTURES = (3, 7)
SPLIT = {"split": "split"}


@pytest.fixture
def divided(as_it_was, medldr):
    """A finished run on pictures with splits of their own: folder of scans, run, and a command."""

    def make(at):
        run = run_file(at, write_split_table(at / "scans"), **SPLIT)
        assert medldr("train", run, "--out", at / "runs").code == 0

    here = as_it_was("divided", make)
    (folder,) = (here / "runs").iterdir()
    return here / "scans", RunFolder(folder), lambda *words: medldr(*words[:1], folder, *words[1:])


def weights_of(files):
    return files.model.read_bytes()


def test_a_repaired_test_image_costs_no_training(divided, medldr):
    scans, files, call = divided
    weights, before = weights_of(files), files.evaluation.read_text()
    hashes = read_json(files.run)
    write_split_table(scans, brighter=TEST_PICTURES)
    refused = call("evaluate")
    assert refused.code == 2
    assert "images of the judged part" in refused.err
    assert "--new-test" in refused.err
    assert files.evaluation.read_text() == before
    scored = call("evaluate", "--new-test")
    assert scored.code == 0, scored.err
    assert "2 of 6 answers are not those of before" in scored.err
    assert weights_of(files) == weights
    assert files.path.joinpath("evaluation.1.json").read_text() == before
    assert files.evaluation.read_text() != before
    now = read_json(files.run)
    assert now["train_data_hash"] == hashes["train_data_hash"]
    assert now["test_data_hash"] != hashes["test_data_hash"]
    assert any("evaluation.1.json" in note for note in now["notes"])
    assert call("verify").code == 0
    again = call("evaluate")
    assert (again.code, "answers" in again.err) == (0, False)
    write_split_table(scans)
    assert call("evaluate", "--new-test").code == 0
    assert files.path.joinpath("evaluation.2.json").is_file()
    files.path.joinpath("evaluation.1.json").write_text("{}")
    assert "evaluation.1.json was changed" in call("verify").out


def test_an_image_that_joins_the_test_split_is_scored_with_the_weights_as_they_are(divided):
    scans, files, call = divided
    weights = weights_of(files)
    write_split_table(scans, more=[(picture(scans / "a0.png", 77), "b", "test")])
    refused = call("evaluate")
    assert refused.code == 2
    assert "items, labels" in refused.err
    assert "training part" not in refused.err
    assert call("evaluate", "--new-test").code == 0
    assert weights_of(files) == weights


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"brighter": (0,)}, "images of the training part"),
        ({"brighter": (2,)}, "images of the training part"),
        ({"labels": "baaaabbbaaaa"}, "labels of the training part"),
        ({"labels": "ccccddddcccc"}, "names of classes"),
        ({"count": 10}, "items, labels"),  # the last one of validation is gone
    ],
)
def test_what_trained_or_selected_is_never_another(divided, change, named):
    scans, _, call = divided
    write_split_table(scans, **change)
    for words in (("evaluate",), ("evaluate", "--new-test")):
        refused = call(*words)
        assert (refused.code, named in refused.err) == (2, True)


def start_of(scans):
    """The command that began the run of `divided`."""
    return ("train", scans.parent / "run.yaml", "--out", scans.parent / "runs")


@pytest.mark.parametrize("change", ["names", "order"])
def test_names_of_classes_and_the_order_of_rows_belong_to_a_finished_run(divided, medldr, change):
    scans, files, _ = divided
    if change == "names":
        write_split_table(scans, labels="ccccddddcccc")
    else:
        head, *rows = (scans / "scans.csv").read_text().splitlines()
        (scans / "scans.csv").write_text("\n".join([head, *reversed(rows), ""]))
    for words in (start_of(scans), ("evaluate", files.path, "--new-test")):
        refused = medldr(*words)
        assert (refused.code, "--restart" in refused.err) == (2, True), refused.err


def test_metadata_that_divided_the_results_of_a_finished_run(tmp_path, medldr):
    scans, people = tmp_path / "scans", tmp_path / "people.csv"
    run_file(tmp_path, write_split_table(scans), metadata=str(people), **SPLIT)

    def describe(last, ward="1"):
        rows = [f"p{n}.png,{'mf'[n % 2]},{ward}" for n in range(11)]
        people.write_text("\n".join(["id,sex,ward", *rows, f"p11.png,{last},{ward}"]))

    start = (*start_of(scans), "evaluation.subgroups=[sex]")
    describe("f")
    assert medldr(*start).code == 0
    describe("f", ward="2")  # divides nothing
    assert medldr(*start).code == 0
    assert medldr(*start_of(scans), "evaluation.subgroups=[ward]").code == 0  # as it was scored
    describe("m")
    refused = medldr(*start)
    assert (refused.code, "people.csv" in refused.err) == (2, True)
    assert "--new-test" not in refused.err
    (folder,) = (tmp_path / "runs").iterdir()
    assert medldr("evaluate", folder).code == 0
    assert "p11.png,test,,,m," in RunFolder(folder).predictions.read_text()
    assert medldr(*start).code == 0


def test_an_unfinished_run_goes_on_with_another_test_split_and_no_other_training(
    tmp_path, medldr, monkeypatch
):
    scans = tmp_path / "scans"
    run = run_file(tmp_path, write_split_table(scans), **SPLIT)
    start = ("train", run, "--out", tmp_path / "runs", "training.epochs=2")
    with monkeypatch.context() as patch:
        patch.setattr("medldr.run.predict_and_score", stop)
        assert medldr(*start).code != 0
    (folder,) = (tmp_path / "runs").iterdir()
    record = RunFolder(folder).run
    before = read_json(record)["train_data_hash"]
    write_split_table(scans, brighter=(0,))
    refused = medldr(*start)
    assert refused.code == 2
    assert "cannot resume" in refused.err
    assert "images of the training part" in refused.err
    assert read_json(record)["train_data_hash"] == before
    write_split_table(scans, brighter=TEST_PICTURES)
    gone_on = medldr(*start)
    assert gone_on.code == 0, gone_on.err
    assert "training goes on, though" in gone_on.err
    assert "images of the judged part" in gone_on.err


def stop(*_):
    raise InputError("stopped here")


def test_pictures_of_equal_bytes_that_changed_places_are_found(tmp_path, medldr):
    write_tree(tmp_path / "tree")
    run = run_file(
        tmp_path, None, name="domain_folders", root=str(tmp_path / "tree"), size=16,
        held_out=["b"], allow_missing_classes=False,
    )  # fmt: skip
    run.write_text(run.read_text().replace("allow_missing_classes: false, ", ""))
    assert medldr("train", run, "--out", tmp_path / "runs").code == 0
    (folder,) = (tmp_path / "runs").iterdir()
    one, other = tmp_path / "tree/b/no/1.bmp", tmp_path / "tree/b/yes/1.bmp"
    swap(one, other)
    refused = medldr("evaluate", folder)
    assert (refused.code, "images of the judged part" in refused.err) == (2, True)
    swap(one, other)
    swap(tmp_path / "tree/a/no/1.bmp", tmp_path / "tree/a/yes/1.bmp")
    refused = medldr("evaluate", folder, "--new-test")
    assert (refused.code, "images of the training part" in refused.err) == (2, True)


def swap(one, other):
    aside = one.with_name("aside")
    for source, target in ((one, aside), (other, one), (aside, other)):
        source.rename(target)
