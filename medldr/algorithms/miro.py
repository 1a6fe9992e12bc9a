"""MIRO: feature maps should stay near those of the network that training started from.

What it changes: a frozen copy of the first weights sees every image too. After the stem and each
stage the squared difference of the two feature maps is divided by a trained variance of its
channel; half of the mean of that and of the variance's logarithm, summed over the places, is added
to the classification loss ``weight`` times. A channel that has to change may: its variance grows.

When to use: training starts from weights that have seen much more than the training images
(``model.pretrained``, ``model.weights`` or `training.init_from`). With random first weights there
is nothing worth keeping, and the run says so. Domains need not be known. On DomainBed's photographs
its authors' table has it above plain training on all five sets (85.4 against 84.2 on PACS, 50.4
against 47.8 on Terra Incognita).

Cost: one more pass without gradients, about a third of a step of ``erm``; the memory of the frozen
weights and of the feature maps at all places; a variance per channel (3,904 for ResNet-50, 1,024
for ResNet-18). Checkpoints hold the frozen copy as well. Prediction does not use any of it.

Works with: every task, model and loss, in 2D and 3D, and maps of tokens ``(B, T, C)``; every
sampler; accumulation; as a base of ``latentdr`` and ``batchformer``. The penalty, and with it the
loss, may be negative: five places begin at 5/2 ln 0.1 = -5.756. ``weight: 0`` is ``erm``, with the
penalty logged.

Settings: ``weight`` 0.1, five places (``points: stem_block``), variances that begin at 0.1 and
train at ``encoder_lr_scale`` 10 times the rate. ``init_from`` counts as the start: the copy is made
of the weights that the first step begins with.

Several processes: each compares the maps of its own rows; the frozen copy is never sent round.

Source:
    Cha et al., "Domain generalization by mutual-information regularization with pre-trained
    models", 2022, and its code: identity as the mean encoder, one scalar per channel as the
    variance encoder, ``softplus(b) + 1e-5``; weight searched over 0.01 and 0.1 to 0.1 on most sets.
    The code decays the b's like all other weights, and so do we (``decay_variances``).
    Our choice: the copy's batch normalisation always uses the first statistics, and its dropout is
    off; penalties are computed in float32 also under autocast.
"""

from __future__ import annotations

import copy
import math
from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from medldr.algorithms.base import Algorithm, AlgorithmConfig
from medldr.config import RunConfig
from medldr.models.base import STAGES, FeatureModel, Tap
from medldr.types import Batch, DataSpec, StepOutput

TITLE = "MIRO"

_FLOOR = 1e-5
"""Added to every variance."""


class MIROConfig(AlgorithmConfig):
    """Keys of MIRO."""

    name: Literal["miro"] = "miro"
    weight: float = Field(0.1, ge=0, description="weight of the penalty")
    points: Literal["stem_block", "block"] = Field(
        "stem_block", description="compare after the stem and all stages, or only the stages"
    )
    encoder_lr_scale: float = Field(
        10.0, gt=0, description="factor on the learning rate of the variances, times lr_scale"
    )
    initial_variance: float = Field(0.1, gt=_FLOOR, description="initial variance of every channel")
    decay_variances: bool = Field(
        True, description="apply training.weight_decay to the variances' parameters"
    )


class MIRO(Algorithm):
    """Mean classification loss plus the distance of feature maps from the first network's.

    Attributes:
        frozen: The network that training starts from; always in eval mode, without gradients.
        variances: By place, ``(C,)`` trained numbers b, each for ``softplus(b) + 1e-5``.
        taps: By place, all the one bound method that looks on.
    """

    config: MIROConfig

    def __init__(self, config: MIROConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        model.require_stages(model.stages or STAGES, "algorithm.points")
        # Same memory layout as the network will have, also for the copy of a resumed run.
        self.frozen = copy.deepcopy(model).requires_grad_(False).to_fast_memory().eval()
        start = math.log(math.expm1(config.initial_variance - _FLOOR))
        dims = dict(zip(model.stages, model.stage_dims, strict=True))
        blocks = tuple(stage for stage in model.stages if stage != "stem")  # some have no stem
        points = model.stages if config.points == "stem_block" else blocks
        kind = torch.promote_types(next(model.parameters()).dtype, torch.float32)
        self.variances = nn.ParameterDict(
            {p: nn.Parameter(torch.full((dims[p],), start, dtype=kind)) for p in points}
        )
        self.taps: dict[str, Tap] = dict.fromkeys(points, self._see)
        self._seen: list[Tensor] = []

    def train(self, mode: bool = True) -> MIRO:
        """As everywhere, but the frozen copy stays in eval mode."""
        super().train(mode)
        self.frozen.eval()
        return self

    def check_run(self, config: RunConfig, *, processes: int, steps: int) -> list[str]:
        """A note where training starts from random weights."""
        keys = ("pretrained", "weights")
        if config.training.init_from or any(getattr(config.model, k, None) for k in keys):
            return []
        return [
            "algorithm miro keeps feature maps near those of the initial weights, but these are "
            "random, so there is nothing worth keeping. Set model.pretrained or model.weights, or "
            "name a run in training.init_from"
        ]

    def begin(self, model: FeatureModel) -> None:
        """Copy the weights that training starts from."""
        self.frozen.load_state_dict(model.state_dict())

    def constant(self) -> list[str]:
        """The frozen copy: every process has made the same."""
        return [f"frozen.{name}" for name in self.frozen.state_dict()]

    def optimizers(self, model: FeatureModel) -> dict[str, list[dict[str, Any]]]:
        """One optimizer; the variances are a group with a rate of their own."""
        variances: dict[str, Any] = {
            "params": list(self.variances.parameters()),
            "lr_scale": self.config.encoder_lr_scale,
        }
        if not self.config.decay_variances:
            variances["weight_decay"] = 0.0
        weights = [p for p in model.parameters() if p.requires_grad]
        return {"main": [{"params": weights}, variances]}

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The classification loss plus the penalty, logged as ``original`` and ``miro``."""
        with torch.no_grad():
            _, first = self._watched(self.frozen, batch.image)
        z, now = self._watched(model, batch.image)
        logits = model.classify(z)
        original = self.classification_loss(logits, batch.label)
        distances = [
            channel_distance(maps, kept, functional.softplus(self.variances[place]) + _FLOOR)
            for place, maps, kept in zip(self.taps, now, first, strict=True)
        ]
        penalty = torch.stack(distances).sum()
        logs = {"loss/original": original.detach(), "loss/miro": penalty.detach()}
        return StepOutput(original + self.config.weight * penalty, z, logits, logs)

    def _watched(self, model: FeatureModel, image: Tensor) -> tuple[Tensor, list[Tensor]]:
        """Latents, and the feature maps at all places."""
        seen: list[Tensor] = []
        self._seen = seen
        try:
            z = model.features(image, self.taps)
        finally:
            self._seen = []
        if len(seen) != len(self.taps):
            raise ValueError(
                f"{type(model).__name__}.features gave MIRO {len(seen)} feature maps, not "
                f"{len(self.taps)}: it should pass each stage's output through `tap` once"
            )
        return z, seen

    def _see(self, value: Tensor) -> Tensor:
        """The tap: records a map and returns it unchanged."""
        self._seen.append(value)
        return value


def channel_distance(now: Tensor, first: Tensor, variance: Tensor) -> Tensor:
    """Half the mean over samples, channels and places of ``(now - first)^2 / v + ln v``.

    Args:
        now: Feature maps ``(B, C, [D,] H, W)``, tokens ``(B, T, C)`` or latents ``(B, C)``.
        first: As ``now``; of the frozen network.
        variance: ``(C,)``, v of each channel, positive.

    Returns:
        Scalar, in float32 or, if the maps are, in float64; negative where v is small.

    Example:
        >>> maps = torch.zeros(2, 3, 4, 4)
        >>> round(channel_distance(maps, maps, torch.full((3,), 0.1)).item(), 4)
        -1.1513
        >>> round(channel_distance(maps + 1, maps, torch.full((3,), 0.5)).item(), 4)
        0.6534
    """
    with torch.autocast(now.device.type, enabled=False):
        kind = torch.promote_types(now.dtype, torch.float32)
        channels = 2 if now.ndim == 3 else 1
        others = [axis for axis in range(now.ndim) if axis != channels]
        away = (now.to(kind) - first.to(kind)).square().mean(others)
        variance = variance.to(torch.promote_types(variance.dtype, kind))
        return 0.5 * (away / variance + variance.log()).mean()


Config = MIROConfig
ALGORITHM = MIRO

CONTRACT_CASES = {
    "miro": {"keys": {"weight": 0.5, "encoder_lr_scale": 2.0}},
    "miro, uneven": {"keys": {"weight": 0.5, "points": "block"}, "rows": 11},
    "miro multi-label": {"task": "multi-label"},
    "miro with batch normalisation": {"one_equals_two": False, "norm": True},
}
