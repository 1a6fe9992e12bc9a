"""One process at a time makes a file or a folder that several may want at once."""

from __future__ import annotations

import contextlib
import errno
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from medldr.console import Console

_NO_LOCKS: Final = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


@contextlib.contextmanager
def alone(place: Path, doing: str, *, needed: bool = True) -> Iterator[None]:
    """Hold the lock of a place while the block runs; others wait, and say what for.

    The lock ends with its holder, killed or not. Some network file systems have no locks. There
    nobody waits, and work may be done twice: what is made still appears whole or not at all.

    Args:
        place: What is made; its lock lies beside it, hidden.
        doing: What another process does that holds it, for those who wait.
        needed: Whether a folder that no lock can be written to is an error.

    Raises:
        OSError: If the lock cannot be written.
    """
    lock = FileLock(place.with_name(f".{place.name}.lock"))
    try:
        with warnings.catch_warnings():
            # filelock makes a file serve as the lock where the system call does not exist.
            warnings.filterwarnings("ignore", message="flock not supported")
            try:
                lock.acquire(timeout=0)
            except Timeout:
                if not Path(lock.lock_file).exists():  # nobody holds what cannot be made
                    raise PermissionError(errno.EACCES, "no file can be made", str(place)) from None
                waiting = f"another process is {doing}; waiting for it"
                Console(stderr=True).print(waiting, soft_wrap=True, markup=False, highlight=False)
                lock.acquire()
    except NotImplementedError:  # older versions of filelock, instead of a file
        pass
    except OSError as error:
        if needed and error.errno not in _NO_LOCKS:
            raise
    try:
        yield
    finally:
        lock.release()
