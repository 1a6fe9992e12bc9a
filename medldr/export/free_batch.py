"""What a network is traced with, so that the number of images stays free.

Two operations of pixel rules are written otherwise while torch records them. Antialiased resizing
fixes the size of the batch, and ONNX Runtime refuses what becomes of it: two products of matrices
do the same. Channels that are taken apart to be changed in place fix it too: they are selected one
by one. The network itself is not changed, and the exported one is compared with it.

Source:
    The triangular filter of torch's ``interpolate(..., mode="bilinear", antialias=True)``, which
    is Pillow's: as wide as one input pixel, or one output pixel where images shrink.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import interpolate
from torch.overrides import TorchFunctionMode


def weights(has: int, wanted: int) -> NDArray[np.float32]:
    """How each of the wanted pixels is made of those there are: ``(wanted, has)``, rows sum to 1.

    Example:
        >>> (7 * weights(4, 2)).round().tolist()
        [[3.0, 3.0, 1.0, 0.0], [0.0, 1.0, 3.0, 3.0]]
    """
    ratio = has / wanted
    reach = max(ratio, 1.0)
    centre = (np.arange(wanted) + 0.5) * ratio
    distance = np.abs(np.arange(has) + 0.5 - centre[:, None]) / reach
    found = np.clip(1 - distance, 0, None)
    return np.asarray(found / found.sum(1, keepdims=True), np.float32)


class FreeBatch(TorchFunctionMode):
    """Within it, the operations above are done in the other way."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        keys = kwargs or {}
        if func is interpolate and keys.get("antialias") and keys.get("mode") == "bilinear":
            if keys.get("size") is not None and not keys.get("align_corners"):
                return _resized(args[0], keys["size"])
        elif func in (Tensor.unbind, torch.unbind) and not keys:
            return _selected(*args)
        return func(*args, **keys)


def _resized(image: Tensor, size: int | Sequence[int]) -> Tensor:
    """``(B, C, H, W)`` floats at another size."""
    rows, columns = (size, size) if isinstance(size, int) else size
    height, width = image.shape[2:]
    if width != columns:
        image = image @ torch.tensor(weights(width, columns).T.tolist())
    if height != rows:
        image = torch.tensor(weights(height, rows).tolist()) @ image
    return image


def _selected(image: Tensor, axis: int = 0) -> tuple[Tensor, ...]:
    return tuple(image.select(axis, index) for index in range(image.shape[axis]))
