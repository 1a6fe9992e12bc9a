"""VREx: the classification loss should be equal in all source domains.

What it changes: the variance of the domains' mean losses is added to their mean, ``weight`` times.
The variance is that of the domains in the batch (divided by their number). In the first
``anneal_steps`` steps the weight is 1; from then on it is ``weight``, and the optimizer is reset.

When to use: hospitals are known for the training images and some are learned much better than
others. Harmful where some are harder by nature (poorer scanners, harder cases): the easy ones are
then learned worse, not the hard ones better.

Cost: that of ``erm``; no extra parameters. Prediction does not use it.

Works with: every task, model and loss, in 2D and 3D. Needs two source domains or more and the
sampler ``domains``, so batches may be smaller than ``training.batch_size``. Does not work with
accumulation or as a base of another method, because it resets the optimizer. A run of
``anneal_steps`` steps or fewer never sees ``weight``. ``weight: 0`` is ``erm`` on the same batches,
with the penalty logged: the row to compare with.

Settings: ``weight`` 10, ``anneal_steps`` 500, DomainBed's.

Several processes: the risk of a domain is that of its rows on all processes.

Source:
    Krueger et al., "Out-of-distribution generalization via risk extrapolation", 2021, in
    DomainBed's form: population variance, a weight of 1 before the switch, Adam reset at it, and no
    division of the loss by a large weight. There too the whole batch passes the network at once,
    which matters with live batch normalisation.
    Our choice: where ``weight`` is 0 it is so before the switch as well. Then, and without steps
    before the switch, nothing is switched and no optimizer reset. The loss of every domain is
    logged, not only that of the last.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field
from torch import Tensor

from medldr.algorithms._annealed import Annealed, AnnealedConfig
from medldr.algorithms._blocks import Blocks

TITLE = "VREx"


class VRExConfig(AnnealedConfig):
    """Keys of VREx."""

    name: Literal["vrex"] = "vrex"
    weight: float = Field(10.0, ge=0, description="weight of the variance from the switch on")


class VREx(Annealed):
    """Mean plus weighted variance of the domains' risks."""

    def penalty(self, risks: Tensor, logits: Tensor, label: Tensor, blocks: Blocks) -> Tensor:
        """See `vrex_penalty`."""
        return vrex_penalty(risks)


def vrex_penalty(risks: Tensor) -> Tensor:
    """Population variance of the domains' risks.

    Args:
        risks: ``(n,)``, one or more.

    Returns:
        Scalar, at least 0; of equal risks 0, with a gradient of 0.

    Example:
        >>> import torch
        >>> round(vrex_penalty(torch.tensor([1.0, 2.0, 3.0])).item(), 4)
        0.6667
    """
    return (risks - risks.mean()).square().mean()


Config = VRExConfig
ALGORITHM = VREx

CONTRACT_CASES = {
    "vrex": {"keys": {"weight": 20.0, "anneal_steps": 2}},
    "vrex, uneven": {"keys": {"anneal_steps": 0}, "rows": 11},
    "vrex multi-label": {
        "keys": {"anneal_steps": 1, "reset_optimizer": False},
        "task": "multi-label",
    },
}
