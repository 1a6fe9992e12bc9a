"""What a run leaves in its folder, however it ends."""

import json
import signal

import pytest

from medldr.config import identify, load_config
from medldr.errors import InputError
from medldr.folders import lifecycle
from medldr.folders.files import RunFolder
from medldr.folders.owner import OwnedError, owned


@pytest.fixture
def config():
    return load_config("retinamnist_erm", ["training.epochs=1"])


def _run_json(config, out):
    return json.loads(identify(config).folder(out).run.read_text())


def test_a_run_that_ends_well_is_done(config, tmp_path):
    with lifecycle.open_run(identify(config), tmp_path) as run:
        assert not run.resumed
        assert lifecycle.status(run.folder) == "running"
        run.record(precision="float32", data={"name": "retina"})
        run.record(data={"notes": []})
    said = _run_json(config, tmp_path)
    assert said["status"] == "done"
    assert said["error"] is None
    assert said["data"] == {"name": "retina", "notes": []}
    assert said["hash"] in run.folder.path.name
    assert said["times"]["starts"] == 1
    assert said["times"]["finished"]


def test_the_written_configuration_repeats_the_run(config, tmp_path):
    with lifecycle.open_run(identify(config), tmp_path) as run:
        pass
    again = load_config(run.folder.config)
    assert identify(again).folder(tmp_path).path == run.folder.path


def test_a_failed_run_keeps_its_error(config, tmp_path):
    def fail():
        with lifecycle.open_run(identify(config), tmp_path):
            raise InputError("class 'rare' is missing")

    with pytest.raises(InputError):
        fail()
    said = _run_json(config, tmp_path)
    assert said["status"] == "failed"
    assert said["error"] == "InputError: class 'rare' is missing"
    with lifecycle.open_run(identify(config), tmp_path):
        pass
    said = _run_json(config, tmp_path)
    assert (said["status"], said["error"], said["times"]["starts"]) == ("done", None, 2)


def test_a_stopped_run_is_interrupted(config, tmp_path):
    def stop():
        with lifecycle.open_run(identify(config), tmp_path):
            raise lifecycle.Interrupted(signal.SIGTERM, resumable=True)

    with pytest.raises(lifecycle.Interrupted):
        stop()
    assert _run_json(config, tmp_path)["status"] == "interrupted"


def test_a_killed_run_counts_as_interrupted(config, tmp_path):
    folder = identify(config).folder(tmp_path)
    with lifecycle.open_run(identify(config), tmp_path):
        copy = folder.run.read_text()
    folder.run.write_text(copy)  # as if the process had been killed before it could say more
    assert lifecycle.status(folder) == "interrupted"


def test_an_ending_written_while_one_reads_is_believed(config, tmp_path, monkeypatch):
    with lifecycle.open_run(identify(config), tmp_path) as run:
        said = run.folder.run.read_text()
    ended = run.folder.run.read_text()
    run.folder.run.write_text(said.replace('"done"', '"running"'))

    def left_meanwhile(folder):
        folder.run.write_text(ended)
        return False

    monkeypatch.setattr(lifecycle, "is_owned", left_meanwhile)
    assert lifecycle.status(run.folder) == "done"


def test_a_finished_run_is_opened_without_a_trace(config, tmp_path):
    with lifecycle.open_run(identify(config), tmp_path) as run:
        run.folder.evaluation.touch()
        run.folder.model.touch()
    before = run.folder.run.read_bytes()
    with lifecycle.open_run(identify(config), tmp_path) as run:
        assert run.finished
    assert run.folder.run.read_bytes() == before


def test_restart_moves_the_earlier_run_aside(config, tmp_path):
    with lifecycle.open_run(identify(config), tmp_path) as run:
        (run.folder.path / "mark").touch()
    with lifecycle.open_run(identify(config), tmp_path, restart=True) as run:
        assert not (run.folder.path / "mark").exists()
    (aside,) = tmp_path.glob("*.before-*")
    assert (aside / "mark").exists()


def test_restart_leaves_a_run_that_is_in_use(config, tmp_path):
    folder = identify(config).folder(tmp_path)
    with owned(folder), pytest.raises(OwnedError, match="in use"):
        lifecycle.move_aside(folder)
    assert folder.path.exists()


def test_no_environment_variable_is_recorded(config, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_SECRET_TOKEN", "hunter2-secret")
    with lifecycle.open_run(identify(config), tmp_path) as run:
        pass
    for path in run.folder.path.rglob("*"):
        if path.is_file():
            assert "hunter2-secret" not in path.read_text()


def test_there_is_no_status_where_there_is_no_run(tmp_path):
    assert lifecycle.status(RunFolder(tmp_path)) is None


@pytest.mark.parametrize("content", ["{}", '{"status": 5}', '{"status": "finished"}', "[]", "{"])
def test_a_record_that_does_not_say_how_the_run_ended_names_the_cure(tmp_path, content):
    folder = RunFolder(tmp_path)
    folder.run.write_text(content)
    with pytest.raises(InputError, match=r"run\.json.*--restart"):
        lifecycle.status(folder)
