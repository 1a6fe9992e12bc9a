"""Predicting new pictures from files, beside the plain forward pass of the same network.

    python benchmarks/prediction.py [--pictures 1000] [--width 1.0] [--rounds 3]
    python benchmarks/prediction.py --quick    # few pictures, a small network: to see that it runs

Pictures (RGB PNGs of 96 pixels) are written to a temporary folder, and a network is trained on some
of them for one epoch. Then, in turns in this process:

1. `predict_items`: files to probabilities with warnings, the network loaded already;
2. the same pictures as a tensor through `model(image)` alone, in batches of the same size;
3. Pillow's decoding of all files, on one thread.

The floor of the first is the greater of the other two, because reading and answering overlap; with
few cores it is nearer to their sum. torch has one thread unless `--threads` says otherwise.
"""

import argparse
import csv
import platform
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from PIL import Image
from rich.console import Console
from rich.table import Table

import medldr
from medldr.prediction.items import find_items
from medldr.prediction.predict import load_runs, predict_items

SIZE = 96
TRAINED = 60


def write(folder, count):
    """Pictures of two classes, smooth colours under grain, and the table of those trained on."""
    rows = []
    for number in range(count):
        random = np.random.default_rng(number)
        smooth = Image.fromarray(random.integers(60, 230, (8, 8, 3), dtype=np.uint8))
        colours = np.asarray(smooth.resize((SIZE, SIZE), Image.Resampling.BICUBIC), np.float32)
        pixels = np.clip(colours + random.normal(0, 6.5, colours.shape), 0, 255).astype(np.uint8)
        Image.fromarray(pixels).save(folder / f"{number:05}.png", compress_level=1)
        rows.append([f"{number:05}.png", "ab"[number % 2]])
    with (folder / "t.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["path", "label"], *rows[:TRAINED]])


def train(folder, width, threads):
    """The folder of a run."""
    config = {
        "extends": ["recipe/own_microscopy", "algorithm/erm", "data/table"],
        "data": {"file": str(folder / "t.csv"), "size": SIZE},
    }
    small = [
        f"model.width={width}", "training.epochs=1", "training.batch_size=16",
        "evaluation.draws=100", "machine.report=false", f"machine.threads={threads}",
    ]  # fmt: skip
    return medldr.train(config, small, folder / "runs").folder


def timed(work):
    """Seconds."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main():
    """Write, train, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=int, default=1000)
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    count, width, rounds = given.pictures, given.width, given.rounds
    if given.quick:
        count, width, rounds = TRAINED, 0.0625, 1
    torch.set_num_threads(given.threads)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        write(folder, count)
        (run,) = load_runs(train(folder, width, given.threads))
        torch.set_num_threads(given.threads)
        items = find_items([folder], 2)[:count]
        stored = [run.reader.read(item.source).image for item in items]
        seen = run.pipeline.evaluate(torch.from_numpy(np.stack(stored)))

        def forward():
            with torch.inference_mode(), run.fabric.autocast():
                for batch in seen.split(run.batch_size):
                    run.model(batch)

        def decode():
            for item in items:
                np.asarray(Image.open(item.source.path).convert("RGB"))

        work = {
            "medldr predict": lambda: predict_items([run], items),
            "plain forward pass": forward,
            "decoding, one thread": decode,
        }
        for one in work.values():  # once untimed
            one()
        times = {name: [] for name in work}
        for _ in range(rounds):
            for name, one in work.items():
                times[name].append(timed(one))
    middle = {name: statistics.median(found) for name, found in times.items()}
    floor = max(middle["plain forward pass"], middle["decoding, one thread"])
    table = Table(title=f"{count:,} pictures of {SIZE} pixels, ResNet-18 of width {width:g}")
    for name in ("", "seconds", "pictures per second", "times the floor"):
        table.add_column(name, justify="left" if not name else "right")
    for name, seconds in middle.items():
        table.add_row(name, f"{seconds:.2f}", f"{count / seconds:,.0f}", f"{seconds / floor:.2f}")
    console = Console()
    console.print(f"{platform.machine()}, {run.fabric.device}, {given.threads} thread(s)")
    console.print(table)


if __name__ == "__main__":
    main()
