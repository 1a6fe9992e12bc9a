"""Whether an exported network answers as the network does; if not, it must not be kept.

What is exported computes in float32 and is held to the network in float32. `medldr predict` answers
in the precision of training, where bfloat16 rounds: how far it is from that is measured and told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import astuple, dataclass, field
from decimal import ROUND_CEILING, Context
from typing import Any

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

ROUNDING = 2.0**-22
"""What is added to a difference from `medldr predict`: batches of another size, or one image at a
time, change the last digits of float32."""

_AT_ONCE = 8

Answers = tuple[Tensor, Tensor]
"""Logits and probabilities, ``(B, K)`` each."""

Runner = Callable[[Tensor], Answers]
"""Runs what was exported on stored images ``(B, C, *S)`` float32."""


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


@dataclass(frozen=True)
class Reference:
    """What an export is compared with, besides the network itself on random images.

    Attributes:
        images: Real stored images ``(N, C, *S)`` of any type; None: random ones alone.
        words: What those images are.
        trained_in: The precision that the run was trained in.
        predict: By precision, the probabilities ``(B, K)`` that `medldr predict` gives images.
    """

    images: Tensor | None = None
    words: str = "random images"
    trained_in: str = "float32"
    predict: Mapping[str, Callable[[Tensor], Tensor]] = field(default_factory=dict)


@dataclass(frozen=True)
class Agreement:
    """How far what was exported is from the network, and from `medldr predict`.

    Attributes:
        difference: The largest differences from the network in float32, on all images.
        words: What the images were on which it was compared with `medldr predict`.
        trained_in: The precision that the run was trained in.
        predict: By precision, the largest difference of a probability from `medldr predict`.
    """

    difference: Difference
    words: str
    trained_in: str
    predict: Mapping[str, float]

    @property
    def text(self) -> str:
        """The differences from `medldr predict` in a sentence, rounded up; empty: none are known.

        Example:
            >>> apart = {"bfloat16": 0.00741, "float32": 5.36e-07}
            >>> Agreement(Difference(0, 0), "8 scans", "bfloat16", apart).text
            'on 8 scans, probabilities differ from those of medldr predict by at most 7.5e-03 in \
bfloat16, the precision of training, and by at most 5.4e-07 in float32'
        """
        if not self.predict:
            return ""
        own = f"{self.trained_in}, the precision of training"
        each = [
            f"by at most {rounded_up(most)} in {own if name == self.trained_in else name}"
            for name, most in self.predict.items()
        ]
        if self.trained_in not in self.predict:
            each.append(f"by an unknown amount in {own}, which needs another device")
        said = ", and ".join(each)
        return f"on {self.words}, probabilities differ from those of medldr predict {said}"

    def written(self) -> dict[str, Any]:
        """The same as metadata: the largest difference of a probability by precision."""
        return {
            "images": self.words,
            "trained_in": self.trained_in,
            "largest_difference_from_medldr_predict": dict(self.predict),
        }


def rounded_up(value: float) -> str:
    """Two digits that are never less than a value.

    Example:
        >>> rounded_up(0.00741), rounded_up(0.0)
        ('7.5e-03', '0.0e+00')
    """
    return f"{float(Context(prec=2, rounding=ROUND_CEILING).create_decimal(value)):.1e}"


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
    run: Runner, module: Exportable, stored: Stored, reference: Reference, what: str
) -> Agreement:
    """Compare what was exported with the network, and with `medldr predict`.

    Args:
        run: Runs what was exported.
        module: The network.
        stored: What a stored image is.
        reference: What else it is compared with; `medldr predict` on the real images, where there
            are any.
        what: What was exported, for the message.

    Returns:
        The largest differences found.

    Raises:
        InputError: If a difference is larger than `TOLERANCE`.
    """
    worst = Difference(0.0, 0.0)
    apart = dict.fromkeys(reference.predict, 0.0)
    for word, image in images(stored, reference.images):
        with torch.no_grad():
            ours = module(image)
        theirs = run(image)
        here = difference(ours, theirs, multi_label=module.multi_label)
        if not here.within:
            raise InputError(
                f"{what} does not answer as the network does: on {word} a logit differs by "
                f"{here.logit:.2g}, log-odds by {here.log_odds:.2g} and a probability by "
                f"{here.probability:.2g}, more than "
                f"{TOLERANCE:g}. Export in another format"
            )
        worst = Difference(*map(max, astuple(worst), astuple(here)))
        if word == "real images" or reference.images is None:
            for name, predict in reference.predict.items():
                most = float((predict(image) - theirs[1]).abs().max())
                apart[name] = float(np.maximum(apart[name], most))  # a NaN stays
    apart = {name: most + ROUNDING for name, most in apart.items()}
    return Agreement(worst, reference.words, reference.trained_in, apart)
