"""GroupDRO: risks under weights that grow with them."""

import torch
from fidelity import Case, Reference, every_step


class GroupDRO(Reference):
    """Sagawa et al. 2020, DomainBed: ``q <- q exp(eta R)``, scaled; then ``sum q R``."""

    name = "groupdro"

    def setup(self):
        self.q = torch.ones(3, dtype=torch.float64)

    def update(self, batch):
        risks = torch.stack(self.risks(batch, self.classify(self.passed(batch))))
        self.q = self.q * torch.exp(self.keys.get("eta", 0.01) * risks.detach())
        self.q = self.q / self.q.sum()
        weights = {
            f"weight/{name}": own
            for name, own in zip(("north", "south", "west"), self.q, strict=True)
        }
        return self.minimise((self.q * risks).sum()) | weights


test_every_step = every_step(
    GroupDRO,
    {
        "DomainBed's eta": Case(),
        "a large eta": Case({"eta": 1.0}),
        "live normalisation": Case({"eta": 1.0}, norm="live"),
        "DomainBed's passes": Case({"eta": 1.0, "forward": "domain"}, norm="live"),
    },
)
