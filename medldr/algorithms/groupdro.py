"""GroupDRO: the domains with the highest loss count most.

What it changes: the domains' mean losses are added up with weights q instead of equal ones. After
each batch the weight of every domain in it is multiplied by ``exp(eta x its loss)``, and the
weights are scaled to a sum of 1; the loss uses these new weights. Whichever domain is hard for long
takes over more and more of the loss, until another is harder.

When to use: hospitals are known for the training images and the worst of them is what counts, or
few images of a hospital should not mean that it is learned badly. Harmful where one is hard because
its labels are poor: it draws all weight to itself. DomainBed's table of mean accuracies puts it
below plain training on all five sets; the worst domain is what it is for.

Cost: that of ``erm``; one number per source domain. Prediction does not use it.

Works with: every task, model and loss, in 2D and 3D; as a base of ``latentdr`` and ``batchformer``.
Needs two source domains or more; batches come from the sampler ``domains`` and may then be smaller
than ``training.batch_size``. With another sampler a batch may lack a domain: its weight is kept
but for the scaling, and it adds nothing to the loss. Accumulation would move the weights several
times per step and is refused unless asked for by name. ``eta: 0`` is ``erm`` on the same batches:
the row to compare with.

Settings: ``eta`` 0.01, DomainBed's. ``forward: domain`` passes each domain's images through the
network alone, DomainBed's form; it makes a difference with live batch normalisation alone, which
its table does not have. ``weight/<domain>`` and ``loss/domain/<name>`` are logged.

Several processes: the risk of a domain is that of its rows on all processes, and so the weights are
the same everywhere.

Source:
    Sagawa et al., "Distributionally robust neural networks for group shifts", 2020, without its
    group adjustments, in DomainBed's form. The weighted sum is not divided by the number of
    domains: the weights add up to 1 already, and dividing again, as DomainBed did until January
    2021 and SWAD and MIRO still do, lowers the learning rate of optimizers other than Adam.
    Our choice: the logarithms of the weights are kept, which is the same rule; a weight itself
    would round to 0 after long neglect and stay there.
"""

from __future__ import annotations

from typing import Literal

import torch
from pydantic import Field
from torch import Tensor

from medldr.algorithms._blocks import Blocks, ComparesDomains, domain_risks
from medldr.algorithms._domain_passes import DomainPassesConfig, domain_features
from medldr.models.base import FeatureModel
from medldr.types import Batch, DataSpec, StepOutput

TITLE = "GroupDRO"


class GroupDROConfig(DomainPassesConfig):
    """Keys of GroupDRO."""

    name: Literal["groupdro"] = "groupdro"
    eta: float = Field(0.01, ge=0, description="how fast the weights follow the domains' losses")


class GroupDRO(ComparesDomains):
    """Risks of the domains under weights that grow with them.

    Attributes:
        log_q: ``(n,)``, logarithms of the weights of all source domains, in the order of
            ``spec.train_domains``; a buffer that `loss` moves in training mode.
    """

    set_based = True
    config: GroupDROConfig

    def __init__(self, config: GroupDROConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        self.log_q: Tensor
        self.register_buffer("log_q", torch.zeros(len(spec.train_domains)))

    @property
    def q(self) -> Tensor:
        """The weights ``(n,)``: they add up to 1."""
        return self.log_q.softmax(0)

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """Weighted sum of the domains' risks, logged as ``original``; moves the weights first."""
        blocks = Blocks(batch.domain)
        z = domain_features(model, batch, self.config.forward)
        logits = model.classify(z)
        risks = domain_risks(self, logits, batch.label, blocks)
        present = torch.tensor(blocks.domains, device=risks.device)
        if self.training:
            with torch.no_grad():
                self.log_q.copy_(moved(self.log_q, present, self.config.eta * risks))
        # In the precision of the risks, to keep equal weights equal to the last digit.
        q = self.log_q.to(risks.dtype).softmax(0)
        loss = (q[present] * risks).sum()
        weights = zip(self.spec.train_domains, q, strict=True)
        logs = {
            "loss/original": loss.detach(),
            **self.risk_logs(blocks, risks),
            **{f"weight/{name}": own for name, own in weights},
        }
        return StepOutput(loss, z, logits, logs)


def moved(log_q: Tensor, present: Tensor, by: Tensor) -> Tensor:
    """Logarithms of weights after those of some domains were moved and all were scaled to sum 1.

    Args:
        log_q: ``(n,)`` logarithms before.
        present: ``(m,)`` numbers of the domains to move, none twice.
        by: ``(m,)``, what is added to the logarithms of these.

    Example:
        >>> q = moved(torch.zeros(3), torch.arange(3), 0.01 * torch.tensor([1.0, 2.0, 3.0])).exp()
        >>> [round(weight, 6) for weight in q.tolist()]
        [0.330006, 0.333322, 0.336672]
    """
    return log_q.index_add(0, present, by.to(log_q.dtype)).log_softmax(0)


Config = GroupDROConfig
ALGORITHM = GroupDRO

CONTRACT_CASES = {
    "groupdro": {"keys": {"eta": 1.0}},
    "groupdro by domain": {"keys": {"eta": 1.0, "forward": "domain"}},
    "groupdro, uneven": {"keys": {"eta": 1.0}, "rows": 11},
    "groupdro multi-label": {"keys": {"eta": 1.0}, "task": "multi-label"},
}
