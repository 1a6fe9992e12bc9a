"""Numbers of latents that compare all pairs of images, beside plain loops over the images.

    python benchmarks/latent_analysis.py [--images 10000] [--dim 512] [--rounds 3]
    python benchmarks/latent_analysis.py --quick    # few images: to see that it runs

In turns in this process, on one thread and in float64:

1. the 10 nearest neighbours as `medldr analyze` computes them;
2. the same by a loop over images, each compared with all others in one line of NumPy, on so many
   images that it lasts about a second, scaled up to all.

The floor is one product of the latents with themselves: operations over the rate of a product of
matrices of 1,000 rows measured here.
"""

import argparse
import platform
import statistics
import time

import numpy as np
import threadpoolctl
from rich.console import Console
from rich.table import Table

from medldr.evaluation.representation.neighbourhoods import nearest

NEIGHBOURS = 10
PART = 200


def timed(work):
    """Seconds."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def loop_nearest(unit, rows):
    """The nearest images of some images, one by one."""
    for i in rows:
        distance = ((unit - unit[i]) ** 2).sum(axis=1)
        distance[i] = np.inf
        np.argsort(distance, kind="stable")[:NEIGHBOURS]


def rate(dim):
    """Operations per second of a product."""
    a = np.random.default_rng(0).normal(size=(1000, dim))
    return 2 * 1000 * 1000 * dim / min(timed(lambda: a @ a.T) for _ in range(5))


def main():
    """Draw latents, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--images", type=int, default=10_000)
    parser.add_argument("--dim", type=int, default=512)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--quick", action="store_true")
    given = parser.parse_args()
    n, dim, rounds = (500, 32, 1) if given.quick else (given.images, given.dim, given.rounds)
    rng = np.random.default_rng(0)
    label = rng.integers(7, size=n)
    z = (rng.normal(size=(7, dim))[label] + rng.normal(size=(n, dim))).astype(np.float32)
    unit = z.astype(np.float64) / np.linalg.norm(z, axis=1, keepdims=True)
    owner, part = np.arange(n), range(min(PART, n))
    with threadpoolctl.threadpool_limits(1):
        speed = rate(dim)
        work = {
            "nearest neighbours": (
                lambda: nearest(z, z, NEIGHBOURS, owner=owner, owners=owner),
                lambda: loop_nearest(unit, part),
            ),
        }  # fmt: skip
        floor = {
            "nearest neighbours": 2 * n * n * dim / speed,
        }
        table = Table(title=f"{n:,} images, {dim} dimensions")
        for name in ("", "medldr (s)", "plain loop (s)", "faster", "floor (s)"):
            table.add_column(name, justify="left" if not name else "right")
        for name, (ours, loop) in work.items():
            ours()  # once untimed
            seconds = statistics.median(timed(ours) for _ in range(rounds))
            plain = statistics.median(timed(loop) for _ in range(rounds)) * n / len(part)
            table.add_row(
                name, f"{seconds:.2f}", f"{plain:.2f}", f"{plain / seconds:.1f}x",
                f"{floor[name]:.2f}",
            )  # fmt: skip
    console = Console()
    console.print(f"{platform.machine()}, 1 thread: {speed / 1e9:.0f} GFLOP/s (float64)")
    console.print(table)


if __name__ == "__main__":
    main()
