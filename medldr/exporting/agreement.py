"""Whether an exported network answers as the network does; if not, it must not be kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass

import numpy as np
import torch
from torch import Tensor

from medldr.errors import InputError
from medldr.evaluation.predictions.log_odds import log_odds
from medldr.exporting.exportable import Exportable
from medldr.folders.preprocessing_record import Stored

TOLERANCE = 1e-4
"""Largest difference allowed: of a probability, and of a logit or log-odds over the greater of its
size and 1."""

BATCHES = (1, 3)
"""Numbers of random images; two, so that a batch axis that was fixed shows."""

_AT_ONCE = 8

Answers = tuple[Tensor, Tensor]
"""Logits and probabilities, ``(B, K)`` each."""


@dataclass(frozen=True)
class Difference:
    """Largest differences between two sets of answers.

    Attributes:
        logit: Of a logit, over the greater of its size and 1.
        probability: Of a probability.
        log_odds: Of log-odds, over the greater of their size and 1: large logits may hide what
            changes ranks, where probabilities are rounded to 1.
    """

    logit: float
    probability: float
    log_odds: float = 0.0

    @property
    def within(self) -> bool:
        """Whether all are allowed; a NaN is not."""
        return all(one <= TOLERANCE for one in (self.logit, self.probability, self.log_odds))


def difference(ours: Answers, theirs: Answers, *, multi_label: bool = False) -> Difference:
    """The largest differences; NaN where either has one, infinite where shapes differ.

    Example:
        >>> ours = torch.tensor([[200.0, 0.0]]), torch.tensor([[1.0, 0.0]])
        >>> theirs = torch.tensor([[202.0, 0.5]]), torch.tensor([[0.75, 0.25]])
        >>> difference(ours, theirs)
        Difference(logit=0.5, probability=0.25, log_odds=0.0075)
    """
    if any(a.shape != b.shape for a, b in zip(ours, theirs, strict=True)):
        return Difference(*[float("inf")] * 3)
    (logits, probabilities), (other_logits, other_probabilities) = ours, theirs
    scaled = (logits - other_logits).abs() / logits.abs().clamp(min=1)
    apart = float((probabilities - other_probabilities).abs().max())
    if multi_label:  # log-odds are the logits
        return Difference(float(scaled.max()), apart, float(scaled.max()))
    odds, other_odds = (log_odds(z.numpy(), "multi-class") for z in (logits, other_logits))
    ranks = np.abs(odds - other_odds) / np.maximum(np.abs(odds), 1)
    return Difference(float(scaled.max()), apart, float(ranks.max()))


def images(stored: Stored, real: Tensor | None) -> Iterator[tuple[str, Tensor]]:
    """Stored images to compare on, with a word on each batch.

    Args:
        stored: What a stored image is.
        real: ``(N, C, *S)`` stored images of any type; None: random ones alone.

    Raises:
        InputError: If the real ones have another shape.
    """
    shape = (stored.channels, *stored.spatial_size)
    generator = torch.Generator().manual_seed(0)
    for batch in BATCHES:
        image = torch.rand(batch, *shape, generator=generator)
        if stored.dtype == "uint8":
            image = image.mul(255).round()
        yield "random images", image
    if real is None:
        return
    if tuple(real.shape[1:]) != shape:
        raise InputError(
            f"the images to check an export with have the shape {tuple(real.shape[1:])}, but a "
            f"stored image has {shape} (preprocessing.json, key stored)"
        )
    for start in range(0, len(real), _AT_ONCE):
        yield "real images", real[start : start + _AT_ONCE].to(torch.float32)


def check(
    run: Callable[[Tensor], Answers],
    module: Exportable,
    stored: Stored,
    real: Tensor | None,
    what: str,
) -> Difference:
    """Compare what was exported with the network.

    Args:
        run: Runs what was exported on stored images ``(B, C, *S)`` float32.
        module: The network.
        stored: What a stored image is.
        real: Stored images to compare on besides random ones.
        what: What was exported, for the message.

    Returns:
        The largest differences found.

    Raises:
        InputError: If a difference is larger than `TOLERANCE`.
    """
    worst = Difference(0.0, 0.0)
    for word, image in images(stored, real):
        with torch.no_grad():
            ours = module(image)
        here = difference(ours, run(image), multi_label=module.multi_label)
        if not here.within:
            raise InputError(
                f"{what} does not answer as the network does: on {word} a logit differs by "
                f"{here.logit:.2g}, log-odds by {here.log_odds:.2g} and a probability by "
                f"{here.probability:.2g}, more than "
                f"{TOLERANCE:g}. Export in another format"
            )
        worst = Difference(*map(max, astuple(worst), astuple(here)))
    return worst
