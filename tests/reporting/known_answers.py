"""Six small sweeps whose answers are known: drawn predictions in the files of real runs.

Three hospitals are held out in turn. ERM is the reference, ERM at half the rate a control, and
LatentDR the method that is asked about. The score of an image is drawn around its label; the
image's own part is the same for all runs, so that differences are paired.
"""

import json
import zlib
from typing import NamedTuple

import numpy as np

from medldr.folders.sweep_record import Layout, Member, Sweep, SweepFolder, write_sweep
from medldr.types import Predictions

DOMAINS = ("Lyon", "Oslo", "Turin")
IMAGES = 80
ALGORITHMS = {
    "erm": {"name": "erm", "lr_scale": 1.0},
    "erm_half_lr": {"name": "erm", "lr_scale": 0.5},
    "latentdr_pool": {"name": "latentdr", "degrade": "pool", "lr_scale": 0.5},
}


class Known(NamedTuple):
    """A sweep: how far LatentDR tells the classes apart (ERM: 0.7), and what is the matter.

    Attributes:
        title: Of the sweep.
        separation: Distance of the mean score of a class from zero.
        bias: Added to all scores: ranks stay, decisions do not.
        seeds: Of every cell.
        failed: The run (row, domain, seed) that failed.
    """

    title: str
    separation: float
    bias: float = 0.0
    seeds: tuple[int, ...] = (0, 1, 2)
    failed: tuple[str, str, int] | None = None


SWEEPS = {
    "better": Known("Fractures in three hospitals", 1.7),
    "worse": Known("Fractures in three hospitals", 0.2),
    "not_clear": Known("Fractures in three hospitals", 0.74),
    "disagrees": Known("Fractures in three hospitals", 1.7, bias=5.0),
    "one_seed": Known("Fractures in three hospitals", 1.7, seeds=(0,)),
    "failed": Known("Fractures in three hospitals", 1.7, failed=("latentdr_pool", "Turin", 1)),
}


def drawn(number):
    """A sweep drawn at random, often between a clear difference and none."""
    draw = np.random.default_rng(number)
    seeds = tuple(range(draw.integers(1, 4)))
    return Known(f"Drawn {number}", draw.uniform(0.55, 1.05), draw.uniform(-0.4, 0.4), seeds)


DRAWN = {f"drawn_{number}": drawn(number) for number in (0, 1, 2, 5)}


def predictions(known, row, domain, seed, split="test"):
    """The predictions of one run on one split; `domain` is the one that it held out."""
    at = domain if split == "test" else "others"
    images = np.random.default_rng([zlib.crc32(at.encode()), len(split)])
    runs = np.random.default_rng([zlib.crc32(f"{row} {domain} {split}".encode()), seed])
    label = np.arange(IMAGES) % 2
    own, noise = images.normal(size=IMAGES), runs.normal(size=IMAGES)
    ours = row == "latentdr_pool"
    separation = (known.separation if ours else 0.7) + 0.02 * runs.normal()
    score = separation * (2 * label - 1) + own + 0.4 * noise + (known.bias if ours else 0.0)
    prob = 1 / (1 + np.exp(-score))
    seen = [name for name in DOMAINS if name != domain]
    return Predictions(
        task="binary",
        class_names=("healthy", "fracture"),
        id=np.array([f"{at}-{split}-{n}" for n in range(IMAGES)]),
        split=np.full(IMAGES, split),
        domain=np.array([at if split == "test" else seen[n % 2] for n in range(IMAGES)]),
        group=np.array([f"{at}-{split}-patient-{n}" for n in range(IMAGES)]),
        label=label,
        prob=np.stack([1 - prob, prob], axis=1),
    )


def write_known(name, path, write_run):
    """Write one of the sweeps.

    Args:
        name: A key of `SWEEPS` or `DRAWN`.
        path: Its folder.
        write_run: Writes a run, from `conftest.py`.
    """
    known, members = (SWEEPS | DRAWN)[name], []
    layout = Layout(
        title=known.title, rows="algorithm", columns="held_out", reference="erm",
        controls=("erm_half_lr",), contrasts=(("latentdr_pool", "erm_half_lr"),),
        verdict="latentdr_pool",
    )  # fmt: skip
    folder = SweepFolder(path)
    for domain in DOMAINS:
        for row, algorithm in ALGORITHMS.items():
            for seed in known.seeds:
                label = f"{row}_{domain}"
                run = f"{label}-{zlib.crc32(label.encode()):08x}-s{seed}"
                members.append(Member(run, label, seed, row, domain))
                if (row, domain, seed) == known.failed:
                    folder.logs.mkdir(parents=True)
                    said = {"code": 2, "error": "NonFiniteError: the loss is nan", "starts": 0}
                    folder.ending(run).write_text(json.dumps(said))
                    continue
                splits = ("val", "id_test", "test")
                write_run(
                    path, run, task="binary", seed=seed, domains=DOMAINS, held_out=(domain,),
                    tables={split: predictions(known, row, domain, seed, split)
                            for split in splits},
                    config={"seed": seed, "protocol": None, "algorithm": algorithm,
                            "data": {"name": "images", "set": "hospitals", "held_out": [domain]}},
                    run={"seed": seed, "protocol": None, "data": {"name": "hospitals"},
                         "split_hash": f"{zlib.crc32(domain.encode()):064x}"},
                )  # fmt: skip
    write_sweep(folder, Sweep(name, layout, tuple(members)))
    return folder
