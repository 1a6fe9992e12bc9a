"""CDANN: latents from which the domain cannot be predicted, among images of the same class.

What it changes: as ``dann``, but the discriminator sees each latent plus a learned vector of the
image's class, and its loss counts every class of the batch alike.

When to use: hospitals are known for the training images, and differ in their share of each finding
as well as in look: the latents then need not lose what the finding shares with the domain. What
``dann`` says of its difficulties holds here too; DomainBed's table has it at 62.0 (``dann`` 62.6,
plain training 63.3).

Cost: that of ``dann``, and one vector of D numbers per class. Prediction does not use them.

Works with: what ``dann`` works with. With multi-label data the vectors of all labels that an image
is known to have are added, images without one have a vector of their own, and every label counts
alike: an image's weight is the sum over its labels.

Settings: those of ``dann``. ``class_count: fixed`` divides the loss by the number of classes,
``batch`` by one more than the largest class number in the batch, as DomainBed does.

Several processes: how often a class occurs is counted over all of them.

Source:
    Li et al., "Deep domain generalization via conditional invariant adversarial networks", 2018,
    which has one discriminator per class. DomainBed, followed here: one, with class vectors that
    learn with it; the loss is a sum in which row i has the weight ``1 / (images of its class x
    number of classes)``; the penalty on the slope is not weighted.
    Our choice: DomainBed's number of classes follows the largest class number of a batch, so the
    scale of the loss varies between batches; ours is that of the data set (``class_count``).
    With single labels, classes absent from a batch make the weights add up to less than 1 in
    both. The form for multi-label data, which DomainBed does not have, is the same formula where
    every image has one label.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional

from medldr.algorithms._adversarial import Adversarial, AdversarialConfig
from medldr.algorithms._gather import mean_over_processes
from medldr.models.base import FeatureModel
from medldr.types import DataSpec

TITLE = "CDANN"


class CDANNConfig(AdversarialConfig):
    """Keys of CDANN."""

    name: Literal["cdann"] = "cdann"
    class_count: Literal["fixed", "batch"] = Field(
        "fixed", description="divide by the number of classes of the data set, or of the batch"
    )


class CDANN(Adversarial):
    """Classification against a discriminator that knows the class.

    Attributes:
        class_vectors: Added to the latents before the discriminator sees them: one per class, and
            with multi-label data one more for images without a label.
    """

    set_based = True

    def __init__(self, config: CDANNConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        self.class_count = config.class_count
        self.class_vectors = nn.Embedding(spec.num_classes + int(spec.multi_label), model.dim)

    def seen(self, z: Tensor, label: Tensor) -> Tensor:
        """Latents plus the vectors of their classes ``(B, D)``, in float32 or float64."""
        vectors = self.class_vectors.weight
        with torch.autocast(z.device.type, enabled=False):
            added = memberships(label, self.spec.num_classes).to(vectors.dtype) @ vectors
            return z.to(torch.promote_types(z.dtype, torch.float32)) + added

    def opponents(self) -> list[nn.Module]:
        """The discriminator and the class vectors."""
        return [self.discriminator, self.class_vectors]

    def row_weights(self, label: Tensor) -> Tensor:
        """Factor on each row's loss before their mean, which is then the weighted sum."""
        members = memberships(label, self.spec.num_classes).to(self.class_vectors.weight.dtype)
        # Rows and counts are means over processes here; their ratio is that of the whole batch.
        shared = mean_over_processes(torch.cat([members.sum(0), members.new_tensor([len(label)])]))
        counts, rows = shared[:-1], shared[-1]
        return rows * balanced_weights(members, counts, self.class_count)


def memberships(label: Tensor, num_classes: int) -> Tensor:
    """Which classes each row belongs to, as 0 and 1 in float32.

    Args:
        label: ``(B,)`` class numbers, or ``(B, K)`` multi-hot with NaN for missing entries.
        num_classes: K.

    Returns:
        ``(B, K)``; for multi-label data ``(B, K + 1)``, whose last column marks the rows without a
        known label.

    Example:
        >>> memberships(torch.tensor([1, 0]), 2).tolist()
        [[0.0, 1.0], [1.0, 0.0]]
        >>> memberships(torch.tensor([[1.0, 1.0], [0.0, float("nan")]]), 2).tolist()
        [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    if label.ndim == 1:
        return functional.one_hot(label, num_classes).float()
    known = label.nan_to_num().float()
    return torch.cat([known, (known.sum(1, keepdim=True) == 0).float()], 1)


def balanced_weights(
    members: Tensor, counts: Tensor, class_count: Literal["fixed", "batch"] = "fixed"
) -> Tensor:
    """Weight of each row by which all classes count alike: ``sum_k m_ik / (counts_k x K)``.

    Args:
        members: ``(B, K)`` from `memberships`.
        counts: ``(K,)`` rows of each class in the batch.
        class_count: ``fixed``: K is the number of columns; ``batch``: that of the last class that
            the batch holds, counted from 1.

    Returns:
        ``(B,)``; they add up to the number of classes present over K.

    Example:
        >>> members = memberships(torch.tensor([0, 0, 1, 1, 1]), 4)
        >>> balanced_weights(members, members.sum(0)).tolist()  # 1 / (2 x 4) and 1 / (3 x 4)
        [0.125, 0.125, 0.0833333358168602, 0.0833333358168602, 0.0833333358168602]
        >>> balanced_weights(members, members.sum(0), "batch").sum().item()
        1.0
    """
    present = counts > 0
    each = torch.where(present, 1 / counts, 0)
    number = torch.arange(1, len(counts) + 1, device=counts.device, dtype=counts.dtype)
    total = (number * present).max() if class_count == "batch" else len(counts)
    return members @ each / total


Config = CDANNConfig
ALGORITHM = CDANN

CONTRACT_CASES = {
    "cdann": {"keys": {"grad_penalty": 0.5}},
    "cdann, uneven": {"keys": {"class_count": "batch"}, "rows": 11},
    "cdann multi-label": {"task": "multi-label"},
}
