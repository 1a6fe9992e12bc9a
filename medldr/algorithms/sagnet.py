"""SagNet: classification by what is left of a latent when its style is drawn at random.

What it changes: the mean and the variance of a latent over its entries count as its style, the
latent normalised by them as its content. A step makes three updates. The network learns to
classify latents that took on a mixture of their own style and another image's. A second head
learns to classify latents that kept their style and took another image's content. The encoder then
learns to make that second head's guess as uncertain as can be.

When to use: the test hospital, scanner or stain differs in look more than in content; domains need
not be known. In DomainBed's table its mean over five sets of natural images is 64.2, that of plain
training 63.3. Harmful where the size of the activations (how much of something is seen) is the
finding: that is what is drawn at random.

Cost: three passes forward and two backward, 7/3 of ``erm``; one more linear head. Prediction does
not use it.

Works with: every task, model and loss, in 2D and 3D, and every sampler; DomainBed takes equal
blocks of all source domains (``training.sampler: domains``). Does not work with accumulation or as
a base of another method, because it makes its own steps. Latents need two entries or more. The
running statistics of live batch normalisation move three times per step.

Settings: ``weight`` 0.1, DomainBed's (searched: 0.01 to 10). With ``weight: 0`` the encoder's
second update is left out, and the style head learns for the log alone.

Several processes: partners are drawn among the rows of all processes, by the first one.

Source:
    Nam et al., "Reducing domain gap by reducing style bias", 2021. DomainBed, followed here, with
    linear heads on pooled latents and three optimizers in place of the two branches; `SagNet` says
    what the original does.
    Our choice: on the second update nothing is differentiated through the encoder, whose gradient
    DomainBed computes and throws away. With multi-label data the uncertain guess is one half for
    every label: the mean of ``(log s + log(1 - s)) / 2`` takes the place of the mean log-softmax.
    With ``algorithm.eval()`` nothing is drawn.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from medldr.algorithms._gather import RowGatherer, several_processes
from medldr.algorithms.base import Algorithm, AlgorithmConfig, Step
from medldr.models.base import FeatureModel
from medldr.types import Batch, DataSpec, StepOutput

TITLE = "SagNet"

_EPS = 1e-5


class SagNetConfig(AlgorithmConfig):
    """Keys of SagNet."""

    name: Literal["sagnet"] = "sagnet"
    weight: float = Field(0.1, ge=0, description="weight of the encoder's loss against style")


class SagNet(Algorithm):
    """Three updates per step: content, style, and the encoder against style.

    This is DomainBed's form. The original splits a ResNet before its third stage: the style branch
    has its own copy of the later stages and of the classifier, statistics are those of each channel
    over the positions of the map and carry gradients, one forward pass serves all three losses, and
    the last update moves only the scale and shift of the shared stages' batch normalisation, with
    its gradient clipped to a norm of 0.1. Here the heads are linear and the last update moves the
    whole encoder. The classifier of the network is the content head: prediction draws nothing.

    Attributes:
        style_head: Classifies latents whose content was exchanged.
    """

    set_based = True
    config: SagNetConfig

    def __init__(self, config: SagNetConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        self.style_head = nn.Linear(model.dim, spec.num_classes)
        self.classification.bind(self.style_head)  # one loss serves both heads

    def optimizers(self, model: FeatureModel) -> dict[str, list[dict[str, Any]]]:
        """``features`` serves two of the updates, ``content`` and ``style`` one each."""
        content = [p for p in model.head.parameters() if p.requires_grad]
        style = list(self.style_head.parameters())
        known = {id(p) for p in (*content, *style)}
        trainable = [p for m in (model, self) for p in m.parameters() if p.requires_grad]
        return {
            "features": [{"params": [p for p in trainable if id(p) not in known]}],
            "content": [{"params": content}],
            "style": [{"params": style}],
        }

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The first update's: classification of latents in a random style, ``loss/content``."""
        others = _Others(batch)
        z = model.features(batch.image)
        logits = model.classify(z)
        if self.training:
            share = others.share(z.dtype)
            content = model.classify(randomise_style(z, others.of(z), share))
        else:
            content = logits
        loss = self.classification_loss(content, batch.label)
        return StepOutput(loss, z, logits, {"loss/content": loss.detach()})

    def style_loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The second update's: classification by style alone; nothing reaches the network."""
        others = _Others(batch)
        with torch.no_grad():
            z = model.features(batch.image)
            logits = model.classify(z)
        loss = self.classification_loss(self._by_style(z, others), batch.label)
        return StepOutput(loss, z, logits, {"loss/style": loss.detach()})

    def adversarial_loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The third update's: the weighted uncertainty of the style head."""
        others = _Others(batch)
        z = model.features(batch.image)
        with torch.no_grad():  # the head has no part in this loss
            logits = model.classify(z)
        style = self._by_style(z, others)
        loss = self.config.weight * uncertainty(style, multi_label=self.spec.multi_label)
        return StepOutput(loss, z, logits, {"loss/adversarial": loss.detach()})

    def update(self, step: Step, batch: Batch) -> StepOutput:
        """The three updates.

        Returns:
            What the first one was made with, and the logs of all.
        """
        output = step.forward(batch)
        step.backward(output.loss)
        step.optimizer_step("features", "content")
        logs = dict(output.logs)
        turns = [("style_loss", "style")]
        if self.config.weight:
            # At 0 a step would still be made, by the optimizer's momentum and weight decay.
            turns.append(("adversarial_loss", "features"))
        for method, name in turns:
            further = step.forward(batch, method)
            step.backward(further.loss)
            step.optimizer_step(name)
            logs |= further.logs
        return output._replace(logs=logs)

    def _by_style(self, z: Tensor, others: _Others) -> Tensor:
        """Logits ``(B, K)`` of the style head for latents with exchanged content."""
        with torch.autocast(z.device.type, enabled=False):
            mixed = randomise_content(z, others.of(z.detach())) if self.training else z
            logits: Tensor = self.style_head(mixed)
        return logits


class _Others:
    """Draws each row a partner from the batch of all processes, for one forward pass.

    Created before the network runs, which keeps a compiled loss in one piece.
    """

    def __init__(self, batch: Batch) -> None:
        device, own = batch.domain.device, len(batch.domain)
        self._rows = RowGatherer(own, device) if several_processes() else None
        self._total = own if self._rows is None else self._rows.total
        self._device = device

    def of(self, z: Tensor) -> Tensor:
        """The latents ``(B, D)`` of a random partner for each row; each row serves once."""
        everybody = z if self._rows is None else self._rows.gather(z)
        return everybody[self._drawn(torch.randperm(self._total))]

    def share(self, dtype: torch.dtype) -> Tensor:
        """The own style's share for each row ``(B, 1)``, uniform in 0 to 1."""
        return self._drawn(torch.rand(self._total, 1)).to(dtype)

    def _drawn(self, everybodys: Tensor) -> Tensor:
        """This process's part of a draw on the host; the first process's counts."""
        drawn = everybodys.to(self._device, non_blocking=self._device.type == "cuda")
        return drawn if self._rows is None else self._rows.from_first(drawn)


def randomise_style(z: Tensor, other: Tensor, share: Tensor, eps: float = _EPS) -> Tensor:
    """Latents with their content, and a mixture of two styles.

    With the mean ``m`` and the unbiased variance ``v`` of a latent's D entries:
    ``(z - m) / sqrt(v + eps) * sqrt(v' + eps) + m'``, where ``m' = share * m + (1 - share) *
    m_other``, and ``v'`` is mixed alike.

    Args:
        z: ``(B, D)``, D at least 2.
        other: ``(B, D)``, each row's partner.
        share: ``(B, 1)`` weight of the row's own style.
        eps: Added to every variance.

    Returns:
        ``(B, D)``; all of it carries gradients, also to the partner's style.

    Source:
        DomainBed's SagNet.

    Example:
        >>> z, other = torch.tensor([[1.0, 3.0]]), torch.tensor([[10.0, 14.0]])
        >>> mixed = randomise_style(z, other, torch.tensor([[0.25]]), eps=0)
        >>> [round(value, 3) for value in mixed[0].tolist()]
        [7.697, 11.303]
    """
    mean, variance = _style(z)
    other_mean, other_variance = _style(other)
    new_mean = torch.lerp(other_mean, mean, share)
    new_variance = torch.lerp(other_variance, variance, share)
    return (z - mean) * ((new_variance + eps) / (variance + eps)).sqrt() + new_mean


def randomise_content(z: Tensor, other: Tensor, eps: float = _EPS) -> Tensor:
    """Latents with their style and their partner's content.

    Args:
        z: ``(B, D)``, D at least 2.
        other: ``(B, D)``, each row's partner; no gradient flows to it.
        eps: Added to every variance.

    Source:
        DomainBed's SagNet.

    Example:
        >>> z, other = torch.tensor([[1.0, 3.0]]), torch.tensor([[14.0, 10.0]])
        >>> [round(value, 3) for value in randomise_content(z, other, eps=0)[0].tolist()]
        [3.0, 1.0]
    """
    mean, variance = _style(z)
    other = other.detach()
    other_mean, other_variance = _style(other)
    return (other - other_mean) * ((variance + eps) / (other_variance + eps)).sqrt() + mean


def uncertainty(logits: Tensor, *, multi_label: bool = False) -> Tensor:
    """How far a guess is from being uniform: the mean over rows and classes of ``-log p``.

    Args:
        logits: ``(B, K)``.
        multi_label: Every label is guessed by itself: ``-(log s + log(1 - s)) / 2``.

    Returns:
        Scalar: ``ln K`` (``ln 2`` with several labels) for uniform guesses, and more for others.

    Source:
        DomainBed's SagNet, for single labels.

    Example:
        >>> round(uncertainty(torch.zeros(2, 7)).item(), 5)
        1.94591
    """
    if multi_label:
        both = functional.logsigmoid(logits) + functional.logsigmoid(-logits)
        return -both.mean() / 2
    return -functional.log_softmax(logits, 1).mean()


def _style(z: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and unbiased variance ``(B, 1)`` over a latent's entries."""
    variance, mean = torch.var_mean(z, 1, keepdim=True)
    return mean, variance


Config = SagNetConfig
ALGORITHM = SagNet

CONTRACT_CASES = {
    "sagnet": {"keys": {"weight": 1.0}},
    "sagnet, uneven": {"keys": {"weight": 1.0}, "rows": 11},
    "sagnet multi-label": {"keys": {"weight": 1.0}, "task": "multi-label"},
    "sagnet without the third update": {"keys": {"weight": 0.0}},
}
