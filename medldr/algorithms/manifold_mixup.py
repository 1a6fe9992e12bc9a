"""Manifold Mixup: blend pairs at a random depth of the network, including the input image.

What it changes: for each step one place is drawn uniformly from ``stages``. There the batch is
blended with a permutation of itself, ``lambda * value + (1 - lambda) * partner's value``; all that
follows sees the blend. The loss is ``lambda * loss(own label) + (1 - lambda) * loss(partner's
label)``, with one lambda from Beta(alpha, alpha) per step. Prediction does not mix.

When to use: as the baseline of mixing in latent space, the closest relative of LatentDR among
those that mix pairs; where blended images look like nothing that a scanner makes.

Cost: no extra parameters; one weighted sum of a map, next to nothing in time. ``machine.compile``
compiles the network once for each place.

Works with: every task, model and classification loss, missing labels, accumulation (each pass
draws and mixes its own rows). Does not work as the ``base`` of a method that needs true labels.

Several processes: each mixes its own rows, with a place, a lambda and a permutation of its own.

Class weights: they weigh the samples of both terms, each by the label of that term.

Logged: ``lambda``; ``accuracy/mixed``, the accuracy on mixtures, which counts a label as much as
lambda does. A plain training accuracy is not logged.

Settings: ``alpha`` 0.2; ``stages`` ``[input, stage1, stage2]``: the image, and the outputs of the
first two stages of blocks. ``[input]`` is Mixup, and what stored latents need.
``alpha`` 0 is ERM, bit for bit.

Source:
    Verma et al., "Manifold mixup: Better representations by interpolating hidden states", 2019.
    The places are those of its code for ResNets: the input, after stage 1, after stage 2. In its
    ResNet the blended *input* was thrown away while the labels were mixed; here it is what the
    network sees. LatentDR states neither places nor alpha: the authors use 2.0 with schedules of
    many hundred epochs; we use 0.2, as in Mixup, so the two differ only in the place. They train
    binary cross-entropy on the outputs of the softmax, against the blended one-hot label; LatentDR
    does not say which loss it used. Ours is the run's classification loss, cross-entropy unless
    `algorithm.loss` says otherwise, as for every other method of a table; theirs is not offered.
    Drawing per process is our choice.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field, field_validator
from torch import Tensor

from medldr.algorithms._mixing import AlphaConfig, AlphaMixing, Pairs, blend
from medldr.models.base import FeatureModel, Taps
from medldr.types import DataSpec

TITLE = "Manifold Mixup"

Place = Literal["input", "stem", "stage1", "stage2", "stage3", "stage4"]


class ManifoldMixupConfig(AlphaConfig):
    """Keys of Manifold Mixup."""

    name: Literal["manifold_mixup"] = "manifold_mixup"
    stages: tuple[Place, ...] = Field(
        ("input", "stage1", "stage2"),
        min_length=1,
        description="where a batch may be mixed: input, or after a stage of the network",
    )

    @field_validator("stages")
    @classmethod
    def _each_once(cls, stages: tuple[Place, ...]) -> tuple[Place, ...]:
        twice = sorted({stage for stage in stages if stages.count(stage) > 1})
        if twice:
            raise ValueError(f"each place may appear only once, but {', '.join(twice)} is repeated")
        return stages


class ManifoldMixup(AlphaMixing):
    """Blends images or maps, at a place drawn for each batch."""

    def __init__(self, config: ManifoldMixupConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        model.require_stages(set(config.stages) - {"input"}, "algorithm.stages")
        self.stages = config.stages
        # Created once to avoid recompilation; the pairs exist only during a forward pass.
        self._taps: dict[str, Taps] = {stage: {stage: self._blend_here} for stage in self.stages}
        self._pairs: Pairs | None = None

    def draw_stage(self) -> str:
        """Where this batch is mixed."""
        return self.stages[int(torch.randint(len(self.stages), ()))]

    def mixed_latents(
        self, model: FeatureModel, image: Tensor, pairs: Pairs
    ) -> tuple[Tensor, Pairs]:
        """Latents of a batch that is blended at one place."""
        pairs = pairs.on(image.device)
        stage = self.draw_stage()
        if stage == "input":
            return model.features(blend(image, pairs)), pairs
        self._pairs = pairs
        try:
            return model.features(image, self._taps[stage]), pairs
        finally:
            self._pairs = None

    def _blend_here(self, value: Tensor) -> Tensor:
        if self._pairs is None:
            raise ValueError("a tap of Manifold Mixup was called outside its forward pass")
        return blend(value, self._pairs)


Config = ManifoldMixupConfig
ALGORITHM = ManifoldMixup

CONTRACT_CASES = {
    "manifold mixup": {"keys": {"alpha": 1.0}, "one_equals_two": False},
}
