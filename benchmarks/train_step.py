"""Images or volumes per second of medldr's training against plain loops, in one process.

    python benchmarks/train_step.py [--pairs 7] [--only 2d|3d] [--precision P] [--json FILE]
    python benchmarks/train_step.py --quick    # tiny batches, to check that it runs

Three loops train the same network on the same images: a plain one in contiguous float32, the best
ten lines one can write in bfloat16 with channels last, and medldr's own. They take turns; if the
machine's speed drifts, all of them slow down equally. Ratios are medians over the turns. In 3D the
plain loops use the layers of the `acsconv` package; a fourth row runs the plain bfloat16 loop over
medldr's layers, which separates the effect of the loop from that of the layers. medldr uses the
precision that `auto` means on this machine: bfloat16 if the processor is faster with it, otherwise
float32. A processor without bfloat16 units emulates them hundreds of times more slowly: there the
bfloat16 loops are left out, and the script says so, unless `--precision bfloat16` asks for them.

The floor is what the arithmetic alone would take: operations of one forward and backward pass (as
defined, without padding) over the rate of large matrix products, also measured here.
"""

import argparse
import copy
import json
import platform
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
import torchvision
from acsconv.operators import ACSConv
from rich.console import Console
from rich.table import Table
from torch import nn
from torch.nn.functional import cross_entropy
from torch.utils.flop_counter import FlopCounterMode

from medldr.algorithms import build_algorithm
from medldr.config import load_config
from medldr.config.automatic import has_fast_bfloat16
from medldr.data import build_data
from medldr.folders.files import RunFolder
from medldr.models import build_model
from medldr.training import make_fabric
from medldr.training.build_trainer import assemble

TARGETS = {
    "2d": {"medldr ERM / plain bfloat16": 0.97, "medldr ERM / plain float32": 1.7},
    "3d": {"medldr ERM / plain bfloat16": 0.97, "medldr ERM / plain float32": 1.5},
}
LATENTDR_AT_MOST = 1.05


def matrix_rate(dtype, size=2048, repeats=12):
    """Operations per second of a large matrix product: the best of many tries."""
    a, b = (torch.randn(size, size).to(dtype) for _ in range(2))
    best = float("inf")
    for _ in range(repeats + 1):
        start = time.perf_counter()
        a @ b
        best = min(best, time.perf_counter() - start)
    return 2 * size**3 / best


def plain_resnet18(channels, classes, volumes):
    """torchvision's ResNet-18 with a 3x3 stem and no pool; in 3D with the acsconv package."""
    net = torchvision.models.resnet18(num_classes=classes)
    net.conv1 = nn.Conv2d(channels, 64, 3, padding=1, bias=False)
    net.maxpool = nn.Identity()
    return to_volumes(net) if volumes else net


def to_volumes(module):
    """2D layers to 3D ones, with the acsconv package's own convolution."""
    for name, child in module.named_children():
        if isinstance(child, nn.Conv2d):
            new = ACSConv(
                child.in_channels,
                child.out_channels,
                child.kernel_size[0],
                stride=child.stride[0],
                padding=child.padding[0],
                bias=child.bias is not None,
            )
            new.load_state_dict(child.state_dict())
            setattr(module, name, new)
        elif isinstance(child, nn.BatchNorm2d):
            setattr(module, name, nn.BatchNorm3d(child.num_features))
        elif isinstance(child, nn.AdaptiveAvgPool2d):
            setattr(module, name, nn.AdaptiveAvgPool3d(1))
        else:
            to_volumes(child)
    return module


def plain_float32(net, images, labels, batch):
    """A plain loop: float32, contiguous."""
    net.train()
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9)
    scale, shift = (255.0, 0.0) if images.ndim == 5 else (127.5, 1.0)

    def step():
        rows = torch.randperm(len(images))[:batch]
        image = images[rows].float() / scale - shift
        loss = cross_entropy(net(image), labels[rows])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def plain_bfloat16(net, images, labels, batch):
    """The best ten lines: bfloat16 autocast, channels last, one fused optimizer."""
    form = torch.channels_last_3d if images.ndim == 5 else torch.channels_last
    net = net.train()
    for parameter in net.parameters():
        if parameter.ndim == images.ndim:
            parameter.data = parameter.data.contiguous(memory_format=form)
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-3, momentum=0.9, fused=True)
    scale, shift = (255.0, 0.0) if images.ndim == 5 else (127.5, 1.0)

    def step():
        rows = torch.randperm(len(images))[:batch]
        image = (images[rows].float() / scale - shift).contiguous(memory_format=form)
        with torch.autocast("cpu", torch.bfloat16):
            logits = net(image)
        loss = cross_entropy(logits.float(), labels[rows])
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)

    return step


def medldr_loop(run, method, root, folder, batch, precision, width):
    """medldr's own loop: its loader, its step, its means, without evaluations in between."""
    config = load_config(
        f"{run}_erm",
        [
            f"algorithm={method}",
            f"data.root={root}",
            "data.md5=any",
            f"training.batch_size={batch}",
            "training.epochs=100000",
            "training.schedule=constant",
            f"training.precision={precision}",
            f"model.width={width}",
        ],
    )
    data = build_data(config)
    model = build_model(config.model, data.spec, seed=0)
    algorithm = build_algorithm(config.algorithm, data.spec, model, seed=0)
    fabric = make_fabric(config.machine, config.training)
    fabric.launch()
    trainer = assemble(
        config, data, model, algorithm, RunFolder(folder), fabric, show_progress=False
    )

    def batches():
        epoch = 0
        while True:
            yield from trainer.loader.batches(epoch)
            epoch += 1

    stream = batches()
    return lambda: trainer.advance(next(stream)), trainer.facts["precision"]


def write_data(root, volumes, rows=256):
    """A MedMNIST file with random pixels; its test and validation rows are few."""
    random = np.random.default_rng(0)
    shape, classes, name = (
        ((28, 28, 28), 2, "adrenalmnist3d") if volumes else ((28, 28, 3), 5, "retinamnist")
    )
    arrays = {}
    for split, count in (("train", rows), ("val", 10), ("test", 10)):
        arrays[f"{split}_images"] = random.integers(0, 256, (count, *shape), dtype=np.uint8)
        arrays[f"{split}_labels"] = (np.arange(count) % classes)[:, None].astype(np.uint8)
    np.savez(root / f"{name}.npz", **arrays)
    images = torch.from_numpy(arrays["train_images"])
    images = images[:, None] if volumes else images.permute(0, 3, 1, 2).contiguous()
    return name, images, torch.from_numpy(arrays["train_labels"][:, 0].astype(np.int64)), classes


def operations(net, images):
    """Operations of one forward and backward pass per image."""
    sample = images[:2].float() / 255
    with FlopCounterMode(display=False) as counter:
        cross_entropy(net(sample), torch.zeros(2, dtype=torch.int64)).backward()
    return counter.get_total_flops() / 2


LATENTDR = {"medldr LatentDR SA": "latentdr_sa", "medldr LatentDR Pool": "latentdr_pool"}
OTHERS = {
    f"medldr {name}": name
    for name in ("mixup", "cutmix", "manifold_mixup", "mixstyle", "batchformer")
}


def measure(case, batch, pairs, rates, asked, methods, width, say):
    """Time the loops in turns and relate them.

    Args:
        rates: Operations per second of each precision that this machine shall be measured in.
        asked: `training.precision` of medldr's loops.
        methods: Algorithms besides ERM, by title.
        width: Of medldr's networks.
        say: Called with what is about to be done.
    """
    volumes = case == "3d"
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        name, images, labels, classes = write_data(root, volumes)
        torch.manual_seed(0)
        net = plain_resnet18(images.shape[1], classes, volumes)
        ops = operations(net, images)
        net.zero_grad(set_to_none=True)
        loops = {"plain float32": plain_float32(copy.deepcopy(net), images, labels, batch)}
        if "bfloat16" in rates:
            loops["plain bfloat16"] = plain_bfloat16(copy.deepcopy(net), images, labels, batch)
        if volumes and "bfloat16" in rates:
            config = load_config(f"{name}_erm", [f"data.root={root}", "data.md5=any"])
            own = build_model(config.model, build_data(config).spec, seed=0)
            loops["plain bfloat16, medldr layers"] = plain_bfloat16(own, images, labels, batch)
        for title, method in {"medldr ERM": "erm", **methods}.items():
            folder = root / method
            loops[title], precision = medldr_loop(name, method, root, folder, batch, asked, width)
        for title, step in loops.items():
            say(f"{case}: warming up {title}")
            step()  # allocate, choose kernels
        seconds = {title: [] for title in loops}
        titles = list(loops)
        for turn in range(pairs):
            say(f"{case}: turn {turn + 1} of {pairs}")
            for title in titles[turn % len(titles) :] + titles[: turn % len(titles)]:
                start = time.perf_counter()
                loops[title]()
                seconds[title].append(time.perf_counter() - start)
    # A busy moment before the turns must not raise a loop above its floor: measure again.
    for name in rates:
        rates[name] = max(rates[name], matrix_rate(getattr(torch, name)))
    floor = {name: ops * batch / rate for name, rate in rates.items()}
    return {
        "case": case,
        "batch": batch,
        "pairs": pairs,
        "medldr_precision": precision,
        "operations_per_image": ops,
        "floor_images_per_second": {k: batch / v for k, v in floor.items()},
        "images_per_second": {
            title: {
                "median": batch / statistics.median(times),
                "min": batch / max(times),
                "max": batch / min(times),
            }
            for title, times in seconds.items()
        },
        "ratios": {
            f"{a} / {b}": ratio(seconds[b], seconds[a])
            for a, b in (
                ("medldr ERM", "plain bfloat16"),
                ("medldr ERM", "plain float32"),
                ("medldr ERM", "plain bfloat16, medldr layers"),
            )
            if b in seconds
        },
        "time_over_erm": {title: ratio(seconds[title], seconds["medldr ERM"]) for title in methods},
    }


def ratio(above, below):
    """Median and spread of the ratios of paired times."""
    each = [a / b for a, b in zip(above, below, strict=True)]
    return {"median": statistics.median(each), "min": min(each), "max": max(each)}


def show(found, console):
    """Print one case."""
    what = "volumes" if found["case"] == "3d" else "images"
    table = Table(
        title=f"{found['case'].upper()} ResNet-18, 28 pixels, batch {found['batch']}, "
        f"{found['pairs']} turns",
        title_justify="left",
    )
    table.add_column("loop")
    table.add_column(f"{what}/s, median", justify="right")
    table.add_column("spread", justify="right")
    table.add_column("of the floor", justify="right")
    for title, rate in found["images_per_second"].items():
        precision = found["medldr_precision"] if title.startswith("medldr") else title.split()[1]
        floor = found["floor_images_per_second"][precision.strip(",")]
        table.add_row(
            title,
            f"{rate['median']:.2f}",
            f"{rate['min']:.2f} to {rate['max']:.2f}",
            f"{100 * rate['median'] / floor:.0f}%",
        )
    console.print(table)
    floors = " and ".join(
        f"{rate:.1f} {what}/s in {name}" for name, rate in found["floor_images_per_second"].items()
    )
    console.print(
        f"floor: {found['operations_per_image'] / 1e9:.2f} Gop per image; {floors}, at the best "
        "rate of matrix products seen"
    )
    console.print(f"medldr worked in {found['medldr_precision']}")
    for title, value in found["ratios"].items():
        target = TARGETS[found["case"]].get(title)
        wanted = f"  (target at least {target})" if target else ""
        console.print(
            f"{title}: {value['median']:.3f} ({value['min']:.3f} to {value['max']:.3f}){wanted}"
        )
    for title, value in found["time_over_erm"].items():
        target = f"  (target at most {LATENTDR_AT_MOST})" if title in LATENTDR else ""
        console.print(
            f"{title}, time over ERM's: {value['median']:.3f} "
            f"({value['min']:.3f} to {value['max']:.3f}){target}"
        )


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one turn of tiny batches, 2D only")
    parser.add_argument("--pairs", type=int, default=9, help="turns (at least 7)")
    parser.add_argument("--only", choices=("2d", "3d"))
    parser.add_argument("--batch-2d", type=int, default=128)
    parser.add_argument("--batch-3d", type=int, default=16)
    parser.add_argument(
        "--precision",
        choices=("auto", "float32", "bfloat16"),
        default="auto",
        help="training.precision of medldr's loops",
    )
    parser.add_argument(
        "--all-methods", action="store_true", help="time the methods compared with LatentDR too"
    )
    parser.add_argument("--json", type=Path, default=Path("train_step.json"))
    given = parser.parse_args()
    if given.quick:
        given.pairs, given.batch_2d, given.batch_3d = 1, 4, 2
        given.only = given.only or "2d"
    return given


def main():
    """Measure, print a table, write JSON."""
    given = arguments()
    methods = LATENTDR | (OTHERS if given.all_methods else {})
    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)
    console.print(
        f"{platform.processor() or platform.machine()}, {torch.get_num_threads()} threads, "
        f"torch {torch.__version__}"
    )
    precisions = ["float32"]
    if has_fast_bfloat16("cpu") or given.precision == "bfloat16":
        precisions.append("bfloat16")
    else:
        console.print(
            "no bfloat16 units: the bfloat16 loops are left out (--precision bfloat16 times them), "
            "and the targets do not apply"
        )
    rates = {}
    for name in precisions:
        size = {"size": 256} if given.quick else {}
        rates[name] = matrix_rate(getattr(torch, name), **size)
        console.print(f"matrix products in {name}: {rates[name] / 1e9:.0f} GFLOP/s")
    found = []
    for case, batch in (("2d", given.batch_2d), ("3d", given.batch_3d)):
        if given.only in (None, case):
            width = 0.125 if given.quick else 1.0
            asked = given.precision
            found.append(
                measure(case, batch, given.pairs, rates, asked, methods, width, console.print)
            )
            show(found[-1], console)
    given.json.write_text(json.dumps({"matrix_rate": rates, "cases": found}, indent=1) + "\n")
    console.print(f"written to {given.json}")


if __name__ == "__main__":
    main()
