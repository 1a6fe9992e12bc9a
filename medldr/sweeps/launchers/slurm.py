"""Runs as jobs on a SLURM cluster, through submitit; without SLURM, as jobs on this machine.

A job runs its command as a separate process. At its time limit it makes the run save its state, and
the cluster starts it again: the run resumes from there.
"""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import math
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from medldr.errors import InputError, MissingExtraError, did_you_mean
from medldr.folders.files import append_line
from medldr.folders.provenance import cores
from medldr.folders.sweep_record import SweepFolder
from medldr.sweeps.launchers.base import Handle, Job, Launcher
from medldr.sweeps.launchers.local import Shares, start_process, visible_devices

if TYPE_CHECKING:
    from submitit.helpers import DelayedSubmission

MINUTES: Final = 240
"""Time limit of a job if the sweep file sets none; a run that takes longer is started again."""

CORES: Final = 4
"""Cores of a job if neither the sweep file nor `machine.threads` sets them."""

RESTARTS: Final = 10_000
"""How often a job may run out of time; it resumes each time, so there is no reason to give up."""


_SLURM_NAMES: Final = {
    "timeout_min": "time",
    "name": "job_name",
    "tasks_per_node": "ntasks_per_node",
}
"""SLURM's names of settings that submitit calls otherwise for every kind of cluster."""
_GRACE_S: Final = 120.0
_FAILED_STATES: Final = ("FAILED", "FINISHED", "UNKNOWN", "NO PROCESS AND NO RESULT")


def slurm_launcher(
    folder: SweepFolder, settings: Mapping[str, Any], jobs: int | None = None
) -> Launcher:
    """Start runs as SLURM jobs.

    Args:
        folder: The sweep's folder; submitit's files go to ``logs/slurm`` in it.
        settings: Of the job, by the names of submitit's parameters: ``time`` (minutes),
            ``partition``, ``cpus_per_task``, ``mem``, ``account``, ``setup`` ...
        jobs: Maximum number of concurrent jobs; unset: SLURM decides.

    Raises:
        MissingExtraError: If submitit is not installed.
        InputError: If a setting is unknown or its value is not valid.
    """
    if importlib.util.find_spec("submitit") is None:
        raise MissingExtraError("submitit", "slurm", "--launcher=slurm")
    options = checked(settings)
    files = folder.logs / "slurm"
    if shutil.which("srun") is None:
        return _without_slurm(files, options, jobs)
    parameters = {"job_name": "medldr", "time": MINUTES, **options}
    parameters["time"] = math.ceil(parameters["time"])
    if jobs is not None:
        parameters["array_parallelism"] = jobs
    share = options.get("cpus_per_task", CORES)
    _executor(files, parameters)  # refuse invalid settings before anything starts

    def start(wanted: Sequence[Job]) -> list[Handle]:
        handles: dict[str, Handle] = {}
        for group in _same_resources(wanted):
            resources = {"cpus_per_task": group[0].cores}
            if group[0].devices and not {"gpus_per_node", "gres", "num_gpus"} & set(options):
                resources["gpus_per_node"] = group[0].devices
            executor = _executor(files, {**resources, **parameters})
            submitted = _submit(executor, [Command(job.command, str(job.log)) for job in group])
            handles |= {
                job.name: ClusterJob(entry, job.log)
                for job, entry in zip(group, submitted, strict=True)
            }
        return [handles[job.name] for job in wanted]

    return Launcher(start, None, cores=share, pause_s=5.0)


def checked(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings of a job by SLURM's own names.

    Raises:
        InputError: If a setting is unknown, or a time is not a number of minutes.

    Example:
        >>> checked({"timeout_min": 60, "slurm_partition": "gpu", "mem_gb": 16})
        {'time': 60, 'partition': 'gpu', 'mem': '16GB'}
    """
    from submitit import SlurmExecutor

    allowed = set(SlurmExecutor._valid_parameters()) - {"map_count"}
    options: dict[str, Any] = {}
    for key, value in settings.items():
        name = key.removeprefix("slurm_")
        if name == "mem_gb":
            name, value = "mem", f"{value}GB"
        name = _SLURM_NAMES.get(name, name)
        if name not in allowed:
            raise InputError(
                f"slurm.{key}: unknown setting.{did_you_mean(name, allowed)} "
                f"Known: {', '.join(sorted(allowed))}"
            )
        options[name] = value
    for name, unit, kinds in (
        ("time", "minutes", (int, float)),
        ("cpus_per_task", "cores", (int,)),
    ):
        number = options.get(name, 1)
        if isinstance(number, bool) or not isinstance(number, kinds) or number <= 0:
            raise InputError(f"slurm.{name}: {number!r} should be a number of {unit} above 0")
    if options.get("ntasks_per_node", 1) != 1 or options.get("nodes", 1) != 1:
        raise InputError(
            "slurm.nodes, slurm.tasks_per_node: each run is one task on one node. Leave them out"
        )
    return options


def _executor(files: Path, parameters: Mapping[str, Any]) -> Any:
    from submitit import AutoExecutor

    executor = AutoExecutor(files.absolute(), cluster="slurm", slurm_max_num_timeout=RESTARTS)
    try:
        executor.update_parameters(**{f"slurm_{key}": value for key, value in parameters.items()})
    except (AssertionError, NameError, TypeError, ValueError) as error:
        raise InputError(f"slurm: submitit rejected these settings: {error}") from error
    return executor


def _submit(executor: Any, commands: Sequence[Command]) -> list[Any]:
    from submitit.core.utils import FailedJobError, FailedSubmissionError

    try:
        with executor.batch():
            return [executor.submit(command) for command in commands]
    except (FailedJobError, FailedSubmissionError) as error:
        raise InputError(f"slurm: sbatch rejected the jobs: {str(error).strip()}") from error


def _same_resources(jobs: Sequence[Job]) -> list[list[Job]]:
    """Jobs grouped by the resources they ask for; each group can be one job array."""
    groups: dict[tuple[int, int], list[Job]] = {}
    for job in jobs:
        groups.setdefault((job.devices, job.cores), []).append(job)
    return list(groups.values())


def _without_slurm(files: Path, options: Mapping[str, Any], jobs: int | None) -> Launcher:
    import submitit

    devices = visible_devices()
    slots = jobs or max(1, len(devices))
    shares = Shares(devices)

    def start(wanted: Sequence[Job]) -> list[Handle]:
        handles: list[Handle] = []
        for job in wanted:
            executor = submitit.LocalExecutor(files.absolute(), max_num_timeout=RESTARTS)
            executor.update_parameters(
                timeout_min=options.get("time", MINUTES),
                signal_delay_s=options.get("signal_delay_s", 90),
            )
            taken = shares.take(job.devices)
            command = Command(job.command, str(job.log), ",".join(taken) if taken else None)
            with _deaf_to_keyboard():
                submitted = executor.submit(command)
            handles.append(ClusterJob(submitted, job.log, functools.partial(shares.give, taken)))
        return handles

    note = "srun not found: submitit runs the jobs on this machine and uses only slurm.time"
    return Launcher(start, slots, cores=max(1, cores() // slots), note=note)


@contextlib.contextmanager
def _deaf_to_keyboard() -> Iterator[None]:
    """Start processes that Ctrl-C on the keyboard does not reach; the sweep stops them itself."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
        child = start_process(self.words, Path(self.log), environment)
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
        from submitit import LocalJob

        if isinstance(self._job, LocalJob):  # its own cancelling would kill it after a second
            _send(int(self._job.job_id), signal.SIGTERM)
        else:
            self._job.cancel(check=False)

    def kill(self) -> None:
        """End it without waiting for its state to be saved."""
        self.stop()
