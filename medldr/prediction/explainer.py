"""Heat maps of new items, as pictures and volumes in a folder and on one page."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from PIL.PngImagePlugin import PngInfo
from torch.nn.functional import interpolate

from medldr.data.reading.new_item import NewItem
from medldr.evaluation.explain.explanation_pictures import explanations
from medldr.evaluation.explain.grad_cam import METHOD as GRAD_CAM
from medldr.evaluation.explain.grad_cam import NoMapError, grad_cam
from medldr.evaluation.explain.token_map import METHOD as TOKEN_MAP
from medldr.evaluation.explain.token_map import token_map
from medldr.folders.files import atomic
from medldr.prediction.answers import decided, mean_threshold
from medldr.prediction.heat_volume import write_heat_volume
from medldr.prediction.items import Item
from medldr.prediction.trained import Trained

MOST: Final = 200
"""Pictures on the page; the folder has all."""


class Explainer:
    """Draws why each item was answered as it was: the mean heat map of all runs that have one.

    Args:
        runs: What answers.
        folder: Where pictures are written, named by the item's row among the answers; it exists.
        keep: Whether heat maps are kept as numbers, too.

    Attributes:
        heat: Those that are kept, each of the size of the item's stored image.
        pictures: PNG files in base64, of the first `MOST` items, and whether the heat map of each
            is zero everywhere.
        method: How maps are made, in words.
        notes: By run, why it has no maps.
    """

    def __init__(self, runs: Sequence[Trained], folder: Path, *, keep: bool = False) -> None:
        self.runs = runs
        self.folder = folder
        self.heat: list[NDArray[np.float32]] = []
        self._keep = keep
        self.pictures: list[tuple[str, bool]] = []
        self.method = " and ".join(dict.fromkeys(map(_method, runs)))
        self.notes: dict[Path, str] = {}
        self._count = 0
        record = runs[0].record
        names, positive = record.class_names, record.positive_class
        self._positive = None if positive is None else names.index(positive)
        self._threshold = mean_threshold(run.record.threshold for run in runs)

    def __call__(self, item: Item, images: Sequence[NewItem], prob: NDArray[np.float64]) -> None:
        """Draw one item."""
        target = decided(prob[None], self._positive, self._threshold).tolist()
        self._count += 1
        heats = []
        for run, one in zip(self.runs, images, strict=True):
            try:
                heats.append(_heat(run, one, target))
            except NoMapError as error:  # the network's kind, or its size, so of every item
                self.notes[run.folder] = f"no heat map of {run.folder.name}: {error}"
        if not heats:
            return
        heat, first = np.mean(heats, axis=0), self.runs[0]
        if self._keep:
            self.heat.append(heat if len(heat) > 1 else heat[0])
        if len(heat) == 1:  # each view has a grid of its own
            name = f"{self._count:04}.nii.gz"  # the item's own may be a patient's
            write_heat_volume(self.folder / name, heat[0], item, images[0], first.reader)
        parts = np.split(images[0].image, max(1, len(first.reader.images)))
        each = np.broadcast_to(heat, (len(parts), *heat.shape[1:]))  # channels share a map
        picture = explanations(parts, list(each), first.record.reading.get("spacing"))
        content, said = io.BytesIO(), PngInfo()
        said.add_text("Description", f"heat map: {self.method}")
        picture.save(content, "PNG", pnginfo=said)
        with atomic(self.folder / f"{self._count:04}.png") as place:
            place.write_bytes(content.getvalue())
        if len(self.pictures) < MOST:
            png = base64.b64encode(content.getvalue()).decode()
            self.pictures.append((png, not heat.any()))


def _method(run: Trained) -> str:
    return GRAD_CAM if run.model.maps else TOKEN_MAP


def _heat(run: Trained, item: NewItem, target: Sequence[int]) -> NDArray[np.float32]:
    """Heat maps ``(1 or views, *S)`` of the size of the stored image."""
    stored = torch.from_numpy(item.image[None]).to(run.fabric.device)
    draw = grad_cam if run.model.maps else token_map
    heat = draw(run.model, run.pipeline.evaluate(stored), target)
    size = item.image.shape[1:]
    heat = heat.view(1, run.model.views, *heat.shape[-len(size) :])
    if heat.shape[2:] != size:
        mode = "bilinear" if len(size) == 2 else "trilinear"
        heat = interpolate(heat, size=size, mode=mode, align_corners=False)
    values: NDArray[np.float32] = heat[0].numpy()
    return values
