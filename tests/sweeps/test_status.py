"""What a sweep's folder alone shows of its state, against folders written by hand."""

import dataclasses
import datetime
import io
import json
import re

import pytest
from rich.console import Console

from medldr.errors import InputError
from medldr.folders.owner import owned
from medldr.folders.standing import Standing
from medldr.folders.sweep_record import Layout, Member, Sweep, SweepFolder, read_sweep, write_sweep
from medldr.sweeps.shared_folder import at_work, note_launch
from medldr.sweeps.show import print_plan, print_status
from medldr.sweeps.status import MemberStatus, status_of


def _member(label, seed=0):
    return Member(f"{label}-00000000-s{seed}", label, seed, label, "c")


@pytest.fixture
def folder(tmp_path):
    folder = SweepFolder(tmp_path / "S")
    members = tuple(_member(label, seed) for label in ("erm", "mixup") for seed in (0, 1, 2))
    write_sweep(folder, Sweep("demo", Layout("Demo"), members))
    folder.logs.mkdir()
    return folder


@pytest.fixture
def run_of(folder, leave):
    """Leave a run, with its log and configuration."""

    def run(label, seed, status, *, rows=(), ago=None, training=None, **facts):
        if ago is not None:
            began = datetime.datetime.now(datetime.UTC) - datetime.timedelta(seconds=ago)
            facts["latest_start"] = began.isoformat(timespec="seconds")
        run = leave(folder, _member(label, seed).run, status, **facts)
        run.metrics.write_text("".join(json.dumps(row) + "\n" for row in rows))
        run.config.write_text(json.dumps({"training": training or {"epochs": 12, "steps": None}}))
        return run

    return run


def _printed(show, *values):
    text = io.StringIO()
    show(*values, out=Console(file=text, width=80, highlight=False))
    return text.getvalue()


def test_a_sweep_that_was_never_started_waits(folder):
    status = status_of(folder)
    assert status.counts == {"waiting": 6}
    assert status.left_s is None
    text = _printed(print_status, status)
    assert "unknown until a first run is done" in text
    assert "started with" not in text
    sweep = read_sweep(folder)
    write_sweep(folder, dataclasses.replace(sweep, overrides=("seeds=[0]", "training.epochs=1")))
    text = _printed(print_status, status_of(folder))
    assert "started with seeds=[0] training.epochs=1\n" in text


def test_the_status_is_printed_as_json(folder, run_of, medldr):
    run_of("erm", 1, "failed", error="no data")
    printed = json.loads(medldr("sweep", "status", folder.path, "--json").out)
    assert printed["counts"] == {"failed": 1, "waiting": 5}
    found = next(run for run in printed["runs"] if (run["label"], run["seed"]) == ("erm", 1))
    assert (found["state"], found["error"]) == ("failed", "no data")


def test_every_state_is_told_with_its_position_and_fits_80_columns(folder, run_of):
    run_of("erm", 0, "done", seconds=3725)
    run_of("erm", 1, "failed", error="ValueError: the reason")
    run_of("erm", 2, "interrupted", error="stopped by signal 15; ...", rows=[{"epoch": 3}])
    running = run_of("mixup", 0, "running", rows=[{"epoch": 4}, {"epoch": 5}], ago=30)
    run_of("mixup", 1, "done").run.write_text("{half")
    with owned(running):
        status = status_of(folder)
    assert [entry.standing.state for entry in status.members] == [
        "done", "failed", "interrupted", "running", "unreadable", "waiting",
    ]  # fmt: skip
    assert status.members[2].standing.error == ""  # the user knows
    assert 29 <= status.members[3].seconds <= 60
    text = _printed(print_status, status)
    counts = "1 done, 1 running, 1 interrupted, 1 failed, 1 waiting, 1 unreadable"
    assert f"demo: 6 runs: {counts}" in text
    assert re.search(r"mixup +1 running +s0: epoch 5 of 12, 0:00:[34]", text)
    for words in (
        "s2: epoch 3 of 12, stopped", "1:02:05", "expected time left: ",
        "erm-00000000-s1 failed: ValueError: the reason", "run.json is not readable JSON",
    ):  # fmt: skip
        assert words in text
    assert "interrupted:" not in text
    table = [line for line in text.splitlines()[1:] if "-00000000-s" not in line]
    assert max(map(len, table)) <= 80


def test_a_launched_run_is_at_work(folder, run_of):
    run_of("erm", 0, "done", seconds=100)
    with at_work(folder) as mine:
        for seed in (1, 2):
            note_launch(mine, _member("erm", seed).run, 0)
        status = status_of(folder)
    assert status.counts == {"done": 1, "launched": 2, "waiting": 3}
    assert status.left_s == 250
    assert "assuming 2 runs at once, as now" in _printed(print_status, status)


def test_a_run_that_counts_steps_is_told_in_steps(folder, run_of):
    training = {"epochs": None, "steps": 500}
    run_of("erm", 0, "interrupted", rows=[{"epoch": 1, "step": 40}], training=training)
    assert status_of(folder).members[0].position == "step 40 of 500"


def test_damaged_files_of_one_run_do_not_hide_the_others(folder, run_of):
    run = run_of("erm", 0, "interrupted", rows=[{"epoch": 7}])
    run.config.write_text("training: {")
    with run.metrics.open("ab") as file:
        file.write(b'{"epoch": 8, "st\xff\xfe')  # a half-written row is passed over
    assert status_of(folder).members[0].position == "epoch 7"


def test_times_that_make_no_sense_are_told(folder, run_of):
    run = run_of("erm", 0, "running")
    run.run.write_text(json.dumps({"status": "running", "times": {"latest_start": "noon"}}))
    with owned(run):
        status = status_of(folder)
    assert status.counts == {"unreadable": 1, "waiting": 5}
    assert "run.json: times" in status.members[0].standing.error


def test_the_time_left_is_that_of_runs_of_the_same_label(folder, run_of):
    run_of("erm", 0, "done", seconds=100)
    run_of("erm", 1, "done", seconds=140)
    run_of("mixup", 0, "done", seconds=30)
    # Left: erm s2 at 120 s less the 50 s spent, and two of mixup at 30 s.
    run_of("erm", 2, "interrupted", seconds=50)
    assert status_of(folder).left_s == pytest.approx(70 + 30 + 30)


def test_a_label_without_a_finished_run_takes_the_mean_of_all_and_two_run_at_once(folder, run_of):
    run_of("erm", 0, "done", seconds=100)
    run_of("erm", 1, "done", seconds=200)
    run_of("erm", 2, "failed", error="x")
    one, other = (run_of("mixup", seed, "running", ago=seed * 150) for seed in (0, 1))
    with owned(one), owned(other):
        status = status_of(folder)
    assert status.counts == {"done": 2, "running": 2, "failed": 1, "waiting": 1}
    # 150 s for each of mixup; the second has used its time up; two at once.
    assert status.left_s == pytest.approx((150 + 0 + 150) / 2, abs=2)


def test_a_plan_is_a_row_per_run(folder, run_of):
    run_of("erm", 0, "done")
    members = status_of(folder).members
    text = _printed(print_plan, "demo", folder.path, members)
    assert len(re.findall(r"^(?:erm|mixup) +[012] +", text, re.MULTILINE)) == 6
    assert "demo: 6 runs: 1 done, 5 waiting" in text
    assert text.splitlines()[-1] == f"in {folder.path}; run it without --dry-run to start"
    text = _printed(print_plan, "demo", folder.path, members[:1])
    assert text.splitlines()[-1] == f"in {folder.path}; nothing is left to run"


def test_a_long_label_of_a_plan_stays_in_one_piece_at_80_columns(folder):
    labels = ["dermamnist_224up_latentdr_full_learning_rate", "x" * 60]
    members = [Member(f"{n}-00000000-s12", n, 12, n[-22:], n[:22]) for n in labels]
    waits = Standing("waiting")
    text = _printed(
        print_plan, "demo", folder.path, [MemberStatus(member, waits) for member in members]
    )
    lines = text.splitlines()
    assert re.search(rf"^{labels[0]} +12 ", text, re.MULTILINE)
    assert max(map(len, lines[:-1])) <= 80
    assert text.count("waiting") == 3  # with that of the line of counts
    assert "row" not in lines[0]  # the label says it, and there is no room


def test_equal_errors_are_told_once(folder, run_of):
    for seed in (0, 1, 2):
        run_of("erm", seed, "failed", error="no data here", rows=[{"epoch": 3}])
        run_of("mixup", seed, "failed", error="no data here" if seed else "boo")
    text = _printed(print_status, status_of(folder))
    assert text.count("no data here") == 1
    assert "failed: no data here\n  5 runs: erm-00000000-s0 at epoch 3 of 12, erm-" in text
    assert "s2 at epoch 3 of 12 and 2 more" in text
    assert "mixup-00000000-s0 failed: boo" in text


def test_a_folder_without_a_sweep_is_named(tmp_path):
    with pytest.raises(InputError, match=r"x contains no sweep\.json"):
        status_of(SweepFolder(tmp_path / "x"))
