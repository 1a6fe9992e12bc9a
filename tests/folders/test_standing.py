"""The state of a run of a sweep, from every file that says something of it."""

import json

import pytest

from medldr.errors import InputError
from medldr.folders.owner import owned
from medldr.folders.standing import (
    Standing,
    recorded_standing,
    standing_of,
    write_exit_record,
)
from medldr.folders.sweep_record import SweepFolder


@pytest.fixture
def folder(tmp_path):
    folder = SweepFolder(tmp_path)
    folder.logs.mkdir()
    return folder


def _record(folder, status, starts=1, **facts):
    run = folder.run("a")
    run.path.mkdir(exist_ok=True)
    facts = {"status": status, "times": {"starts": starts}, **facts}
    run.run.write_text(json.dumps(facts))
    return run


@pytest.mark.parametrize(
    ("record", "standing"),
    [
        (None, Standing("waiting", resumes=True)),
        ({"status": "failed", "error": "ValueError: no"}, Standing("failed", "ValueError: no")),
        ({"status": "failed"}, Standing("failed", "no error recorded")),
        ({"status": "interrupted", "error": "stopped by signal 15; ..."},
         Standing("interrupted", resumes=True)),
        ({"status": "interrupted", "error": "OSError: full"},
         Standing("interrupted", "OSError: full", resumes=True)),
        # Its process is gone:
        ({"status": "running"}, Standing("interrupted", "its process was killed", resumes=True)),
        # Without its results, it has to be opened again:
        ({"status": "done"}, Standing("interrupted", resumes=True)),
    ],
)  # fmt: skip
def test_a_run_says_its_own_state(folder, record, standing):
    if record is not None:
        _record(folder, **record)
    assert standing_of(folder, "a") == standing


def test_a_run_with_results_is_done_and_one_with_an_owner_is_running(folder):
    run = _record(folder, "done")
    run.evaluation.write_text("{}")
    run.model.touch()
    assert standing_of(folder, "a") == Standing("done")
    with owned(_record(folder, "running")):
        assert standing_of(folder, "a") == Standing("running")


def test_an_ending_that_the_run_cannot_tell_counts_until_it_starts_again(folder):
    write_exit_record(folder, "a", 1, "no module")
    assert json.loads(folder.ending("a").read_text()) == {
        "code": 1, "error": "no module", "starts": 0,
    }  # fmt: skip
    assert standing_of(folder, "a") == Standing("failed", "no module")
    _record(folder, "failed", starts=2, error="ValueError: before")
    write_exit_record(folder, "a", -9, "killed by SIGKILL")  # of a later process
    assert standing_of(folder, "a") == Standing("failed", "killed by SIGKILL", resumes=True)
    _record(folder, "interrupted", starts=3, error="stopped by signal 2")
    assert standing_of(folder, "a") == Standing("interrupted", resumes=True)


def test_unknown_keys_of_an_exit_record_do_no_harm(folder):
    folder.ending("a").write_text('{"code": 2, "error": "no", "node": "n1"}')
    assert standing_of(folder, "a") == Standing("failed", "no")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{half", "is not readable JSON"),
        ("[]", "should contain a mapping"),
        ("{}", "code is missing"),
        ('{"code": "x", "error": ""}', "code should be a valid integer"),
    ],
)
def test_a_damaged_exit_record_is_refused_with_file_key_and_cure(folder, text, said):
    folder.ending("a").write_text(text)
    with pytest.raises(InputError, match=rf"logs.a\.json.*{said}.*Remove it"):
        recorded_standing(folder, "a", None)
    assert standing_of(folder, "a").state == "unreadable"


def test_damaged_records_of_a_run_and_of_a_launch_are_told(folder):
    _record(folder, "done").run.write_text("{half")
    assert "run.json is not readable JSON" in standing_of(folder, "a").error
    launch = folder.processes / "p" / "b.json"
    launch.parent.mkdir(parents=True)
    launch.write_text("{}")
    standing = standing_of(folder, "b")
    assert standing.state == "unreadable"
    assert "starts is missing. Remove it" in standing.error
