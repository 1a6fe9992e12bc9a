"""One process at a time: others that would make the same thing wait for it."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from medldr.console import say
from medldr.folders.files import StorageError, storage_errors

_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextlib.contextmanager
def alone(place: Path, doing: str, *, needed: bool = True) -> Iterator[None]:
    """Hold the lock of a place while the block runs; others wait, and say what for.

    The lock ends with its holder, killed or not. Some network file systems have no locks, nor has
    Windows. There nobody waits, and work may be done twice: what is made still appears whole or not
    at all.

    Args:
        place: What is made; its lock lies beside it, hidden, as long as it is held. The folder
            around both is made where there is none.
        doing: What another process does that holds it, for those who wait.
        needed: Whether a folder that no lock can be written to is an error.

    Raises:
        StorageError: If the lock cannot be written.
    """
    path, held = place.with_name(f".{place.name}.lock"), None
    try:
        with storage_errors(place):
            place.parent.mkdir(parents=True, exist_ok=True)
            held = _held(path, doing)
    except (OSError, StorageError) as error:
        if needed and getattr(error, "errno", None) not in _NO_LOCKS:
            raise
    try:
        yield
    finally:
        if held is not None:
            # Before it is let go: whoever waits for this file sees that it is the lock no more.
            _remove(path)
            os.close(held)


def _held(path: Path, doing: str) -> int:
    """The descriptor of the file of a lock, once it is held and still has its name."""
    while True:
        opened = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            _wait(opened, doing)
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(opened), os.stat(path)):
                    return opened
        except BaseException as error:
            if isinstance(error, OSError) and error.errno in _NO_LOCKS:
                _remove(path)
            os.close(opened)
            raise
        os.close(opened)  # its holder took it away: another file is the lock now


def _wait(opened: int, doing: str) -> None:
    try:
        import fcntl
    except ImportError as error:
        raise OSError(errno.ENOSYS, "no locks on this system") from error
    try:
        fcntl.flock(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        say(f"another process is {doing}; waiting for it")
        fcntl.flock(opened, fcntl.LOCK_EX)


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):  # of another user, in a folder where each removes their own
        path.unlink()
