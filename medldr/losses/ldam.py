"""LDAM: cross-entropy with a margin that is wider the rarer the true class is.

When to use: imbalanced classes, with a cosine head (``model.head: cosine``) and usually with class
weights that start late (``training.class_weights: {kind: effective_number, start: 160}``), which
together are LDAM-DRW: a margin is no weight by frequency, so they do not correct twice. Prediction
uses the plain logits, without the margin.

Source:
    Cao et al., "Learning imbalanced datasets with label-distribution-aware margin loss", 2019:
    the cosine of the true class is lowered by ``m_j = C / n_j^(1/4)``, with C such that the widest
    margin is ``max_margin`` (0.5), before all cosines are multiplied by the scale s (30 in the
    published code). Here the head multiplies, so its ``scale`` (``model.cosine_scale``) is the only
    place of s, and the logit of the true class is lowered by ``s m_j``.
    Our choice: the loss of a soft label is the mean of the losses of its classes, each with the
    margin of that class.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from medldr.errors import InputError
from medldr.losses._softmax import SoftmaxLoss, counts_of_all, expected
from medldr.losses.base import LossConfig
from medldr.types import DataSpec

TITLE = "LDAM"
PUBLISHED = {"max_margin": 0.5}


class LDAMConfig(LossConfig):
    """Keys of LDAM."""

    name: Literal["ldam"] = "ldam"
    max_margin: float = Field(
        0.5, ge=0, description="margin of the rarest class, as a cosine; 0: cross-entropy"
    )


class LDAM(SoftmaxLoss):
    """Cross-entropy with the logit of the true class lowered by its margin, in float32 at least.

    Attributes:
        margins: ``(K,)``, as cosines.
        scale: Of the cosine head; None until `bind` has seen it.

    Raises:
        InputError: If a class has no training image.

    Example:
        >>> from types import SimpleNamespace
        >>> spec = DataSpec("multi-class", ("a", "b", "c"), (256, 16, 1), 1, (8, 8))
        >>> loss = LDAM(LDAMConfig(), spec)
        >>> loss.margins
        tensor([0.1250, 0.2500, 0.5000])
        >>> loss.bind(SimpleNamespace(scale=30.0))
        >>> cosines = torch.tensor([[0.5, 0.2, 0.1]])
        >>> [round(v, 4) for v in loss(30 * cosines, torch.tensor([2])).tolist()]
        [27.0001]
    """

    head = "cosine"
    margins: Tensor

    def __init__(self, config: LDAMConfig, spec: DataSpec) -> None:
        super().__init__(config, spec)
        counts = counts_of_all("ldam", spec)
        margins = config.max_margin * (counts.min() / counts) ** 0.25
        self.register_buffer("margins", margins.float(), persistent=False)
        self.scale: float | None = None

    def bind(self, head: nn.Module) -> None:
        """Take over the scale of a cosine head.

        Raises:
            InputError: If the head is not a cosine one, whose logits alone are bounded.
        """
        scale = getattr(head, "scale", None)
        if scale is None:
            raise InputError(
                "algorithm.loss: ldam lowers cosines by a margin, but it would get the logits of a "
                "linear head, where a margin has no fixed meaning. Set model.head: cosine and "
                "model.cosine_scale: 30 (LDAM's own), or use another loss such as "
                "balanced_softmax; with sagnet, whose style head is always linear, use another loss"
            )
        self.scale = float(scale)

    def of(self, logits: Tensor, target: Tensor) -> Tensor:
        """As the class says; the logits are scaled cosines."""
        if self.scale is None:
            raise RuntimeError("ldam needs the scale of the head: call bind(head) first")
        margins = self.scale * self.margins.to(logits.dtype)
        if target.ndim == 1:
            true = functional.one_hot(target, logits.shape[1])
            return functional.cross_entropy(logits - true * margins, target, reduction="none")
        return expected(_if_true(logits, margins), target)


def _if_true(logits: Tensor, margins: Tensor) -> Tensor:
    """``(B, K)``: the loss of each sample if class k were the true one, its logit lowered.

    It is ``logsumexp(others, lowered) - lowered``. The sum over the other classes comes from the
    sum over all, except for the largest logit, where the difference of two nearly equal numbers
    would leave nothing.
    """
    lowered = logits - margins
    top = logits.argmax(1, keepdim=True)
    without_top = logits.scatter(1, top, -torch.inf).logsumexp(1, keepdim=True)
    share = logits.softmax(1).scatter(1, top, 0.0)
    others = logits.logsumexp(1, keepdim=True) + torch.log1p(-share)
    return torch.logaddexp(others.scatter(1, top, without_top), lowered) - lowered


Config = LDAMConfig
LOSS = LDAM
