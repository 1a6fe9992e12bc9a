"""Heat maps of new items, as pictures in a folder and on one page."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import interpolate

from medldr.data.reading.new_item import NewItem
from medldr.errors import InputError
from medldr.evaluation.explain import grad_cam
from medldr.evaluation.explain_pictures import explanation
from medldr.folders.files import atomic
from medldr.prediction.items import Item
from medldr.prediction.trained import Trained

MOST: Final = 200
"""Pictures on the page; the folder has all."""


class Explainer:
    """Draws why each item was answered as it was: the mean heat map of all runs.

    Args:
        runs: What answers.
        folder: Where pictures are written, named by the item's row among the answers.

    Attributes:
        pictures: PNG files in base64, of the first `MOST` items.

    Raises:
        InputError: If a network has no maps to explain, or the folder already has pictures.
    """

    def __init__(self, runs: Sequence[Trained], folder: Path, *, force: bool = False) -> None:
        for run in runs:
            if not run.model.maps:
                raise InputError(
                    f"--explain: the network of {run.folder} has tokens in place of feature maps, "
                    "so it cannot be explained in this way. Leave --explain out"
                )
        if folder.exists() and not folder.is_dir():
            raise InputError(f"--explain: {folder} is a file. Name a folder")
        if folder.is_dir() and any(folder.iterdir()) and not force:
            raise InputError(f"--explain: {folder} is not empty. Choose another, or add --force")
        self.runs = runs
        self.folder = folder
        self.pictures: list[str] = []
        self._count = 0

    def __call__(self, item: Item, images: Sequence[NewItem], prob: NDArray[np.float64]) -> None:
        """Draw one item."""
        del item  # its name may be a patient's
        target = [int(prob.argmax())]
        heats = [self._heat(run, one, target) for run, one in zip(self.runs, images, strict=True)]
        first = self.runs[0]
        spacing = first.record.reading.get("spacing")
        picture = explanation(images[0].image, np.mean(heats, axis=0), spacing)
        content = io.BytesIO()
        picture.save(content, "PNG")
        self._count += 1
        self.folder.mkdir(parents=True, exist_ok=True)
        if self._count == 1:  # only now is it certain that there are new ones
            for earlier in (*self.folder.glob("[0-9]*.png"), self.folder / "index.html"):
                earlier.unlink(missing_ok=True)
        with atomic(self.folder / f"{self._count:04}.png") as place:
            place.write_bytes(content.getvalue())
        if len(self.pictures) < MOST:
            self.pictures.append(base64.b64encode(content.getvalue()).decode())

    @staticmethod
    def _heat(run: Trained, item: NewItem, target: Sequence[int]) -> NDArray[np.float32]:
        """A heat map of the size of the stored image."""
        stored = torch.from_numpy(item.image[None]).to(run.fabric.device)
        heat = grad_cam(run.model, run.pipeline.evaluate(stored), target)
        size = item.image.shape[1:]
        if heat.shape[1:] != size:
            mode = "bilinear" if len(size) == 2 else "trilinear"
            heat = interpolate(heat[None], size=size, mode=mode, align_corners=False)[0]
        found: NDArray[np.float32] = heat[0].numpy()
        return found
