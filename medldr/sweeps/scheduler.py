"""Which member starts when, and what becomes of it; the launcher decides how it starts."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from pathlib import Path
from types import FrameType
from typing import Final

from medldr.folders.owner import says_owned
from medldr.folders.run_record import starts
from medldr.folders.signals import SIGNALS, handling
from medldr.folders.standing import AT_WORK, Standing, standing_of
from medldr.folders.sweep_record import Member, SweepFolder
from medldr.sweeps.launchers.base import Handle, Job, Launcher
from medldr.sweeps.progress import Outcome, SweepProgress
from medldr.sweeps.run_logs import begin_log, last_line, write_ending
from medldr.sweeps.shared_folder import forget_launch, note_launch

STOPPED_CODES: Final = (*(128 + s for s in SIGNALS), *(-s for s in SIGNALS))
"""Exit codes of a run that was asked to stop."""

SAVING_S: Final = 30.0
"""Seconds that a run may still be working after its cluster job has ended."""


class SweepStopped(BaseException):
    """A signal stopped the sweep; finished runs stay finished.

    Attributes:
        signum: Number of the signal.
    """

    def __init__(self, signum: int, done: int, interrupted: int) -> None:
        super().__init__(
            f"stopped: {done} done, {interrupted} interrupted. Run the same command to resume"
        )
        self.signum = signum


class StopWatch:
    """Counts signals that ask to stop.

    Attributes:
        received: Number of the first one, or 0.
        count: How many have arrived.
    """

    def __init__(self) -> None:
        self.received = 0
        self.count = 0

    def note(self, signum: int, frame: FrameType | None = None) -> None:
        """Record a signal."""
        self.received = self.received or signum
        self.count += 1

    def wait(self, seconds: float) -> None:
        """Wait, but stop soon after a signal (its handler must not wait for a lock)."""
        end = time.monotonic() + seconds
        while not self.received and (left := end - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))

    @contextlib.contextmanager
    def watching(self) -> Iterator[StopWatch]:
        """Handle `SIGNALS` within the block; only the main thread can.

        Example:
            >>> import signal
            >>> with StopWatch().watching() as watch:
            ...     signal.raise_signal(signal.SIGTERM)
            >>> watch.received == signal.SIGTERM, watch.count
            (True, 1)
        """
        with handling(SIGNALS, self.note):
            yield self


@dataclass
class Scheduler:
    """Starts what is missing, in order, as many at once as the launcher takes.

    It waits for members that another process is working on or another sweep has launched. A member
    whose predecessors (`Member.after`) are not done waits for them; it is left out if one of them
    failed.

    Args:
        folder: The sweep's folder.
        to_start: The members, in the order in which they start.
        job: Makes the process of a member that is about to start.
        launcher: Starts processes.
        progress: Is notified of every start and ending.
        mine: The folder of this sweep process, from `at_work`.
        retry_failed: Whether to retry members that failed before.
        watch: Notices signals that ask to stop.
    """

    folder: SweepFolder
    to_start: InitVar[Sequence[Member]]
    job: Callable[[str], Job]
    launcher: Launcher
    progress: SweepProgress
    mine: Path
    retry_failed: InitVar[bool] = False
    watch: StopWatch = field(default_factory=StopWatch)

    def __post_init__(self, to_start: Sequence[Member], retry_failed: bool) -> None:
        self.members: Mapping[str, Member] = {member.run: member for member in to_start}
        self.outcome = Outcome()
        self.pending: list[str] = []
        self.elsewhere: set[str] = set()
        self.running: dict[str, Handle] = {}
        self.starts: dict[str, int] = {}
        self.retried: set[str] = set()
        self.interrupted = 0
        self._sort(retry_failed)

    def run(self) -> Outcome:
        """Start and wait until nothing is left to do or a signal arrives.

        After a signal, every process is asked to save and end; a second signal kills them.
        """
        self.progress.begin(self.outcome, len(self.elsewhere), len(self.members))
        if not (self.pending or self.elsewhere):
            return self.outcome
        try:
            while not self.watch.received:
                self._collect()
                self._visit()
                self._start()
                if not (self.pending or self.elsewhere or self.running):
                    return self.outcome
                self._pause()
            self._stop()
        except BaseException:  # no started process may continue unnoticed
            for handle in self.running.values():
                handle.stop()
            raise
        return self.outcome

    def _sort(self, retry_failed: bool) -> None:
        for name in self.members:
            standing = standing_of(self.folder, name)
            if standing.state == "done":
                self._done(name)
            elif standing.state in AT_WORK:
                self.elsewhere.add(name)
            elif standing.state == "unreadable":
                self.outcome.left_out[name] = standing.error
            elif standing.resumes or retry_failed:
                self.pending.append(name)
                if standing.state == "failed":
                    self.retried.add(name)
            else:
                self.outcome.failed[name] = standing.error

    def _done(self, name: str) -> None:
        self.folder.ending(name).unlink(missing_ok=True)
        self.outcome.done.append(name)

    def _start(self) -> None:
        slots = self.launcher.slots
        free = len(self.pending) if slots is None else slots - len(self.running)
        chosen: list[str] = []
        for name in list(self.pending):
            if self._is_ready(name) and len(chosen) < free and self._is_missing(name):
                chosen.append(name)
        if self.watch.received or not chosen:
            return
        jobs = [self.job(name) for name in chosen]
        for name, job in zip(chosen, jobs, strict=True):
            self.pending.remove(name)
            self.starts[name] = starts(self.folder.run(name))
            note_launch(self.mine, name, self.starts[name])
            self.folder.ending(name).unlink(missing_ok=True)
            begin_log(job.log, job.command)
        for name, handle in zip(chosen, self.launcher.start(jobs), strict=True):
            self.running[name] = handle
            self.progress.started(name)

    def _is_ready(self, name: str) -> bool:
        """Whether its predecessors are done; leaves it out if they never will be."""
        for before in self.members[name].after:
            if before in self.outcome.done:
                continue
            if before in self.outcome.failed or before in self.outcome.left_out:
                reason = f"it starts from {before}, which is not done"
                self.pending.remove(name)
                self.outcome.left_out[name] = reason
                self.progress.left_out(name, reason)
            return False
        return True

    def _is_missing(self, name: str) -> bool:
        """Whether a member still has to be started; another sweep may have done so."""
        standing = standing_of(self.folder, name)
        if not self._settled(name, standing):
            if standing.resumes or name in self.retried:
                return True
            self._failed(name, standing.error)
        self.pending.remove(name)
        return False

    def _settled(self, name: str, standing: Standing) -> bool:
        """Whether a member is done, or another process takes care of it; then that is noted."""
        if standing.state == "done":
            self._done(name)
            self.progress.done(name)
        elif standing.state in AT_WORK:
            self.elsewhere.add(name)
            self.progress.elsewhere(name)
        else:
            return False
        return True

    def _collect(self) -> None:
        """Check the running processes."""
        for note in self.launcher.news():
            self.progress.note(note)
        for name, handle in list(self.running.items()):
            code = handle.poll()
            if code is not None:
                del self.running[name]
                self._ended(name, code)

    def _ended(self, name: str, code: int) -> None:
        forget_launch(self.mine, name)
        standing = standing_of(self.folder, name)
        if standing.state == "running" and self.watch.received and code != 2:
            self._interrupted(name)  # it is still saving
        elif self._settled(name, standing):
            return
        elif standing.state == "unreadable" or (standing.state == "failed" and self._began(name)):
            self._failed(name, standing.error)
        elif code == 2 and says_owned(last_line(self.folder.log(name))):
            self.pending.append(name)  # its owner has since left it unfinished
        elif code in STOPPED_CODES or self.watch.received:
            self._interrupted(name)
        else:
            self._failed(name, write_ending(self.folder, name, code))

    def _began(self, name: str) -> bool:
        """Whether the run has started since it was launched; if not, its `run.json` is older."""
        return starts(self.folder.run(name)) != self.starts[name]

    def _failed(self, name: str, error: str) -> None:
        self.outcome.failed[name] = error
        self.progress.failed(name, error)

    def _interrupted(self, name: str) -> None:
        self.interrupted += 1
        self.outcome.left_out[name] = "it was stopped and resumes at the next start"
        self.progress.interrupted(name)

    def _visit(self) -> None:
        """Check the members that other processes are working on."""
        for name in sorted(self.elsewhere):
            standing = standing_of(self.folder, name)
            if standing.state in AT_WORK:
                continue
            self.elsewhere.discard(name)
            if standing.state in ("interrupted", "waiting"):
                self.pending.append(name)
            elif not self._settled(name, standing):
                self._failed(name, standing.error)

    def _pause(self) -> None:
        self.progress.tick()
        self.watch.wait(self.launcher.pause_s if self.running else max(1.0, self.launcher.pause_s))

    def _stop(self) -> None:
        """Make every process save and end; a second signal does not wait for that."""
        self.progress.stopping(len(self.running))
        started = list(self.running)
        for handle in self.running.values():
            handle.stop()
        killed = False
        while self.running:
            self._collect()
            if self.watch.count > 1 and not killed:
                killed = True
                for handle in self.running.values():
                    handle.kill()
            time.sleep(min(self.launcher.pause_s, 0.1))
        end = time.monotonic() + SAVING_S
        while any(self._is_saving(name) for name in started):
            if self.watch.count > 1 or time.monotonic() > end:
                return
            time.sleep(0.1)

    def _is_saving(self, name: str) -> bool:
        """Whether a member is still working after its handle has ended, as on a cluster."""
        return standing_of(self.folder, name).state == "running" and name not in self.elsewhere
