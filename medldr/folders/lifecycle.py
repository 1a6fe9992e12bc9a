"""The frame around a run: its folder, its owner, its status in `run.json`."""

from __future__ import annotations

import contextlib
import itertools
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final

from medldr.errors import InputError
from medldr.folders import provenance
from medldr.folders.checksums import checksums_of
from medldr.folders.files import RunFolder, require_folder, storage_errors, write_text
from medldr.folders.owner import is_owned, owned, refuse_if_owned
from medldr.folders.run_record import (
    RunIdentity,
    RunRecord,
    Status,
    Times,
    add_to_run_record,
    read_run_record,
)
from medldr.folders.signals import SIGNALS, handling

ASIDE: Final = ".before-"
"""Part of the name of a run that was moved aside for another one."""


class Interrupted(BaseException):
    """A signal stopped the run at a point where it can be resumed."""

    def __init__(self, signum: int, resumable: bool) -> None:
        cure = "resume" if resumable else "start over (no state had been saved yet)"
        super().__init__(
            f"stopped by {signal.Signals(signum).name}. Run the same command to {cure}"
        )
        self.signum = signum
        self.resumable = resumable


@dataclass(frozen=True)
class OpenRun:
    """A run folder that this process owns.

    Attributes:
        folder: Its files.
        resumed: Whether an earlier start of the same run left its state there.
        finished: Whether another process finished the run before this one owned its folder: then
            nothing is left to do, and nothing is recorded.
    """

    folder: RunFolder
    resumed: bool
    finished: bool = False

    def record(self, **facts: Any) -> None:
        """Add facts to `run.json`."""
        add_to_run_record(self.folder, **facts)


def is_done(folder: RunFolder) -> bool:
    """Whether this run has finished and its results exist."""
    return status(folder) == "done" and folder.evaluation.exists() and folder.model.exists()


def status(folder: RunFolder) -> Status | None:
    """The status of a run; None if there is no run. It is interrupted if its process died.

    Raises:
        InputError: If `run.json` is damaged or has no status.
    """
    record = read_current(folder)
    return None if record is None else record.status


def read_current(folder: RunFolder) -> RunRecord | None:
    """`run.json` with the current status of the run; None if there is no run.

    Raises:
        InputError: If it is damaged.
    """
    with storage_errors(folder.run):
        if not folder.run.exists():
            return None
    record = read_run_record(folder)
    if record.status != "running" or is_owned(folder):
        return record
    # Its owner may have recorded the ending and left since the record was read.
    record = read_run_record(folder)
    if record.status != "running":
        return record
    return record.model_copy(update={"status": "interrupted"})


@contextlib.contextmanager
def open_run(run: RunIdentity, out: Path | str, *, restart: bool = False) -> Iterator[OpenRun]:
    """Own the folder of a run, and record in `run.json` how the block ended.

    Args:
        run: The run.
        out: Parent folder of the run folders.
        restart: Move an earlier run aside and start over.

    Raises:
        OwnedError: If another process is working on the same run.
    """
    folder = run.folder(out)
    if restart and folder.path.exists():
        move_aside(folder)
    with owned(folder):
        # Another process may have finished it since the caller checked. It may still be writing
        # the page, so nothing is removed.
        if not restart and is_done(folder):
            yield OpenRun(folder, resumed=True, finished=True)
            return
        _remove_half_written(folder)
        resumed = folder.has_state
        # Rewritten at each start: the data may have moved, or the file may have been edited.
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
            settings=dict(run.settings),
            provenance=provenance.collect(),
            times={
                "started": times.started or provenance.now(),
                "starts": times.starts + 1,
                "latest_start": provenance.now(),
                "seconds": times.seconds,
                "finished": None,
            },
            checksums=None,
        )

        def finish(ending: Status, error: str | None = None, **facts: Any) -> None:
            spent = times.seconds + time.monotonic() - began
            ended = {"finished": provenance.now(), "seconds": round(spent, 3)}
            add_to_run_record(folder, status=ending, error=error, times=ended, **facts)

        try:
            with _ending_on_signals(folder):
                yield OpenRun(folder, resumed)
        except BaseException as error:
            # What ended the run matters more than a failure to write its status (full disk).
            with contextlib.suppress(InputError, OSError):
                if isinstance(error, (Interrupted, KeyboardInterrupt)):
                    finish("interrupted", str(error) or "interrupted from the keyboard")
                else:
                    finish("failed", f"{type(error).__name__}: {error}")
            raise
        # One write says both: no run is done without its checksums.
        finish("done", checksums=checksums_of(folder))


@contextlib.contextmanager
def _ending_on_signals(folder: RunFolder) -> Iterator[None]:
    """Make SIGTERM and its like raise `Interrupted` wherever nothing else handles them.

    The training loop handles it and stops between two steps; this covers the data, the evaluation
    and a second signal that does not wait.
    """

    def stop(signum: int, frame: FrameType | None) -> None:
        raise Interrupted(signum, resumable=folder.has_state)

    with handling([s for s in SIGNALS if s != signal.SIGINT], stop):
        yield


def _remove_half_written(folder: RunFolder) -> None:
    """Remove files that a killed process had begun to write; only we own the folder now."""
    for path in folder.path.rglob(".*.tmp"):
        if not path.name.startswith(f".{folder.owner.name}."):  # our heartbeat may be writing it
            path.unlink(missing_ok=True)


def run_folders(folder: Path | str, *, aside: bool = False) -> list[RunFolder]:
    """The run that a folder is, or the runs that lie in it, by name.

    Args:
        folder: A run folder, or a folder of run folders.
        aside: Also those that were moved aside for another one.

    Raises:
        InputError: If the folder does not exist.
    """
    path = Path(folder).expanduser()
    require_folder(path)
    if os.path.lexists(RunFolder(path).run):
        return [RunFolder(path)]
    below = (RunFolder(each) for each in sorted(path.iterdir()) if each.is_dir())
    return [
        one for one in below if os.path.lexists(one.run) and (aside or ASIDE not in one.path.name)
    ]


def move_aside(folder: RunFolder) -> Path:
    """Rename a run folder that no process works in, which frees its name."""
    refuse_if_owned(folder)
    name = f"{folder.path.name}{ASIDE}{time.strftime('%Y%m%d-%H%M%S')}"
    aside, numbers = folder.path.with_name(name), itertools.count(2)
    while aside.exists():
        aside = folder.path.with_name(f"{name}-{next(numbers)}")
    folder.path.rename(aside)
    return aside
