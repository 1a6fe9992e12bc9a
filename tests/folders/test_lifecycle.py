"""What a run leaves in its folder, however it ends."""

import json
import signal

import pytest

from medldr.config import identify, load_config
from medldr.errors import InputError
from medldr.folders import lifecycle
from medldr.folders.owner import OwnedError, owned


@pytest.fixture
def config():
    return load_config("retinamnist_erm", ["training.epochs=1"])


def _run_json(config, out):
    return json.loads(identify(config).folder(out).run.read_text())


def test_a_run_that_ends_well_is_done(config, tmp_path):
    assert lifecycle.status(identify(config).folder(tmp_path)) is None
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
    # The written configuration repeats the run.
    again = identify(load_config(run.folder.config)).folder(tmp_path)
    assert again.path == run.folder.path


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (InputError("no class 'rare'"), "failed", "InputError: no class 'rare'"),
        (lifecycle.Interrupted(signal.SIGTERM, True), "interrupted", "stopped by SIGTERM"),
        (KeyboardInterrupt(), "interrupted", "interrupted from the keyboard"),
    ],
)
def test_a_run_keeps_what_ended_it_until_the_next_start(config, tmp_path, error, status, words):
    def end():
        with lifecycle.open_run(identify(config), tmp_path):
            raise error

    with pytest.raises(type(error)):
        end()
    said = _run_json(config, tmp_path)
    assert said["status"] == status
    assert said["error"].startswith(words)
    with lifecycle.open_run(identify(config), tmp_path):
        pass
    said = _run_json(config, tmp_path)
    assert (said["status"], said["error"], said["times"]["starts"]) == ("done", None, 2)


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
