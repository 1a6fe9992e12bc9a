"""A small MedMNIST file in the exact format, and what makes a packaged run small."""

import numpy as np
import pytest


def write_medmnist(path, *, counts=(48, 16, 24), size=28, classes=5, channels=3, seed=0):
    """A MedMNIST file whose classes differ in brightness, so they can be learned."""
    random = np.random.default_rng(seed)
    arrays = {}
    for split, count in zip(("train", "val", "test"), counts, strict=True):
        labels = np.arange(count) % classes
        noise = random.integers(0, 60, (count, size, size) + ((channels,) if channels == 3 else ()))
        shade = labels.reshape(-1, *[1] * (noise.ndim - 1)) * (180 // classes)
        arrays[f"{split}_images"] = (noise + shade).astype(np.uint8)
        arrays[f"{split}_labels"] = labels[:, None].astype(np.uint8)
    np.savez(path, **arrays)


@pytest.fixture(scope="session")
def data_root(tmp_path_factory):
    root = tmp_path_factory.mktemp("medmnist")
    write_medmnist(root / "retinamnist.npz")
    return root


@pytest.fixture(scope="session")
def small(data_root):
    """Overrides that make a packaged run small, and its protocol a modified one."""
    return (
        f"data.root={data_root}",
        "data.md5=any",
        "model.width=0.125",
        "training.batch_size=16",
        "training.precision=float32",
        "evaluation.draws=100",
    )
