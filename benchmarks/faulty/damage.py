"""What is done to a file: each fault takes its path and a generator, and says what it did."""

import os
import random
from collections.abc import Callable
from pathlib import Path


def flip(path: Path, draw: random.Random) -> str:
    """Flip one bit."""
    data = bytearray(path.read_bytes())
    if not data:
        return "empty already"
    place, bit = draw.randrange(len(data)), draw.randrange(8)
    data[place] ^= 1 << bit
    path.write_bytes(data)
    return f"bit {bit} of byte {place} of {len(data)}"


def truncate(path: Path, draw: random.Random) -> str:
    """Keep a part of the file."""
    size = draw.randrange(max(path.stat().st_size, 1))
    with path.open("rb+") as file:
        file.truncate(size)
    return f"the first {size} bytes"


def swap(path: Path, draw: random.Random) -> str:
    """Exchange the file with another of its kind."""
    others = [p for p in path.parent.rglob("*") if p.is_file() and p.suffix == path.suffix]
    others = sorted(p for p in others if p != path and p.read_bytes() != path.read_bytes())
    if not others:
        return empty(path, draw)
    other = draw.choice(others)
    mine, theirs = path.read_bytes(), other.read_bytes()
    path.write_bytes(theirs)
    other.write_bytes(mine)
    return f"for {other.name}"


def empty(path: Path, draw: random.Random) -> str:
    """Leave nothing in the file."""
    path.write_bytes(b"")
    return "no bytes"


def missing(path: Path, draw: random.Random) -> str:
    """Remove the file."""
    path.unlink()
    return "removed"


def folder(path: Path, draw: random.Random) -> str:
    """Put a folder in its place."""
    path.unlink()
    path.mkdir()
    return "a folder"


def fifo(path: Path, draw: random.Random) -> str:
    """Put a FIFO in its place, which nobody writes to."""
    path.unlink()
    os.mkfifo(path)
    return "a FIFO"


def device(path: Path, draw: random.Random) -> str:
    """Put a link to a device in its place, which never ends."""
    path.unlink()
    path.symlink_to("/dev/zero")
    return "a device"


def loop(path: Path, draw: random.Random) -> str:
    """Put a link to itself in its place."""
    path.unlink()
    path.symlink_to(path.name)
    return "a link to itself"


def deep(path: Path, draw: random.Random) -> str:
    """Put brackets in its place, as deep as no reader goes."""
    path.write_text("[" * 100_000)
    return "100,000 brackets"


def noise(path: Path, draw: random.Random) -> str:
    """Put random bytes over a part of it."""
    data = bytearray(path.read_bytes())
    start = draw.randrange(max(len(data), 1))
    part = draw.randbytes(draw.randrange(1, 64))
    data[start : start + len(part)] = part
    path.write_bytes(data)
    return f"{len(part)} random bytes at {start}"


FAULTS: tuple[tuple[Callable[[Path, random.Random], str], float], ...] = (
    *((flip, 4.0), (truncate, 2.0), (swap, 1.0), (noise, 1.0), (empty, 0.5), (missing, 0.5)),
    *((folder, 0.4), (fifo, 0.4), (device, 0.4), (loop, 0.4), (deep, 0.4)),
)
