"""Make the small data sets that the sweeps train on: patterns, no pictures of anything.

    python tests/frozen/sweeps/data.py FOLDER

The layouts are those of PACS, VLCS and MedMNIST, so published numbers of these sets appear in
the reports. The numbers beside them mean nothing.
"""

import sys
from pathlib import Path

import numpy as np
from PIL import Image

TREES = {
    "PACS": (
        ("art_painting", "cartoon", "photo", "sketch"),
        ("dog", "elephant", "giraffe", "guitar", "horse", "house", "person"),
        6,
    ),
    "VLCS": (
        ("Caltech101", "LabelMe", "SUN09", "VOC2007"),
        ("bird", "car", "chair", "dog", "person"),
        6,
    ),
}
SETS = {"retinamnist": (5, 3), "breastmnist": (2, 1), "chestmnist": (14, 1)}
PARTS = {"train": 96, "val": 20, "test": 40}


def picture(kind, domain, number, size):
    """Stripes whose direction is the class, in the colours of a domain, under noise."""
    rng = np.random.default_rng((kind, domain, number))
    y, x = np.mgrid[:size, :size] / size
    angle = np.pi * kind / 7 + rng.normal(0, 0.1)
    wave = np.sin(2 * np.pi * (3 + kind % 2) * (x * np.cos(angle) + y * np.sin(angle)))
    tint = np.random.default_rng(domain).uniform(60, 190, 3)
    noise = rng.normal(0, 20 + 10 * domain, (size, size, 3))
    return np.clip(tint + 35 * wave[..., None] + noise, 0, 255).astype(np.uint8)


def write_trees(folder):
    """A folder per domain, in it one per class."""
    for name, (domains, classes, count) in TREES.items():
        for place, domain in enumerate(domains):
            for kind, title in enumerate(classes):
                where = folder / name / domain / title
                where.mkdir(parents=True)
                for number in range(count):
                    pixels = picture(kind, place, number, 32)
                    Image.fromarray(pixels).save(where / f"{number:02d}.png")


def write_sets(folder):
    """Files as MedMNIST has them, at 28 pixels."""
    for flag, (classes, channels) in SETS.items():
        rng = np.random.default_rng(classes)
        content = {}
        for part, count in PARTS.items():
            kinds = rng.integers(0, classes, count)
            noisy = np.where(rng.random(count) < 0.15, rng.integers(0, classes, count), kinds)
            shown = np.stack([picture(kind, 0, i, 28) for i, kind in enumerate(noisy)])
            content[f"{part}_images"] = shown if channels == 3 else shown[..., 0]
            labels = kinds[:, None]
            if flag == "chestmnist":
                labels = (rng.random((count, classes)) < 0.15) | (np.arange(classes) == labels)
            content[f"{part}_labels"] = labels.astype(np.uint8)
        np.savez(folder / f"{flag}.npz", **content)


if __name__ == "__main__":
    target = Path(sys.argv[1])
    write_trees(target)
    write_sets(target)
