"""CORAL: latents of all domains should have the same mean and the same covariance.

What it changes: a penalty is added to the classification loss. For every pair of the batch's source
domains it is the squared distance of their mean latents plus that of their covariances, each
divided by its number of entries; the mean over all pairs counts ``weight`` times.

When to use: hospitals are known for the training images, and what differs between them has little
to do with the finding. Harmful where it does: on Camelyon17 published tables put it below plain
training (59.5 against 70.3), and the penalty also removes differences that are due to a different
share of diseased patients.

Cost: no extra parameters; per step B x D x D multiplications for a (D, D) covariance per domain or,
where a batch has fewer rows than latents have numbers, B x B x D for the products of its rows.
Prediction does not use it.

Works with: every task, model and loss, in 2D and 3D; as a base of ``latentdr`` and ``batchformer``.
Needs two source domains or more, the sampler ``domains`` and two images of each per batch; so
batches may be smaller than ``training.batch_size``. A covariance of few images is mostly chance:
of 16 it has rank 15, whatever D. Accumulation makes blocks smaller and is refused unless asked for
by name. ``weight: 0`` is ``erm`` on the same batches, with the penalty logged: the row to compare
with.

Settings: ``weight`` 1.0 over all domains, DomainBed's; WILDS has 0.1 over two domains per batch
(configuration ``coral_wilds``). ``forward: batch`` normalises all images of a batch together, as
WILDS does and as ``erm`` has it; ``domain`` those of each domain, DomainBed's form. It makes a
difference with live batch normalisation alone, which DomainBed's table does not have.

Several processes: means and covariances are those of the rows of all processes.

Source:
    Sun and Saenko, "Deep CORAL", 2016, for two domains: ``|C_1 - C_2|^2 / (4 D^2)`` without means.
    DomainBed and WILDS, for any number: four times that, plus the means, with unbiased covariances.
    DomainBed's classification loss is the mean over the domains, which for equal blocks is that
    of the batch. Both divide by D and D^2, so at 1,024 latents the penalty is small next to it.
    Our choice: computed in float32 also under autocast. The mean over all pairs is computed from
    the squared distances to the domains' mean, which equals it and takes n of them instead of
    n (n - 1) / 2. With fewer rows than numbers those of covariances come from the rows' products:
    the sum over the entries of ``C_1 C_2`` is ``|A_1 A_2^T|_F^2`` for centred, scaled rows ``A``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from medldr.algorithms._domain_passes import DomainPenalty, DomainPenaltyConfig
from medldr.errors import InputError
from medldr.models.base import FeatureModel
from medldr.types import DataSpec

TITLE = "CORAL"


class CORALConfig(DomainPenaltyConfig):
    """Keys of CORAL."""

    name: Literal["coral"] = "coral"
    domains_per_batch: int | None = Field(
        None, ge=2, description="source domains per batch, drawn for each batch; unset: all"
    )


class CORAL(DomainPenalty):
    """Mean classification loss plus the distance of the domains' latents."""

    rows_per_domain = 2

    def __init__(self, config: CORALConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        self.domains_per_batch = config.domains_per_batch
        number = len(spec.train_domains)
        if (config.domains_per_batch or 0) > number:
            raise InputError(
                f"algorithm.domains_per_batch: {config.domains_per_batch} exceeds the {number} "
                f"source domains ({', '.join(spec.train_domains)}). Omit it to use all of them"
            )

    def penalty(self, blocks: Sequence[Tensor]) -> Tensor:
        """See `coral_penalty`."""
        return coral_penalty(blocks)


def coral_penalty(blocks: Sequence[Tensor]) -> Tensor:
    """Distance of the means and covariances of several domains' latents, averaged over all pairs.

    For a pair with means ``m`` and unbiased covariances ``C``:
    ``|m_1 - m_2|^2 / D + |C_1 - C_2|_F^2 / D^2``.

    Args:
        blocks: ``(B_e, D)`` latents of each domain: two domains or more, of two rows or more.

    Returns:
        Scalar, at least 0, in float32 or, if the latents are, in float64.

    Raises:
        ValueError: If there are too few domains, or too few rows of one.

    Source:
        DomainBed and WILDS; see the module's.

    Example:
        >>> square = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]])
        >>> round(coral_penalty([square, square + torch.tensor([1.0, 0.0])]).item(), 4)
        0.5
        >>> round(coral_penalty([square, 2 * square]).item(), 4)
        9.0
    """
    if len(blocks) < 2:
        raise ValueError(f"CORAL compares domains, but got the latents of {len(blocks)}")
    if min(len(block) for block in blocks) < 2:
        raise ValueError(
            "CORAL needs at least two rows of every domain for a covariance; batches should come "
            "from the sampler 'domains'"
        )
    with torch.autocast(blocks[0].device.type, enabled=False):
        full = [block.to(torch.promote_types(block.dtype, torch.float32)) for block in blocks]
        means = _spread([block.mean(0) for block in full])
        centred = [(block - block.mean(0)) / (len(block) - 1) ** 0.5 for block in full]
        few = sum(map(len, full)) < full[0].shape[1] and full[0].device.type != "mps"  # no float64
        covariances = _spread_by_rows(centred) if few else _spread([a.T @ a for a in centred])
    return means + covariances


def _spread(values: list[Tensor]) -> Tensor:
    """Mean squared difference of tensors of one shape, over all pairs and entries.

    Over all pairs of n tensors, the squared differences add up to n times those from their mean.
    """
    mean = sum(values[1:], values[0]) / len(values)
    away = torch.stack([(value - mean).square().mean() for value in values])
    return 2 * away.sum() / (len(values) - 1)


def _spread_by_rows(centred: list[Tensor]) -> Tensor:
    """`_spread` of the covariances ``A^T A`` of centred, scaled rows ``A``, from their products.

    In float64: what the covariances have in common is subtracted only after squaring.
    """
    blocks = [block.double() for block in centred]
    of_each = torch.stack([_squared_products(block) for block in blocks]).sum()
    away = (of_each - _squared_products(torch.cat(blocks)) / len(blocks)).clamp_min(0)
    return (2 * away / (len(blocks) - 1) / blocks[0].shape[1] ** 2).to(centred[0].dtype)


def _squared_products(rows: Tensor) -> Tensor:
    """Sum of the squared inner products of all pairs of rows."""
    return (rows @ rows.T).square().sum()


Config = CORALConfig
ALGORITHM = CORAL

CONTRACT_CASES = {
    "coral": {"keys": {"weight": 10.0}},
    "coral by domain": {"keys": {"weight": 10.0, "forward": "domain"}},
    "coral, uneven": {"keys": {"weight": 10.0}, "rows": 11},
    "coral multi-label": {"keys": {"weight": 10.0}, "task": "multi-label"},
}
