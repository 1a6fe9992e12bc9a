"""What happens to a command, not to a file: it is killed, its disk is full, another works there.

Each try begins with an undisturbed copy, and ends by giving the command once more, alone and with
room: what it has then made is compared with what it makes undisturbed.
"""

import contextlib
import hashlib
import json
import multiprocessing
import os
import random
import shutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faulty.made import CommandError, at, copied, medldr

DISASTERS = ("killed", "full disk", "two owners")
SECONDS = 120.0
"""After which a command hangs."""


@dataclass(frozen=True)
class Job:
    """A command that makes something.

    Attributes:
        base: Folder, below the base, that is copied for a try.
        argv: The command.
        drop: What is removed from the copy first, so that there is something to make.
        made: What was made, as a comparable value.
    """

    base: str
    argv: tuple[str, ...]
    drop: tuple[str, ...]
    made: Callable[[], Any]

    @property
    def name(self) -> str:
        return " ".join(self.argv[:2])


def digest(*patterns: str) -> dict[str, str]:
    """Checksums of files."""
    paths = sorted(path for pattern in patterns for path in Path().glob(pattern) if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in paths}


def trained(folder: str) -> Any:
    """Weights and predictions, whose record is whole."""
    medldr("verify", folder)
    return digest(f"{folder}/*-s0/model.safetensors", f"{folder}/*-s0/predictions.csv")


def table(name: str) -> str:
    import medldr as package

    return package.results(name).to_csv()


def verified(name: str) -> list[str]:
    medldr("verify", name)
    return sorted(path.name for path in Path(name).iterdir())


JOBS: tuple[Job, ...] = (
    Job("flat", ("train", "study.yaml", "--out", "out"), ("out",), lambda: trained("out")),
    Job("solid", ("train", "study.yaml", "--out", "out"), ("out",), lambda: trained("out")),
    Job("swept", ("sweep", "study.yaml", "--out", "sweep"), ("sweep",), lambda: trained("sweep")),
    Job(
        "packed",
        ("data", "pack", "unpacked.yaml", "--out", "packed"),
        ("packed",),
        lambda: digest("packed/*.npy", "packed/*.csv"),
    ),
    Job(
        "done",
        ("predict", "tried-s0", "new", "--explain", "maps", "--out", "answers.csv"),
        (),
        lambda: digest("answers.csv", "maps/**/*.png"),
    ),
    Job(
        "done",
        ("validate", "tried-s0", "table.csv", "--out", "site", "--keep-seen"),
        (),
        lambda: table("site"),
    ),
    Job("done", ("evaluate", "tried-s0"), (), lambda: (trained("."), table("tried-s0"))),
    Job(
        "done",
        ("export", "tried-s0", "--format", "torch", "--out", "torch"),
        (),
        lambda: verified("torch"),
    ),
    Job(
        "done",
        ("analyze", "tried-s0", "--out", "analysis", "--items", "20"),
        (),
        lambda: digest("analysis/*.csv"),
    ),
    Job("swept", ("report", "sweep"), ("sweep/report.csv",), lambda: digest("sweep/*.csv")),
)


def work(argv: tuple[str, ...], folder: Path, answer: Path) -> None:
    """Run a command in this process, which was made for it."""
    try:
        with at(folder):
            medldr(*argv)
        said: tuple[str, Any] = ("done", "")
    except CommandError as error:
        said = ("refused", error.args[-1])
    except BaseException:
        said = ("traceback", traceback.format_exc()[-1500:])
    answer.write_text(json.dumps(said))


class Disasters:
    """Makes tries, each in processes of its own that are forked from one with all imports."""

    def __init__(self, root: Path) -> None:
        self.root, self.answer = root, root / "answer.json"
        self.context: Any = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["faulty.disasters", "medldr.cli", "medldr.run"])
        self.undisturbed: dict[Job, tuple[Any, float, int]] = {}

    def start(self, job: Job, place: Path, more: tuple[str, ...] = ()) -> Any:
        self.answer.unlink(missing_ok=True)
        process = self.context.Process(target=work, args=(job.argv + more, place, self.answer))
        process.start()
        return process

    def end(self, process: Any) -> tuple[str, str]:
        """How a process ended, and what it said."""
        process.join(SECONDS)
        if process.is_alive():
            process.kill()
            return "hang", f"over {SECONDS:.0f} s"
        if not self.answer.exists():
            return "traceback", f"the process ended with {process.exitcode}"
        end, said = json.loads(self.answer.read_text())
        return end, said

    def copy(self, job: Job) -> Path:
        """An undisturbed copy, without what is to be made."""
        place = copied(self.root, job.base)
        for name in job.drop:
            shutil.rmtree(place / name) if (place / name).is_dir() else (place / name).unlink()
        return place

    def usual(self, job: Job) -> tuple[Any, float, int]:
        """What a command makes undisturbed, its seconds and the bytes that it writes."""
        if job not in self.undisturbed:
            place = self.copy(job)
            before, began = size(place), time.monotonic()
            end, said = self.end(self.start(job, place))
            if end != "done":
                raise SystemExit(f"{job.name}: {end}: {said}")
            seconds = time.monotonic() - began
            with at(place):
                self.undisturbed[job] = (job.made(), seconds, size(place) - before)
        return self.undisturbed[job]

    def again(self, job: Job, place: Path, did: str) -> tuple[str, str]:
        """Give the command once more, and compare."""
        end, said = self.end(self.start(job, place))
        for cure in ("--force", "--retry-failed"):
            if end == "refused" and cure in said:
                end, said = self.end(self.start(job, place, (cure,)))
        if end != "done":
            return ("unnamed" if end == "refused" else end), f"{did}; then: {said.strip()[-900:]}"
        try:
            with at(place):
                made = job.made()
        except CommandError as error:
            return "silent", f"{did}; then: {error.args[-1].strip()[-900:]}"
        return ("recovered" if made == self.usual(job)[0] else "silent"), did

    def make(self, name: str, seed: int) -> tuple[str, str, str]:
        """A try: its command, its end, and what was said."""
        draw = random.Random(seed)
        jobs = JOBS[:3] if name == "two owners" else JOBS
        job = draw.choice(jobs)
        self.usual(job)
        tries = {"killed": self.killed, "full disk": self.full, "two owners": self.owners}
        return (job.name, *tries[name](job, draw))

    def killed(self, job: Job, draw: random.Random) -> tuple[str, str]:
        """SIGKILL at any moment."""
        place, after = self.copy(job), draw.uniform(0, self.usual(job)[1])
        process = self.start(job, place)
        process.join(after)
        process.kill()
        process.join()
        return self.again(job, place, f"killed after {after:.2f} s")

    def full(self, job: Job, draw: random.Random) -> tuple[str, str]:
        """A file system that has room for a part of what is to be written."""
        place, (_, _, writes) = self.copy(job), self.usual(job)
        room = int(draw.uniform(0, 1.1) * writes)
        with small_disk(place, room) as more_room:
            end, said = self.end(self.start(job, place))
            did = f"room for {room} of {writes} bytes: {end}: {said.strip()[-900:]}"
            if end in ("traceback", "hang"):
                return end, did
            more_room()
            then, did = self.again(job, place, did)
        if then != "recovered" or end == "done":
            return then, did
        return ("named" if "no space" in said.lower() else "unnamed"), did

    def owners(self, job: Job, draw: random.Random) -> tuple[str, str]:
        """The same command twice at once, in two containers that see the same folder."""
        place, apart = self.copy(job), draw.uniform(0, 2)
        alone = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
        command = [*alone, sys.executable, "-m", "medldr.cli", *job.argv]
        said = []
        with at(place):
            processes = []
            for wait in (apart, 0):
                pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
                processes.append(subprocess.Popen(command, **pipes))
                time.sleep(wait)
            for process in processes:
                try:
                    said.append((process.communicate(timeout=SECONDS)[0], process.returncode))
                except subprocess.TimeoutExpired:
                    process.kill()
                    return "hang", f"{apart:.2f} s apart"
        did = f"{apart:.2f} s apart: " + "; ".join(f"{code}: {text[-300:]}" for text, code in said)
        if not any(code == 0 for _, code in said):
            return "unnamed", did
        if any("Traceback" in text for text, _ in said):
            return "traceback", did
        then, did = self.again(job, place, did)
        refused = any(code == 2 and "in use" in text for text, code in said)
        return ("named" if then == "recovered" and refused else then), did


def size(folder: Path) -> int:
    """Bytes in a folder, in whole pages as on a small disk."""
    found = folder.rglob("*")
    return sum(-(-path.lstat().st_size // 4096) * 4096 + 4096 for path in found)


@contextlib.contextmanager
def small_disk(place: Path, room: int) -> Iterator[Callable[[], None]]:
    """Put a folder on a disk of its own with little room; yields what gives it more."""
    aside = place.with_name(place.name + ".aside")
    place.rename(aside)
    place.mkdir()
    total = size(aside) + 16384 + room
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={total}", "tmpfs", place], check=True)
    try:
        shutil.copytree(aside, place, symlinks=True, dirs_exist_ok=True)
        more = ["mount", "-o", f"remount,size={total + (1 << 30)}", place]
        yield lambda: subprocess.run(more, check=True) and None
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)
        shutil.rmtree(aside)


def possible(name: str) -> str:
    """Why a disaster cannot happen here; empty if it can."""
    if name == "full disk" and (os.geteuid() or not shutil.which("mount")):
        return "a small disk needs the right to mount one"
    alone = ["unshare", "--pid", "--fork", "--mount-proc", "true"]
    if name == "two owners" and (not shutil.which("unshare") or subprocess.call(alone)):
        return "process namespaces need unshare and the right to use it"
    return ""
