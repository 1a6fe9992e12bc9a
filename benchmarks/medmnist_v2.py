"""MedMNIST's own loop in plain torch beside `medldr.train` under protocol medmnist-v2-28.

    python benchmarks/medmnist_v2.py [--set retinamnist] [--epochs 3] [--seeds 0,1,2] [--root DIR]
    python benchmarks/medmnist_v2.py --quick    # a narrow network on noise, to check that it runs

Both train ResNet-18 on the 28-pixel file with Adam and print the validation AUC after each epoch.
First weights and order are drawn by each in its own way, so the two agree in distribution only;
that they are equal with equal weights and order is a test (tests/training/test_medmnist_v2.py).
With --rows the first training images alone are used, by both.

The loop is derived from the description of MedMNIST v2 (Yang et al. 2023) and of its training
scripts: torch layers with the weights they are made with, shuffled batches of 128 with the last,
partial one, cross-entropy (of several labels per image: the mean of a binary one over all), Adam
at 0.001, a tenth of it from epoch 50 and a hundredth from 75, and AUC as the mean of one class
against the rest.
"""

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from sklearn.metrics import roc_auc_score
from torch import Tensor, nn

import medldr

CLASSES = {"retinamnist": 5, "breastmnist": 2}
BATCH, RATE, MILESTONES = 128, 0.001, (50, 75)

Order = Callable[[int], Iterable[np.ndarray]]
"""Batches of an epoch, each as positions of training images."""


class Block(nn.Module):
    """Two 3x3 convolutions and a way around them."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.first_norm = nn.BatchNorm2d(outputs)
        self.second = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.second_norm = nn.BatchNorm2d(outputs)
        self.around = nn.Sequential()
        if stride != 1 or inputs != outputs:
            self.around.append(nn.Conv2d(inputs, outputs, 1, stride, bias=False))
            self.around.append(nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        y = torch.relu(self.first_norm(self.first(x)))
        return torch.relu(self.second_norm(self.second(y)) + self.around(x))


class Network(nn.Module):
    """ResNet-18 for 28 pixels, every layer with the weights that torch gives it."""

    def __init__(self, channels: int, classes: int, width: int = 64) -> None:
        super().__init__()
        self.stem = nn.Conv2d(channels, width, 3, padding=1, bias=False)
        self.stem_norm = nn.BatchNorm2d(width)
        blocks, inputs = [], width
        for stage in range(4):
            outputs = width * 2**stage
            blocks += [Block(inputs, outputs, 2 if stage else 1), Block(outputs, outputs, 1)]
            inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(inputs, classes)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.relu(self.stem_norm(self.stem(x)))
        return self.head(self.blocks(x).mean((2, 3)))


def pixels(images: np.ndarray, dtype: torch.dtype = torch.float32) -> Tensor:
    """Stored images as the network's input, 0 to -1 and 255 to 1."""
    stacked = images[..., None] if images.ndim == 3 else images
    scaled = torch.from_numpy(stacked.copy()).movedim(-1, 1).to(dtype) / 255
    return (scaled - 0.5) / 0.5


def auc(labels: np.ndarray, scores: np.ndarray) -> float:
    """Of two classes the second one's; of more, or of several labels, the mean of each one's."""
    classes = range(scores.shape[1])
    if labels.shape[1] > 1:
        return float(np.mean([roc_auc_score(labels[:, k], scores[:, k]) for k in classes]))
    if len(classes) == 2:
        return float(roc_auc_score(labels[:, 0], scores[:, 1]))
    return float(np.mean([roc_auc_score(labels[:, 0] == k, scores[:, k]) for k in classes]))


def shuffled(rows: int, batch: int, seed: int) -> Order:
    """A new order of all rows in each epoch, the last, partial batch included."""
    generator = torch.Generator().manual_seed(seed)

    def order(epoch: int) -> Iterable[np.ndarray]:
        return [part.numpy() for part in torch.randperm(rows, generator=generator).split(batch)]

    return order


def train_plainly(
    network: nn.Module, arrays: dict, order: Order, epochs: int, milestones: tuple = MILESTONES
) -> tuple[list[dict], int]:
    """Train as MedMNIST's scripts do.

    Returns:
        Per epoch the rate, the losses and sizes of its batches and the validation AUC, and the
        epoch, from 1, with the strictly best of these.
    """
    kind = next(network.parameters()).dtype
    inputs, held = pixels(arrays["train_images"], kind), pixels(arrays["val_images"], kind)
    labels = torch.from_numpy(arrays["train_labels"].astype(np.int64))
    several = labels.shape[1] > 1
    target = labels.to(kind) if several else labels[:, 0]
    criterion = nn.BCEWithLogitsLoss() if several else nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(network.parameters(), lr=RATE)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, list(milestones), gamma=0.1)
    history, best, chosen = [], 0.0, 0
    for epoch in range(epochs):
        network.train()
        losses, sizes = [], []
        for rows in order(epoch):
            optimizer.zero_grad()
            loss = criterion(network(inputs[rows]), target[rows])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
            sizes.append(len(rows))
        network.eval()
        with torch.no_grad():
            logits = torch.cat([network(part) for part in held.split(BATCH)])
        scores = logits.sigmoid() if several else logits.softmax(1)
        found = auc(arrays["val_labels"], scores.numpy())
        rate = optimizer.param_groups[0]["lr"]
        history.append({"lr": rate, "losses": losses, "sizes": sizes, "auc": found})
        schedule.step()
        if found > best:
            best, chosen = found, epoch + 1
    return history, chosen


def ours(options: argparse.Namespace, root: Path, seed: int, out: Path) -> list[float]:
    """Validation AUC after each epoch of `medldr.train`."""
    overrides = [
        f"seed={seed}", f"training.epochs={options.epochs}", f"data.root={root}", "data.md5=any",
        f"model.width={options.width / 64}", "machine.device=cpu", "machine.report=false",
        f"machine.threads={options.threads}", "evaluation.splits=[val]", "evaluation.draws=100",
    ]  # fmt: skip
    folder = medldr.train(f"{options.set}_v2_erm", overrides=overrides, out=str(out)).folder
    lines = (Path(folder) / "metrics.jsonl").read_text().splitlines()
    return [json.loads(line)["val/auc"] for line in lines]


def main() -> None:
    options = arguments()
    torch.set_num_threads(options.threads)
    console = Console()
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        name = f"{options.set}.npz"
        arrays = noise(options.set) if options.quick else dict(np.load(options.root / name))
        if options.rows:
            for key in ("train_images", "train_labels"):
                arrays[key] = arrays[key][: options.rows]
        np.savez(root / name, **arrays)
        table = Table("seed", "whose", "validation AUC by epoch", "best", "seconds")
        bests: dict[str, list[float]] = {"plain loop": [], "medldr": []}
        for seed in options.seeds:
            for whose in bests:
                began = time.perf_counter()
                if whose == "medldr":
                    found = ours(options, root, seed, root / "runs")
                else:
                    torch.manual_seed(seed)
                    images = arrays["train_images"]
                    channels = 3 if images.ndim == 4 else 1
                    network = Network(channels, CLASSES[options.set], options.width)
                    order = shuffled(len(images), BATCH, seed)
                    history, _ = train_plainly(network, arrays, order, options.epochs)
                    found = [row["auc"] for row in history]
                bests[whose].append(max(found))
                each = " ".join(f"{value:.3f}" for value in found)
                seconds = f"{time.perf_counter() - began:.0f}"
                table.add_row(str(seed), whose, each, f"{max(found):.3f}", seconds)
        console.print(table)
        for whose, values in bests.items():
            spread = f" (SD {statistics.stdev(values):.3f})" if len(values) > 1 else ""
            console.print(
                f"{whose}: mean best validation AUC {statistics.fmean(values):.3f}{spread}"
            )


def noise(name: str) -> dict:
    """Random images in the format of the file."""
    generator, arrays = np.random.default_rng(0), {}
    shape = (28, 28, 3) if name == "retinamnist" else (28, 28)
    for part, count in (("train", 64), ("val", 40), ("test", 40)):
        arrays[f"{part}_images"] = generator.integers(0, 256, (count, *shape), dtype=np.uint8)
        arrays[f"{part}_labels"] = (np.arange(count)[:, None] % CLASSES[name]).astype(np.uint8)
    return arrays


def numbers(text: str) -> list[int]:
    return [int(word) for word in text.split(",")]


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--set", choices=list(CLASSES), default="retinamnist")
    parser.add_argument("--root", type=Path, default=Path.home() / ".medmnist")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument(
        "--seeds", type=lambda text: [int(s) for s in text.split(",")], default="0,1,2"
    )
    parser.add_argument("--rows", type=int, help="training images to use; unset: all")
    parser.add_argument("--width", type=int, default=64, help="channels of the first stage")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--quick", action="store_true", help="one epoch on noise")
    options = parser.parse_args()
    if options.quick:
        options.epochs, options.seeds, options.width, options.threads = 1, [0], 8, 1
    return options


if __name__ == "__main__":
    main()
