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
from typing import Any

from medldr.errors import InputError
from medldr.folders import provenance
from medldr.folders.files import RunFolder, storage_errors, write_text
from medldr.folders.owner import OwnedError, is_owned, owned
from medldr.folders.run_identity import RunIdentity
from medldr.folders.run_record import RunRecord, Status, Times, add_to_run_record, read_run_record


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
        add_to_run_record(self.folder, **facts)


def is_done(folder: RunFolder) -> bool:
    """Whether this run has finished and its results are there."""
    return status(folder) == "done" and folder.evaluation.exists() and folder.model.exists()


def status(folder: RunFolder) -> Status | None:
    """How far a run is; None where there is no run. A dead runner's run is interrupted.

    Raises:
        InputError: If `run.json` is damaged or does not say so.
    """
    record = read_current(folder)
    return None if record is None else record.status


def read_current(folder: RunFolder) -> RunRecord | None:
    """`run.json` with the status that the run has by now; None where there is no run.

    Raises:
        InputError: If it is damaged.
    """
    with storage_errors(folder.run):
        if not folder.run.exists():
            return None
    record = read_run_record(folder)
    if record.status != "running" or is_owned(folder):
        return record
    # Its owner may have written how the run ended, and left, since the record was read.
    record = read_run_record(folder)
    if record.status != "running":
        return record
    return record.model_copy(update={"status": "interrupted"})


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
        times = read_run_record(folder).times if folder.run.exists() else Times()
        add_to_run_record(
            folder,
            status="running",
            error=None,
            label=run.label,
            seed=run.seed,
            protocol=run.protocol,
            hash=run.hash,
            provenance=provenance.collect(),
            times={
                "started": times.started or provenance.now(),
                "starts": times.starts + 1,
                "latest_start": provenance.now(),
                "seconds": times.seconds,
                "finished": None,
            },
        )

        def finish(said: Status, error: str | None = None) -> None:
            spent = times.seconds + time.monotonic() - began
            ended = {"finished": provenance.now(), "seconds": round(spent, 3)}
            add_to_run_record(folder, status=said, error=error, times=ended)

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
