"""Tables with images of training: left out, kept and marked, or refused; and runs that start so."""

import csv
import json

import pytest

from medldr.reporting import compare_runs


@pytest.fixture
def table(lab, tmp_path):
    """Rows of some splits of a run, as a table at another site."""

    def write(run, *splits):
        made = json.loads((run / "splits.json").read_text())["splits"]
        wanted = {name for split in splits for name in made[split]}
        with (lab.volume_files / "t.csv").open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["path"] in wanted]
        path = tmp_path / "theirs.csv"
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            files = lab.volume_files
            writer.writerows({**row, "path": str(files / row["path"])} for row in rows)
        return path, {split: len(made[split]) for split in splits}

    return write


def test_images_of_training_are_left_out_of_a_validation(lab, medldr, table, tmp_path):
    run = lab.volumes[0]
    path, n = table(run, "train", "val", "test")
    ended = medldr("validate", run, path, "--out", tmp_path / "mixed")
    assert ended.code == 3, ended.err
    known = n["train"] + n["val"]
    assert f"{known} of {known + n['test']} images were seen in training" in ended.out
    path, _ = table(run, "test")
    assert medldr("validate", run, path, "--out", tmp_path / "new").code == 0
    mixed, new = (
        json.loads((tmp_path / name / "evaluation.json").read_text()) for name in ("mixed", "new")
    )
    one, other = (made["splits"]["test"] for made in (mixed, new))
    assert one["n"] == other["n"] == n["test"]
    assert one["metrics"]["auc"]["value"] == pytest.approx(other["metrics"]["auc"]["value"])
    assert (
        f"{known} of {known + n['test']} images were seen in training and left out"
        in mixed["notes"]
    )
    records = [json.loads((tmp_path / name / "run.json").read_text()) for name in ("mixed", "new")]
    assert records[0]["data_hash"] == records[1]["data_hash"]
    assert not records[0]["marks"]


def test_a_table_of_known_images_alone_is_refused_or_marked(lab, medldr, table, tmp_path):
    run = lab.volumes[0]
    path, n = table(run, "train")
    ended = medldr("validate", run, path, "--out", tmp_path / "out")
    assert ended.code == 2
    assert "--keep-seen" in ended.err
    assert not (tmp_path / "out").exists()
    ended = medldr("validate", run, path, "--out", tmp_path / "out", "--keep-seen")
    assert ended.code == 0, ended.err
    (mark,) = json.loads((tmp_path / "out" / "run.json").read_text())["marks"]
    assert f"{n['train']} of {n['train']} images" in mark
    compare_runs([tmp_path / "out"], tmp_path / "c.html")
    for page in (tmp_path / "out" / "report.html", tmp_path / "c.html"):
        assert mark in page.read_text("utf-8")


def test_a_check_of_a_second_table_says_what_a_run_has_seen(lab, medldr, table, tmp_path):
    run = lab.volumes[0]
    path, n = table(run, "val", "test")
    study = tmp_path / "study.yaml"
    study.write_text(
        "extends: [recipe/own_3d, algorithm/erm, data/table]\n"
        f"data: {{file: {path}, group: patient, size: 12, window: [0, 400]}}\n"
    )
    ended = medldr("data", "check", study, "--no-page", "--run", run)
    assert ended.code == 3, ended.err
    assert f"{n['val']} of {n['val'] + n['test']} images were seen in training" in ended.out
    assert medldr("data", "check", study, "--no-page", "--run", tmp_path).code == 2
    path, n = table(run, "test")
    ended = medldr("data", "check", study, "--no-page", "--run", run)
    assert ended.code == 0, ended.out
    assert f"0 of {n['test']} images were seen in training" in ended.out


def _start(lab, folder, *more):
    config = json.loads(json.dumps({"extends": [str(lab.volumes[0] / "config.yaml")]}))
    path = folder / "start.yaml"
    path.write_text(json.dumps(config))
    start = f"training.init_from={lab.volumes[0]}"
    return ["train", path, start, "data.split_seed=5", "label=start", *more, "--out", folder / "r"]


def test_a_start_from_weights_that_saw_our_test_images_is_refused(lab, medldr, tmp_path):
    ended = medldr(*_start(lab, tmp_path))
    assert ended.code == 2
    assert "test images" in ended.err
    assert "training.allow_seen: true" in ended.err
    assert not list(tmp_path.rglob("*.ckpt"))


@pytest.mark.slow
def test_an_allowed_start_marks_every_number(lab, medldr, tmp_path):
    ended = medldr(*_start(lab, tmp_path, "training.allow_seen=true", "machine.report=true"))
    assert ended.code == 0, ended.err
    (run,) = (tmp_path / "r").iterdir()
    (mark,) = json.loads((run / "run.json").read_text())["marks"]
    assert "test images" in mark
    assert mark in json.loads((run / "evaluation.json").read_text())["notes"]
    assert mark in (run / "report.html").read_text("utf-8")
    compare_runs([run], tmp_path / "c.html")
    assert mark in (tmp_path / "c.html").read_text("utf-8")
    assert medldr("evaluate", run).code == 0  # keeps the mark
    assert mark in json.loads((run / "evaluation.json").read_text())["notes"]
    assert medldr("verify", run).code == 0
