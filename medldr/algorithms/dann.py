"""DANN: latents from which a second network cannot predict the domain.

What it changes: a discriminator guesses each image's source domain from its latent. It and the
network take turns: on its own steps it learns to guess; on the network's steps ``weight`` times its
loss is subtracted from the classification loss, which removes domain information from the latents.

When to use: hospitals are known for the training images, look different, and have about the same
share of each finding. Harmful where they do not: the latents then also lose what the finding
shares with the domain (``cdann`` is made for that). It is a game in which no loss has to fall:
with the published settings runs have stayed near chance or diverged on PACS, and DomainBed's table
has its mean over five data sets below plain training (62.6 against 63.3). Watch
``accuracy/domain``, which should fall to chance level; lower ``weight`` or use ``schedule: ganin``
where the classification does not learn. ``train/loss`` is the mean over the steps of both sides and
means little; ``train/loss/original`` is the classification loss.

Cost: a step of the network takes about 1.1 times one of ``erm``, one of the discriminator about a
third. But only one step in ``1 + d_steps`` trains the network: with the defaults it takes half the
steps of ``erm`` in as long a run. The discriminator is not used in prediction.

Works with: every task, model and loss, in 2D and 3D. Needs two source domains or more, and by
default takes equal blocks of all of them. Does not work with accumulation or as a base of another
method, because it makes its own steps. The running statistics of live batch normalisation move at
the discriminator's steps too.

Settings: DomainBed's defaults. ``lr_d`` and ``weight_decay_d`` are the recipe's unless set;
``betas`` (0.5, 0.9) replace those of Adam for both sides, and ``betas: null`` keeps the recipe's;
with ``training.optimizer: sgd`` they have no meaning. ``weight: 0`` is ``erm`` on every
``1 + d_steps``-th batch.

Several processes: each computes its own rows' loss, and the gradients are averaged.

Source:
    Ganin et al., "Domain-adversarial training of neural networks", 2016, with a layer that turns
    the gradient round, and a weight that grows along the run (``schedule: ganin``).
    DomainBed, followed here: two optimizers in turn; the minus sign takes the place of that layer,
    and there is no schedule. The penalty on the discriminator's slope is that of its releases from
    August 2022 on; the published table was made with an earlier one that was wrong, which with the
    default ``grad_penalty`` 0 does not matter.
    Our choice: whose turn it is follows from the number of the step, which a resumed run knows; on
    the discriminator's turn nothing is differentiated through the network; the penalty is computed
    only where ``grad_penalty`` is not 0, from slopes in closed form, without a second derivative;
    the losses are computed in float32 under autocast.
"""

from __future__ import annotations

from typing import Literal

from medldr.algorithms._adversarial import Adversarial, AdversarialConfig

TITLE = "DANN"


class DANNConfig(AdversarialConfig):
    """Keys of DANN."""

    name: Literal["dann"] = "dann"


class DANN(Adversarial):
    """Classification against a discriminator that sees the latents alone."""


Config = DANNConfig
ALGORITHM = DANN

CONTRACT_CASES = {
    "dann": {},
    "dann with a penalty": {"keys": {"grad_penalty": 0.5, "weight": 0.3}},
    "dann, two steps of the discriminator": {"keys": {"d_steps": 2, "schedule": "ganin"}},
    "dann, uneven": {"keys": {"lr_d": 0.02, "grad_penalty": 0.5}, "rows": 11},
    "dann multi-label": {"keys": {"depth": 2, "width": 5}, "task": "multi-label"},
    "dann with dropout": {"keys": {"dropout": 0.5}, "one_equals_two": False},
}
