"""Fish: a few optimizer steps, each on another domain, of which only a part is kept.

What it changes: an update takes one step after the other, each on the images of one source domain,
and then moves the weights from where they were by a part ``eps`` of the way. To first order this is
plain training; to second order it also makes the gradients of the domains point alike.

When to use: hospitals are known for the training images and each has enough of them; after a warm
start. With three steps and the code's ``eps`` of 0.0033 an update is about a hundredth of a plain
step, and a newly initialised network learns next to nothing from it: train ``erm`` first and
begin with ``training.init_from``. Otherwise use an ``eps`` of 0.5, as in DomainBed (configuration
``fish_domainbed``).

Cost: the computation of ``erm`` on the same images, one more copy of the weights, and two passes
over them per update. No extra parameters. Prediction does not use it.

Works with: every task, model and loss, in 2D and 3D; one source domain or more. Does not work with
accumulation, a sampler other than ``domains``, or as a base of another method. An update takes
``training.batch_size`` images of each of its domains, ``meta_steps`` times as many as a step of
``erm``, and an epoch has fewer updates; learning-rate schedules and ``training.steps`` count these.
Compare with ``erm`` at ``training.sampler: domains`` and that batch size. Batch normalisation sees
one domain at a time, and its running statistics are moved by ``eps`` as well: at 0.0033 it takes
them about a thousand updates to follow, one more reason for a warm start.

Settings: ``meta_lr`` 0.01 divided by the number of steps; all source domains in random order; the
optimizer's momentum is kept from one update to the next.

Several processes: each holds its part of every domain's images, and all go through the domains in
the same order; each inner step equals that of one process with all of the images.

Source:
    Shi et al., "Gradient matching for domain generalization", 2021. Its Camelyon17 code: three
    steps, ``eps`` = 0.01 / 3, momentum kept, the whole state interpolated, after 10,000 steps of
    ERM. The paper's formula has the whole factor (``divide: false``), and so does DomainBed, with
    0.5, Adam, and its domains in a fixed order.
    Our choice: integers (the counter of batch normalisation) are not interpolated. The code's
    epoch ends when a hospital has no batches left, which on Camelyon17 is after about half of the
    images; here it shows as many images as there are, small hospitals' again. The loss that is
    logged is the mean over all inner steps, each at the weights it was made with.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from medldr.algorithms._blocks import rows_of
from medldr.algorithms.base import AlgorithmConfig, Step
from medldr.algorithms.erm import ERM
from medldr.config import RunConfig
from medldr.errors import InputError
from medldr.models.base import FeatureModel
from medldr.types import Batch, DataSpec, StepOutput

TITLE = "Fish"

_ENOUGH = 0.05
"""An `eps` from which on a network learns from its first weights in the time of usual recipes."""


class FishConfig(AlgorithmConfig):
    """Keys of Fish."""

    name: Literal["fish"] = "fish"
    meta_lr: float = Field(0.01, ge=0, description="how far to follow the inner steps")
    divide: bool = Field(
        True, description="eps = meta_lr / meta_steps, as in the code; false: meta_lr, as published"
    )
    meta_steps: int | None = Field(
        None, ge=1, description="inner steps, each on a different domain; unset: all source domains"
    )
    order: Literal["random", "fixed"] = Field(
        "random", description="order of domains: drawn for each update, or sorted by name"
    )
    keep_optimizer: bool = Field(True, description="keep momentum from one update to the next")


class Fish(ERM):
    """Inner steps domain by domain, then an interpolation.

    Attributes:
        meta_steps: Inner steps of an update.
        eps: Part of the way that is kept.
        order_seed: ``()`` int64, which determines the order of every update; a buffer, so a
            resumed run keeps it.
    """

    needs_domains = True
    sampler = "domains"
    rows_per_domain = 1

    def __init__(self, config: FishConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        number = len(spec.train_domains)
        self.meta_steps = config.meta_steps or number
        if self.meta_steps > number:
            raise InputError(
                f"algorithm.meta_steps: {self.meta_steps} steps need as many source domains, but "
                f"the training images are from {number} ({', '.join(spec.train_domains)}). Set "
                f"algorithm.meta_steps: {number}, or omit it to use all of them"
            )
        self.eps = config.meta_lr / self.meta_steps if config.divide else config.meta_lr
        self.domains_per_batch = self.batches_per_step = self.meta_steps
        self.random_order = config.order == "random"
        self.keep_optimizer = config.keep_optimizer
        self.order_seed: Tensor
        self.register_buffer("order_seed", torch.randint(2**62, ()))

    def check_run(self, config: RunConfig, *, processes: int, steps: int) -> list[str]:
        """A note where random initial weights would hardly be trained."""
        if config.training.init_from or self.eps >= _ENOUGH:
            return []
        return [
            f"algorithm fish moves the weights only {self.eps:.2g} of the way in each update, so a "
            "newly initialised network learns almost nothing. Train erm first and name its run in "
            "training.init_from, or set algorithm.meta_lr: 0.5 and algorithm.divide: false "
            "(algorithm=fish_domainbed)"
        ]

    def update(self, step: Step, batch: Batch) -> StepOutput:
        """Step on one domain after the other, then keep `eps` of the way.

        Returns:
            The mean loss of the inner steps, and the latents and logits that each was made with,
            in the order of the batch; all detached. Besides the mean, the loss of each domain is
            logged as ``loss/domain/<name>``.

        Raises:
            ValueError: If the batch does not hold `meta_steps` domains.
        """
        domains, blocks = self._ordered(step.index, batch)
        start = step.snapshot()
        if not self.keep_optimizer:
            step.reset_optimizer()
        outputs = []
        for rows in blocks:
            output = step.forward(batch.select(rows))
            step.backward(output.loss)
            step.optimizer_step()
            outputs.append(output)
        step.interpolate(start, self.eps)
        losses = torch.stack([output.loss.detach() for output in outputs])
        loss = losses.mean()
        names = [self.spec.train_domains[domain] for domain in domains]
        logs = {f"loss/domain/{name}": own for name, own in sorted(zip(names, losses, strict=True))}
        back = torch.cat(blocks).argsort()
        z = torch.cat([output.z.detach() for output in outputs])[back]
        logits = torch.cat([output.logits.detach() for output in outputs])[back]
        return StepOutput(loss, z, logits, {"loss/original": loss, **logs})

    def _ordered(self, index: int, batch: Batch) -> tuple[list[int], list[Tensor]]:
        """The domains of a batch in the order of this update, and the rows of each."""
        # One copy to the host, which waits for an accelerator once per update.
        seed, *domain = torch.cat([self.order_seed.view(1), batch.domain]).tolist()
        present = sorted(set(domain))
        if len(present) != self.meta_steps:
            raise ValueError(
                f"Fish makes {self.meta_steps} steps on different domains, but the batch holds "
                f"{len(present)} of them; batches should come from the sampler 'domains'"
            )
        if self.random_order:
            present = np.random.default_rng([seed, index]).permutation(present).tolist()
        return present, rows_of(domain, present, batch.domain.device)


Config = FishConfig
ALGORITHM = Fish

CONTRACT_CASES = {
    "fish": {"keys": {"meta_lr": 1.5}},
    "fish multi-label": {"keys": {"meta_lr": 1.5}, "task": "multi-label"},
    "fish in a fixed order": {"keys": {"meta_lr": 1.0, "divide": False, "order": "fixed"}},
    "fish without momentum": {"keys": {"meta_lr": 1.5, "keep_optimizer": False}},
    "fish with batch normalisation": {
        "keys": {"meta_lr": 1.5},
        "one_equals_two": False,
        "norm": True,
    },
}
