"""Time of one update of every method, as a multiple of ERM's on the same images.

    python benchmarks/algorithm_cost.py [--rounds 7] [--only erm,coral] [--volumes] [--json FILE]
    python benchmarks/algorithm_cost.py --quick    # a narrow network, to check that it runs

All methods train the same network on the same batch of three domains and take turns, two updates
each (DANN and CDANN alternate between two kinds); if the machine's speed drifts, all of them slow
down equally. A ratio is the median over the rounds, shown next to the ratio expected from the
arithmetic: a forward pass counts 1 and a backward pass 2, and an update of ERM has one of each.
More than 1.3 times the expected ratio is flagged, and the exit code is 1.

The floor is the time that the operations of ERM's update (as defined, without padding) would take
at the rate of large matrix products, also measured here.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch.utils.flop_counter import FlopCounterMode
from train_step import matrix_rate

from medldr.algorithms import build_algorithm
from medldr.config import TrainingConfig
from medldr.config.schema import MachineConfig
from medldr.config.section import Plugin
from medldr.errors import did_you_mean
from medldr.models import build_model
from medldr.training import make_fabric
from medldr.training.machine.fabric import precision_name
from medldr.training.optim import build_optimizers
from medldr.training.state.rng import seed_process
from medldr.training.step import Stepper, TrainStep
from medldr.types import Batch, DataSpec

EXPECTED = {
    "erm": (1.0, "forward 1, backward 2"),
    "mixup": (1.0, "mixing the batch is next to nothing"),
    "cutmix": (1.0, "a box is copied"),
    "manifold_mixup": (1.0, "one map is mixed"),
    "mixstyle": (1.05, "three maps are read and rescaled"),
    "dsu": (1.05, "five maps are read and rescaled"),
    "bsda": (1.02, "five layers of D x D, and ten heads"),
    "xdomainmix": (1.02, "sums over latents, and two more heads"),
    "isda": (1.1, "a covariance of D x D for each class"),
    "sagnet": (3.0, "three passes forward and backward; the second stops at the latents"),
    "coral": (1.1, "a covariance of D x D for each domain"),
    "mmd": (1.02, "distances within a batch"),
    "dann": (1.1, "every other step trains the discriminator alone"),
    "cdann": (1.1, "every other step trains the discriminator alone"),
    "mldg": (2.0, "each domain twice, and copies of the weights"),
    "fishr": (1.1, "variances of K x D for each domain"),
    "miro": (1.35, "a second network goes forward"),
    "fish": (1.0, "each domain once; copies of the weights"),
    "vrex": (1.0, "a variance of three numbers"),
    "irm": (1.05, "one number for each image"),
    "groupdro": (1.0, "three weights"),
    "batchformer": (1.05, "a transformer layer over the batch"),
    "latentdr": (1.05, "two transformer layers over the batch"),
}
"""Expected multiple of ERM's time, and why."""
AT_MOST = 1.3
DOMAINS = ("one", "two", "three")
UPDATES = 2
SETTINGS = {
    # The penalty should be active; the step that switches it on is unusual (optimizer reset).
    "fishr": {"anneal_steps": 0},
    "vrex": {"anneal_steps": 0},
    "irm": {"anneal_steps": 0},
    "xdomainmix": {"warmup": 0},
    "fish": {"meta_lr": 0.5, "divide": False},
}


def main() -> int:
    options = arguments()
    fabric = make_fabric(
        MachineConfig(device=options.device, threads=options.threads),
        TrainingConfig(precision=options.precision),
    )
    fabric.launch()
    precision = precision_name(fabric)
    spec, batch = data(options, fabric.device)
    names = [name for name in EXPECTED if name in ("erm", *options.only)]
    trained = {}
    for name in names:
        print(f"preparing {name}", flush=True)
        trained[name] = prepare(name, spec, fabric, options.width)
        turn(*trained[name], batch)  # the first updates also choose kernels
    times: dict[str, list[float]] = {name: [] for name in names}
    for number in range(options.rounds):
        print(f"round {number + 1} of {options.rounds}", flush=True)
        for name, (algorithm, step) in trained.items():
            times[name].append(turn(algorithm, step, batch) / UPDATES)
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    size = {"size": 256} if options.quick else {}
    floor = operations(*trained["erm"], batch) / matrix_rate(dtype, **size)
    slow = report(times, floor, options, precision)
    return 0 if options.quick else slow


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--quick", action="store_true", help="one round of a narrow network, without a verdict"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", type=methods, default=list(EXPECTED), help="separated by commas")
    parser.add_argument("--volumes", action="store_true", help="3D: 28^3 instead of 64^2")
    parser.add_argument("--per-domain", type=int, default=32, help="images of each domain")
    parser.add_argument("--width", type=float, default=1.0)
    parser.add_argument("--precision", default="auto")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.per_domain, options.width = 1, 4, 0.125
    return options


def methods(text: str) -> list[str]:
    """Names that the user gave; a mistyped one is an error."""
    names = text.split(",")
    for name in names:
        if name not in EXPECTED:
            known = ", ".join(EXPECTED)
            near = did_you_mean(name, EXPECTED)
            raise argparse.ArgumentTypeError(f"unknown method {name!r}.{near} Known: {known}")
    return names


def data(options: argparse.Namespace, device: torch.device) -> tuple[DataSpec, Batch]:
    """A synthetic batch of three domains and seven classes."""
    size = (28, 28, 28) if options.volumes else (64, 64)
    channels = 1 if options.volumes else 3
    classes = tuple(f"class {n}" for n in range(7))
    spec = DataSpec("multi-class", classes, (100,) * 7, channels, size, DOMAINS, DOMAINS)
    rows = options.per_domain * len(DOMAINS)
    generator = torch.Generator().manual_seed(0)
    number = torch.arange(rows)
    parts = Batch(
        torch.randn((rows, channels, *size), generator=generator),
        torch.randint(7, (rows,), generator=generator),
        number // options.per_domain,
        torch.full((rows,), -1),
        number,
    )
    return spec, Batch(*(part.to(device) for part in parts[:5]))


def prepare(name, spec, fabric, width):
    """A network and a method, ready to be updated."""
    resnet = {"name": "resnet18", "stem": "imagenet", "width": width}
    if spec.spatial_dims == 3:
        resnet["stem"] = "small"
    model = build_model(Plugin("models").resolve(resnet), spec, seed=0)
    model.to_fast_memory()
    config = Plugin("algorithms").resolve({"name": name, **SETTINGS.get(name, {})})
    algorithm = build_algorithm(config, spec, model, seed=0)
    pair = TrainStep(model, algorithm).to(fabric.device).train()
    algorithm.begin(model)
    training = TrainingConfig(optimizer="adam", lr=1e-5)
    seed_process(0, 0)
    groups = algorithm.optimizers(model)
    return algorithm, Stepper(fabric, pair, build_optimizers(groups, training), total=10**6)


def turn(algorithm, step, batch) -> float:
    """Seconds of some updates."""
    waited_for(batch.image.device)
    start = time.perf_counter()
    for _ in range(UPDATES):
        algorithm.update(step, batch)
        step.index += 1
    waited_for(batch.image.device)
    return time.perf_counter() - start


def waited_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def operations(algorithm, step, batch) -> float:
    """Floating-point operations of one update."""
    with FlopCounterMode(display=False) as counter:
        algorithm.update(step, batch)
    return counter.get_total_flops()


def report(times, floor, options, precision) -> int:
    """Print the table; 1 if a method is slower than it should be."""
    erm = times["erm"]
    shape = "28 x 28 x 28" if options.volumes else "64 x 64"
    console = Console(width=None if sys.stdout.isatty() else 110)
    median = statistics.median(erm)
    console.print(
        f"ResNet-18 (width {options.width:g}), {options.per_domain} x 3 images of {shape}, "
        f"{precision}, {torch.get_num_threads()} threads. ERM: {1000 * median:.0f} ms per update; "
        f"floor {1000 * floor:.0f} ms, {100 * floor / median:.0f}% of it.",
        highlight=False,
    )
    table = Table("method", "x ERM", "range", "expected", "", "why")
    rows = {}
    for name, own in times.items():
        ratios = [one / other for one, other in zip(own, erm, strict=True)]
        ratio = statistics.median(ratios)
        expected, why = EXPECTED[name]
        slow = ratio > AT_MOST * expected
        rows[name] = {
            "ratio": ratio,
            "low": min(ratios),
            "high": max(ratios),
            "expected": expected,
            "slow": slow,
        }
        span = f"{min(ratios):.2f} to {max(ratios):.2f}"
        flag = "[red]slow[/red]" if slow else ""
        table.add_row(name, f"{ratio:.2f}", span, f"{expected:g}", flag, why)
    console.print(table)
    if options.json:
        found = {"precision": precision, "erm_seconds": median, "floor_seconds": floor}
        options.json.write_text(json.dumps(found | {"methods": rows}, indent=1))
    return int(any(row["slow"] for row in rows.values()))


if __name__ == "__main__":
    raise SystemExit(main())
