"""MMD: latents of all domains should have the same distribution, as seen by Gaussian kernels.

What it changes: a penalty is added to the classification loss. The similarity of two latents a, b
is the sum of seven kernels ``exp(-g |a - b|^2)``. For every pair of source domains in a batch the
penalty is the mean similarity within one domain plus that within the other minus twice that between
them: 0 where both have the same latents, at most 14. The mean over all pairs counts ``weight``
times.

When to use: as ``coral``, where domains differ in more than mean and covariance. Harmful where what
differs is the share of diseased patients: the penalty pulls that together as well. DomainBed's
table has 23.4 +- 9.5 on DomainNet, against 40.9 of plain training: some of its runs collapsed.

Cost: no extra parameters; distances between all pairs of the batch's images, B x B x D
multiplications per step, and seven (B, B) exponentials. Prediction does not use it.

Works with: every task, model and loss, in 2D and 3D; as a base of ``latentdr`` and ``batchformer``.
Needs two source domains or more, the sampler ``domains`` and one image of each per batch; so
batches may be smaller than ``training.batch_size``. Accumulation makes blocks smaller and is
refused unless asked for by name. ``weight: 0`` is ``erm`` on the same batches, with the penalty
logged: the row to compare with.

Settings: ``weight`` 1.0. ``bandwidths: fixed`` has g from 0.001 to 1000 in powers of ten, whatever
the latents: where these are far apart, as in wide networks, no two images are similar under any
kernel, and the penalty is the constant 14 / (images per domain), without a gradient. A log that
shows exactly this number means that the penalty has no effect. ``bandwidths: median``
(configuration ``mmd_median``) has g = 2^k / m for k from -3 to 3, where m is the median of the
squared distances between all different images of the batch, from whatever domain (the lower one of
two in the middle; their mean, where the median is 0). No gradient flows through m.
``forward: domain`` passes each domain's images through the network alone, DomainBed's form; it
makes a difference with live batch normalisation alone, which its table does not have.

Several processes: the distances are those between the rows of all processes.

Source:
    DomainBed: kernels, means that include each latent with itself, a mean over all pairs of
    domains. It names Li et al. 2018 (MMD-AAE), but has no adversarial autoencoder, and neither has
    this. ``median`` is our choice, as are seven kernels there, which keep the penalty's range.
    DomainBed's classification loss is the mean over the domains, which for equal blocks is that of
    the batch.
    Our choice: distances and kernels are computed in float64 (in float32 on devices without it),
    also under autocast. Distances are differences of much larger products, and large g see every
    digit that is lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from medldr.algorithms._domain_passes import DomainPenalty, DomainPenaltyConfig

TITLE = "MMD"
FORMS = ({"id": "mmd_median", "when": {"bandwidths": "median"}},)
"""Published under the plain name: fixed kernels alone."""

FIXED = (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0)
"""Factors on the squared distance of ``bandwidths: fixed``."""

AROUND_MEDIAN = (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Those of ``bandwidths: median``, to be divided by the median squared distance."""


class MMDConfig(DomainPenaltyConfig):
    """Keys of MMD."""

    name: Literal["mmd"] = "mmd"
    bandwidths: Literal["fixed", "median"] = Field(
        "fixed", description="kernel bandwidths: DomainBed's, or from each batch's median distance"
    )


class MMD(DomainPenalty):
    """Mean classification loss plus the distance of the domains' distributions of latents."""

    rows_per_domain = 1
    config: MMDConfig

    def penalty(self, blocks: Sequence[Tensor]) -> Tensor:
        """See `mmd_penalty`."""
        return mmd_penalty(blocks, self.config.bandwidths)


def mmd_penalty(
    blocks: Sequence[Tensor], bandwidths: Literal["fixed", "median"] = "fixed"
) -> Tensor:
    """Squared maximum mean discrepancy of several domains' latents, averaged over all pairs.

    For a pair: ``mean K(x, x) + mean K(y, y) - 2 mean K(x, y)``, each mean over all pairs of rows,
    those of a row with itself included; K is the sum of seven Gaussian kernels.

    Args:
        blocks: ``(B_e, D)`` latents of each domain: two domains or more, of any number of rows.
        bandwidths: Of the kernels; see the module's "Settings".

    Returns:
        Scalar from 0 to 14, in float32 or, if the latents are, in float64.

    Raises:
        ValueError: If there is one domain alone.

    Source:
        DomainBed; see the module's.

    Example:
        >>> round(mmd_penalty([torch.zeros(1, 1), torch.ones(1, 1)]).item(), 4)
        7.4764
        >>> far = 1000 * torch.eye(8)
        >>> round(mmd_penalty([far[:4], far[4:]]).item(), 4)
        3.5
    """
    if len(blocks) < 2:
        raise ValueError(f"MMD compares domains, but got the latents of {len(blocks)}")
    result = torch.promote_types(blocks[0].dtype, torch.float32)
    with torch.autocast(blocks[0].device.type, enabled=False):
        z = torch.cat(list(blocks))
        z = z.to(result if z.device.type == "mps" else torch.float64)
        squared = _squared_distances(z)
        factors: Sequence[float | Tensor] = FIXED
        if bandwidths == "median":
            factors = [factor / _middle(squared.detach()) for factor in AROUND_MEDIAN]
        kernels = torch.stack([torch.exp(-factor * squared) for factor in factors])
        # Mean similarity (n, n) of any two domains.
        sizes = [len(block) for block in blocks]
        rows = [part.mean(0) for part in torch.split(kernels.sum(0), sizes)]
        means = torch.stack(
            [torch.stack([part.mean() for part in torch.split(row, sizes)]) for row in rows]
        )
        # Over all pairs of n domains: (n - 1) times the diagonal, minus what is off it.
        n = len(sizes)
        total = n * means.diagonal().sum() - means.sum()
    return (total * (2 / (n * (n - 1)))).to(result)


def _squared_distances(z: Tensor) -> Tensor:
    """Squared distances ``(B, B)`` between rows ``(B, D)``; exactly 0 on the diagonal."""
    z = z - z.mean(0)  # distances stay, and the products of which they are differences get small
    products = z @ z.T
    squares = products.diagonal()
    return (squares[:, None] + squares - 2 * products).clamp_min(0)


def _middle(squared: Tensor) -> Tensor:
    """Median squared distance between different rows; their mean where it is 0, then 1."""
    rows, columns = torch.triu_indices(len(squared), len(squared), 1, device=squared.device)
    between = squared[rows, columns]
    middle = between.median()
    middle = torch.where(middle > 0, middle, between.mean())
    return torch.where(middle > 0, middle, 1.0)


Config = MMDConfig
ALGORITHM = MMD

CONTRACT_CASES = {
    "mmd": {"keys": {"weight": 0.2}},
    "mmd by domain": {"keys": {"weight": 0.2, "forward": "domain"}},
    "mmd, uneven": {"keys": {"weight": 0.2}, "rows": 11},
    "mmd multi-label": {"keys": {"weight": 0.02, "bandwidths": "median"}, "task": "multi-label"},
}
