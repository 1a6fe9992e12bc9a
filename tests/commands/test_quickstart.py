"""The quickstart trains two runs, compares them, and knows when it is finished."""

import pytest

from medldr.commands.quickstart import _RATE, _WHAT, PAGE, RUNS, quickstart
from medldr.errors import InputError
from medldr.folders.files import RunFolder, read_json
from medldr.reporting import DEMONSTRATION

pytestmark = pytest.mark.auto_precision

TINY = (
    "data.patients=16",
    "data.size=16",
    "model.width=0.125",
    "training.epochs=1",
    "training.batch_size=8",
    "evaluation.draws=100",
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    out = tmp_path_factory.mktemp("quickstart")
    quickstart(out, TINY)
    return out


def folders(out):
    return [RunFolder(path) for path in sorted(out.iterdir()) if path.is_dir()]


@pytest.mark.slow
def test_both_runs_are_done_and_hold_out_one_scanner(finished):
    runs = [read_json(folder.run) for folder in folders(finished)]
    assert [run["label"] for run in runs] == sorted(RUNS)
    for folder, run in zip(folders(finished), runs, strict=True):
        assert run["status"] == "done"
        splits = read_json(folder.evaluation)["splits"]
        assert list(splits["test"]["domains"]) == ["scanner_d"]
        assert not splits["test"]["domains"]["scanner_d"]["seen"]
        assert sorted(splits["id_test"]["domains"]) == ["scanner_a", "scanner_b", "scanner_c"]


@pytest.mark.slow
def test_its_page_says_that_it_is_no_evidence(finished):
    page = (finished / PAGE).read_text()
    for text in (DEMONSTRATION, _WHAT, _RATE):  # all that its terminal says
        assert text in page
    assert "scanner_d" in page


@pytest.mark.slow
def test_a_second_call_shows_the_result_without_training(finished, capsys, monkeypatch):
    before = {f.path: f.model.stat().st_mtime_ns for f in folders(finished)}

    def refuse(*args, **kwargs):
        raise AssertionError("trained again")

    monkeypatch.setattr("medldr.run.fit", refuse)
    page = quickstart(finished, TINY)
    assert page == finished / PAGE
    assert {f.path: f.model.stat().st_mtime_ns for f in folders(finished)} == before
    shown = capsys.readouterr().out
    words = " ".join(shown.split())
    assert "Already trained" in words
    assert "unseen domain (scanner_d)" in words
    assert "95% CI" in words
    assert "LatentDR (Pool)" in words
    assert str(page) in shown
    assert DEMONSTRATION in words


@pytest.mark.slow  # trains a whole run
def test_what_is_half_finished_goes_on_with_the_rest(finished, tmp_path, capsys):
    erm = next(f for f in folders(finished) if f.path.name.startswith("phantom_fracture_erm"))
    (tmp_path / erm.path.name).symlink_to(erm.path)
    quickstart(tmp_path, TINY)
    shown = capsys.readouterr().out
    assert "2 of 2: phantom_fracture_latentdr_pool" in shown
    assert "1 of 2" not in shown


def test_a_wrong_override_is_the_users_to_mend(tmp_path):
    with pytest.raises(InputError, match="epoch"):
        quickstart(tmp_path, ("training.epoch=1",))
