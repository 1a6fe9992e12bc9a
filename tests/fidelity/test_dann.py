"""DANN in DomainBed's form: a network and a discriminator, which take turns."""

from fidelity import Case, every_step
from fidelity_adversarial import Adversarial


class DANN(Adversarial):
    """Ganin et al. 2016, DomainBed: latents that do not tell the domain."""

    name = "dann"

    def domain_loss(self, z, batch):
        each = self.domain_losses(z, batch)
        return each.mean(), self.steepness(each, z)


SMALL = {"width": 16}


test_every_step = every_step(
    DANN,
    {
        "DomainBed's": Case(SMALL),
        "two turns, rates of its own": Case(
            SMALL | {"d_steps": 2, "lr_d": 0.03, "weight_decay_d": 0.1, "weight": 0.3}
        ),
        "a penalty on the slope": Case(SMALL | {"grad_penalty": 0.5, "depth": 4}),
        "a penalty, dropout": Case(SMALL | {"grad_penalty": 0.5, "dropout": 0.5}),
        "Ganin's schedule": Case(SMALL | {"schedule": "ganin"}),
        "live normalisation": Case(SMALL, norm="live"),
    },
)
