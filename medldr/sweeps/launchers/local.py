"""Runs as processes on this machine, sharing its accelerators."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from medldr.folders.files import storage_errors
from medldr.folders.provenance import cores
from medldr.sweeps.launchers.base import Handle, Job, Launcher
from medldr.sweeps.launchers.dies_with_parent import dies_with_parent
from medldr.sweeps.launchers.forked import ForkedMember, ForkServer


def local_launcher(jobs: int | None = None) -> Launcher:
    """Start up to `jobs` runs at once on this machine.

    Args:
        jobs: Unset: one per accelerator, or one without any.
    """
    devices = visible_devices()
    slots = jobs or max(1, len(devices))
    shares = Shares(devices)
    server = ForkServer()

    def start(wanted: Sequence[Job]) -> list[Handle]:
        handles: list[Handle] = []
        try:
            handles.extend(LocalProcess(job, shares, server) for job in wanted)
        except BaseException:  # the caller has no handle yet of those that did start
            for handle in handles:
                handle.stop()
            raise
        return handles

    share = max(1, cores() // slots)
    return Launcher(start, slots, cores=share, news=server.news, close=server.close)


def visible_devices() -> list[str]:
    """CUDA devices that this process may use, as CUDA_VISIBLE_DEVICES names them."""
    import torch

    count = torch.cuda.device_count()
    given = os.environ.get("CUDA_VISIBLE_DEVICES")
    names = given.split(",") if given else [str(number) for number in range(count)]
    return [name.strip() for name in names][:count]


class Shares:
    """Which accelerators a process gets: those with the fewest other processes.

    Example:
        >>> shares = Shares(["0", "1"])
        >>> first, second = shares.take(1), shares.take(1)
        >>> first, second
        (['0'], ['1'])
        >>> shares.give(second)
        >>> shares.take(1)
        ['1']
    """

    def __init__(self, devices: Sequence[str]) -> None:
        self._users = dict.fromkeys(devices, 0)

    def take(self, count: int) -> list[str]:
        """Names of `count` devices, or of all if there are fewer."""
        order = sorted(self._users, key=lambda name: self._users[name])
        taken = sorted(order[:count], key=list(self._users).index)
        for name in taken:
            self._users[name] += 1
        return taken

    def give(self, devices: Sequence[str]) -> None:
        """Take devices back."""
        for name in devices:
            self._users[name] -= 1


class LocalProcess:
    """A process in its own session: Ctrl-C on the keyboard reaches only the sweep.

    Args:
        job: What to start.
        shares: The accelerators; it gives its own back when it ends.
        server: Forks it if possible; unset: it starts as a new process.
    """

    def __init__(self, job: Job, shares: Shares, server: ForkServer | None = None) -> None:
        self._job = job
        self._shares = shares
        self._devices = shares.take(job.devices)
        with storage_errors(job.log), job.log.open("ab"):
            pass  # report a log that cannot be written right away
        self._process: ForkedMember | subprocess.Popen[bytes]
        if server is not None and not self._devices and server.takes(job):
            self._process = server.start(job)
        else:
            self._process = self._by_itself()

    def poll(self) -> int | None:
        """Its exit code, minus the number of the signal that killed it, or None while it runs."""
        code = self._process.poll()
        if code is None and isinstance(self._process, ForkedMember) and self._process.lost:
            self._process = self._by_itself()  # it resumes from its last checkpoint
        if code is not None:
            self._shares.give(self._devices)
            self._devices = []
        return code

    def stop(self) -> None:
        """Ask it to save its state and end."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Kill it, and whatever it started, at once."""
        if self._process.poll() is not None:
            return
        # It has its own session, so its process group is itself and its children.
        if isinstance(self._process, ForkedMember):
            self._process.send_signal(signal.SIGKILL)
        else:
            os.killpg(self._process.pid, signal.SIGKILL)

    def _by_itself(self) -> subprocess.Popen[bytes]:
        environment = dict(os.environ)
        if self._devices:
            environment["CUDA_VISIBLE_DEVICES"] = ",".join(self._devices)
        return start_process(self._job.command, self._job.log, environment)


def start_process(
    words: Sequence[str], log: Path, environment: Mapping[str, str]
) -> subprocess.Popen[bytes]:
    """Start a command in a session of its own, for at most as long as this process lives.

    Args:
        words: The command.
        log: File to which its output is added.
        environment: Its environment variables.
    """
    with log.open("ab") as output:
        return subprocess.Popen(
            dies_with_parent(words),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
