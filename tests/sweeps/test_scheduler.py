"""Which member starts when and what becomes of it, with processes that are only played."""

import functools
import io
import json
import signal
import threading
import time

import pytest
from rich.console import Console

from medldr.folders.owner import owned
from medldr.folders.standing import standing_of
from medldr.folders.sweep_record import Member, SweepFolder
from medldr.sweeps import scheduler
from medldr.sweeps.launchers.base import Job, Launcher
from medldr.sweeps.progress import SweepProgress
from medldr.sweeps.scheduler import Scheduler, StopWatch
from medldr.sweeps.shared_folder import at_work, note_launch


class Stage:
    """A sweep folder, and processes that end as instructed.

    `plays` says by run name what each start of it does: a function that is called when it ends,
    and returns its exit code. `events` is what happened, in order.
    """

    def __init__(self, path, leave, *members, slots=1):
        self.folder = SweepFolder(path)
        self.leave = leave
        self.members = [m if isinstance(m, Member) else Member(m, m, 0, m, "c") for m in members]
        self.plays = {}
        self.polls = {}
        self.events = []
        self.most = 0
        self.now = set()
        self.watch = StopWatch()
        self.text = io.StringIO()
        self.launcher = Launcher(self._start, slots, cores=1, pause_s=0.0)

    def _start(self, jobs):
        return [Played(self, job.name) for job in jobs]

    def run(self, **options):
        progress = SweepProgress(len(self.members), Console(file=self.text, width=200))
        with at_work(self.folder) as mine:
            self.scheduler = Scheduler(
                self.folder, self.members, self._job, self.launcher, progress, mine,
                watch=self.watch, **options,
            )  # fmt: skip
            return self.scheduler.run()

    def _job(self, name):
        return Job(name, ("train", name), self.folder.log(name))

    def says(self, name, status, **facts):
        self.leave(self.folder, name, status, **facts)

    def done(self, name):
        return lambda: self.says(name, "done") or 0

    def prints(self, name, text, code):
        """Print a line and end with this code, without having begun."""

        def play():
            with self.folder.log(name).open("a") as log:
                log.write(text)
            return code

        return play

    def play_with(self, kind):
        """Play processes of another kind than `Played`."""
        start = lambda jobs: [kind(self, job.name) for job in jobs]  # noqa: E731
        self.launcher = Launcher(start, 1, cores=1, pause_s=0.0)


class Played:
    def __init__(self, stage, name):
        self.stage, self.name = stage, name
        self.left = stage.polls.get(name, 2)
        self.stopped = self.code = None
        stage.events.append(f"start {name}")
        stage.now.add(name)
        stage.most = max(stage.most, len(stage.now))

    def poll(self):
        self.left -= 1
        if self.code is None and (self.left <= 0 or self.stopped):
            play = self.stage.plays.get(self.name) or self.stage.done(self.name)
            self.code = (self.stopped or play)()
            self.stage.now.discard(self.name)
            self.stage.events.append(f"end {self.name}")
        return self.code

    def stop(self):
        self.stage.events.append(f"stop {self.name}")
        self.stopped = lambda: self.stage.says(self.name, "interrupted") or 143

    def kill(self):
        self.stage.events.append(f"kill {self.name}")
        self.stopped = lambda: -9


@pytest.fixture
def new_stage(tmp_path, leave):
    """A stage with these members, in the same folder each time."""
    return functools.partial(Stage, tmp_path, leave)


def test_members_start_in_their_order_one_after_another(new_stage):
    stage = new_stage("a", "b", "c")
    outcome = stage.run()
    assert outcome.done == ["a", "b", "c"]
    assert stage.events == ["start a", "end a", "start b", "end b", "start c", "end c"]
    assert "=== " in stage.folder.log("a").read_text()


@pytest.mark.parametrize(("slots", "most"), [(1, 1), (2, 2), (3, 3), (None, 4)])
def test_no_more_run_at_once_than_the_launcher_takes(new_stage, slots, most):
    stage = new_stage(*"abcd", slots=slots)
    assert sorted(stage.run().done) == list("abcd")
    assert stage.most == most


def test_what_is_done_is_not_started_again_and_what_was_interrupted_goes_on(new_stage):
    stage = new_stage("a", "b", "c")
    stage.says("a", "done")
    stage.says("b", "interrupted")
    assert stage.run().done == ["a", "b", "c"]
    assert stage.events == ["start b", "end b", "start c", "end c"]


def test_a_failed_member_is_told_and_skipped_until_a_retry_is_asked_for(new_stage):
    stage = new_stage("a", "b")
    stage.says("a", "failed", error="InputError: no such file")
    outcome = stage.run()
    assert outcome.failed == {"a": "InputError: no such file"}
    assert outcome.done == ["b"]
    assert "no such file" in stage.text.getvalue()
    again = new_stage("a", "b").run(retry_failed=True)
    assert again.done == ["b", "a"]
    assert not again.failed


def test_an_ending_that_the_run_cannot_tell_is_recorded_and_forgotten_once_done(new_stage):
    stage = new_stage("a")

    stage.plays["a"] = stage.prints("a", "terminate called without an active exception\n\n", -9)
    outcome = stage.run()
    assert "SIGKILL" in outcome.failed["a"]
    assert "terminate called" in outcome.failed["a"]
    assert json.loads(stage.folder.ending("a").read_text())["code"] == -9
    assert standing_of(stage.folder, "a").state == "failed"
    again = new_stage("a")
    assert again.run().done == ["a"]  # without being asked to retry
    assert not stage.folder.ending("a").exists()


def test_a_mistake_before_the_folder_exists_is_not_made_again_unasked(new_stage):
    stage = new_stage("a")
    stage.plays["a"] = stage.prints("a", "error: machine.device: there is no cuda here\n", 2)
    said = {"a": "machine.device: there is no cuda here"}
    assert stage.run().failed == said
    again = new_stage("a")
    assert again.run().failed == said
    assert again.events == []
    assert new_stage("a").run(retry_failed=True).done == ["a"]


def test_a_retry_that_does_not_come_to_run_tells_why_and_not_what_was_before(new_stage):
    stage = new_stage("a")
    stage.says("a", "failed", error="ValueError: boo")
    stage.plays["a"] = stage.prints("a", "error: machine.device: there is no cuda here\n", 2)
    said = {"a": "machine.device: there is no cuda here"}
    assert stage.run(retry_failed=True).failed == said
    assert standing_of(stage.folder, "a").error == said["a"]
    again = new_stage("a")
    again.plays["a"] = lambda: again.says("a", "failed", error="ValueError: new", starts=2) or 1
    assert again.run(retry_failed=True).failed == {"a": "ValueError: new"}


def test_a_retry_that_is_stopped_before_it_runs_is_interrupted(new_stage):
    stage = new_stage("a")
    stage.says("a", "failed", error="ValueError: boo")
    stage.plays["a"] = lambda: 143
    outcome = stage.run(retry_failed=True)
    assert not outcome.failed
    assert stage.scheduler.interrupted == 1


def test_an_unreadable_run_is_named_and_left_out(new_stage):
    stage = new_stage("a", "b")
    stage.says("a", "done")
    stage.folder.run("a").run.write_text("{half")
    outcome = stage.run()
    assert outcome.done == ["b"]
    assert "run.json" in outcome.left_out["a"]
    assert "run.json" in stage.text.getvalue()


def test_a_member_starts_after_those_it_needs(new_stage):
    stage = new_stage(Member("b", "b", 0, "b", "c", after=("a",)), "a", "x", slots=3)
    assert set(stage.run().done) == {"a", "b", "x"}
    assert stage.events.index("end a") < stage.events.index("start b")


def test_a_failure_leaves_out_what_waits_for_it_and_stops_no_other(new_stage):
    members = [Member(name, name, 0, name, "c", after) for name, after in
               [("a", ()), ("b", ("a",)), ("c", ("b",)), ("x", ())]]  # fmt: skip
    stage = new_stage(*members)
    stage.plays["a"] = lambda: stage.says("a", "failed", error="ValueError: boo") or 1
    outcome = stage.run()
    assert (outcome.done, outcome.failed) == (["x"], {"a": "ValueError: boo"})
    assert set(outcome.left_out) == {"b", "c"}
    assert "a" in outcome.left_out["b"]


def test_a_run_that_another_process_owns_is_waited_for_and_not_started(new_stage):
    stage = new_stage("a", "b")
    stage.says("a", "running")
    with owned(stage.folder.run("a")):
        # The other one finishes while b runs here.
        stage.plays["b"] = lambda: stage.says("b", "done") or stage.says("a", "done") or 0
        outcome = stage.run()
    assert sorted(outcome.done) == ["a", "b"]
    assert "start a" not in stage.events


@pytest.mark.parametrize("leaves", ["unfinished", "moved aside"])
def test_a_run_that_another_process_leaves_is_started(new_stage, tmp_path, leaves):
    stage = new_stage("a", "b")
    stage.says("a", "running")
    other = owned(stage.folder.run("a"))
    other.__enter__()

    def leave():
        if leaves == "unfinished":
            other.__exit__(None, None, None)
        else:
            stage.folder.run("a").path.rename(tmp_path / "aside")
        return stage.done("b")()

    stage.plays["b"] = leave
    outcome = stage.run()
    if leaves == "moved aside":
        other.__exit__(None, None, None)
    assert outcome.done == ["b", "a"]
    assert not outcome.failed
    assert stage.events[-2:] == ["start a", "end a"]


def test_what_another_sweep_has_brought_to_an_end_meanwhile_is_not_started(new_stage):
    stage = new_stage("a", "b", "c")

    def meanwhile():
        stage.says("b", "done")
        stage.says("c", "failed", error="ValueError: boo")
        return stage.done("a")()

    stage.plays["a"] = meanwhile
    outcome = stage.run()
    assert outcome.done == ["a", "b"]
    assert outcome.failed == {"c": "ValueError: boo"}
    assert stage.events == ["start a", "end a"]


def test_what_another_sweep_has_launched_is_waited_for_until_that_sweep_is_gone(new_stage):
    stage = new_stage("a", "b", "c")
    other = at_work(stage.folder)
    theirs = other.__enter__()
    note_launch(theirs, "a", 0)

    def meanwhile():
        note_launch(theirs, "c", 0)
        return stage.done("b")()

    stage.plays["b"] = meanwhile
    stage.watch.wait = lambda seconds: (
        "c is in progress" in stage.text.getvalue() and other.__exit__(None, None, None)
    )
    outcome = stage.run()
    assert stage.events == [f"{what} {name}" for name in "bac" for what in ("start", "end")]
    assert outcome.done == ["b", "a", "c"]


def test_a_member_is_launched_until_it_runs(new_stage):
    stage = new_stage("a")
    seen = []

    class Watched(Played):
        def poll(self):
            seen.append(standing_of(stage.folder, "a").state)
            return super().poll()

    stage.play_with(Watched)
    stage.plays["a"] = lambda: 2
    stage.run()
    assert seen == ["launched", "launched"]
    assert standing_of(stage.folder, "a").state == "failed"


def test_losing_the_race_for_a_folder_is_no_failure(new_stage):
    stage = new_stage("a", "b")
    other = owned(stage.folder.run("a"))

    def lose():
        stage.says("a", "running")
        other.__enter__()
        return 2

    stage.plays["a"] = lose
    stage.plays["b"] = lambda: (
        stage.says("a", "done") or other.__exit__(None, None, None) or stage.done("b")()
    )
    outcome = stage.run()
    assert sorted(outcome.done) == ["a", "b"]
    assert not outcome.failed
    assert stage.events.count("start a") == 1


def test_losing_it_to_one_that_is_gone_by_then_starts_the_member_again(new_stage):
    stage = new_stage("a")

    def lose():
        with stage.folder.log("a").open("a") as log:
            log.write("error: S/a is in use by process 7 on node1. Wait for it\n")
        stage.says("a", "interrupted")
        stage.plays.clear()
        return 2

    stage.plays["a"] = lose
    assert stage.run().done == ["a"]
    assert stage.events.count("start a") == 2


def test_a_signal_has_all_save_and_end(new_stage):
    stage = new_stage("a", "b", "c", "d", slots=2)
    stage.plays["a"] = lambda: stage.done("a")() or stage.watch.note(signal.SIGTERM) or 0
    stage.polls["b"] = 100
    outcome = stage.run()
    assert outcome.done == ["a"]
    assert stage.events == ["start a", "start b", "end a", "stop b", "end b"]
    assert stage.scheduler.interrupted == 1
    assert standing_of(stage.folder, "b").state == "interrupted"


@pytest.mark.parametrize("saves", [True, False])
def test_a_run_that_still_saves_when_its_job_has_ended_is_waited_for(new_stage, monkeypatch, saves):
    stage = new_stage("a")
    stage.polls["a"] = 10**9
    other = owned(stage.folder.run("a"))
    naps = []

    def nap(seconds):
        naps.append(seconds)
        if saves and len(naps) == 5:
            stage.says("a", "interrupted")
            other.__exit__(None, None, None)

    class Job(Played):
        def stop(self):
            stage.says("a", "running")
            other.__enter__()
            self.stopped = lambda: -15

    stage.play_with(Job)
    stage.watch.wait = lambda seconds: stage.watch.note(signal.SIGTERM)
    monkeypatch.setattr(scheduler, "SAVING_S", 0.5)
    real = time.sleep
    monkeypatch.setattr(scheduler.time, "sleep", lambda seconds: (nap(seconds), real(0.01)))
    stage.run()
    assert stage.scheduler.interrupted == 1
    assert (standing_of(stage.folder, "a").state == "interrupted") is saves
    assert len(naps) == 5 or not saves
    if not saves:
        other.__exit__(None, None, None)


def test_a_second_signal_does_not_wait(new_stage):
    stage = new_stage("a")

    class Deaf(Played):
        def stop(self):
            stage.events.append("stop a")
            stage.watch.note(signal.SIGINT)  # the user's second
            self.left = 10**9

    stage.play_with(Deaf)
    stage.plays["a"] = lambda: 0
    calls = []

    def asked():
        calls.append(1)
        if len(calls) == 2:
            stage.watch.note(signal.SIGINT)

    original = stage.watch.wait
    stage.watch.wait = lambda seconds: (asked(), original(0))
    Deaf.poll = lambda self: Played.poll(self) if self.stopped else None
    stage.run()
    assert stage.events == ["start a", "stop a", "kill a", "end a"]
    assert stage.scheduler.interrupted == 1


def test_a_fault_of_ours_leaves_nothing_running(new_stage):
    stage = new_stage("a", "b", slots=2)

    def fault():
        raise RuntimeError("ours")

    stage.plays["a"] = fault
    with pytest.raises(RuntimeError, match="ours"):
        stage.run()
    assert "stop b" in stage.events


def test_the_first_signal_counts_and_more_are_counted():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with StopWatch().watching() as watch:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGTERM)
    assert (watch.received, watch.count) == (signal.SIGINT, 2)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_waiting_ends_with_a_signal():
    watch = StopWatch()
    began = time.monotonic()
    watch.wait(0.15)
    assert time.monotonic() - began >= 0.15
    watch.note(signal.SIGINT)
    began = time.monotonic()
    watch.wait(60)
    assert time.monotonic() - began < 30


def test_another_thread_can_run_a_sweep_but_not_take_signals():
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work():
        with StopWatch().watching() as watch:
            seen.append((signal.getsignal(signal.SIGINT) is before, watch.received))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(True, 0)]
