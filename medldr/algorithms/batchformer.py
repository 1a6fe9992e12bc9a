"""BatchFormer: classify each latent twice, unchanged and after attending to its batch.

What it changes: a transformer layer makes ``z_b`` out of the latents of a batch, each attending to
all. One classifier serves both, and the loss is the mean over the joint batch of z and z_b. What
trains the network is the gradient that flows from one image's loss to the others' latents.
Prediction does not use the layer.

When to use: classes are imbalanced, or as the nearest competitor of LatentDR: it is LatentDR
without degradation, with other widths. Batches of 16 and more; users report worse results with
small ones.

Cost: ``6 D^2 + 10 D`` extra parameters while training, 1,577,984 at 512 latents and 25,186,304 at
2,048, none afterwards; one transformer layer over the batch per step.

Works with: every task, model and loss; on top of another algorithm (``base``), whose whole loss
then takes the place of z's. Does not work with: a base that mixes labels or has several
optimizers; accumulation, which makes sets smaller.

Settings: those of the published code and the LatentDR paper alike. If training is unstable, lower
``encoder_lr_scale``: the published code uses 0.1 on its long-tailed data.

Several processes: the layer sees the batch of all processes (``set_scope: global``), so the
protocol does not depend on their number; each keeps its own rows. Dropout masks are drawn on each.

Class weights: they weigh the samples of both terms alike.

Source:
    Hou et al., "BatchFormer", 2022, and its code: one post-norm encoder layer of torch with ReLU,
    feed-forward width D, dropout 0.5, 4 heads (1 up to 128 latents), no positional encoding, the
    batch as one sequence. "LatentDR", appendix: widths D and dropout 50% for its BatchFormer rows.
    Our choice: the loss is ``(w0 L + w1 L_b) / (w0 + w1)``, with weights 1 the mean over the joint
    batch, also where L is a base's loss with terms of its own; one code release adds both halves
    to that mean and so trains with three times the gradient. One rate for all, as the LatentDR
    paper names no other. The layer computes in float32 also under autocast. With ``head_dim``,
    which the LatentDR paper searched, it is LatentDR's self-attention layer, of one head unless
    ``heads`` says otherwise.
"""

from __future__ import annotations

import copy
from typing import Any, Literal

import torch
from pydantic import Field, field_validator
from torch import Tensor, nn

from medldr.algorithms._gather import RowGatherer, several_processes
from medldr.algorithms._stacking import Stacked, StackedConfig
from medldr.algorithms.base import accuracy
from medldr.errors import InputError
from medldr.latent import AttentionDegradation
from medldr.models.base import FeatureModel
from medldr.types import Batch, DataSpec, StepOutput

TITLE = "BatchFormer"


class BatchFormerConfig(StackedConfig):
    """Keys of BatchFormer."""

    name: Literal["batchformer"] = "batchformer"
    heads: int | None = Field(
        None,
        ge=1,
        description="attention heads; unset: 4, or 1 for D up to 128 or not a multiple of 4",
    )
    head_dim: int | None = Field(
        None, ge=1, description="width of each head; unset: D divided by the number of heads"
    )
    ff_dim: int | None = Field(None, ge=1, description="feed-forward width; unset: D")
    dropout: float = Field(0.5, ge=0, lt=1)
    weights: tuple[float, float] = Field(
        (1.0, 1.0), description="weights of the original loss and of the layer's in their mean"
    )
    share_classifier: bool = Field(True, description="share one classifier between both terms")
    encoder_lr_scale: float = Field(1.0, gt=0, description="factor on the layer's learning rate")

    @field_validator("weights")
    @classmethod
    def _weights_fit(cls, weights: tuple[float, float]) -> tuple[float, float]:
        if min(weights) < 0 or not sum(weights):
            raise ValueError(
                "should be two numbers of at least 0 (original, batchformer), not both 0"
            )
        return weights


class BatchFormer(Stacked):
    """A second term, from latents that have attended to their batch, added to a base's loss.

    Attributes:
        encoder: The transformer layer; None where its term has no weight.
        own_classifier: For the layer's latents; None where the model's serves both.
    """

    config: BatchFormerConfig

    def __init__(self, config: BatchFormerConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        self.encoder: nn.Module | None = None
        self.own_classifier: nn.Module | None = None
        if not config.weights[1]:
            self.set_based = self.base.set_based
            return
        dim = model.dim
        self.encoder = _layer(config, dim)
        if not config.share_classifier:
            # The same kind of head as the model's, with the same initial weights.
            self.own_classifier = copy.deepcopy(model.head).requires_grad_(True)

    def optimizers(self, model: FeatureModel) -> dict[str, list[dict[str, Any]]]:
        """The base's groups, one for the layer with its own rate, one for its classifier."""
        groups = list(self.base.optimizers(model)["main"])
        if self.encoder is not None:
            layer = list(self.encoder.parameters())
            groups.append({"params": layer, "lr_scale": self.config.encoder_lr_scale})
        if self.own_classifier is not None:
            groups.append({"params": list(self.own_classifier.parameters())})
        return {"main": groups}

    def encode(self, z: Tensor) -> Tensor:
        """Let every latent attend to all: ``(N, D)`` to ``(N, D)``, in float32.

        The batch is one sequence, ``(N, 1, D)`` with the sequence first. With the two axes
        exchanged each latent would be a sequence of its own and see no other.
        """
        assert self.encoder is not None
        with torch.autocast(z.device.type, enabled=False):
            full = z.to(next(self.encoder.parameters()).dtype)
            sequence = isinstance(self.encoder, nn.TransformerEncoderLayer)
            out: Tensor = self.encoder(full.unsqueeze(1) if sequence else full)
        return out.squeeze(1) if sequence else out

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """Weighted mean of the base's loss and that of the layer's latents; one pass of images."""
        out = self.base.loss(model, batch)
        logs = {"loss/original": out.loss.detach(), **out.logs}
        if self.encoder is None:
            return out._replace(logs=logs)
        logits = self._classify(model, self._own_rows(out.z))
        term = self.classification_loss(logits, batch.label)
        logs["loss/batchformer"] = term.detach()
        logs["accuracy/batchformer"] = accuracy(logits.detach(), batch.label)
        original, added = self.config.weights
        total = (original * out.loss + added * term) / (original + added)
        return StepOutput(total, out.z, out.logits, logs)

    def _own_rows(self, z: Tensor) -> Tensor:
        """This process's rows after attending to the whole set."""
        if self.config.set_scope == "local" or not several_processes():
            return self.encode(z)
        rows = RowGatherer(len(z), z.device)
        return self.encode(rows.gather(z))[rows.own]

    def _classify(self, model: FeatureModel, z: Tensor) -> Tensor:
        if self.own_classifier is None:
            return model.classify(z)
        with torch.autocast(z.device.type, enabled=False):
            full = z.to(torch.promote_types(z.dtype, torch.float32))
            logits: Tensor = self.own_classifier(full)
        return logits


def _layer(config: BatchFormerConfig, dim: int) -> nn.Module:
    """The layer of torch, or one of the same form whose heads have another width."""
    if config.head_dim is not None:
        return AttentionDegradation(
            dim,
            head_dim=config.head_dim,
            ff_dim=config.ff_dim or dim,
            heads=config.heads or 1,
            dropout=config.dropout,
        )
    heads = config.heads or (4 if dim > 128 and dim % 4 == 0 else 1)
    if dim % heads:
        raise InputError(
            f"algorithm.heads: {dim} latents cannot be divided into {heads} heads. Choose a "
            f"divisor of {dim}, or omit algorithm.heads"
        )
    return nn.TransformerEncoderLayer(
        dim, heads, config.ff_dim or dim, config.dropout, batch_first=False
    )


Config = BatchFormerConfig
ALGORITHM = BatchFormer

CONTRACT_CASES = {
    "batchformer": {"keys": {"dropout": 0.0}},
    "batchformer, uneven": {"keys": {"dropout": 0.0}, "rows": 11},
    "batchformer multi-label": {"keys": {"dropout": 0.0, "weights": [1, 2]}, "task": "multi-label"},
    "batchformer dropped": {"keys": {"weights": [1, 0]}},
    "batchformer with dropout": {"one_equals_two": False},
    "batchformer local": {"keys": {"dropout": 0.0, "set_scope": "local"}, "one_equals_two": False},
}
