"""Procedural H&E tiles with and without tumour, from five simulated hospitals.

Nothing is downloaded: every tile is a function of `phantom_seed`, slide and tile alone, the same
bit for bit each time it is made by the same libraries on the same kind of processor. It has
Camelyon17's structure, so everything for an unseen hospital can be shown and tested without it;
it is not evidence about real tissue.

A tile is *tumor* where a tumour nest reaches into its central third, as the middle 32 of the 96
pixels decide in Camelyon17; a third of the *normal* tiles have a nest in the border. Classes take
turns within a slide. There are ten slides per hospital: hospitals 0, 3 and 4 train, hospital 1
selects, hospital 2 tests, and a tenth of the training hospitals' tiles, drawn tile by tile, is
``id_val``. Groups are slides.

Domains are the hospitals of `HOSPITALS` (`medldr/datasets/_phantoms/staining.py`), which differ in
appearance only, and not by the formula of stain jitter.

    python -m medldr.datasets.phantom_histology FOLDER

writes it in the layout of WILDS' Camelyon17, so the dataset ``camelyon17`` can be tried with
``data.root=FOLDER``.

Source:
    Structure: WILDS Camelyon17 (Koh et al. 2021). The rest is our choice. The hospitals were fixed
    with ERM alone (`benchmarks/phantom_shift.py --run phantom_histology_erm`) before any other
    method or augmentation was run on them, and are not changed for a method's sake.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import Field

from medldr.datasets._phantoms.cells import Tissue, render
from medldr.datasets._phantoms.staining import HOSPITALS as HOSPITALS
from medldr.datasets._phantoms.staining import Hospital, Slide, photograph
from medldr.datasets._phantoms.tissue import Nest, Scene
from medldr.datasets.base import DatasetConfig, ImageTable

CLASSES: Final = ("normal", "tumor")
SLIDES: Final = 50
"""Number of slides; `slide // 10` is the hospital."""

_VAL, _TEST = 1, 2  # hospitals that select and test
_BORDER = 1 / 3  # part of the normal tiles with a nest in the border

# The streams of one phantom seed; each draw says what it is for, so none can disturb another.
_PLAN, _NEST, _STROMA, _CELLS, _SLIDE, _SCAN = range(6)


class Config(DatasetConfig):
    """The histology phantom. `root` and `download` do nothing here: there are no files."""

    split_scheme: Literal["official", "mixed-to-test", "every-hospital"] = Field(
        "official",
        description="mixed-to-test: slide 23 of the test hospital trains, as in WILDS; "
        "every-hospital: every other slide of the unseen hospitals trains",
    )
    tiles: int = Field(60, ge=2, description="tiles per slide; there are 50 slides")
    size: int = Field(48, ge=32, le=512, description="pixels per side of the 96 um tile")
    phantom_seed: int = Field(0, ge=0, description="seed of the phantom, separate from the run's")


@dataclass(frozen=True)
class Item:
    """One tile to be made.

    Attributes:
        seed: The phantom seed.
        slide: Number of the slide, 0 to 49.
        tile: Number of the tile within the slide.
    """

    seed: int
    slide: int
    tile: int

    @property
    def hospital(self) -> int:
        """Number of the hospital."""
        return self.slide * len(HOSPITALS) // SLIDES

    @property
    def label(self) -> int:
        """Class number."""
        return self.tile % 2

    @property
    def drawn(self) -> bool:
        """Whether the tile is in the tenth drawn for validation; decided in every hospital."""
        return bool(self.stream(_PLAN).uniform() < 0.1)

    @property
    def patient(self) -> str:
        """Number of the patient as Camelyon17 writes it; each has one slide."""
        return f"{2 * self.slide:03d}"

    @property
    def node(self) -> int:
        """Number of the lymph node."""
        return self.slide % 5

    @property
    def place(self) -> tuple[int, int]:
        """Coordinates ``(x, y)`` on the slide, which no two of its tiles share."""
        return 96 * (self.tile % 32), 96 * (self.tile // 32)

    @property
    def name(self) -> str:
        """Name of the tile, made as those of Camelyon17."""
        x, y = self.place
        return f"patch_patient_{self.patient}_node_{self.node}_x_{x}_y_{y}"

    def stream(self, purpose: int) -> np.random.Generator:
        """An independent random stream of this tile."""
        return np.random.default_rng((self.seed, purpose, self.slide, self.tile))


def plan(tiles: int, phantom_seed: int = 0) -> list[Item]:
    """All tiles, slide by slide.

    Example:
        >>> items = plan(tiles=2)
        >>> [(item.slide, item.tile, item.hospital, item.label) for item in items[-2:]]
        [(49, 0, 4, 0), (49, 1, 4, 1)]
    """
    return [Item(phantom_seed, slide, tile) for slide in range(SLIDES) for tile in range(tiles)]


def split_of(item: Item, scheme: str) -> str:
    """The split of a tile.

    Example:
        >>> tile = Item(seed=0, slide=23, tile=0)
        >>> split_of(tile, "official"), split_of(tile, "mixed-to-test")
        ('test', 'train')
    """
    known = {"mixed-to-test": item.slide == 23, "every-hospital": item.slide % 2 == 1}
    if item.hospital in (_VAL, _TEST) and not known.get(scheme, False):
        return "val" if item.hospital == _VAL else "test"
    return "id_val" if item.drawn else "train"


def clean(item: Item, size: int, *, nested: bool = True) -> Scene:
    """The tissue of a tile before any dye; without its tumour nest if asked."""
    rng = item.stream(_NEST)
    present = item.label == 1 or rng.uniform() < _BORDER
    nest = Nest.draw(rng, central=item.label == 1) if present and nested else None
    return render(Tissue.draw(item.stream(_STROMA), item.stream(_CELLS), nest), size)


def scan(item: Item, scene: Scene, hospital: Hospital | None = None) -> NDArray[np.uint8]:
    """The scene as the tile's hospital, or any other one, shows it: ``(3, H, W)`` uint8."""
    hospital = hospital or HOSPITALS[item.hospital]
    number = HOSPITALS.index(hospital)
    rng = np.random.default_rng((item.seed, _SLIDE, item.slide, number))
    return photograph(scene, Slide.draw(hospital, rng), item.stream(_SCAN))


def load(config: Config) -> ImageTable:
    """Make the phantom (about 3 ms a tile at 48 pixels)."""
    items = plan(config.tiles, config.phantom_seed)
    images = np.empty((len(items), 3, config.size, config.size), np.uint8)
    masks = np.empty((len(items), config.size, config.size), bool)
    for row, item in enumerate(items):
        scene = clean(item, config.size)
        images[row], masks[row] = scan(item, scene), scene.tumour
    return ImageTable(
        name=f"phantom_histology_{config.size}",
        task="binary",
        class_names=CLASSES,
        images=images,
        labels=np.array([item.label for item in items], np.int64),
        ids=np.array([item.name for item in items]),
        splits=np.array([split_of(item, config.split_scheme) for item in items]),
        domains=np.array([HOSPITALS[item.hospital].name for item in items]),
        groups=np.array([f"slide_{item.slide:02d}" for item in items]),
        masks=masks,
        notes=("phantom_histology is simulated: it says nothing about real tissue.",),
        shared_groups=(("train", "id_val"),),
    )


def present(config: Config) -> str:
    """There are no files to look for."""
    return "simulated, needs no file"


def write(config: Config, folder: Path) -> Path:
    """Write the phantom as WILDS lays Camelyon17 out; pixels are kept as they are.

    Args:
        config: `size` 96 gives what the dataset ``camelyon17`` reads; `split_scheme` does not
            matter, as the files hold the drawn tenth only and the reader knows the hospitals.
        folder: Where `camelyon17_v1.0` is made; files of equal names are replaced.

    Returns:
        The folder `camelyon17_v1.0`.
    """
    root = folder / "camelyon17_v1.0"
    lines = [",patient,node,x_coord,y_coord,tumor,slide,center,split"]
    for row, item in enumerate(plan(config.tiles, config.phantom_seed)):
        pixels = scan(item, clean(item, config.size)).transpose(1, 2, 0)
        opaque = np.full((config.size, config.size, 1), 255, np.uint8)
        place = root / "patches" / f"patient_{item.patient}_node_{item.node}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.concatenate([pixels, opaque], axis=2)).save(place / f"{item.name}.png")
        values = (row, item.patient, item.node, *item.place, item.label, item.slide, item.hospital)
        lines.append(",".join(map(str, (*values, int(item.drawn)))))
    (root / "metadata.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (root / "RELEASE_v1.0.txt").write_text("Simulated by medldr's phantom_histology.\n")
    return root


def main() -> None:
    """Write the phantom from the command line."""
    parser = argparse.ArgumentParser(description="Write simulated tiles in Camelyon17's layout.")
    parser.add_argument("folder", type=Path, help="where camelyon17_v1.0 is made")
    parser.add_argument("--tiles", type=int, default=20, help="tiles per slide (50 slides)")
    parser.add_argument("--phantom-seed", type=int, default=0)
    args = parser.parse_args()
    keys = {"name": "phantom_histology", "size": 96}
    config = Config(**keys, tiles=args.tiles, phantom_seed=args.phantom_seed)
    print(write(config, args.folder))


if __name__ == "__main__":
    main()

CONTRACT_KEYS = {"tiles": 4, "size": 32}
