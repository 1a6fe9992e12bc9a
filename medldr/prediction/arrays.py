"""Arrays and tensors as items of a prediction."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from medldr.errors import InputError
from medldr.prediction.items import Item


def listed(inputs: Any, axes: int) -> list[Any]:
    """The items of what was given, one by one.

    Raises:
        InputError: If it is no list, or a single array where a list of them is needed.
    """
    if isinstance(inputs, Tensor):
        inputs = _plain(inputs)
    if isinstance(inputs, np.ndarray):
        if inputs.dtype.kind in "US":
            return [str(one) for one in inputs.ravel()]
        shape = inputs.shape
        colours = axes == 2 and len(shape) == 3 and (shape[-1] in (3, 4) or shape[0] in (1, 3))
        if len(shape) <= axes or colours:
            raise InputError(
                f"an array of shape {shape} may be a single image. Give a list with an array for "
                "each item: [array]"
            )
    try:
        return list(inputs)
    except TypeError as error:
        raise InputError(
            f"a {type(inputs).__name__} is no list of paths or arrays to predict"
        ) from error


def _plain(value: Tensor) -> NDArray[Any]:
    value = value.detach()
    value = value.to_dense() if value.layout != torch.strided else value
    value = value.float() if value.dtype == torch.bfloat16 else value
    array: NDArray[Any] = value.cpu().numpy()
    return array


def item_of_array(number: int, value: Any, spacing: Sequence[float] | None) -> Item:
    """An array as an item.

    Args:
        number: Its place in the list.
        value: What the list holds there.
        spacing: mm between its pixels; None: not said.

    Raises:
        InputError: If it is a path.
    """
    name = f"item {number}"
    if isinstance(value, str | Path):
        raise InputError("give paths or arrays, not both in one list")
    if isinstance(value, Tensor):
        value = _plain(value)
    try:
        array = np.asarray(value)
    except ValueError as error:
        return Item(name, reason=f"it is no array of numbers ({error})")
    if array.dtype.kind not in "biuf" or array.ndim < 2:
        return Item(name, reason=f"it is no image: {type(value).__name__} of shape {array.shape}")
    return Item(name, None, (array, spacing))
