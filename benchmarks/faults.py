"""What a damaged or strange file does: named, recovered, or worse.

`python benchmarks/faults.py` makes small data sets, runs, a sweep, a pack, exports and the rest of
what medldr reads, then damages one file at a time in a copy and runs the command that reads it:
a flipped bit, a truncated file, one swapped for another, one that is empty, missing, a folder, a
FIFO, a device, a link to itself, deeply nested, or large. Each try ends as one of

- named: exit code 2 or 3, and the message names the file, or the folder or table that it is of;
- recovered: the results are those of the undamaged file, as after a flip that changes nothing;
- unnamed: exit code 2 without the file's name;
- traceback, hang (over `--seconds`), silent: other results, and no word.

The last three should be 0. Pictures in JPEG have no checksum of their own: a flipped bit there is
another picture, which only a run's record of its data notices; the tries on data sets read through
such a record. `--seed` draws other faults; `--only KIND` limits the kinds of files; `--list` prints
each try that did not end well; `--base DIR` keeps the files that are damaged for another call.
"""

import argparse
import collections
import contextlib
import hashlib
import io
import itertools
import multiprocessing
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ENDS = ("named", "recovered", "unnamed", "traceback", "hang", "silent")
BAD = ("unnamed", "traceback", "hang", "silent")
NEW = ("first.png", "second.dcm")
"""Scans to be predicted."""
MEMORY = 24 << 30
"""Address space of a process, so that a file without an end ends as a MemoryError."""


# --- what is damaged ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Kind:
    """Files of one kind and the command that reads them.

    Attributes:
        name: The name of the kind.
        base: Folder, below the base, that is copied for a try.
        files: Patterns of its files within that folder.
        use: Runs the commands on a copy; returns what they made, as a comparable value.
        weight: How many tries it gets, relative to others.
    """

    name: str
    base: str
    files: tuple[str, ...]
    use: Callable[[Path], Any]
    weight: float = 1.0


class CommandError(Exception):
    """A command ended with an exit code that is not 0 or 3."""


def medldr(*argv: Any, said: io.StringIO | None = None) -> None:
    """Run a command line in this process."""
    from medldr.cli import _run

    said = io.StringIO() if said is None else said
    before, sys.argv = sys.argv, ["medldr", *map(str, argv)]
    try:
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            code = _run()
    finally:
        sys.argv = before
    if code:
        raise CommandError(code, said.getvalue())


def predict(copy: Path) -> Any:
    """Answers of a run on two scans that it has not seen."""
    run = next(copy.glob("*-s0"))
    medldr("predict", run, *(copy / "new" / name for name in NEW), "--out", copy / "answers.csv")
    return (copy / "answers.csv").read_bytes()


def results(copy: Path) -> Any:
    """Every number of a run or of a sweep."""
    import medldr as package

    run = next(copy.glob("*-s0"), copy / "sweep")
    return package.results(run).to_csv()


def report(copy: Path) -> Any:
    """The page of a run or a sweep."""
    run = next(copy.glob("*-s0"), copy / "sweep")
    medldr("report", run)
    page = (run / "report.html").read_text(encoding="utf-8")
    return len(page.split())


def verify(copy: Path) -> Any:
    medldr("verify", next(copy.glob("*-s0"), copy / "sweep"))
    return True


def read_run(copy: Path) -> Any:
    """What a run says and answers, and whether `verify` accepts it."""
    return predict(copy), results(copy), report(copy), verify(copy)


def read_validation(copy: Path) -> Any:
    import medldr as package

    medldr("report", copy / "site")
    return package.results(copy / "site").to_csv()


def read_sweep(copy: Path) -> Any:
    return report(copy), results(copy), verify(copy)


def resume(copy: Path) -> Any:
    """The weights of an interrupted run, once it has been resumed."""
    medldr("train", copy / "study.yaml", "--out", copy / "out")
    run = next((copy / "out").iterdir())
    return hashlib.sha256((run / "model.safetensors").read_bytes()).hexdigest()


def train_again(copy: Path) -> Any:
    """A finished run, asked for again: it refuses data that has changed."""
    medldr("train", copy / "study.yaml", "--out", copy / "out")
    return images(copy)


def images(copy: Path) -> Any:
    """The images and labels that a run would be trained on."""
    from medldr.config.load import load_config
    from medldr.data import build_data

    data = build_data(load_config(copy / "study.yaml", ()))
    digest = hashlib.sha256(data.data_hash.encode())
    for index in range(len(data.table.images)):
        image = data.table.images[index]
        digest.update(memoryview(image.contiguous().numpy() if hasattr(image, "numpy") else image))
    return digest.hexdigest()


def analyze(copy: Path) -> Any:
    medldr("analyze", next(copy.glob("*-s0")), "--out", copy / "analysis", "--items", 20)
    return sorted((path.name, path.read_bytes()) for path in (copy / "analysis").glob("*.csv"))


KINDS: tuple[Kind, ...] = (
    Kind("pictures", "flat", ("img/**/*.*",), train_again),
    Kind("scans", "solid", ("img/**/*.*",), train_again),
    Kind("tables", "flat", ("table.csv",), train_again, 0.5),
    Kind("workbooks", "solid", ("table.xlsx",), train_again, 0.5),
    Kind("configurations", "flat", ("study.yaml",), train_again, 0.5),
    Kind("run", "done", ("*-s0/*.*", "*-s0/selected/**/*.*"), read_run, 2.0),
    Kind("new scans", "done", ("new/*",), predict),
    Kind("checkpoints", "halfway", ("out/*/checkpoints/*", "out/*/*.*"), resume, 1.0),
    Kind("packs", "packed", ("packed/*",), images),
    Kind("kept scans", "kept", ("cache/**/*.*",), images),
    Kind("latents", "done", ("*-s0/latents*",), analyze, 0.3),
    Kind("validation", "validated", ("site/**/*.*",), read_validation),
    Kind("sweeps", "swept", ("sweep/*.*", "sweep/logs/*"), read_sweep, 0.7),
)


# --- what is done to a file ---------------------------------------------------------------------


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


# --- what there is to damage --------------------------------------------------------------------

STUDY = """\
extends: [recipe/own_{dims}d, data/table, algorithm/erm]
label: tried
data: {{file: {file}, path: scan, label: finding, domain: hospital, group: patient, held_out: c,
  size: {size}, cache: {cache}}}
model: {{width: 0.125{stem}}}
training: {{epochs: {epochs}, batch_size: 8, precision: float32}}
evaluation: {{draws: 100{latents}}}
machine: {{threads: 1, workers: 0, device: cpu, report: false}}
"""


def make(root: Path, needed: set[str]) -> None:
    """Make everything where the tries find it, for packs and runs hold paths; then store it."""
    shutil.rmtree(root, ignore_errors=True)
    make_base(root / "work", needed)
    (root / "work").rename(root / "made")


def make_base(base: Path, needed: set[str]) -> None:
    """Data sets and all that medldr makes of them, one folder for each kind."""
    flat(base / "flat")
    if needed == {"flat"}:
        finish(base / "flat")
        return
    solid(base / "solid")
    for name in ("flat", "solid"):
        finish(base / name)
    done = base / "done"
    shutil.copytree(base / "flat", done)
    write_study(done, latents=", latents: true")
    shutil.rmtree(done / "out")
    finish(done)
    next((done / "out").iterdir()).rename(done / "tried-s0")
    (done / "new").mkdir()
    for name in NEW:
        shutil.copy(next((done / "img").rglob(f"*{Path(name).suffix}")), done / "new" / name)
    halfway(base / "halfway", base / "flat")
    shutil.copytree(base / "flat", base / "packed")
    table = base / "packed" / "table.csv"  # a pack holds images of 8 bits
    lines = [line for line in table.read_text().splitlines() if ".dcm" not in line]
    table.write_text("\n".join(lines) + "\n")
    with at(base / "packed"):
        medldr("data", "pack", "study.yaml", "--out", "packed")
    write_study(base / "packed", pack=True)
    shutil.copytree(base / "solid", base / "kept")
    write_study(base / "kept", cache="disk")
    with at(base / "kept"):
        images(Path())
    validated = base / "validated"
    shutil.copytree(done, validated)
    with at(validated):
        medldr("validate", "tried-s0", "table.csv", "--out", "site", "--keep-seen")
    swept(base / "swept", base / "flat")


def write_study(folder: Path, **changed: Any) -> None:
    dims = 3 if (folder / "table.xlsx").exists() else 2
    values = {"dims": dims, "epochs": 2, "latents": "", "cache": "off"}
    values |= {"file": "table.xlsx" if dims == 3 else "table.csv"}
    values |= {"size": "[8, 12, 12]" if dims == 3 else "[16, 16]", "stem": ", stem: small"}
    values |= {key: value for key, value in changed.items() if key != "pack"}
    text = STUDY.format(**values)
    if changed.get("pack"):
        text = text.replace("data: {", "data: {packed: packed, ")
    (folder / "study.yaml").write_text(text)


@contextlib.contextmanager
def at(folder: Path) -> Iterator[None]:
    """Work in a folder, with what medldr keeps below it."""
    before, os.environ["MEDLDR_CACHE"] = os.environ.get("MEDLDR_CACHE"), str(folder / "cache")
    place = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(place)
        if before is None:
            del os.environ["MEDLDR_CACHE"]
        else:
            os.environ["MEDLDR_CACHE"] = before


def finish(folder: Path) -> None:
    with at(folder):
        medldr("train", "study.yaml", "--out", "out")


def items(per_class: int) -> Iterator[tuple[str, int, str]]:
    """Hospital, class and name of each image."""
    for hospital, finding, number in itertools.product("abc", (0, 1), range(per_class)):
        yield hospital, finding, f"{hospital}{finding}{number:02}"


def flat(folder: Path) -> None:
    """Pictures of each kind, with a table."""
    import numpy as np
    import pydicom
    import tifffile
    from PIL import Image
    from pydicom.uid import ExplicitVRLittleEndian, generate_uid

    rng, rows = np.random.default_rng(0), ["scan,finding,hospital,patient"]
    for number, (hospital, finding, name) in enumerate(items(8)):
        pixels = rng.integers(0, 200, (16, 16), dtype=np.uint8)
        pixels[4:10, 4:10] += np.uint8(50 * finding)
        path = folder / "img" / hospital / f"{name}.{('png', 'jpg', 'tif', 'dcm')[number % 4]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".dcm":
            made = pydicom.Dataset()
            made.file_meta = pydicom.dataset.FileMetaDataset()
            made.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
            made.file_meta.MediaStorageSOPClassUID = "1.2.840.10008.5.1.4.1.1.7"
            made.file_meta.MediaStorageSOPInstanceUID = generate_uid(entropy_srcs=[name])
            made.SOPClassUID = made.file_meta.MediaStorageSOPClassUID
            made.SOPInstanceUID = made.file_meta.MediaStorageSOPInstanceUID
            made.SeriesInstanceUID = generate_uid(entropy_srcs=[name, "series"])
            made.Modality, made.Rows, made.Columns = "OT", 16, 16
            made.SamplesPerPixel, made.PhotometricInterpretation = 1, "MONOCHROME2"
            made.BitsAllocated = made.BitsStored = 8
            made.HighBit, made.PixelRepresentation = 7, 0
            made.PixelData = pixels.tobytes()
            made.save_as(path, enforce_file_format=True)
        elif path.suffix == ".tif":
            tifffile.imwrite(path, pixels, compression="zlib")
        else:
            Image.fromarray(pixels).save(path, quality=95)
        rows.append(f"{path.relative_to(folder)},{finding},{hospital},p{name}")
    (folder / "table.csv").write_text("\n".join(rows) + "\n")
    write_study(folder)


def solid(folder: Path) -> None:
    """Volumes of each kind, with a workbook."""
    import nibabel
    import numpy as np
    import openpyxl
    import SimpleITK

    rng, book = np.random.default_rng(1), openpyxl.Workbook()
    book.active.append(["scan", "finding", "hospital", "patient"])
    for number, (hospital, finding, name) in enumerate(items(4)):
        voxels = rng.normal(0, 100, (12, 12, 8)).astype(np.int16)
        voxels[4:8, 4:8, 2:5] += np.int16(300 * finding)
        ending = ("nii.gz", "nii", "mha", "nrrd")[number % 4]
        path = folder / "img" / hospital / f"{name}.{ending}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if ending.startswith("nii"):
            nibabel.save(nibabel.Nifti1Image(voxels, np.eye(4)), path)
        else:
            image = SimpleITK.GetImageFromArray(voxels.T.copy())
            SimpleITK.WriteImage(image, str(path), useCompression=number % 8 > 3)
        book.active.append([str(path.relative_to(folder)), finding, hospital, f"p{name}"])
    book.save(folder / "table.xlsx")
    write_study(folder)


def halfway(folder: Path, source: Path) -> None:
    """A run that was stopped after its second evaluation."""
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("out"))
    write_study(folder, epochs=4)
    command = [sys.executable, "-m", "medldr.cli", "train", "study.yaml", "--out", "out"]
    with at(folder), subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            rows = [p.read_text().count("\n") for p in folder.glob("out/*/metrics.jsonl")]
            if rows and rows[0] >= 2:
                process.send_signal(signal.SIGTERM)
                break
            time.sleep(0.02)
    shutil.copytree(folder / "out", folder / "before")


def swept(folder: Path, source: Path) -> None:
    """A sweep of two methods."""
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("out"))
    common = (folder / "study.yaml").read_text().replace("label: tried\n", "")
    common = common.replace(", algorithm/erm", "")
    text = "title: Tried\ncommon:\n" + "".join(f"  {line}\n" for line in common.splitlines())
    text += "runs:\n" + "".join(
        f"  - {{label: {name}, extends: [algorithm/{name}]}}\n" for name in ("erm", "coral")
    )
    text += "seeds: [0]\ntable: {rows: run}\n"
    (folder / "study.yaml").write_text(text)
    with at(folder):
        medldr("sweep", "study.yaml", "--out", "sweep")


# --- tries --------------------------------------------------------------------------------------


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
    copy = fresh(root, kind)
    if kind.name not in undamaged:
        with at(copy):
            undamaged[kind.name] = kind.use(Path())
        fresh(root, kind)
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
    return ("recovered" if made == undamaged[kind.name] else "silent"), did


def fresh(root: Path, kind: Kind) -> Path:
    """An undamaged copy, where it was made."""
    shutil.rmtree(root / "work", ignore_errors=True)
    return shutil.copytree(root / "made" / kind.base, root / "work" / kind.base, symlinks=True)


def names(one: Try, did: str, text: str) -> bool:
    """Whether a message says which file is meant, or what it is of."""
    path, flat_text = Path(one.file), " ".join(text.split())
    words = [path.name, path.stem]
    if one.fault == "swap":
        words.append(did.removeprefix("for "))
    if path.parts[0] == "img":
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
    parser.add_argument("--tries", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true", help="six tries on two kinds")
    parser.add_argument("--only", action="append", choices=[kind.name for kind in KINDS])
    parser.add_argument("--seconds", type=float, default=60.0, help="after which a try hangs")
    parser.add_argument("--base", type=Path, help="folder to make the files in, or to find them")
    parser.add_argument("--list", action="store_true", help="each try that did not end well")
    asked = parser.parse_args()
    with contextlib.ExitStack() as stack:
        root = asked.base or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        root = root.resolve()
        only = ["pictures", "tables"] if asked.quick else asked.only
        kinds = [kind for kind in KINDS if not only or kind.name in only]
        if not (root / "made").exists():
            make(root, {kind.base for kind in kinds})
        ends: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        server = Server(root)
        for one in draw_tries(root, kinds, 6 if asked.quick else asked.tries, asked.seed):
            end, said = server.make(one, asked.seconds)
            ends[one.kind][end] += 1
            if asked.list and end in BAD:
                print(f"\n{end}: {one.kind}, {one.file}, {one.fault} ({said})", flush=True)
    return print_ends(ends)


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
