"""CDANN in DomainBed's form: the discriminator of DANN, told the class."""

from fidelity import Case, every_step
from fidelity_adversarial import Adversarial


class CDANN(Adversarial):
    """Li et al. 2018, DomainBed: ``u = z + e_y``; a sum over rows, weighted ``1 / (n_y K)``."""

    name = "cdann"

    def domain_loss(self, z, batch):
        seen = z + self.w["algorithm.class_vectors.weight"][batch.label]
        each = self.domain_losses(seen, batch)
        counts = batch.label.bincount(minlength=4)
        of_batch = self.keys.get("class_count") == "batch"
        classes = int(batch.label.max()) + 1 if of_batch else 4
        return (each / (counts[batch.label] * classes)).sum(), self.steepness(each, seen)


SMALL = {"width": 16}

test_every_step = every_step(
    CDANN,
    {
        "classes of the data": Case(SMALL),
        "classes of the batch, few rows": Case(SMALL | {"class_count": "batch"}, rows=6),
        "a penalty on the slope": Case(SMALL | {"grad_penalty": 0.5, "weight": 0.3}),
        "two turns": Case(SMALL | {"d_steps": 2, "lr_d": 0.03}),
        "live normalisation": Case(SMALL, norm="live"),
    },
)
