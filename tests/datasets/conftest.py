"""Small files in MedMNIST's exact format."""

import numpy as np
import pytest

from medldr.datasets._medmnist import catalogue


def arrays(flag, size=28, counts=(12, 6, 6), seed=0):
    """Random images and labels with the keys, shapes and types of the published files."""
    entry = catalogue.entry(flag, size)
    generator = np.random.default_rng(seed)
    shape = (size,) * entry.spatial_dims + ((3,) if entry.channels == 3 else ())
    content = {}
    for part, count in zip(("train", "val", "test"), counts, strict=True):
        content[f"{part}_images"] = generator.integers(0, 256, (count, *shape), dtype=np.uint8)
        if entry.task == "multi-label":
            labels = generator.integers(0, 2, (count, len(entry.class_names)))
        else:
            labels = np.arange(count)[:, None] % len(entry.class_names)
        content[f"{part}_labels"] = labels.astype(np.uint8)
    return content


@pytest.fixture
def medmnist_file(tmp_path):
    """Function that writes such a file and returns its arrays."""

    def write(flag, size=28, *, change=None, **options):
        content = arrays(flag, size, **options)
        if change:
            change(content)
        name = catalogue.entry(flag, size).file
        np.savez_compressed(tmp_path / name, **content)
        return content

    return write
