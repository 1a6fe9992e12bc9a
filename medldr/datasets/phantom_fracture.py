"""A procedural rib with a fracture, seen by four simulated scanners.

Nothing is downloaded: every volume is a function of `phantom_seed`, patient, volume, finding and
scanner, the same bit for bit each time it is made by the same libraries on the same kind of
processor (elsewhere a grey value may differ by rounding). It exists to show and to test what medldr
does with domains, groups and masks; it is not evidence about real fractures.

The finding is one of FractureMNIST3D's classes, in its order: *buckle* (the cortex bulges and the
rib kinks, no line through it), *nondisplaced* (a thin dark line through the rib), *displaced* (the
line, with the fragments offset).

Domains are the scanners of `SCANNERS` (`medldr/datasets/_phantoms/scanner.py`), which differ in
appearance only: noise, reconstruction kernel, intensity window, shading and slice thickness.
Classes are equally frequent in every scanner and split. Groups are patients: one rib, one scanner,
one split, 1 to 3 volumes with a fracture each.

Source:
    Our choice throughout. The scanners were fixed with ERM alone (`benchmarks/phantom_shift.py`)
    before any other method was run on them, and are not changed for a method's sake.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from medldr.datasets._phantoms.rib import CLASSES, Fracture, Rib, Scene, render
from medldr.datasets._phantoms.scanner import SCANNERS, Scanner, acquire
from medldr.datasets.base import DatasetConfig, ImageTable

__all__ = ["SCANNERS", "SHARES", "Config", "Item", "clean", "load", "plan", "scan"]

SHARES: Final = {"train": 0.6, "val": 0.15, "test": 0.25}
"""Part of each scanner's patients in each split."""

# The streams of one phantom seed; each draw says what it is for, so none can disturb another.
_PLAN, _RIB, _FRACTURE, _TEXTURE, _SCAN = range(5)


class Config(DatasetConfig):
    """The rib phantom. `root` and `download` do nothing here: there are no files."""

    patients: int = Field(500, ge=16, description="patients over all four scanners")
    size: int = Field(28, ge=8, le=128, description="voxels per side of the 48 mm cube")
    phantom_seed: int = Field(0, ge=0, description="seed of the phantom, separate from the run's")


@dataclass(frozen=True)
class Item:
    """One volume to be made.

    Attributes:
        seed: The phantom seed.
        patient: Number of the patient.
        volume: Number of the volume within the patient.
        scanner: The scanner of the patient.
        split: The split of the patient.
        label: Class number.
    """

    seed: int
    patient: int
    volume: int
    scanner: Scanner
    split: str
    label: int

    def stream(self, purpose: int, *parts: int) -> np.random.Generator:
        """An independent random stream of this item."""
        return np.random.default_rng((self.seed, purpose, self.patient, *parts))


def plan(patients: int, phantom_seed: int = 0) -> list[Item]:
    """Who is scanned where, and with what finding.

    Patients go to the scanners in turn. Within a scanner a shuffle decides the splits by `SHARES`;
    within a scanner's split the classes take turns, so they are balanced to within one volume.

    Example:
        >>> items = plan(patients=16)
        >>> [(item.patient, item.volume, item.scanner.name) for item in items][2:4]
        [(0, 2, 'scanner_a'), (1, 0, 'scanner_b')]
    """
    rng = np.random.default_rng((phantom_seed, _PLAN))
    volumes = rng.integers(1, 4, size=patients)
    items = []
    for number, scanner in enumerate(SCANNERS):
        mine = rng.permutation(np.arange(number, patients, len(SCANNERS)))
        first_test = max(2, round((SHARES["train"] + SHARES["val"]) * len(mine)))
        first_val = min(first_test - 1, round(SHARES["train"] * len(mine)))
        for split, members in zip(SHARES, np.split(mine, [first_val, first_test]), strict=True):
            pairs = [(int(p), v) for p in members for v in range(volumes[p])]
            turn = rng.integers(len(CLASSES))
            for place, (patient, volume) in enumerate(pairs):
                label = int(turn + place) % len(CLASSES)
                items.append(Item(phantom_seed, patient, volume, scanner, split, label))
    return sorted(items, key=lambda item: (item.patient, item.volume))


def clean(item: Item, size: int, *, fractured: bool = True) -> Scene:
    """The volume before any scanner: densities and mask; without its fracture if asked."""
    rib = Rib.draw(item.stream(_RIB))
    fracture = Fracture.draw(item.stream(_FRACTURE, item.volume), CLASSES[item.label])
    return render(rib, fracture if fractured else None, size, item.stream(_TEXTURE, item.volume))


def scan(item: Item, scene: Scene, scanner: Scanner | None = None) -> NDArray[np.uint8]:
    """The scene as the item's scanner, or any other one, shows it: ``(D, H, W)`` uint8."""
    scanner = scanner or item.scanner
    letters = int.from_bytes(scanner.name.encode(), "big")
    return acquire(scene.density, scanner, item.stream(_SCAN, item.volume, letters))


def load(config: Config) -> ImageTable:
    """Make the phantom (about 5 ms a volume at 28 voxels)."""
    items = plan(config.patients, config.phantom_seed)
    shape = (len(items), config.size, config.size, config.size)
    images, masks = np.empty(shape, np.uint8), np.empty(shape, bool)
    for row, item in enumerate(items):
        scene = clean(item, config.size)
        images[row], masks[row] = scan(item, scene), scene.mask
    return ImageTable(
        name=f"phantom_fracture_{config.size}",
        task="multi-class",
        class_names=CLASSES,
        images=images[:, None],
        labels=np.array([item.label for item in items], np.int64),
        ids=np.array([f"patient_{item.patient:04d}_{item.volume}" for item in items]),
        splits=np.array([item.split for item in items]),
        domains=np.array([item.scanner.name for item in items]),
        groups=np.array([f"patient_{item.patient:04d}" for item in items]),
        masks=masks,
        notes=("phantom_fracture is simulated: it says nothing about real fractures.",),
    )


def present(config: Config) -> str:
    """There are no files to look for."""
    return "simulated, needs no file"


CONTRACT_KEYS = {"patients": 40, "size": 8}
