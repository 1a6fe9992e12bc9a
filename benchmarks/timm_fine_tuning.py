"""Fine-tuning a network of timm through medldr beside the same loop in plain timm and torch.

    python benchmarks/timm_fine_tuning.py --weights FILE --table labels.csv [--held-out tecom]
    python benchmarks/timm_fine_tuning.py --quick    # a tiny network on noise: does it run?

Both start from one file, see the network's own pixels at --size, train on the rows that the medldr
run wrote into `splits.json` and are scored on a domain that is held out: AdamW, a cosine, nothing
augmented, the last weights, float32. Each reads and scales pictures, draws the head and orders
batches in its own way. timm's head for an EfficientNet starts within 1 / sqrt(classes), ours, as
torch's, within 1 / sqrt(latent size): with --head torch the plain loop has such a one too.

Of the two intervals of a difference, that over seeds holds for the luck of training, that over
images (drawn within classes, the same for both and for every seed) for these networks.
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
import timm
import torch
from PIL import Image
from rich.console import Console
from safetensors.torch import load_file, save_file
from scipy.stats import rankdata, t
from timm.data import create_transform, resolve_data_config
from torch.utils.data import DataLoader

import medldr
from medldr.evaluation.predictions.table import read_predictions

SCORES = ("balanced accuracy", "AUC")
LEFT_OUT = "basophil"
"""A class of wbc3 with seven pictures."""


def ours(given: argparse.Namespace, table: Path, seed: int, out: Path) -> tuple[Path, np.ndarray]:
    """The folder of a medldr run, and what it predicts for its test part, in order of `ids`."""
    model = {"name": "timm", "network": given.network, "pretrained": str(given.weights)}
    data = {"file": str(table), "root": str(given.table.parent), "held_out": [given.held_out]}
    config = {
        "extends": ["recipe/own_2d", "data/table"], "label": "timm", "algorithm": "erm",
        "seed": seed, "model": model,
        "data": data | {"name": "table", "path": "image", "label": "label", "domain": "domain"},
        "transform": {"name": "scan", "size": given.size, "probability": 0},
        "training": {
            "epochs": given.epochs, "batch_size": given.batch, "lr": given.lr, "select": ["last"],
            "precision": "float32", "evaluate_every": given.epochs, "early_stopping": None,
        },
        "evaluation": {"splits": ["test"], "draws": 100},
        "machine": {"device": "cpu", "report": False},
    }  # fmt: skip
    folder = Path(medldr.train(config, out=out).folder)
    found = read_predictions(folder / "predictions.csv")
    return folder, found.prob[np.argsort(found.id)]


def plain(given: argparse.Namespace, rows: dict[str, list], seed: int) -> np.ndarray:
    """Probabilities of the test rows after the same training in plain timm and torch."""
    torch.manual_seed(seed)
    classes = 1 + max(label for _, label in rows["train"])
    network = timm.create_model(given.network, num_classes=classes)
    network.to(memory_format=torch.channels_last)  # faster on CPUs; medldr does so too
    start = {k.removeprefix("network."): v for k, v in load_file(given.weights).items()}
    head, lacks = network.get_classifier(), network.load_state_dict(start, strict=False)
    assert len(lacks.missing_keys) == len(list(head.parameters())), lacks
    if given.head == "torch":
        head.reset_parameters()
    known = resolve_data_config({"input_size": (3, given.size, given.size)}, model=network)
    see = create_transform(**known | {"crop_pct": 1.0}, is_training=False)
    pictures = {
        part: [(see(Image.open(given.table.parent / name).convert("RGB")), y) for name, y in some]
        for part, some in rows.items()
    }
    batches = DataLoader(pictures["train"], given.batch, shuffle=True, drop_last=True)
    optimizer = torch.optim.AdamW(network.parameters(), lr=given.lr, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, given.epochs)
    network.train()
    for _ in range(given.epochs):
        for image, label in batches:
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network(image), label).backward()
            optimizer.step()
        schedule.step()
    network.eval()
    with torch.inference_mode():
        logits = [network(image) for image, _ in DataLoader(pictures["test"], given.batch)]
    return torch.cat(logits).double().softmax(1).numpy()


def scores(label: np.ndarray, prob: np.ndarray) -> np.ndarray:
    """Balanced accuracy, and AUC as the mean of each class against the rest."""
    classes = np.arange(prob.shape[1])
    member = label[:, None] == classes
    count = member.sum(0)
    recall = (member & (prob.argmax(1)[:, None] == classes)).sum(0) / count
    wins = (rankdata(prob, axis=0) * member).sum(0) - count * (count + 1) / 2
    return np.array([recall.mean(), (wins / (count * (len(label) - count))).mean()])


def main() -> None:
    given, console, began = arguments(), Console(), time.perf_counter()
    with tempfile.TemporaryDirectory() as temporary:
        if given.quick:
            make_noise(given, Path(temporary))
        items = pd.read_csv(given.table, dtype=str).query("label != @LEFT_OUT")
        items.to_csv(table := Path(temporary) / "chosen.csv", index=False)
        names = sorted({*items["label"]})
        number = dict(zip(items["image"], map(names.index, items["label"]), strict=True))
        pairs = []
        for seed in given.seeds:
            folder, found = ours(given, table, seed, Path(temporary) / "runs")
            ids = json.loads((folder / "splits.json").read_text())["splits"]
            rows = {part: [(i, number[i]) for i in sorted(ids[part])] for part in ("train", "test")}
            label = np.array([y for _, y in rows["test"]])
            pairs.append((found, plain(given, rows, seed)))
            for whose, prob in zip(("medldr", "plain"), pairs[-1], strict=True):
                values = zip(SCORES, scores(label, prob), strict=True)
                said = ", ".join(f"{name} {value:.3f}" for name, value in values)
                console.print(f"seed {seed}, {whose}: {said}")
    each = np.array([scores(label, a) - scores(label, b) for a, b in pairs])
    generator, drawn = np.random.default_rng(0), []
    for _ in range(given.draws):
        members = (np.flatnonzero(label == k) for k in range(len(names)))
        take = np.concatenate([generator.choice(at, len(at)) for at in members])
        some = label[take]
        drawn.append(np.mean([scores(some, a[take]) - scores(some, b[take]) for a, b in pairs], 0))
    for at, name in enumerate(SCORES):
        mean, low, high = each[:, at].mean(), *np.percentile(np.array(drawn)[:, at], [2.5, 97.5])
        half = t.ppf(0.975, len(each) - 1) * each[:, at].std(ddof=1) / len(each) ** 0.5
        console.print(
            f"{name}, medldr minus plain: {mean:+.3f}; 95% CI over seeds {mean - half:+.3f} "
            f"to {mean + half:+.3f}, over images {low:+.3f} to {high:+.3f}"
        )
    console.print(
        f"{len(rows['train'])} training images, {len(label)} of {given.held_out}; "
        f"{time.perf_counter() - began:.0f} s"
    )


def make_noise(given: argparse.Namespace, folder: Path) -> None:
    """Weights that were never trained and pictures that show nothing."""
    given.weights, given.table = folder / "start.safetensors", folder / "labels.csv"
    save_file(timm.create_model(given.network, num_classes=0).state_dict(), given.weights)
    generator, lines = np.random.default_rng(0), ["image,domain,label"]
    for at in range(96):
        pixels = generator.integers(0, 256, (given.size, given.size, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{at}.png")
        lines.append(f"{at}.png,{('bccd', given.held_out)[at % 2]},{'ab'[at // 2 % 2]}")
    given.table.write_text("\n".join(lines) + "\n")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--network", default="tf_efficientnet_lite0")
    parser.add_argument("--weights", type=Path, help="safetensors file of the network")
    parser.add_argument("--table", type=Path, help="labels.csv of wbc3: image, domain, label")
    parser.add_argument("--held-out", default="tecom")
    parser.add_argument("--head", choices=["timm", "torch"], default="timm")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--lr", type=float, default=0.001)
    for key, value in {"size": 96, "epochs": 4, "batch": 64, "draws": 2000}.items():
        parser.add_argument(f"--{key}", type=int, default=value)
    parser.add_argument("--quick", action="store_true", help="one epoch on noise")
    given = parser.parse_args()
    if given.quick:
        given.network, given.size, given.epochs, given.batch = "test_resnet", 32, 1, 8
        given.seeds, given.draws = [0, 1], 100
    elif None in (given.weights, given.table):
        parser.error("give --weights and --table, or --quick")
    return given


if __name__ == "__main__":
    main()
