"""Images per second of the batched stain jitter against one image at a time, in one process.

    python benchmarks/stain_jitter.py [--turns 9] [--threads 1 2] [--json FILE]
    python benchmarks/stain_jitter.py --quick    # one small batch, to check that it runs

Four implementations turn the same stored patches from uint8 into jittered float images in [0, 1]:
the three published steps in NumPy, one image at a time, as in a data set's item (float64, and
float32); the same three steps in torch on the whole batch, in the best ten lines one can write; and
medldr's own. They take turns; if the machine's speed drifts, all of them slow down equally. Ratios
are medians over the turns. More than one thread is informative only on an otherwise idle machine:
each step of a batch waits for its slowest thread, while single images wait for none.

Two floors are shown as well: every value needs one exponential (medldr takes logarithms from a
table of 256, so it computes none; the others compute both), and it must be read as one byte and
written as four. Rates of exp, log and copying are measured here, on batches of the same size.
"""

import argparse
import json
import platform
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from medldr.transforms.stain_jitter import EPSILON, STAIN_MATRIX, stain_jitter

AT_LEAST = 5.0
"""How many times faster than NumPy, one picture at a time, the batched jitter is to be."""

SIGMA = 0.1


def one_by_one(images, alpha, beta, dtype):
    """The three published steps in NumPy, one picture at a time."""
    matrix = STAIN_MATRIX.numpy().astype(dtype)
    inverse = np.linalg.inv(STAIN_MATRIX.numpy()).astype(dtype)
    pictures = images.permute(0, 2, 3, 1).contiguous().numpy()
    alpha, beta = alpha.numpy().astype(dtype), beta.numpy().astype(dtype)

    def step():
        jittered = []
        for picture, a, b in zip(pictures, alpha, beta, strict=True):
            unit = picture.astype(dtype) / dtype(255)
            stains = -np.log(dtype(255) * unit + dtype(EPSILON)) @ inverse
            changed = np.exp(-((stains * a + b) @ matrix))
            jittered.append(np.clip((changed - dtype(EPSILON)) / dtype(255), 0, 1))
        return torch.from_numpy(np.stack(jittered)).permute(0, 3, 1, 2)

    return step


def three_steps(images, alpha, beta):
    """The three published steps in torch, on the whole batch."""
    matrix = STAIN_MATRIX.float()
    inverse = torch.linalg.inv(STAIN_MATRIX).float()
    a, b = alpha[:, None], beta[:, None]

    def step():
        unit = images.flatten(2).transpose(1, 2).float().div_(255)
        stains = unit.mul_(255).add_(EPSILON).log_().neg_() @ inverse
        changed = (-(stains.mul_(a).add_(b) @ matrix)).exp_()
        unit = changed.sub_(EPSILON).div_(255).clamp_(0, 1)
        return unit.transpose(1, 2).reshape(images.shape)

    return step


def best(call, repeats=15):
    """Shortest of many tries, in seconds."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


def floors(images):
    """Seconds that the arithmetic and the memory alone would take for this batch."""
    values = torch.rand(images.shape)
    target = torch.empty_like(values)
    exp = best(lambda: torch.exp(values, out=target))
    log = best(lambda: torch.log(values, out=target))
    copied = best(lambda: target.copy_(values))
    moved = values.nbytes * 2  # read and written
    return {
        "exp": exp,
        "log and exp": log + exp,
        "bytes": images.numel() * 5 / (moved / copied),
    }


def measure(size, batch, threads, turns):
    """Time the four ways in turns and relate them."""
    torch.set_num_threads(threads)
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (batch, 3, size, size), dtype=torch.uint8, generator=generator)
    alpha = 1 + SIGMA * (2 * torch.rand(batch, 3, generator=generator) - 1)
    beta = SIGMA * (2 * torch.rand(batch, 3, generator=generator) - 1)
    ways = {
        "NumPy float64, one by one": one_by_one(images, alpha, beta, np.float64),
        "NumPy float32, one by one": one_by_one(images, alpha, beta, np.float32),
        "torch, three steps": three_steps(images, alpha, beta),
        "medldr": lambda: stain_jitter(images, alpha, beta),
    }
    titles = list(ways)
    with threadpool_limits(threads, user_api="blas"):
        pictures = {title: way() for title, way in ways.items()}  # warm up, and compare
        wanted = pictures[titles[0]]
        furthest = {t: float((p - wanted).abs().max()) * 255 for t, p in pictures.items()}
        del pictures, wanted
        seconds = {title: [] for title in titles}
        for turn in range(turns):
            at = turn % len(titles)
            for title in titles[at:] + titles[:at]:
                start = time.perf_counter()
                ways[title]()
                seconds[title].append(time.perf_counter() - start)
    return {
        "size": size,
        "batch": batch,
        "threads": threads,
        "turns": turns,
        "furthest_from_float64_in_grey_levels": furthest,
        "pictures_per_second": {
            title: {
                "median": batch / statistics.median(times),
                "min": batch / max(times),
                "max": batch / min(times),
            }
            for title, times in seconds.items()
        },
        "medldr_times_faster": {
            title: ratio(times, seconds["medldr"])
            for title, times in seconds.items()
            if title != "medldr"
        },
        "floor_pictures_per_second": {k: batch / v for k, v in floors(images).items()},
    }


def ratio(above, below):
    """Median and spread of the ratios of paired times."""
    each = [a / b for a, b in zip(above, below, strict=True)]
    return {"median": statistics.median(each), "min": min(each), "max": max(each)}


def show(found, console):
    """Print one case."""
    table = Table(
        title=f"{found['size']} pixels, batch {found['batch']}, {found['threads']} thread(s), "
        f"{found['turns']} turns",
        title_justify="left",
    )
    table.add_column("way")
    for column in ("pictures/s, median", "spread", "medldr is faster by", "grey levels off"):
        table.add_column(column, justify="right")
    for title, rate in found["pictures_per_second"].items():
        faster = found["medldr_times_faster"].get(title)
        table.add_row(
            title,
            f"{rate['median']:.0f}",
            f"{rate['min']:.0f} to {rate['max']:.0f}",
            f"{faster['median']:.2f} ({faster['min']:.2f} to {faster['max']:.2f})"
            if faster
            else "",
            f"{found['furthest_from_float64_in_grey_levels'][title]:.1e}",
        )
    console.print(table)
    floor = found["floor_pictures_per_second"]
    console.print(
        f"floors, pictures/s: exp {floor['exp']:.0f}, log and exp {floor['log and exp']:.0f}, "
        f"bytes {floor['bytes']:.0f}; target: at least {AT_LEAST} times NumPy, one by one"
    )


def main():
    """Measure, print tables, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one turn of one small batch")
    parser.add_argument("--turns", type=int, default=9, help="turns (at least 7)")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--sizes", type=int, nargs="+", default=[96, 224])
    parser.add_argument("--batches", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--json", type=Path, default=Path("stain_jitter.json"))
    given = parser.parse_args()
    if given.quick:
        given.turns, given.threads, given.sizes, given.batches = 1, [1], [96], [4]
    console = Console(width=None if sys.stdout.isatty() else 110)
    console.print(f"{platform.processor() or platform.machine()}, torch {torch.__version__}")
    found = []
    for threads in given.threads:
        for size in given.sizes:
            for batch in given.batches:
                console.print(f"{batch} pictures of {size} pixels, {threads} thread(s) ...")
                found.append(measure(size, batch, threads, given.turns))
                show(found[-1], console)
    given.json.write_text(json.dumps({"cases": found}, indent=1) + "\n")
    console.print(f"written to {given.json}")


if __name__ == "__main__":
    main()
