"""What is around a run: its folder, its owner, its status in `run.json`."""

from __future__ import annotations

import contextlib
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Literal, get_args

from medldr.errors import InputError
from medldr.folders import provenance
from medldr.folders.files import RunFolder, read_json, storage_errors, write_json, write_text
from medldr.folders.owner import OwnedError, is_owned, owned
from medldr.folders.run_identity import RunIdentity

Status = Literal["running", "interrupted", "done", "failed"]


class Interrupted(BaseException):
    """A signal stopped the run at a point from which it can go on."""

    def __init__(self, signum: int, resumable: bool) -> None:
        cure = "goes on from there" if resumable else "begins anew, for no state was saved yet"
        super().__init__(f"stopped by signal {signum}; the same command {cure}")
        self.signum = signum
        self.resumable = resumable


@dataclass(frozen=True)
class OpenRun:
    """A run folder that this process owns.

    Attributes:
        folder: Its files.
        resumed: Whether an earlier start of the same run left its state there.
        finished: Whether another process finished the run before this one owned its folder: there
            is nothing to do, and nothing is recorded.
    """

    folder: RunFolder
    resumed: bool
    finished: bool = False

    def record(self, **facts: Any) -> None:
        """Add facts to `run.json`."""
        record(self.folder, **facts)


def is_done(folder: RunFolder) -> bool:
    """Whether this run has finished and its results are there."""
    return status(folder) == "done" and folder.evaluation.exists() and folder.model.exists()


def status(folder: RunFolder) -> Status | None:
    """What `run.json` says; None where there is no run. A dead runner's run is interrupted."""
    with storage_errors(folder.run):
        if not folder.run.exists():
            return None
    cure = "Put the file back, or begin the run anew with `medldr train ... --restart`"
    try:
        facts = read_json(folder.run)
    except InputError as error:
        raise InputError(f"{error}. {cure}") from error
    if not isinstance(facts, dict) or facts.get("status") not in get_args(Status):
        raise InputError(f"{folder.run} does not say how the run ended. {cure}")
    said: Status = facts["status"]
    if said != "running" or is_owned(folder):
        return said
    # Its owner may have written how the run ended, and left, since the line above was read.
    said = read_json(folder.run)["status"]
    return "interrupted" if said == "running" else said


def record(folder: RunFolder, **facts: Any) -> None:
    """Merge facts into `run.json`, one level deep."""
    known = read_json(folder.run) if folder.run.exists() else {}
    for key, value in facts.items():
        old = known.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            value = {**old, **value}
        known[key] = value
    write_json(folder.run, known)


@contextlib.contextmanager
def open_run(run: RunIdentity, out: Path | str, *, restart: bool = False) -> Iterator[OpenRun]:
    """Own the folder of a run, and leave in `run.json` how the block ended.

    Args:
        run: The run.
        out: Folder of run folders.
        restart: Move what is there aside and begin anew.

    Raises:
        OwnedError: If another process works on the same run.
    """
    folder = run.folder(out)
    if restart and folder.path.exists():
        move_aside(folder)
    with owned(folder):
        # Another process may have finished it since the caller looked; its page may still be in
        # the making, so that nothing is removed either.
        if not restart and is_done(folder):
            yield OpenRun(folder, resumed=True, finished=True)
            return
        _sweep(folder)
        resumed = folder.last.exists() or folder.best.exists()
        # Anew at each start: the data may have moved, or the file been edited meanwhile.
        write_text(folder.config, run.config)
        began = time.monotonic()
        earlier = read_json(folder.run) if folder.run.exists() else {}
        times = earlier.get("times", {})
        record(
            folder,
            status="running",
            error=None,
            label=run.label,
            seed=run.seed,
            protocol=run.protocol,
            hash=run.hash,
            provenance=provenance.collect(),
            times={
                "started": times.get("started") or provenance.now(),
                "starts": times.get("starts", 0) + 1,
                "latest_start": provenance.now(),
                "seconds": times.get("seconds", 0.0),
                "finished": None,
            },
        )

        def finish(ending: Status, error: str | None = None) -> None:
            spent = times.get("seconds", 0.0) + time.monotonic() - began
            ended = {"finished": provenance.now(), "seconds": round(spent, 3)}
            record(folder, status=ending, error=error, times=ended)

        try:
            with _ending_on_sigterm(folder):
                yield OpenRun(folder, resumed)
        except BaseException as error:
            stopped = isinstance(error, (Interrupted, KeyboardInterrupt))
            said = str(error) or "stopped by the keyboard"
            # What ended the run matters more than a status that cannot be written (full disk).
            with contextlib.suppress(InputError, OSError):
                if stopped:
                    finish("interrupted", said)
                else:
                    finish("failed", f"{type(error).__name__}: {error}")
            raise
        finish("done")


@contextlib.contextmanager
def _ending_on_sigterm(folder: RunFolder) -> Iterator[None]:
    """Have SIGTERM raise `Interrupted`, as SIGINT raises, where nobody else looks after it.

    The training loop does, and stops between two steps; here are the data, the evaluation and a
    second signal that will not wait.
    """

    def stop(signum: int, frame: FrameType | None) -> None:
        raise Interrupted(signum, resumable=folder.last.exists())

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL if before is None else before)


def _sweep(folder: RunFolder) -> None:
    """Remove what a killed process had begun to write; the folder is ours alone now."""
    for path in folder.path.rglob(".*.tmp"):
        if not path.name.startswith(f".{folder.owner.name}."):  # our heartbeat may be at it
            path.unlink(missing_ok=True)


def move_aside(folder: RunFolder) -> Path:
    """Rename a run folder that nobody works in, so that its name is free again."""
    if is_owned(folder):
        raise OwnedError(f"{folder.path} is in use by another process; stop it before --restart")
    stamp = time.strftime("%Y%m%d-%H%M%S")
    aside = folder.path.with_name(f"{folder.path.name}.before-{stamp}")
    number = 1
    while aside.exists():
        number += 1
        aside = folder.path.with_name(f"{folder.path.name}.before-{stamp}-{number}")
    folder.path.rename(aside)
    return aside
