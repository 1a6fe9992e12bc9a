"""What a damaged or strange file does: named, recovered, or worse.

`python benchmarks/faults.py` makes small data sets, runs, a sweep, a pack, exports and the rest of
what medldr reads, then damages one file at a time in a copy and runs the command that reads it:
a flipped bit, a truncated file, one swapped for another, one that is empty, missing, a folder, a
FIFO, a device, a link to itself, deeply nested, or large. Then it kills commands at random moments,
gives them a disk that is too small, and lets two containers work in one folder; after each of these
the command is given once more. Each try ends as one of

- named: exit code 2 or 3, and the message names the file, or the folder or table that it is of;
- recovered: the results are those of the undamaged file, as after a flip that changes nothing;
- unseen: other answers on a new scan whose format has no checksum: uncompressed DICOM, or JPEG;
- unnamed: exit code 2 without the file's name;
- traceback, hang (over `--seconds`), silent: other results, and no word.

The last three should be 0. A flipped bit of a picture without a checksum is another picture, which
only a run's record of its data notices; the tries on data sets read through such a record. `--seed`
draws other faults; `--only KIND` limits the kinds; `--list` prints each try that did not end well;
`--base DIR` keeps the files that are damaged for another call.
"""

import argparse
import collections
import contextlib
import multiprocessing
import random
import resource
import sys
import tempfile
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faulty.damage import FAULTS
from faulty.disasters import DISASTERS, Disasters, possible
from faulty.kinds import KINDS, Kind
from faulty.made import CommandError, at, copied, make

ENDS = ("named", "recovered", "unseen", "unnamed", "traceback", "hang", "silent")
BAD = ("unnamed", "traceback", "hang", "silent")
SHARE = {"killed": 0.05, "full disk": 0.03, "two owners": 0.01}
"""Of all tries, besides those on files."""
MEMORY = 24 << 30
"""Address space of a process, so that a file without an end ends as a MemoryError."""


@dataclass(frozen=True)
class Try:
    """One file of one kind, damaged in one way."""

    number: int
    kind: str
    file: str
    fault: str
    seed: int


def draw_tries(root: Path, kinds: list[Kind], count: int, seed: int) -> list[Try]:
    draw, tries = random.Random(seed), []
    names, weights = [fault.__name__ for fault, _ in FAULTS], [weight for _, weight in FAULTS]
    total = sum(kind.weight for kind in kinds)
    for kind in kinds:
        made = root / "made" / kind.base
        found = {path for pattern in kind.files for path in made.glob(pattern) if path.is_file()}
        files = sorted(str(path.relative_to(made)) for path in found)
        if not files:
            raise SystemExit(f"{kind.name}: no files in {made}")
        for _ in range(max(round(count * kind.weight / total), 1)):
            fault = draw.choices(names, weights)[0]
            tries.append(
                Try(len(tries), kind.name, draw.choice(files), fault, draw.getrandbits(32))
            )
    return tries


def attempt(root: Path, one: Try, undamaged: dict[str, Any]) -> tuple[str, str]:
    """What came of a try: its end, and what was said."""
    kind = next(kind for kind in KINDS if kind.name == one.kind)
    copy = copied(root, kind.base)
    if kind.name not in undamaged:
        with at(copy):
            undamaged[kind.name] = kind.use(Path())
        copied(root, kind.base)
    damage = next(fault for fault, _ in FAULTS if fault.__name__ == one.fault)
    did = damage(copy / one.file, random.Random(one.seed))
    from medldr.errors import InputError

    try:
        with at(copy):
            made = kind.use(Path())
    except (CommandError, InputError) as error:
        text = error.args[-1]
        said = names(one, did, text)
        return ("named" if said else "unnamed"), f"{did}: {text.strip()[-600:]}"
    except BaseException:
        return "traceback", f"{did}: {traceback.format_exc()[-1500:]}"
    if made == undamaged[kind.name]:
        return "recovered", did
    return ("unseen" if one.kind == "new scans" and one.file.endswith(".dcm") else "silent"), did


def names(one: Try, did: str, text: str) -> bool:
    """Whether a message says which file is meant, or what it is of."""
    path, flat_text = Path(one.file), " ".join(text.split())
    words = [path.name, path.stem]
    if one.fault == "swap":
        words.append(did.removeprefix("for "))
    if path.parts[0] == "img" or one.kind in ("tables", "workbooks"):
        words += ["table.csv", "table.xlsx", "its data has changed"]
    if one.kind in ("tables", "workbooks", "configurations"):
        words.append("data.")  # half a text is a text, in which a key or a row is missing
    return any(word in flat_text for word in words)


def serve(pipe: Any, root: Path) -> None:
    """Make tries in this process until told to stop."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    undamaged: dict[str, Any] = {}
    with contextlib.suppress(EOFError):
        while True:
            pipe.send(attempt(root, pipe.recv(), undamaged))


class Server:
    """A process that makes tries, and is replaced when one of them hangs."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.start()

    def start(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=serve, args=(other, self.root), daemon=True)
        self.process.start()

    def make(self, one: Try, seconds: float) -> tuple[str, str]:
        self.pipe.send(one)
        if self.pipe.poll(seconds):
            try:
                return self.pipe.recv()
            except EOFError:
                self.process.join()
                self.start()
                return "traceback", f"the process ended with {self.process.exitcode}"
        self.process.kill()
        self.process.join()
        self.start()
        return "hang", f"over {seconds:.0f} s"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    every = [*(kind.name for kind in KINDS), *DISASTERS]
    parser.add_argument("--tries", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="six tries on two kinds")
    parser.add_argument("--only", action="append", choices=every)
    parser.add_argument("--seconds", type=float, default=60.0, help="after which a try hangs")
    parser.add_argument("--base", type=Path, help="folder to make the files in, or to find them")
    parser.add_argument("--list", action="store_true", help="each try that did not end well")
    asked = parser.parse_args()
    if asked.quick:
        asked.only, asked.tries = ["pictures", "tables"], 6
    ends: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    with contextlib.ExitStack() as stack, contextlib.suppress(KeyboardInterrupt):
        root = asked.base or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        root = root.resolve()
        kinds = [kind for kind in KINDS if kind.name in (asked.only or every)]
        if not (root / "made").exists():
            make(root, {kind.base for kind in kinds} if asked.quick else None)
        for kind, what, end, said in tries(root, kinds, asked):
            ends[kind][end] += 1
            if asked.list and end in BAD:
                print(f"\n{end}: {kind}, {what} ({said})", flush=True)
    return print_ends(ends)


def tries(root: Path, kinds: list[Kind], asked: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """Kind, file or command, end and what was said, of each try."""
    disasters = [name for name in DISASTERS if not asked.only or name in asked.only]
    shares = {name: SHARE[name] if kinds else 1 / len(disasters) for name in disasters}
    if kinds:
        count, server = round(asked.tries * (1 - sum(shares.values()))), Server(root)
        for one in draw_tries(root, kinds, count, asked.seed):
            yield one.kind, f"{one.file}, {one.fault}", *server.make(one, asked.seconds)
        server.process.kill()
    draw = random.Random(asked.seed)
    for name in disasters:
        if why := possible(name):
            print(f"{name}: not tried, {why}")
            continue
        maker = Disasters(root)
        for _ in range(max(round(asked.tries * shares[name]), 1)):
            yield name, *maker.make(name, draw.getrandbits(32))


def print_ends(ends: dict[str, collections.Counter[str]]) -> int:
    print(f"\n{'':16}{'tried':>8}" + "".join(f"{end:>11}" for end in ENDS))
    total: collections.Counter[str] = collections.Counter()
    for kind, counted in ends.items():
        total += counted
        print(f"{kind:16}{counted.total():8}" + "".join(f"{counted[end]:11}" for end in ENDS))
    print(f"{'all':16}{total.total():8}" + "".join(f"{total[end]:11}" for end in ENDS))
    return int(any(total[end] for end in ("traceback", "hang", "silent")))


if __name__ == "__main__":
    sys.exit(main())
