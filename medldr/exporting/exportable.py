"""What is exported: pixel rule, network and answer as one module of plain torch.

Whoever runs it gives stored pixels, as `preprocessing.json` describes them, and gets the numbers
that medldr's own prediction gives: nothing between the image and the probability is left to be
written a second time.

It is traced within `FreeBatch`, so that the number of images stays free. Two operations of pixel
rules are written otherwise while torch records them. Antialiased resizing fixes the size of the
batch, and ONNX Runtime refuses what becomes of it: two products of matrices do the same. Channels
that are taken apart to be changed in place fix it too: they are selected one by one. The network
itself is not changed, and the exported one is compared with it.

Source:
    The filters of torch's ``interpolate(..., antialias=True)``, which are Pillow's: a triangle
    (bilinear) or Keys' cubic with a = -0.5 (bicubic), stretched where images shrink.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import interpolate
from torch.overrides import TorchFunctionMode

from medldr.errors import InputError
from medldr.exporting.joined import Joined
from medldr.folders.preprocessing_record import Preprocessing
from medldr.models.base import FeatureModel
from medldr.transforms import Pipeline, recorded_pipeline

INPUT = "image"
OUTPUTS = ("logits", "probabilities")


class Exportable(nn.Module):
    """Stored pixels in, logits and probabilities out; see `make_exportable`.

    Args:
        model: The network, in eval mode.
        pipeline: The pixel rule.
        record: What the network must be told.

    Shape:
        - Input ``(B, C, *S)`` float32: whole numbers from 0 to 255 where ``record.stored.dtype`` is
          ``uint8``, else numbers from 0 to 1.
        - Output ``(B, K)`` logits as the network gives them, and ``(B, K)`` probabilities: softmax
          (multi-label: sigmoid) of the logits divided by ``record.temperature``.
    """

    def __init__(
        self, model: FeatureModel | Joined, pipeline: Pipeline, record: Preprocessing
    ) -> None:
        super().__init__()
        self.model = model
        self.pipeline = pipeline
        self.whole = record.stored.dtype == "uint8"
        self.temperature = 1.0 if record.temperature is None else record.temperature
        self.multi_label = record.task == "multi-label"

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and probabilities of stored images."""
        if self.whole:  # the rule sees the type that it saw in training
            image = image.round().clamp(0, 255).to(torch.uint8)
        logits: Tensor = self.model(self.pipeline.evaluate(image))
        scaled = logits / self.temperature
        return logits, scaled.sigmoid() if self.multi_label else scaled.softmax(1)


def make_exportable(model: FeatureModel | Joined, record: Preprocessing) -> Exportable:
    """The module that is exported, on the CPU and in eval mode; the network is not changed.

    Raises:
        InputError: If the record holds transforms that act on one image at a time, or does not fit
            the network.
    """
    if record.transform.get("eval"):
        raise InputError(
            "transform.eval: MONAI transforms act on one image at a time and cannot become part of "
            "an exported network. Train with transform.eval left empty"
        )
    pipeline = recorded_pipeline(record)
    if model.num_classes != len(record.class_names):
        raise InputError(
            f"preprocessing.json: class_names has {len(record.class_names)} names, but the network "
            f"has {model.num_classes} outputs. Take both from the same run"
        )
    return Exportable(copy.deepcopy(model).cpu(), pipeline, record).eval()


def _triangle(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.clip(1 - x, 0, None)


def _cubic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    near = (1.5 * x - 2.5) * x**2 + 1
    far = ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


_FILTERS: Final = {"bilinear": _triangle, "bicubic": _cubic}


def weights(has: int, wanted: int, mode: str = "bilinear") -> NDArray[np.float32]:
    """How each of the wanted pixels is made of those there are: ``(wanted, has)``, rows sum to 1.

    Example:
        >>> (7 * weights(4, 2)).round().tolist()
        [[3.0, 3.0, 1.0, 0.0], [0.0, 1.0, 3.0, 3.0]]
    """
    ratio = has / wanted
    centre = (np.arange(wanted) + 0.5) * ratio
    distance = np.abs(np.arange(has) + 0.5 - centre[:, None]) / max(ratio, 1.0)
    share = _FILTERS[mode](distance)
    return np.asarray(share / share.sum(1, keepdims=True), np.float32)


class FreeBatch(TorchFunctionMode):
    """Within it, resizing and taking channels apart leave the size of the batch free."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        keys = kwargs or {}
        if func is interpolate and keys.get("antialias") and keys.get("mode") in _FILTERS:
            if keys.get("size") is not None and not keys.get("align_corners"):
                return _resized(args[0], keys["size"], keys["mode"])
        elif func in (Tensor.unbind, torch.unbind) and not keys:
            return _selected(*args)
        return func(*args, **keys)


def _resized(image: Tensor, size: int | Sequence[int], mode: str) -> Tensor:
    """``(B, C, H, W)`` floats at another size."""
    rows, columns = (size, size) if isinstance(size, int) else size
    height, width = image.shape[2:]
    if width != columns:
        image = image @ torch.tensor(weights(width, columns, mode).T.tolist())
    if height != rows:
        image = torch.tensor(weights(height, rows, mode).tolist()) @ image
    return image


def _selected(image: Tensor, axis: int = 0) -> tuple[Tensor, ...]:
    return tuple(image.select(axis, index) for index in range(image.shape[axis]))
