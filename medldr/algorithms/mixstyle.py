"""MixStyle: feature maps take on a mixture of their own style and another image's.

What it changes: the mean and standard deviation of each channel over the positions of a feature
map carry an image's style (brightness, stain, scanner). After early stages each image's pair is
replaced by a random mixture of it and a partner's. What is left when a map is normalised, and the
label, stay as they are. The latents and logits of training are those of the mixed maps.

When to use: the test hospital, scanner or stain is not among the training ones and differs in
look more than in content. ``cross_domain`` when domains are known and look alike within. Harmful
where brightness or contrast is itself the finding, and published losses on data whose domains
differ in more than style (see Source).

Cost: no extra parameters; a few percent of the time of a step. Prediction does not use it.

Works with: every task, model and loss, in 2D and 3D; accumulation (partners are then those of a
pass); as a base of ``latentdr`` and ``batchformer``. ``cross_domain`` needs two training domains or
more and asks for the sampler ``domains``; in a batch of one domain nothing is mixed. That sampler
changes the training too: every batch holds equally many images of each domain, so it may be
smaller than ``training.batch_size`` and an epoch may have more steps. Compare with ``erm`` at
``training.sampler: domains`` to separate the two effects.

Settings: p 0.5, alpha 0.1, after stages 1 to 3; ``partners`` ``random`` or ``cross_domain``.

Several processes: each draws for itself and mixes its own rows.

Source:
    Zhou et al., "Domain generalization with MixStyle", 2021, and its code: one draw with
    probability p for each place of insertion, lambda ~ Beta(alpha, alpha) for each image and all
    its channels, unbiased variance plus 1e-6 under the root, statistics without gradient; never
    after the last stage. Its PACS runs mix after stages 1 to 3, its OfficeHome runs after 1 and 2;
    on OfficeHome and DomainNet published tables put it below plain training.
    Our choice: statistics over all axes of space, in float32; a map with a single position has no
    spread and is left as it is. Cross-domain partners in the paper are the other half of a batch of
    two domains, paired at random and each used once. Ours are that for two equal blocks, and for
    any blocks of which none exceeds half the batch still each used once: rows ordered by domain, at
    random within, meet those a random distance away that no block spans. Where a domain exceeds
    half the batch, partners are drawn among the rows of other domains, with replacement.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field, field_validator
from torch import Tensor

from medldr.algorithms._stages import AtStages, moved, style
from medldr.algorithms.base import AlgorithmConfig, require_domains
from medldr.errors import InputError
from medldr.models.base import FeatureModel
from medldr.types import Batch, DataSpec, StepOutput

TITLE = "MixStyle"


class MixStyleConfig(AlgorithmConfig):
    """Keys of MixStyle."""

    name: Literal["mixstyle"] = "mixstyle"
    p: float = Field(0.5, ge=0, le=1, description="probability that a stage's output is mixed")
    alpha: float = Field(0.1, gt=0, description="lambda ~ Beta(alpha, alpha); small: near 0 or 1")
    eps: float = Field(1e-6, gt=0, description="added to every variance")
    stages: tuple[Literal["stem", "stage1", "stage2", "stage3", "stage4"], ...] = Field(
        ("stage1", "stage2", "stage3"), description="stages to mix after; never the network's last"
    )
    partners: Literal["random", "cross_domain"] = Field(
        "random", description="style partners: any image, or an image of another domain"
    )

    @field_validator("stages")
    @classmethod
    def _stages_fit(cls, stages: tuple[str, ...]) -> tuple[str, ...]:
        if not stages or len(set(stages)) < len(stages):
            raise ValueError(
                "should name stem, stage1, stage2 or stage3, at least one and each once; "
                "with none this is plain training (erm)"
            )
        if "stage4" in stages:
            raise ValueError(
                "stage4 is the last stage: its style makes up the latents, so mixing it would "
                "mix the labelled content itself. Use earlier stages"
            )
        return stages


class MixStyle(AtStages):
    """Mean classification loss of a batch whose styles are mixed along the way."""

    config: MixStyleConfig

    def __init__(self, config: MixStyleConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model, config.stages, config.p)
        _spare_the_last(config.stages, model.stages)
        self.cross_domain = config.partners == "cross_domain"
        if self.cross_domain:
            require_domains("mixstyle with partners: cross_domain", spec)
            if len(spec.train_domains) == 1:
                raise InputError(
                    "algorithm.partners: cross_domain needs at least two training domains, but all "
                    f"training images are from {spec.train_domains[0]}. Use partners: random"
                )
            self.needs_domains = True
            self.sampler = "domains"
        # Drawn on the host, in float64: small alphas underflow in float32, and all devices agree.
        alpha = torch.tensor(config.alpha, dtype=torch.float64)
        self._beta = torch.distributions.Beta(alpha, alpha)
        self._domain: Tensor | None = None

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The classification loss of mixed styles, logged as ``loss/original``."""
        self._domain = batch.domain
        try:
            return super().loss(model, batch)
        finally:
            self._domain = None

    def changed(self, value: Tensor) -> Tensor:
        """The tap: a new partner and a new lambda for every image."""
        if self._domain is None:
            raise ValueError("a tap of MixStyle was called outside its forward pass")
        share = moved(self._beta.sample((len(value),)).float(), value.device)
        if self.cross_domain:
            partner = other_domain_partners(self._domain)
        else:
            partner = moved(torch.randperm(len(value)), value.device)
        return mix_styles(value, partner, share, self.config.eps)


def mix_styles(x: Tensor, partner: Tensor, share: Tensor, eps: float = 1e-6) -> Tensor:
    """Give each map a mixture of its own and its partner's mean and standard deviation.

    With ``m`` and ``s = sqrt(unbiased variance + eps)`` of each channel over all positions:
    ``(x - m) / s * s' + m'``, where ``m' = share * m + (1 - share) * m[partner]`` and ``s'`` is
    mixed alike.

    Args:
        x: ``(B, C, [D,] H, W)``; a single position has no spread and is returned as it is.
        partner: ``(B,)`` row numbers.
        share: ``(B,)`` weight of the row's own style, lambda.
        eps: Added to the variance.

    Returns:
        As ``x``, also in dtype and memory layout. No gradient flows through ``m`` and ``s``. Where
        ``share`` is 1 or a row is its own partner, exactly ``x``.

    Example:
        >>> x = torch.tensor([[1.0, 3.0], [10.0, 14.0]]).reshape(2, 1, 1, 2)
        >>> mixed = mix_styles(x, torch.tensor([1, 0]), torch.tensor([0.25, 0.25]))
        >>> [[round(v, 3) for v in row] for row in mixed.flatten(1).tolist()]
        [[7.75, 11.25], [3.25, 5.75]]
    """
    if x[0, 0].numel() == 1:
        return x
    mean, deviation = style(x.detach().to(torch.promote_types(x.dtype, torch.float32)), eps)
    share = share.to(mean.dtype).view(-1, *[1] * (x.ndim - 1))
    new_mean = torch.lerp(mean[partner], mean, share)
    scale = torch.lerp(deviation[partner], deviation, share) / deviation
    return (x * scale + (new_mean - mean * scale)).to(x.dtype)


def other_domain_partners(domain: Tensor) -> Tensor:
    """A random partner from another domain for every row; each is used once where that is possible.

    Args:
        domain: ``(B,)`` int64, in any order and any number of each.

    Returns:
        ``(B,)`` row numbers on the same device. Every row is its own partner if there is but one
        domain. If no domain exceeds half the rows, a permutation.
    """
    rows = len(domain)
    shuffled = moved(torch.randperm(rows), domain.device)
    draws = moved(torch.rand(rows + 1), domain.device)
    order = shuffled[domain[shuffled].argsort(stable=True)]
    blocks = domain[order]
    start = torch.searchsorted(blocks, blocks)
    end = torch.searchsorted(blocks, blocks, right=True)
    size = end - start
    largest = size.max()
    place = torch.arange(rows, device=domain.device)
    # A distance of at least the largest block, either way round, leaves every block.
    turn = largest + (draws[rows] * (rows - 2 * largest + 1)).long()
    anyone = end + (draws[:rows] * (rows - size)).long()
    met = torch.where(2 * largest <= rows, place + turn, anyone) % rows
    met = torch.where(size == rows, place, met)
    return torch.empty_like(order).scatter_(0, order, order[met])


def _spare_the_last(chosen: tuple[str, ...], stages: tuple[str, ...]) -> None:
    """Refuse the last stage of a network that has no stage4, for the reason that stage4 is."""
    *others, last = stages
    if last in chosen:
        earlier = ", ".join(stage for stage in chosen if stage in others) or others[-1]
        raise InputError(
            f"algorithm.stages: {last} is the last stage of this network: its style makes up the "
            "latents, so mixing it would mix the labelled content itself. Set algorithm.stages: "
            f"[{earlier}]"
        )


Config = MixStyleConfig
ALGORITHM = MixStyle

CONTRACT_CASES = {
    "mixstyle": {"keys": {"p": 1.0}, "one_equals_two": False},
    "mixstyle cross-domain": {
        "keys": {"p": 1.0, "partners": "cross_domain"},
        "one_equals_two": False,
    },
    "mixstyle never": {"keys": {"p": 0.0}},
}
