"""Ownership of a run folder: one process at a time, and no leftovers block the next one.

`owner.json` is created exclusively and its heartbeat is renewed while the owner lives; afterwards
it remains as a record, marked as released. A folder is taken over only if it was released, if its
owner no longer runs on this host, or if its heartbeat is old.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

from pydantic import ValidationError

from medldr.errors import InputError
from medldr.folders.files import RunFolder, atomic, storage_errors
from medldr.folders.records import Record

STALE_AFTER_S = 300.0
BEAT_EVERY_S = 20.0


class OwnerRecord(Record):
    """`owner.json`.

    Attributes:
        host: Name of the machine that the owner runs on.
        pid: Its process number.
        start: Distinguishes it from a later process with the same number; None if unknown.
        heartbeat: When it was last active, in seconds since 1970.
        released: When it left the folder; None while it works there.
    """

    host: str
    pid: int
    start: str | None
    heartbeat: float
    released: float | None = None

    @property
    def process(self) -> tuple[str, int, str | None]:
        """What distinguishes this process from every other one."""
        return self.host, self.pid, self.start


class OwnedError(InputError):
    """Another live process is working in this folder."""


@contextlib.contextmanager
def owned(folder: RunFolder) -> Iterator[None]:
    """Own a run folder while the block runs.

    Raises:
        OwnedError: If another process owns it, naming host, process and heartbeat.
    """
    _claim(folder.owner)
    for left in folder.path.glob(f".{folder.owner.name}.*.tmp"):
        left.unlink(missing_ok=True)  # its writer was killed in a heartbeat; ours has not begun
    stop = threading.Event()
    beat = threading.Thread(target=_beat, args=(folder.owner, stop), daemon=True)
    beat.start()
    try:
        yield
    finally:
        stop.set()
        beat.join()
        # A disk too full for this record must not hide what ended the run, nor keep this process
        # from resuming it later: in that case, there is no record at all.
        try:
            if _is_mine(folder.owner):
                _write(folder.owner, released=time.time())
        except (OSError, InputError):
            with contextlib.suppress(OSError):
                folder.owner.unlink()


def refuse_if_taken(folder: RunFolder) -> None:
    """Keep a process that slept past its heartbeat from writing into another one's run.

    Raises:
        OwnedError: If another live process owns the folder now.
    """
    owner = _read(folder.owner)
    if owner is not None and not _is_mine(folder.owner) and not _is_gone(owner):
        raise OwnedError(
            f"{folder.path} was taken over by process {owner.pid} on {owner.host}, because "
            "this process had stopped responding. It will write nothing more there"
        )


def is_owned(folder: RunFolder) -> bool:
    """Whether a live process owns this folder."""
    owner = _read(folder.owner)
    return owner is not None and not _is_gone(owner)


def says_owned(text: str) -> bool:
    """Whether a message comes from an `OwnedError`, if only a process's last line is known.

    Example:
        >>> says_owned("runs/a is in use by process 7 on node1 (last active 3 s ago)")
        True
        >>> says_owned("training.lr should be greater than 0")
        False
    """
    return any(words in text for words in ("in use by", "taken over by"))


def _claim(path: Path) -> None:
    if _create(path):
        return
    owner = _read(path)
    if owner is not None and not _is_gone(owner):
        age = time.time() - owner.heartbeat
        raise OwnedError(
            f"{path.parent} is in use by process {owner.pid} on {owner.host} "
            f"(last active {age:.0f} s ago). Wait for it, or stop it first"
        )
    # Two processes may find the same stale owner: only the one that creates this file continues.
    turn = path.with_suffix(".takeover")
    if turn.exists() and time.time() - turn.stat().st_mtime > STALE_AFTER_S:
        turn.unlink(missing_ok=True)
    if not _create(turn):
        raise OwnedError(f"{path.parent} is being taken over by another process")
    try:
        owner = _read(path)
        if owner is not None and not _is_gone(owner):
            raise OwnedError(f"{path.parent} has just been taken over by another process")
        _write(path)
    finally:
        turn.unlink(missing_ok=True)


def _create(path: Path) -> bool:
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        except FileExistsError:
            return False
        with os.fdopen(handle, "w") as file:
            file.write(_text(_myself()))
    return True


def _myself() -> OwnerRecord:
    pid = os.getpid()
    return OwnerRecord(
        host=socket.gethostname(), pid=pid, start=_process_start(pid), heartbeat=time.time()
    )


def _text(owner: OwnerRecord) -> str:
    return json.dumps(owner.written())


def _write(path: Path, released: float | None = None) -> None:
    owner = _myself()
    if released is not None:
        owner = owner.model_copy(update={"released": released})
    with atomic(path) as temporary:
        temporary.write_text(_text(owner))


def _read(path: Path) -> OwnerRecord | None:
    """The recorded owner; None if there is none or its writer died half-way."""
    for _ in range(5):  # its creator may be between creating and writing it
        try:
            content = json.loads(path.read_text())
        except FileNotFoundError:
            return None
        except json.JSONDecodeError:
            time.sleep(0.1)
            continue
        try:
            return OwnerRecord.model_validate(content)
        except ValidationError:
            return None  # it names no process
    return None


def _is_mine(path: Path) -> bool:
    owner = _read(path)
    return owner is not None and owner.process == _myself().process


def _is_gone(owner: OwnerRecord) -> bool:
    if owner.released is not None:
        return True
    if owner.host == socket.gethostname():
        # The start time distinguishes a live owner from a later process with the same number.
        return _process_start(owner.pid) != owner.start
    return time.time() - owner.heartbeat > STALE_AFTER_S


def _process_start(pid: int) -> str | None:
    """A text that differs between processes with the same number; None if there is no process."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        stat = Path(f"/proc/{pid}/stat").read_text()
        fields = stat[stat.rindex(")") + 2 :].split()
        return None if fields[0] == "Z" else f"{boot}/{fields[19]}"
    if Path("/proc/self").exists():
        return None
    try:  # systems without /proc: only the number is known
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        return "alive"
    return "alive"


def _beat(path: Path, stop: threading.Event) -> None:
    while not stop.wait(BEAT_EVERY_S):
        # A full disk must not end a run through its heartbeat; the run's own writes report it.
        with contextlib.suppress(OSError, InputError):
            if _is_mine(path):
                _write(path)
