"""Two processes and one run: whoever comes second does nothing over again."""

import json

import pytest

from medldr import run
from medldr.config import identify, load_config
from medldr.folders import lifecycle

pytestmark = pytest.mark.auto_precision


@pytest.fixture
def config():
    return load_config("retinamnist_erm", ["training.epochs=1", "machine.device=cpu"])


def _finish(config, out):
    """What another process leaves when it has finished the run."""
    with lifecycle.open_run(identify(config), out) as opened:
        opened.folder.evaluation.write_text(json.dumps({"task": "ordinal", "splits": {}}))
        opened.folder.model.touch()
    return opened.folder


def _content(folder):
    """Everything in a run folder but its owner."""
    files = [p for p in folder.path.rglob("*") if p.is_file() and p != folder.owner]
    return {path: path.read_bytes() for path in files}


def test_a_run_that_was_finished_since_one_looked_is_not_run_again(config, tmp_path, monkeypatch):
    found = {}
    make = run.make_fabric

    def meanwhile(*words, **options):
        folder = _finish(config, tmp_path)
        (folder.path / f".{folder.report.name}.x.tmp").touch()  # its page is being written
        found.update(_content(folder))
        return make(*words, **options)

    monkeypatch.setattr(run, "make_fabric", meanwhile)
    monkeypatch.setattr(run, "run", lambda *_: pytest.fail("it was run again"))
    monkeypatch.setattr(run, "write_report_or_warn", lambda *_: pytest.fail("two write the page"))
    result = run.train_run(config, tmp_path)
    assert not result.fresh
    assert found
    assert _content(identify(config).folder(tmp_path)) == found


def test_a_restart_that_is_asked_for_is_made_all_the_same(config, tmp_path, monkeypatch):
    _finish(config, tmp_path)
    monkeypatch.setattr(run, "run", lambda config, folder, fabric: _finish_again(folder))
    monkeypatch.setattr(run, "write_report_or_warn", lambda *_: None)
    assert run.train_run(config, tmp_path, restart=True).fresh
    assert len(list(tmp_path.glob("*.before-*"))) == 1


def _finish_again(folder):
    folder.evaluation.write_text(json.dumps({"task": "ordinal", "splits": {}}))
    folder.model.touch()


def test_a_new_run_records_its_threads_and_one_that_goes_on_keeps_them(
    config, tmp_path, monkeypatch
):
    folder = identify(config).folder(tmp_path)
    recorded = []

    def play(config, folder, fabric):
        recorded.append(json.loads(folder.run.read_text())["threads"])
        folder.checkpoints.mkdir(exist_ok=True)
        folder.last.touch()
        if len(recorded) == 1:
            raise lifecycle.Interrupted(15, resumable=True)
        _finish_again(folder)

    monkeypatch.setattr(run, "run", play)
    monkeypatch.setattr(run, "write_report_or_warn", lambda *_: None)
    monkeypatch.setattr(run, "use_threads", lambda machine: machine.threads)
    machine = config.machine.model_copy(update={"threads": 1})
    with pytest.raises(lifecycle.Interrupted):
        run.train_run(config.model_copy(update={"machine": machine}), tmp_path)
    monkeypatch.setattr(run, "use_threads", lambda machine: 7)
    assert run.train_run(config, tmp_path).fresh
    assert recorded == [1, 1]
    times = json.loads(folder.run.read_text())["times"]
    assert times["starts"] == 2
    assert times["latest_start"] >= times["started"]
