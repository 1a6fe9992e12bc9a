"""Own scans from files: the check, the start of a run, and its epochs, each beside its floor.

    python benchmarks/own_scans.py [--pictures 5000] [--volumes 400] [--rounds 5] [--workers 2]
    python benchmarks/own_scans.py --quick    # 96 pictures and 32 volumes, to check that it runs

Pictures (RGB PNGs of 96 pixels) and volumes (NIfTI, zipped int16, 64 x 64 x 48) of four hospitals,
and a table of each, are written to a temporary folder, where `$MEDLDR_CACHE` is too. Then:

1. `medldr data check` with its page, and the start of a run (`build_data`), each in a process of
   its own: at first, when nothing is known of the files, and again, when all is remembered. The
   time of the check includes the imports, whose packages alone are a row of their own.
2. Epochs of the training images without a network, by what `data.cache` says, and those of a plain
   loop, which reads each file with Pillow or nibabel and makes the same numbers of it; that they
   are the same is checked. The loaders take turns in this process, so that all slow down equally if
   the machine's speed drifts; those that read files do so in two rounds, which are slow and decide
   nothing. The changes of the preset `scan` have probability 0, for they cost more than reading.
3. Steps of a network an eighth as wide as usual, and the part of their time for which it waits for
   images. The last row has the changes of the preset, which count as waiting.

torch has one thread unless `--threads` says otherwise: with more, it waits at the end of each
operation for the slowest, which measures what else the machine is doing.

Claim: an epoch of images that are kept on the disk takes at most 1.1 times as long as one of images
in memory. If the median of the rounds' ratios is above that, the exit code is 1.

The floors are what this machine needs for the same without medldr, measured here too: to read the
files one after another, to decode each once with Pillow, or unzip it with zlib, on as many cores as
may be used, to ask for the state of each file, to read the kept array once; and for images that are
kept, to copy them once as stored and once as float32. Files and array have been read before, so the
system has them in memory if they fit; what the disk itself gives is printed above.
"""

import argparse
import csv
import gzip
import io
import json
import multiprocessing
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from unittest import mock

import nibabel
import numpy as np
import torch
from PIL import Image
from rich.console import Console
from rich.table import Table

from medldr import cli
from medldr.config import load_config
from medldr.data import build_data
from medldr.models import build_model

ALLOWED = 1.1  # kept on the disk over kept in memory, time of an epoch
SIZE = 96
SHAPE = (64, 64, 48)
HOSPITALS = ("east", "north", "south", "west")
DISK, MEMORY, OFF, PLAIN = "disk", "memory", "off", "plain loop"
IMPORTS = "imports of the check"
BLOCK = 1 << 20


def write_picture(number, folder):
    """A PNG like a photograph in what it costs: smooth colours under grain."""
    random = np.random.default_rng(number)
    smooth = Image.fromarray(random.integers(60, 230, (8, 8, 3), dtype=np.uint8))
    colours = np.asarray(smooth.resize((SIZE, SIZE), Image.Resampling.BICUBIC), np.float32)
    pixels = np.clip(colours + random.normal(0, 6.5, colours.shape), 0, 255).astype(np.uint8)
    Image.fromarray(pixels).save(folder / f"{number:05d}.png", compress_level=1)


def write_volume(number, folder):
    """A zipped volume: boxes under noise, its first two axes towards the right and the front."""
    random = np.random.default_rng(number)
    boxes = random.normal(0, 200, [n // 8 for n in SHAPE])
    smooth = boxes.repeat(8, 0).repeat(8, 1).repeat(8, 2)
    values = (smooth + random.integers(-20, 20, SHAPE)).astype(np.int16)
    image = nibabel.Nifti1Image(values, np.diag([-1.0, -1.0, 2.0, 1.0]))
    (folder / f"{number:05d}.nii.gz").write_bytes(gzip.compress(image.to_bytes(), 1))


class Pictures:
    """What is particular to pictures."""

    name, batch, steps = "pictures", 32, 30
    write = staticmethod(write_picture)

    @staticmethod
    def decode(content):
        """Decode one file, and no more."""
        with Image.open(io.BytesIO(content)) as picture:
            picture.load()

    @staticmethod
    def read(path):
        """The usual lines: ``(3, H, W)`` float32 from 0 to 1."""
        with Image.open(path) as picture:
            pixels = np.asarray(picture.convert("RGB"))
        return torch.from_numpy(pixels.transpose(2, 0, 1).copy()).float().div_(255)


class Volumes:
    """What is particular to volumes."""

    name, batch, steps = "volumes", 8, 12
    write = staticmethod(write_volume)

    @staticmethod
    def decode(content):
        """Unzip one file, and no more."""
        gzip.decompress(content)

    @staticmethod
    def read(path):
        """The usual lines: ``(1, X, Y, Z)`` float32 from 0 to 1, RAS+, by percentiles."""
        values = np.asanyarray(nibabel.as_closest_canonical(nibabel.load(path)).dataobj)
        low, high = np.percentile(values, (0.5, 99.5))
        unit = np.clip((values.astype(np.float64) - low) / (high - low), 0, 1)
        return torch.from_numpy(unit.astype(np.float32)[None])


def write(kind, root, count, cores):
    """Files and their table; returns the files."""
    folder = root / kind.name
    folder.mkdir()
    with multiprocessing.get_context("fork").Pool(cores) as pool:
        pool.starmap(kind.write, [(number, folder) for number in range(count)], chunksize=8)
    paths = sorted(folder.iterdir())
    with (root / f"{kind.name}.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["path", "label", "domain", "group"])
        for number, path in enumerate(paths):
            patient = number // 4
            hospital = HOSPITALS[patient % 4]
            rows.writerow([f"{kind.name}/{path.name}", number % 2, hospital, f"p{patient}"])
    os.sync()
    return paths


def settings(kind, root, cache="disk", workers=0, probability=0.0):
    """A run over a table; no image is changed in training unless asked for."""
    table = {"file": str(root / f"{kind.name}.csv"), "domain": "domain", "group": "group"}
    return load_config(
        {
            "data": {"name": "table", "cache": cache, **table},
            "transform": {"name": "scan", "probability": probability},
            "model": {"name": "resnet18", "stem": "imagenet", "width": 0.125},
            "algorithm": "erm",
            "training": {"batch_size": kind.batch, "drop_last": True},
            "machine": {"workers": workers},
        }
    )


def seconds(work, *given):
    """Seconds that a call takes."""
    start = time.perf_counter()
    work(*given)
    return time.perf_counter() - start


def read_all(paths):
    """Read files one after another."""
    for path in paths:
        with open(path, "rb", buffering=0) as file:
            while file.read(BLOCK):
                pass


def forget(paths):
    """Ask the system to drop what it keeps of files in memory."""
    for path in paths:
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def copy_rate(size, tries=5):
    """Bytes per second of copying memory that no cache holds: the best of several tries."""
    source, target = np.ones(size, np.uint8), np.zeros(size, np.uint8)
    return size / min(seconds(np.copyto, target, source) for _ in range(tries))


def measure_floors(kind, paths, quick):
    """Seconds per file of what no reader can do without, and the rate of copying."""
    size, count = sum(path.stat().st_size for path in paths), len(paths)
    from_disk = None
    if hasattr(os, "posix_fadvise"):
        forget(paths)
        from_disk = size / seconds(read_all, paths)
    read_all(paths)
    some = [path.read_bytes() for path in paths[:300]]

    def decode():
        for content in some:
            kind.decode(content)

    return {
        "bytes": size / count,
        "from_disk": from_disk,
        "read": min(seconds(read_all, paths) for _ in range(3)) / count,
        "decode": min(seconds(decode) for _ in range(3)) / len(some),
        "state": min(seconds(lambda: [os.stat(path) for path in paths]) for _ in range(3)) / count,
        "copy_rate": copy_rate(1 << 24 if quick else 1 << 28),
    }


def in_a_process(words, program=("-m", "medldr.cli")):
    """Run a program of Python, medldr unless told otherwise, to its end."""
    command = [sys.executable, *program, *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def here(words):
    """Run medldr to its end in this process."""
    with mock.patch.object(sys, "argv", ["medldr", *words]):
        try:
            cli.main()
        except SystemExit as end:
            if end.code:
                raise


def start(kind, root):
    """Seconds until the data of a run are ready, its program being imported."""
    import medldr.run  # noqa: F401

    return seconds(build_data, settings(kind, root))


def measure_starts(kind, root, quick):
    """Seconds of the check and of the start of a run, cold and warm, in processes of their own.

    A quick look is cold only, and does both in this process.
    """
    found = {}
    check = ["data", "check", "table", f"data.file={root / kind.name}.csv"]
    check += ["data.domain=domain", "data.group=group", "--page", str(root / "page.html")]
    for title, work in (
        ("check", lambda: seconds(here if quick else in_a_process, check)),
        ("start", lambda: start(kind, root) if quick else in_new_process(start, kind, root)),
    ):
        os.environ["MEDLDR_CACHE"] = str(root / f"cache_{kind.name}_{title}")
        found[f"{title}, at first"] = work()
        if not quick:
            found[f"{title}, again"] = work()
    return found


def measure_imports():
    """Seconds of the imports of the check."""
    return seconds(in_a_process, ["import torch, torchvision, sklearn.linear_model"], ["-c"])


def in_new_process(work, *given):
    """What a function returns in a process that has imported nothing yet."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *given).result()


def medldr_epoch(kind, root, cache, workers=0):
    """An epoch of medldr's loader, and the loader."""
    config = settings(kind, root, cache, workers)
    loader = build_data(config).train_loader(config, sampler="shuffle", device="cpu")

    def epoch(number):
        for _ in loader.batches(number):
            pass

    return epoch, loader


def plain_epoch(kind, paths, rows):
    """An epoch of the usual lines, in an order of its own."""

    def epoch(number):
        order = np.random.default_rng(number).permutation(rows)
        for at in range(0, len(order) - kind.batch + 1, kind.batch):
            images = [kind.read(paths[row]) for row in order[at : at + kind.batch].tolist()]
            torch.stack(images).sub_(0.5).div_(0.5)

    return epoch


def require_equal(kind, loader, paths):
    """Hold a batch of medldr's against the plain loop's numbers."""
    batch = next(iter(loader.batches(0)))
    for image, row in zip(batch.image, batch.index.tolist(), strict=True):
        torch.testing.assert_close(
            image, kind.read(paths[row]).sub(0.5).div(0.5), rtol=0, atol=1e-6
        )


def measure_epochs(kind, root, paths, rounds, workers):
    """Seconds per image: of each loader's first epoch, and of those that follow, by round."""
    several = f"{OFF}, {workers} workers"
    made = {
        DISK: medldr_epoch(kind, root, "disk"),
        MEMORY: medldr_epoch(kind, root, "memory"),
        f"{OFF}, 0 workers": medldr_epoch(kind, root, "off"),
        several: medldr_epoch(kind, root, "off", workers),
    }
    loader = made[DISK][1]
    for _, other in made.values():
        require_equal(kind, other, paths)
    epochs = {title: epoch for title, (epoch, _) in made.items()}
    epochs[PLAIN] = plain_epoch(kind, paths, loader.rows)
    images = loader.steps_per_epoch * kind.batch
    first = {title: seconds(epoch, 0) / images for title, epoch in epochs.items()}
    later = {title: [] for title in epochs}
    titles = list(epochs)
    for turn in range(1, rounds + 1):
        for title in titles[turn % len(titles) :] + titles[: turn % len(titles)]:
            if turn > 2 and title not in (DISK, MEMORY):
                continue
            later[title].append(seconds(epochs[title], turn) / images)
    return first, later


def measure_steps(kind, root, given):
    """Of each way of keeping images: seconds per image of steps, and the part that is waiting."""
    ways = {
        DISK: settings(kind, root, "disk"),
        MEMORY: settings(kind, root, "memory"),
        f"{OFF}, 0 workers": settings(kind, root, "off"),
        f"{OFF}, {given.workers} workers": settings(kind, root, "off", given.workers),
        f"{DISK}, with changes": settings(kind, root, "disk", probability=0.8),
    }
    found = {}
    for title, config in ways.items():
        data = build_data(config)
        model = build_model(config.model, data.spec, seed=0)
        loader = data.train_loader(config, sampler="shuffle", device="cpu")
        steps = 1 if given.quick else min(kind.steps, loader.steps_per_epoch)
        train(model, next(iter(loader.batches(0))))  # memory is asked for, kernels are chosen
        batches = loader.batches(1)
        waited, begun = 0.0, time.perf_counter()
        for _ in range(steps):
            before = time.perf_counter()
            batch = next(batches)
            waited += time.perf_counter() - before
            train(model, batch)
        took = time.perf_counter() - begun
        batches.close()
        found[title] = {"seconds": took / (steps * kind.batch), "waited": waited / took}
    return found


def train(model, batch):
    """Forward and backward."""
    model.zero_grad(set_to_none=True)
    torch.nn.functional.cross_entropy(model(batch.image), batch.label).backward()


def measure(kind, root, given, cores, imports, console):
    """Everything of one kind of scan, and its floors, in seconds per image or of the whole set."""
    count = getattr(given, kind.name)
    paths = write(kind, root, count, cores)
    floors = measure_floors(kind, paths, given.quick)
    image = int(np.prod(kind.read(paths[0]).shape))
    stored = image * (1 if kind is Pictures else 4)
    console.print(
        f"{count:,} {kind.name} of {floors['bytes'] / 1e3:.1f} kB: read at "
        f"{floors['bytes'] / floors['read'] / 1e6:,.0f} MB/s from memory"
        + (f", {floors['from_disk'] / 1e6:,.0f} MB/s from the disk" if floors["from_disk"] else "")
        + f"; decoded in {1e3 * floors['decode']:.2f} ms each by one core; memory is copied at "
        f"{floors['copy_rate'] / 1e9:.1f} GB/s"
    )
    starts = {IMPORTS: imports, **measure_starts(kind, root, given.quick)}
    (kept,) = (Path(os.environ["MEDLDR_CACHE"]) / "scans").glob("*/images.npy")
    array = min(seconds(read_all, [kept]) for _ in range(3))
    once = count * (floors["read"] + floors["decode"] / cores)
    known = count * floors["state"] + array
    of_starts = {IMPORTS: None, "check, at first": starts[IMPORTS] + once}
    of_starts |= {"check, again": starts[IMPORTS] + known}
    of_starts |= {"start, at first": once, "start, again": known}
    first, later = measure_epochs(kind, root, paths, given.rounds, given.workers)
    copied = (stored + 4 * image) / floors["copy_rate"]
    read = floors["read"] + floors["decode"]
    several = floors["read"] + floors["decode"] / max(1, min(given.workers, cores))
    each = [copied, copied, read, several, read]
    ratios = [disk / memory for disk, memory in zip(later[DISK], later[MEMORY], strict=True)]
    return {
        "floors": floors,
        "starts": {key: {"seconds": starts[key], "floor": of_starts[key]} for key in starts},
        "epochs": {
            title: {"first": first[title], "later": later[title], "floor": floor}
            for title, floor in zip(later, each, strict=True)
        },
        "steps": measure_steps(kind, root, given),
        "ratio": {"median": statistics.median(ratios), "min": min(ratios), "max": max(ratios)},
    }


def show(kind, found, console):
    """Print the numbers beside their floors; returns whether the claim holds."""
    table = titled(f"{kind.name}, s", ("", "took", "floor", "times"))
    for title, one in found["starts"].items():
        table.add_row(title, f"{one['seconds']:.2f}", *beside(one["seconds"], one["floor"], 2))
    console.print(table)
    heads = ("data.cache", "first", "later", "spread", "floor", "times")
    table = titled(f"{kind.name}, ms each, epochs without a network", heads)
    for title, one in found["epochs"].items():
        middle, *ends = (1e3 * f(one["later"]) for f in (statistics.median, min, max))
        texts = (f"{1e3 * one['first']:.3f}", f"{middle:.3f}", "{:.3f} to {:.3f}".format(*ends))
        table.add_row(title, *texts, *beside(middle, 1e3 * one["floor"], 3))
    console.print(table)
    heads = ("data.cache", "step", "of it, waiting for images")
    table = titled(f"{kind.name}, ms each, steps of a small network", heads)
    for title, one in found["steps"].items():
        table.add_row(title, f"{1e3 * one['seconds']:.2f}", f"{100 * one['waited']:.0f}%")
    console.print(table)
    ratio = found["ratio"]
    good = ratio["median"] <= ALLOWED
    console.print(
        f"{kind.name}, epochs, {DISK} / {MEMORY}: {ratio['median']:.2f} ({ratio['min']:.2f} to "
        f"{ratio['max']:.2f}), allowed {ALLOWED}: {'good' if good else 'TOO SLOW'}"
    )
    return good


def titled(title, heads):
    """A table whose numbers stand below one another."""
    table = Table(title=title, title_justify="left")
    for number, head in enumerate(heads):
        table.add_column(head, justify="right" if number else "left", no_wrap=True)
    return table


def beside(value, floor, digits):
    """A floor, and how many times it a value is."""
    return ("", "") if floor is None else (f"{floor:.{digits}f}", f"{value / floor:.1f}")


def busy():
    """What else the machine does: its load over the last minute."""
    return f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""


def main():
    """Write, measure, print tables, write JSON if asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few files, one round")
    parser.add_argument("--pictures", type=int, default=5000, help="pictures to write")
    parser.add_argument("--volumes", type=int, default=400, help="volumes to write")
    parser.add_argument("--rounds", type=int, default=5, help="epochs of each loader")
    parser.add_argument("--workers", type=int, default=2, help="processes that read files")
    parser.add_argument("--threads", type=int, default=1, help="of torch")
    parser.add_argument("--folder", type=Path, help="where the temporary folder goes")
    parser.add_argument("--json", type=Path, help="write all numbers there too")
    given = parser.parse_args()
    if given.quick:
        given.pictures, given.volumes, given.rounds = 96, 32, 1
    torch.set_num_threads(given.threads)
    console = Console(highlight=False)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    console.print(f"{platform.machine()}, {cores} cores{busy()}")
    found, good = {}, True
    imports = 0.0 if given.quick else measure_imports()
    with tempfile.TemporaryDirectory(dir=given.folder) as temporary:
        for kind in (Pictures, Volumes):
            root = Path(temporary)
            found[kind.name] = measure(kind, root, given, cores, imports, console)
            good &= show(kind, found[kind.name], console)
            console.print(f"done{busy()}")
    if given.json is not None:
        given.json.write_text(json.dumps(found, indent=1) + "\n")
        console.print(f"written to {given.json}")
    return 0 if good or given.quick else 1


if __name__ == "__main__":
    sys.exit(main())
