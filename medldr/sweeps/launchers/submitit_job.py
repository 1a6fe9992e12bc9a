"""A member as a submitit job: what the job does, and how the sweep follows it.

The job runs the member as a separate process. At its time limit it makes the run save its state,
and the cluster starts it again: the run resumes from there.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from medldr.folders.files import append_line
from medldr.sweeps.launchers.dies_with_parent import dies_with_parent

if TYPE_CHECKING:
    from submitit.helpers import DelayedSubmission

_GRACE_S: Final = 120.0
_FAILED_STATES: Final = ("FAILED", "FINISHED", "UNKNOWN", "NO PROCESS AND NO RESULT")


@dataclass
class Command:
    """What a job does: run a command as a separate process and return its exit code.

    Attributes:
        words: The command.
        log: File that receives its output.
        devices: Value of CUDA_VISIBLE_DEVICES; None: unchanged.
    """

    words: tuple[str, ...]
    log: str
    devices: str | None = None
    process: int | None = field(default=None, repr=False)

    def __call__(self) -> int:
        """Run it to its end; on a cluster, wait for what follows if it was asked to stop."""
        environment = dict(os.environ)
        # The run starts its other processes itself; without this name it would expect srun to.
        environment["SLURM_JOB_NAME"] = "interactive"
        if self.devices is not None:
            environment["CUDA_VISIBLE_DEVICES"] = self.devices
        on_cluster = "SLURM_JOB_ID" in environment
        with Path(self.log).open("ab") as log:
            child = subprocess.Popen(
                dies_with_parent(self.words),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
            )
        self.process = child.pid
        if not on_cluster:  # SLURM signals every process of a job itself
            signal.signal(signal.SIGTERM, lambda number, frame: _send(child.pid, signal.SIGTERM))
        _wait(child.pid)
        code = child.wait()
        if on_cluster and code == 128 + signal.SIGTERM:
            # SLURM wants the node back: the job will be restarted elsewhere, or cancelled.
            time.sleep(_GRACE_S)
        return code

    def checkpoint(self) -> DelayedSubmission:
        """Called at the time limit: save the state and ask to be started again."""
        from submitit.helpers import DelayedSubmission

        if self.process is not None:
            _send(self.process, signal.SIGTERM)
            _wait(self.process)
        return DelayedSubmission(replace(self, process=None))


def _send(process: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, number)


def _wait(process: int) -> None:
    """Wait for a child without reaping it, because a signal handler may wait for it too."""
    with contextlib.suppress(ChildProcessError):
        os.waitid(os.P_PID, process, os.WEXITED | os.WNOWAIT)


class ClusterJob:
    """The handle of a submitted job.

    Args:
        job: What submitit returned.
        log: The member's log; receives the reason if the job itself failed.
        ended: Called once when it has ended.
    """

    def __init__(self, job: Any, log: Path, ended: Callable[[], None] = lambda: None) -> None:
        self._job = job
        self._log = log
        self._when_ended = ended
        self._stopping = False
        self._code: int | None = None

    def poll(self) -> int | None:
        """Its exit code, minus the number of the signal that killed it, or None while it runs."""
        if self._code is None and self._job.done(force_check=self._stopping):
            self._code = self._outcome()
            self._when_ended()
        return self._code

    def _outcome(self) -> int:
        state = str(self._job.state).split(" ")[0].upper()
        # A network file system may show the result a few seconds late; submitit waits for it.
        if self._job.paths.result_pickle.exists() or state == "COMPLETED":
            error = self._job.exception()
            if error is None:
                return int(self._job.result())
            append_line(self._log, f"error: the job failed: {str(error).strip().splitlines()[-1]}")
            return 1
        if state in ("CANCELLED", "PREEMPTED"):
            return -signal.SIGTERM
        append_line(self._log, f"error: the job {self._job.job_id} ended as {state}")
        return 1 if state in _FAILED_STATES else -signal.SIGKILL

    def stop(self) -> None:
        """Ask it to save its state and end."""
        self._stopping = True
        if self._code is not None:
            return
        if _is_local(self._job):  # its own cancelling would kill it after a second
            _send(int(self._job.job_id), signal.SIGTERM)
        else:
            self._job.cancel(check=False)

    def kill(self) -> None:
        """End it without waiting for its state to be saved."""
        self.stop()


def _is_local(job: Any) -> bool:
    from submitit import LocalJob

    return isinstance(job, LocalJob)
