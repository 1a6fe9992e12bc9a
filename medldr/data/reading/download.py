"""Downloading one file: resumed where it stopped, verified by checksum, and reported.

Nothing else in medldr opens a connection, and this only where the configuration allows it.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import shutil
import urllib.error
import urllib.request
from pathlib import Path

from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)

from medldr.console import Console, say
from medldr.errors import InputError
from medldr.folders.alone import alone
from medldr.folders.files import StorageError, checksum, storage_errors

_BLOCK = 1 << 20


def fetch(
    url: str,
    target: Path,
    *,
    md5: str | None = None,
    by_hand: str | None = None,
    timeout: float = 60.0,
) -> Path:
    """Bring a file to ``target`` and verify it.

    The bytes go to ``<target>.part`` first. A broken connection is resumed once, where it
    stopped; after that the part stays, and the next call resumes from it. A file with a wrong
    checksum is kept as ``<target>.rejected`` and never takes the target's name. Several
    processes may ask at once: one downloads, the others wait.

    Args:
        url: An http or https address.
        target: Where to put the file; nothing happens if it exists.
        md5: The checksum it must have; None where none was published.
        by_hand: What messages say on doing it by hand; unset: to save the address as ``target``.
        timeout: Seconds without an answer after which the connection counts as broken.

    Returns:
        ``target``.

    Raises:
        InputError: If the address does not answer or what it sends is not the file; the message
            says how to do it by hand.
        StorageError: If there is no room for it.
    """
    if not url.startswith(("https://", "http://")):
        raise InputError(f"{url}: only http and https addresses can be downloaded")
    hand = by_hand or _by_hand(url, target, md5)
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(alone(target, f"downloading {target.name}"))
        except (OSError, StorageError) as error:
            why = error.__cause__ or error
            raise StorageError(
                f"cannot write to {target.parent} ({why}). Set data.root to a folder that you "
                f"can write to. {hand}"
            ) from error
        if not target.is_file():
            _fetch_locked(url, target, md5, hand, timeout)
    return target


def _by_hand(url: str, target: Path, md5: str | None) -> str:
    return f"By hand: save {url} as {target}{'' if md5 is None else f' (MD5 {md5})'}."


def _fetch_locked(url: str, target: Path, md5: str | None, hand: str, timeout: float) -> None:
    part = target.with_name(target.name + ".part")
    for attempt in (1, 2):
        resumed = part.is_file() and part.stat().st_size > 0
        try:
            _transfer(url, part, timeout)
        except urllib.error.HTTPError as error:
            error.close()
            if error.code >= 500 and attempt == 1:
                continue
            raise InputError(
                f"{url} answered with HTTP status {error.code} ({error.reason}). {hand}"
            ) from error
        except (StorageError, InputError):
            raise
        except (OSError, http.client.HTTPException) as error:
            if attempt == 1:
                continue
            have = part.stat().st_size if part.is_file() else 0
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            kept = f"{have:,} bytes are kept in {part}; the same command resumes from there. "
            raise InputError(
                f"{url} could not be downloaded: {reason}. {kept if have else ''}{hand}"
            ) from error
        actual = None if md5 is None else checksum(part, "md5")
        page = _looks_like_page(part)
        if actual == md5 and not (md5 is None and page):
            os.replace(part, target)
            return
        rejected = target.with_name(target.name + ".rejected")
        os.replace(part, rejected)
        if resumed and attempt == 1:
            continue  # the part may belong to another file: once more, from the start
        what = "a web page instead of the file" if page else "a file with a wrong checksum"
        sums = "" if md5 is None else f": MD5 expected {md5}, found {actual}"
        raise InputError(f"{url} sent {what}{sums}. It is kept as {rejected}. {hand}")


def _looks_like_page(path: Path) -> bool:
    with path.open("rb") as stream:
        start = stream.read(256).lstrip().lower()
    return start.startswith((b"<!doctype", b"<html"))


def _transfer(url: str, part: Path, timeout: float) -> None:
    """Append what is missing of ``url`` to ``part``."""
    have = part.stat().st_size if part.is_file() else 0
    headers = {"User-Agent": "medldr", "Accept-Encoding": "identity"}
    if have:
        headers["Range"] = f"bytes={have}-"
    request = urllib.request.Request(url, headers=headers)
    try:
        response = urllib.request.urlopen(request, timeout=timeout)
    except urllib.error.HTTPError as error:
        if error.code == 416 and have:  # nothing is missing: the checksum decides
            error.close()
            return
        raise
    with response:
        total = response.headers.get("Content-Length")
        size = int(total) if total is not None else None
        if response.status == 206:
            size = None if size is None else size + have
        else:
            have = 0  # the server sends it all again
        _check_room(part, have, size)
        _write(response, part, have, size)


def _check_room(part: Path, have: int, size: int | None) -> None:
    free = shutil.disk_usage(part.parent).free
    if size is not None and size - have > free:
        raise StorageError(
            f"no space left to write {part}: {size - have:,} bytes needed, {free:,} free. "
            "Free some space, or set data.root to a folder on another disk."
        )


def _write(response: http.client.HTTPResponse, part: Path, have: int, size: int | None) -> None:
    console = Console(stderr=True)
    if not console.is_terminal:
        amount = "" if size is None else f" ({(size - have) / 1e6:.1f} MB)"
        say(f"downloading {response.url}{amount}", console)
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    bar = Progress(
        *columns,
        TransferSpeedColumn(),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
    )
    with bar, part.open("ab" if have else "wb") as stream:
        task = bar.add_task(part.name.removesuffix(".part"), total=size, completed=have)
        while block := response.read(_BLOCK):
            with storage_errors(part, size):
                stream.write(block)
            have += len(block)
            bar.update(task, completed=have)
    if size is not None and have < size:
        raise ConnectionError(f"the connection ended after {have:,} of {size:,} bytes")
