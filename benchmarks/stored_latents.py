"""What a run on stored latents costs: its own steps, and everything around them.

`python benchmarks/stored_latents.py` makes 4,429 latents of 1,280 numbers from seven hospitals and
trains every method that works on latents on them for 300 steps, one after another in this process
on one thread. It prints the processor time of each part of a run; the first row is the floor,
a plain loop of the same steps of a linear head.

`--sweep` starts 100 of these runs as a sweep, two at a time, and prints its wall time: the aim is
10 minutes on two cores. `--quick` makes fewer steps and runs; `--only erm,coral` names methods.
"""

import argparse
import contextlib
import io
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from medldr.config import load_config
from medldr.run import train_run

ITEMS, DIM, HOSPITALS = 4_429, 1_280, 7
METHODS = (
    *("erm", "latentdr_sa", "latentdr_pool", "batchformer", "coral", "mmd"),
    *("dann", "cdann", "vrex", "irm", "groupdro", "fishr", "mldg", "fish", "isda", "bsda"),
    *("xdomainmix", "mixup", "focal", "class_balanced", "logit_adjusted", "ldam", "erm_half_lr"),
)  # fmt: skip
PARTS = {
    "data": "medldr.run.build_data",
    "steps": "medldr.training.trainer.Trainer.advance",
    "validation": "medldr.training.validation.Validation.scores",
    "checkpoints": "medldr.training.trainer.Trainer.save",
    "scores": "medldr.run.predict_and_score",
    "page": "medldr.run.write_report_or_warn",
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="30 steps, and 8 runs")
    parser.add_argument("--sweep", action="store_true", help="100 runs, two at a time")
    parser.add_argument("--only", help="methods, separated by commas", default=",".join(METHODS))
    asked = parser.parse_args()
    methods = asked.only.split(",")
    steps = 30 if asked.quick else 300
    with tempfile.TemporaryDirectory() as folder:
        make_latents(Path(folder))
        if asked.sweep:
            return sweep(Path(folder), methods, steps, 8 if asked.quick else 100)
        torch.set_num_threads(1)
        parts(Path(folder), methods, steps)
    return 0


def make_latents(folder):
    """A table and its array: a weak finding, a strong hospital."""
    generator = np.random.default_rng(0)
    label, hospital = generator.integers(0, 2, ITEMS), generator.integers(0, HOSPITALS, ITEMS)
    latents = generator.standard_normal((ITEMS, DIM), np.float32)
    latents[:, :4] += label[:, None] - 0.5
    latents[:, 4 : 4 + HOSPITALS] += 2 * np.eye(HOSPITALS, dtype=np.float32)[hospital]
    np.save(folder / "latents.npy", latents)
    names = [f"i{row:05d}" for row in range(ITEMS)]
    table = pd.DataFrame({"path": names, "label": label, "domain": [f"h{h}" for h in hospital]})
    table.to_csv(folder / "items.csv", index=False)


def data(folder):
    return {
        "name": "features",
        "file": str(folder / "items.csv"),
        "array": str(folder / "latents.npy"),
        "id": "path",
        "domain": "domain",
    }


def floor(folder, steps):
    """Seconds of a plain loop: batches of 128 through a linear head."""
    latents = torch.from_numpy(np.load(folder / "latents.npy"))
    label = torch.randint(0, 2, (ITEMS,))
    head = torch.nn.Linear(DIM, 2)
    optimizer = torch.optim.AdamW(head.parameters(), fused=True)
    start = time.process_time()
    for _ in range(steps):
        rows = torch.randint(0, ITEMS, (128,))
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(head(latents[rows]), label[rows]).backward()
        optimizer.step()
    return time.process_time() - start


def parts(folder, methods, steps):
    """Print the processor time of each part of a run of each method."""
    spent = Counter()
    for part, place in PARTS.items():
        clock(spent, part, place)
    print(f"{'method':<16}{''.join(f'{part:>13}' for part in PARTS)}{'other':>13}{'all':>13}")
    print(f"{'(plain loop)':<16}{'':>13}{floor(folder, steps):>13.2f}")
    once(folder, "erm", 1)  # what is imported and built once
    for method in methods:
        spent.clear()
        start = time.process_time()
        once(folder, method, steps)
        total = time.process_time() - start
        row = [*(spent[part] for part in PARTS), total - sum(spent.values()), total]
        print(f"{method:<16}{''.join(f'{seconds:>13.2f}' for seconds in row)}", flush=True)


def clock(spent, part, place):
    """Add up the processor time of a function."""
    owner, name = place.rsplit(".", 1)
    try:
        where = __import__(owner, fromlist=["_"])
    except ModuleNotFoundError:
        where = getattr(
            __import__(owner.rsplit(".", 1)[0], fromlist=["_"]), owner.rsplit(".", 1)[1]
        )
    inner = getattr(where, name)

    def timed(*args, **keys):
        start = time.process_time()
        try:
            return inner(*args, **keys)
        finally:
            spent[part] += time.process_time() - start

    setattr(where, name, timed)


def once(folder, method, steps):
    config = load_config(
        {
            "extends": ["recipe/own_features", "data/features", f"algorithm/{method}"],
            "data": {**data(folder), "held_out": "h0"},
            "training": {"steps": steps, "evaluate_every": max(1, steps // 10)},
            "machine": {"threads": 1, "device": "cpu"},
        }
    )
    with contextlib.redirect_stderr(io.StringIO()):
        train_run(config, folder / "runs", restart=True)


def sweep(folder, methods, steps, runs):
    """Print the wall time of a sweep of so many runs."""
    held_out = [f"h{number}" for number in range(max(1, runs // len(methods)))]
    plan = {
        "title": "Methods on stored latents",
        "common": {
            "extends": ["recipe/own_features", "data/features"],
            "data": data(folder),
            "training": {"steps": steps, "evaluate_every": max(1, steps // 10)},
        },
        "axes": {"algorithm": methods, "data.held_out": {name: name for name in held_out}},
        "seeds": [0],
        "table": {"rows": "algorithm", "columns": "data.held_out", "reference": "erm"},
    }
    import yaml

    (folder / "sweep.yaml").write_text(yaml.safe_dump(plan, sort_keys=False))
    command = [sys.executable, "-m", "medldr.cli", "sweep", str(folder / "sweep.yaml"), "--jobs=2"]
    start = time.perf_counter()
    before = os.times()
    ended = subprocess.run([*command, f"--out={folder / 'sweep'}"], check=False)
    after = os.times()
    cpu = (
        after.children_user + after.children_system - before.children_user - before.children_system
    )
    print(
        f"{len(held_out) * len(methods)} runs: {time.perf_counter() - start:.0f} s, {cpu:.0f} s CPU"
    )
    return ended.returncode


if __name__ == "__main__":
    sys.exit(main())
