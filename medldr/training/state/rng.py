"""Randomness of the algorithm: seeded per run and process, and kept in checkpoints.

Three sources of randomness are kept separate. The model's initial weights have their own generator;
the data's order and augmentation are functions of (seed, epoch, index) and have no state; the
algorithm (dropout, masks, mixing) draws from the global generators that this file manages.
"""

from __future__ import annotations

import random
from collections.abc import Generator, Iterator
from typing import Any, TypeVar

import numpy as np
import torch

T = TypeVar("T")


def seed_process(seed: int, rank: int) -> None:
    """Seed the global generators of Python, NumPy and torch from the run's seed and the rank."""
    sequence = np.random.SeedSequence([seed, rank])
    python, numpy, pytorch = (int(n) for n in sequence.generate_state(3, np.uint32))
    random.seed(python)
    np.random.seed(numpy)  # noqa: NPY002  (third-party code draws from it; ours does not)
    torch.manual_seed(pytorch)


class Randomness:
    """The global generators of this process, as a part of its state.

    Args:
        device: Where the process trains; its generator belongs to the state.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def state_dict(self) -> dict[str, Any]:
        """State of all generators, as tensors and plain values."""
        version, words, gauss = random.getstate()
        _, keys, position, has_gauss, cached = np.random.get_state()  # noqa: NPY002
        state: dict[str, Any] = {
            "python": [version, list(words), gauss],
            "numpy": [np.asarray(keys).tolist(), int(position), int(has_gauss), float(cached)],
            "torch": torch.get_rng_state(),
        }
        if self._device.type == "cuda":
            state["cuda"] = torch.cuda.get_rng_state(self._device)
        if self._device.type == "mps":
            state["mps"] = torch.mps.get_rng_state()
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore all generators."""
        version, words, gauss = state["python"]
        random.setstate((version, tuple(words), gauss))
        keys, position, has_gauss, cached = state["numpy"]
        numpy_state = ("MT19937", np.array(keys, dtype=np.uint32), position, has_gauss, cached)
        np.random.set_state(numpy_state)  # noqa: NPY002
        torch.set_rng_state(state["torch"])
        if "cuda" in state:
            torch.cuda.set_rng_state(state["cuda"], self._device)
        if "mps" in state:
            torch.mps.set_rng_state(state["mps"])


def undisturbed(items: Iterator[T]) -> Generator[T, None, None]:
    """The same items; producing them leaves torch's global CPU generator unchanged.

    A data loader draws a number from it whenever it starts. A run resumed in the middle of an
    epoch starts its loader once more than an uninterrupted one, and would otherwise diverge.
    """
    try:
        while True:
            state = torch.get_rng_state()
            try:
                item = next(items)
            except StopIteration:
                return
            finally:
                torch.set_rng_state(state)
            yield item
    finally:
        # A loader may have worker processes to shut down.
        if isinstance(items, Generator):
            items.close()
