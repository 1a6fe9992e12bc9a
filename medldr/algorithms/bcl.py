"""BCL: balanced contrastive learning beside a logit-adjusted classifier, for rare classes.

What it changes: each image is seen three times. The first view is classified, ``alpha`` times with
a loss that corrects for class frequencies. A head of two layers embeds the other two on a sphere,
where a second head puts a prototype of each class, made of that class's row of the classifier. A
supervised contrastive loss, in which every class weighs the same and none is missing from a batch,
is added ``beta`` times (`medldr.algorithms._balanced_contrast`).

When to use: classes are imbalanced and images can be changed strongly without changing what they
show; where only small shifts are allowed, two views have too much in common to teach anything.
Batches of 64 and more: a class is compared with what the batch has of it. With two classes the
prototypes carry little, since batch normalisation over two rows leaves only which is larger.

Cost: three images per image through the network, and two heads, each of ``(D + 3) hidden + (hidden
+ 1) feat_dim`` parameters: 99,968 at 64 latents. Prediction uses neither heads nor views.

Works with: multi-class, binary and ordinal labels, every model with a linear or cosine head and
every loss of such labels, in 2D and 3D; as a base of ``latentdr`` and ``batchformer``, whose terms
then use the latents of the first view. Not with: multi-label data. Needs a random training
augmentation, or ``transform.views``. Accumulation makes sets smaller and is refused unless asked
for by name.

Settings: ``hidden`` 512, ``feat_dim`` 128, ``temperature`` 0.1, ``alpha`` 2 and ``beta`` 0.6 are a
third party's for CIFAR; the authors' own for ImageNet are ``bcl_imagenet``. On top of it, a term of
``latentdr`` counts as its ``weights`` say, not ``alpha`` times.

Several processes: embeddings of all processes are one set (``set_scope: global``), and each has its
own as anchors; the heads' batch normalisation sees those of its own process. That is what the
authors' code does with several devices, whose losses are computed at once from the outputs of all.

Class weights: they weigh the classification loss alone.

Source:
    Zhu et al., "Balanced contrastive learning for long-tailed visual recognition", 2022, and its
    code: all three views in one pass, so batch normalisation in the network and in the embedding
    head sees them together, the first view too, which is not contrasted; heads of a linear layer,
    batch normalisation, ReLU and a linear layer, the first as wide as the latents there; rows of a
    cosine classifier as they are, not normalised. Its CIFAR code was never released: a third party
    (CUDA, Ahn et al. 2023) has the values above.
    Our choice: heads and loss compute in float32 also under autocast; heads start as
    torch's layers do. ``loss`` unset is ``logit_adjusted`` with tau 1.
    With ``latentdr`` on top: its terms are those of the first view with this classification loss,
    and the contrastive term is left as it is; the LatentDR paper does not say where they attach.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from medldr import plugins
from medldr.algorithms._balanced_contrast import balanced_contrast
from medldr.algorithms._gather import RowGatherer, several_processes
from medldr.algorithms.base import Algorithm, AlgorithmConfig
from medldr.config import LossSection
from medldr.errors import InputError
from medldr.models.base import FeatureModel
from medldr.types import Batch, DataSpec, StepOutput

TITLE = "BCL"
PLAIN = {"loss": "logit_adjusted"}


class BCLConfig(AlgorithmConfig):
    """Keys of BCL."""

    name: Literal["bcl"] = "bcl"
    loss: LossSection | None = Field(
        None, description="classification loss; unset: logit_adjusted, with tau 1"
    )
    alpha: float = Field(2.0, gt=0, description="weight of the classification loss")
    beta: float = Field(0.6, ge=0, description="weight of the contrastive loss")
    temperature: float = Field(0.1, gt=0, description="what inner products are divided by")
    hidden: int | None = Field(
        512, ge=1, description="width of the first layer of both heads; unset: D"
    )
    feat_dim: int = Field(128, ge=1, description="width of the embeddings")
    set_scope: Literal["global", "local"] = Field(
        "global", description="sets span the batch of all processes, or of each process alone"
    )


class BCL(Algorithm):
    """Classify one view, contrast two others with each other and with a prototype per class.

    Attributes:
        embed: Head of the latents.
        prototype: Head of the classifier's rows.
    """

    set_based = True
    views = ("second", "third")
    config: BCLConfig
    tasks = ("multi-class", "binary", "ordinal")

    def __init__(self, config: BCLConfig, spec: DataSpec, model: FeatureModel) -> None:
        if config.loss is None:
            loss = plugins.load("losses", "logit_adjusted").Config()
            config = config.model_copy(update={"loss": loss})
        super().__init__(config, spec, model)
        if not isinstance(getattr(model.head, "weight", None), Tensor):
            raise InputError(
                "algorithm bcl makes class prototypes of the classifier's weights, one row per "
                f"class, and the head of this network ({type(model.head).__name__}) has none. Set "
                "model.head: linear or cosine"
            )
        hidden = config.hidden or model.dim
        self.embed = _head(model.dim, hidden, config.feat_dim)
        self.prototype = _head(model.dim, hidden, config.feat_dim)

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The two weighted terms, logged without their weights as ``original`` and ``bcl``.

        Latents and logits are those of the first view.
        """
        rows = len(batch.image)
        all_z = model.features(torch.cat([batch.image, *(batch.views[v] for v in self.views)]))
        z = all_z[:rows]
        logits = model.classify(z)
        original = self.classification_loss(logits, batch.label)
        _, second, third = _on_sphere(self.embed, all_z).chunk(3)
        weight: Tensor = model.head.weight  # type: ignore[assignment]  # checked when made
        contrast = self._contrast(second, third, batch.label, _on_sphere(self.prototype, weight))
        logs = {"loss/original": original.detach(), "loss/bcl": contrast.detach()}
        loss = self.config.alpha * original + self.config.beta * contrast
        return StepOutput(loss, z, logits, logs)

    def _contrast(self, second: Tensor, third: Tensor, label: Tensor, prototypes: Tensor) -> Tensor:
        """The contrastive loss of this process's anchors."""
        anchors = None
        if self.config.set_scope == "global" and several_processes():
            gatherer = RowGatherer(len(label), label.device)
            second, third = (gatherer.gather(view) for view in (second, third))
            label = gatherer.gather(label)
            anchors = torch.cat([gatherer.own, gatherer.own + gatherer.total])
        return balanced_contrast(
            torch.cat([second, third]),
            label.repeat(2),
            prototypes,
            temperature=self.config.temperature,
            anchors=anchors,
        )


def _head(dim: int, hidden: int, outputs: int) -> nn.Sequential:
    layers = OrderedDict[str, nn.Module](
        hidden=nn.Linear(dim, hidden),
        norm=nn.BatchNorm1d(hidden),
        relu=nn.ReLU(),
        out=nn.Linear(hidden, outputs),
    )
    return nn.Sequential(layers)


def _on_sphere(head: nn.Module, value: Tensor) -> Tensor:
    """A head's output, each row of length one, in float32 also under autocast."""
    with torch.autocast(value.device.type, enabled=False):
        full = value.to(torch.promote_types(value.dtype, torch.float32))
        return functional.normalize(head(full), dim=1)


Config = BCLConfig
ALGORITHM = BCL

CONTRACT_CASES = {
    # The heads normalise by the rows of their own process.
    "bcl": {"one_equals_two": False, "norm": True},
    "bcl, uneven": {
        "keys": {"hidden": None, "feat_dim": 6},
        "rows": 11,
        "one_equals_two": False,
        "norm": True,
    },
    "bcl local": {"keys": {"set_scope": "local"}, "one_equals_two": False, "norm": True},
}
