"""Ownership of a run folder: one process at a time, and no leftovers block the next one.

`owner.json` is created exclusively and its heartbeat is renewed while the owner lives; afterwards
it remains as a record, marked as released. Whether an owner has gone is asked of

- its record, if it was released;
- the system's list of processes, if it runs where this one does: under the same start of the same
  kernel and in the same process namespace, so not in another container;
- otherwise the file itself. It counts as left once it has not changed for `STALE_AFTER_S` by the
  file system's own clock, and then not during `WATCH_S` of watching. No machine's clock is compared
  with another's.

A folder is taken over by creating ``.owner.<token>.next``, exclusively, with the new owner in it.
The token is that of the owner who has gone, so that of several who find it gone one succeeds, and
a process that slept past its heartbeat finds that it was followed.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import threading
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pydantic import Field

from medldr.console import say
from medldr.errors import InputError
from medldr.folders.files import RunFolder, storage_errors, write_text
from medldr.folders.records import Record, read_record

STALE_AFTER_S = 300.0
BEAT_EVERY_S = 20.0
WATCH_S = 3 * BEAT_EVERY_S
_NOBODY: Final = "nobody"
"""Stands for the token of a record that cannot be read."""


class OwnerRecord(Record):
    """`owner.json`.

    Attributes:
        host: Name of the machine that the owner runs on.
        pid: Its process number.
        start: Distinguishes it from a later process with the same number; None if unknown.
        heartbeat: When it was last active by its own clock, in seconds since 1970. For readers: no
            decision depends on it.
        place: Start of the kernel and process namespace in which the number means this process.
        token: Drawn when it became the owner.
        released: When it left the folder; None while it works there.
    """

    host: str
    pid: int
    start: str | None
    heartbeat: float
    place: str
    token: str = Field(pattern=r"^[0-9a-z]{1,64}$")  # it becomes part of a file's name
    released: float | None = None


class OwnedError(InputError):
    """Another live process is working in this folder."""


@contextlib.contextmanager
def owned(folder: RunFolder) -> Iterator[None]:
    """Own a run folder while the block runs.

    Where the last owner ran on another machine and has been silent for long, this waits `WATCH_S`
    and says so.

    Raises:
        OwnedError: If another process owns it, naming host, process and heartbeat.
    """
    path = folder.owner
    _MINE[path.absolute()] = _claim(path)
    for left in folder.path.glob(f".{path.name}.*.tmp"):
        left.unlink(missing_ok=True)  # its writer was killed in a heartbeat; ours has not begun
    stop = threading.Event()
    beat = threading.Thread(target=_beat, args=(path, stop), daemon=True)
    beat.start()
    try:
        yield
    finally:
        stop.set()
        beat.join()
        # A disk too full for this record must not hide what ended the run, nor keep this process
        # from resuming it later: in that case, there is no record at all.
        try:
            if _is_mine(path):
                for followed in folder.path.glob(".owner.*.next"):
                    followed.unlink(missing_ok=True)
                _write(path, released=time.time())
        except (OSError, InputError):
            with contextlib.suppress(OSError):
                path.unlink()
        del _MINE[path.absolute()]


_MINE: Final[dict[Path, str]] = {}
"""Tokens of the folders that this process owns."""


def refuse_if_taken(folder: RunFolder) -> None:
    """Keep a process that slept past its heartbeat from writing into another one's run.

    Raises:
        OwnedError: If another process has taken the folder over, even if it has left since.
    """
    _, owner = _last(folder.owner)
    if owner is not None and not _is_mine(folder.owner):
        raise OwnedError(
            f"{folder.path} was taken over by process {owner.pid} on {owner.host}, because "
            "this process had stopped responding. It will write nothing more there"
        )


def is_owned(folder: RunFolder) -> bool:
    """Whether a live process owns this folder, as far as one look tells."""
    return not _has_left(*_last(folder.owner))


def refuse_if_owned(folder: RunFolder) -> None:
    """Keep a folder whose owner may be alive from being moved; this may wait `WATCH_S`.

    Raises:
        OwnedError: If a live process owns it.
    """
    _refuse_live(folder.owner, *_last(folder.owner))


def says_owned(text: str) -> bool:
    """Whether a message comes from an `OwnedError`, if only a process's last line is known.

    Example:
        >>> says_owned("runs/a is in use by process 7 on node1 (its last sign of life: 3 s ago)")
        True
        >>> says_owned("training.lr should be greater than 0")
        False
    """
    return any(words in text for words in ("in use by", "taken over by"))


def _claim(path: Path) -> str:
    """Become the owner; returns the token of it."""
    me = _myself(uuid.uuid4().hex)
    if _create(path, me):
        return me.token
    last, owner = _last(path)  # once: another may take over while this one is judged
    _refuse_live(path, last, owner)
    following = _following(path, owner)
    if not _create(following, me):
        raise OwnedError(f"{path.parent} is being taken over by another process")
    try:
        if _last(path)[0] != following:  # another was faster, and has replaced the record since
            raise OwnedError(f"{path.parent} has just been taken over by another process")
        write_text(path, _text(me))
    except BaseException:
        following.unlink(missing_ok=True)
        raise
    return me.token


def _last(path: Path) -> tuple[Path, OwnerRecord | None]:
    """The file that names the owner, `path` or that of the last who took over, and the owner."""
    last, owner, passed = path, _read(path), {path}
    while (following := _following(path, owner)) not in passed and following.exists():
        passed.add(following)
        last, owner = following, _read(following)
    return last, owner


def _following(path: Path, owner: OwnerRecord | None) -> Path:
    """Where whoever takes over from an owner says so."""
    return path.with_name(f".owner.{_NOBODY if owner is None else owner.token}.next")


def _refuse_live(path: Path, last: Path, owner: OwnerRecord | None) -> None:
    if _has_left(last, owner):
        if owner is None or _is_known_to_have_left(owner):
            return
        say(
            f"{path.parent} was last used by process {owner.pid} on {owner.host}, which may still "
            f"run: watching for a sign of life for {WATCH_S:.0f} s"
        )
        if _stays(last):
            return
    unknown = f"another process (which one, {path.name} no longer says)"
    who = unknown if owner is None else f"process {owner.pid} on {owner.host}"
    raise OwnedError(
        f"{path.parent} is in use by {who} (its last sign of life: {max(_silence(last), 0):.0f} s "
        f"ago). Wait for it, or stop it first; after {STALE_AFTER_S:.0f} s of silence it counts as "
        "ended"
    )


def _has_left(last: Path, owner: OwnerRecord | None) -> bool:
    """Whether the owner that a file named when it was read has gone, as far as one look tells."""
    left = None if owner is None else _is_known_to_have_left(owner)
    if left is not None:
        return left
    silence = _silence(last)
    # A date ahead of the file system's own clock tells nothing: watching does.
    return silence > STALE_AFTER_S or silence < -STALE_AFTER_S


def _is_known_to_have_left(owner: OwnerRecord) -> bool | None:
    """Whether an owner has gone; None where only the file can tell."""
    if owner.released is not None:
        return True
    start = _process_start(owner.pid) if owner.place == _place() else _HIDDEN
    # The start time distinguishes a live owner from a later process with the same number.
    return None if start == _HIDDEN else start != owner.start


def _silence(path: Path) -> float:
    """Seconds since a file changed, by the clock of its file system; infinite if there is none."""
    try:
        changed = path.stat().st_mtime
    except FileNotFoundError:
        return float("inf")
    probe = path.with_name(f".owner.json.{uuid.uuid4().hex[:8]}.tmp")
    try:
        with probe.open("x") as file:
            probe.unlink()
            return os.fstat(file.fileno()).st_mtime - changed
    except OSError:  # a folder that may only be read
        return time.time() - changed


def _stays(path: Path) -> bool:
    """Whether a file stays as it is for `WATCH_S`, by this process's own clock."""
    before, end = _bytes(path), time.monotonic() + WATCH_S
    while time.monotonic() < end:
        time.sleep(min(1.0, WATCH_S / 10))
        if _bytes(path) != before:
            return False
    return True


def _bytes(path: Path) -> bytes | None:
    with contextlib.suppress(FileNotFoundError):
        return path.read_bytes()
    return None


def _create(path: Path, owner: OwnerRecord) -> bool:
    """Create a record whole, unless there is one already."""
    with storage_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".owner.json.{owner.token}.tmp")
        temporary.write_text(_text(owner))
        try:
            os.link(temporary, path)
        except FileExistsError:
            return False
        except OSError:  # no hard links here: for a moment the file is there and empty
            try:
                handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
            except FileExistsError:
                return False
            with os.fdopen(handle, "w") as file:
                file.write(_text(owner))
        finally:
            temporary.unlink(missing_ok=True)
    return True


def _myself(token: str) -> OwnerRecord:
    pid = os.getpid()
    return OwnerRecord(
        host=socket.gethostname(),
        pid=pid,
        start=_process_start(pid),
        heartbeat=time.time(),
        place=_place(),
        token=token,
    )


def _place() -> str:
    """Where a process number means one process."""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.readlink('/proc/self/ns/pid')}"
    return f"{socket.gethostname()}/{uuid.getnode():x}"


def _text(owner: OwnerRecord) -> str:
    return json.dumps(owner.written())


def _write(path: Path, released: float | None = None) -> None:
    owner = _myself(_MINE[path.absolute()])
    write_text(path, _text(owner.model_copy(update={"released": released})))


def _read(path: Path) -> OwnerRecord | None:
    """The recorded owner; None if there is none or the record cannot be read."""
    for _ in range(3):  # where there are no hard links, its creator may be about to write it
        if not os.path.lexists(path):
            break
        with contextlib.suppress(InputError):
            return read_record(path, OwnerRecord, "")
        time.sleep(0.05)
    return None


def _is_mine(path: Path) -> bool:
    _, owner = _last(path)
    return owner is not None and owner.token == _MINE.get(path.absolute())


_HIDDEN: Final = "hidden"
"""The start of a process that exists and says no more of itself."""


def _process_start(pid: int) -> str | None:
    """A text that differs between processes with the same number; None if there is no process."""
    with contextlib.suppress(OSError):
        stat = Path(f"/proc/{pid}/stat").read_text()
        fields = stat[stat.rindex(")") + 2 :].split()
        return None if fields[0] == "Z" else fields[19]
    try:  # a system without /proc, or one that hides the processes of other users
        os.kill(pid, 0)
    except PermissionError:
        return _HIDDEN
    except (ProcessLookupError, OverflowError):
        return None
    return _HIDDEN


def _beat(path: Path, stop: threading.Event) -> None:
    while not stop.wait(BEAT_EVERY_S):
        # A full disk must not end a run through its heartbeat; the run's own writes report it.
        with contextlib.suppress(OSError, InputError):
            if _is_mine(path) or (path.exists() and _last(path)[1] is None):
                _write(path)
