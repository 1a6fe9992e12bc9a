"""What a run's checksums cover, and when they are written."""

import hashlib
import json
import shutil

import pytest

from medldr.config import identify, load_config
from medldr.errors import InputError
from medldr.folders import lifecycle
from medldr.folders.checksums import (
    changes,
    checksum_of_content,
    is_scored,
    result_files,
)
from medldr.folders.files import RunFolder
from medldr.folders.run_record import add_to_run_record, read_run_record

RESULTS = {
    "config.yaml", "metrics.jsonl", "predictions.csv", "evaluation.json", "model.safetensors",
    "splits.json", "bad_files.csv", "selected/last.safetensors", "selected/last/predictions.csv",
    "selected/last/evaluation.json", "submission/fold_0.csv",
}  # fmt: skip
OTHERS = ("report.html", "checkpoints/last.ckpt", "selected/.x.tmp", "notes.txt")


@pytest.fixture
def config():
    return load_config("retinamnist_erm", ["training.epochs=1"])


def fill(folder):
    for name in (RESULTS - {"config.yaml"}) | {*OTHERS}:
        path = folder.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}")


@pytest.fixture
def done(config, tmp_path):
    """A finished run whose files hold their own name."""
    with lifecycle.open_run(identify(config), tmp_path) as run:
        fill(run.folder)
    return run.folder


def changed(folder, names=None):
    return dict(changes(folder, json.loads(folder.run.read_text()), names))


def test_every_file_with_results_has_its_sha256(done):
    written = json.loads(done.run.read_text())["checksums"]
    assert written.keys() == RESULTS | {"run.json"}
    for name in RESULTS:
        assert written[name] == hashlib.sha256((done.path / name).read_bytes()).hexdigest()
    assert result_files(done).keys() == RESULTS
    assert changed(done) == {}


def test_a_changed_file_is_named(done):
    for name in RESULTS:
        path = done.path / name
        before = path.read_text()
        path.write_text(before + " ")
        assert list(changed(done)) == [name]
        assert "changed" in changed(done)[name]
        assert changed(done, ["run.json"]) == {}
        path.unlink()
        assert changed(done) == {name: "is missing"}
        path.write_text(before)


def test_a_file_that_was_added_is_named(done):
    done.evaluation_of("val_loss").parent.mkdir()
    done.evaluation_of("val_loss").write_text("{}")
    assert "added" in changed(done)["selected/val_loss/evaluation.json"]


def test_a_changed_record_is_named_although_its_files_are_as_they_were(done):
    before = done.run.read_text()
    for edit in (
        lambda record: record.update(seed=1),
        lambda record: record["times"].update(seconds=1.0),
        lambda record: record["checksums"].update({"metrics.jsonl": "0" * 64}),
        lambda record: record.update(protocol="medmnist-28"),
        lambda record: record["checksums"].pop("run.json"),
    ):
        record = json.loads(before)
        edit(record)
        done.run.write_text(json.dumps(record))
        assert "run.json" in changed(done)
    # Its layout does not matter, nor does what is recorded afterwards.
    done.run.write_text(json.dumps(dict(reversed(json.loads(before).items())), indent=7))
    assert changed(done) == {}
    add_to_run_record(done, notes=["scored again"])
    assert changed(done) == {}


def test_files_that_are_being_scored_again_are_not_known_to_differ(done):
    known = read_run_record(done).checksums
    kept = {name: made for name, made in known.items() if not is_scored(name)}
    assert set(kept) == {
        "run.json", "metrics.jsonl", "model.safetensors", "selected/last.safetensors"
    }  # fmt: skip
    add_to_run_record(done, checksums=kept)
    for path in (done.evaluation, done.evaluation_of("last"), done.submission / "fold_1.csv"):
        path.write_text("new")
    done.splits.unlink()
    assert changed(done) == {}
    done.model.write_text("other")
    assert list(changed(done)) == ["model.safetensors"]


def test_a_run_that_has_not_finished_has_no_checksums(config, tmp_path):
    with lifecycle.open_run(identify(config), tmp_path) as run:
        fill(run.folder)
    run.folder.evaluation.unlink()  # so that it is not done, and goes on
    with lifecycle.open_run(identify(config), tmp_path) as run:
        assert read_run_record(run.folder).checksums is None
        assert changed(run.folder) == {}
        run.folder.evaluation.write_text("new")
    assert changed(run.folder) == {}
    assert read_run_record(run.folder).checksums is not None


def test_no_run_is_ever_done_without_its_checksums(config, tmp_path, monkeypatch):
    """A kill between two writes would leave such a run: there is only one."""
    seen = []
    write = lifecycle.add_to_run_record

    def watched(folder, **facts):
        write(folder, **facts)
        seen.append((read_run_record(folder).status, bool(read_run_record(folder).checksums)))

    monkeypatch.setattr(lifecycle, "add_to_run_record", watched)
    with lifecycle.open_run(identify(config), tmp_path):
        pass
    assert seen == [("running", False), ("done", True)]


@pytest.mark.parametrize("name", ["/dev/zero", "../other/model.safetensors", "notes/a.txt"])
def test_a_record_cannot_have_other_files_read(done, name):
    record = json.loads(done.run.read_text())
    record["checksums"][name] = "0" * 64
    record["checksums"]["run.json"] = checksum_of_content(record)
    done.run.write_text(json.dumps(record))
    assert "no run writes" in changed(done)[name]


def test_a_run_that_failed_has_no_checksums(config, tmp_path):
    def fail():
        with lifecycle.open_run(identify(config), tmp_path) as run:
            fill(run.folder)
            raise InputError("broken")

    with pytest.raises(InputError):
        fail()
    assert read_run_record(identify(config).folder(tmp_path)).checksums is None


def test_a_run_keeps_its_checksums_wherever_it_goes(config, done, tmp_path):
    copy = RunFolder(shutil.copytree(done.path, tmp_path / "elsewhere" / "renamed"))
    assert changed(copy) == {}
    assert changed(RunFolder(lifecycle.move_aside(done))) == {}
