"""BALMS: a classifier for rare classes that learns how often each class should be drawn.

What it changes: balanced softmax already corrects for rare classes, and class-balanced batches on
top of it correct too much. Here every class has a rate between 0 and 1, and the images of a step
are drawn in proportion to it. The rates are learnt: a trial step of the classifier on images drawn
with them is scored on other, class-balanced training images, and the rates follow the gradient of
that score through the trial step and the draw. Then the network takes a step on a new draw.

When to use: classes are very imbalanced and the network was trained with ``balanced_softmax``; as
the method of a stage that trains the classifier alone (``training.stages``, ``retrain_head``), as
its authors do. It can train a whole network too. Where rare classes have so few images that every
step shows all of them, the score is that of images just learnt: expect little.

Cost: twice the images of a step of ``erm``, and one more pass over half of them. One number per
class in addition. Prediction uses neither.

Works with: multi-class, binary and ordinal labels, every model, head and such loss, in 2D and 3D;
domains are not looked at. Not with: multi-label data, accumulation, ``machine.compile``, a sampler
other than ``weighted``, or as a base of another method. An update takes twice
``training.batch_size`` images and an epoch has half as many updates: schedules and
``training.steps`` count these. Batch normalisation, where it learns, sees class-balanced images.

Settings: ``meta_lr`` 0.01 is the code's. ``inner_lr_scale`` 1 makes the trial step as long as the
classifier's next step without momentum; raise it where the training rate is small, as with Adam.
``meta_repeats: true`` for classes with fewer images than a step scores on average: CIFAR-100-LT at
batches of 512 and imbalance 100 has such classes.

Several processes: each makes a draw, a trial step and a score of its own rows, and their gradients
are averaged; a trial step then sees fewer rows than in one process, so results differ a little.

Class weights: they weigh the trial and the real loss, not the score, whose images are balanced.

Source:
    Ren et al., "Balanced meta-softmax for long-tailed visual recognition", 2020, and its code: rate
    ``sigmoid(free parameter)``, 0.5 at first; hard Gumbel draws with replacement; a step of the
    linear classifier on latents that get no gradient; plain cross-entropy as the score, on a
    class-balanced draw of the training images; Adam at a constant 0.01 without decay.
    Our choice: their code draws from the whole training set, which a loader that reads ahead
    cannot. Here a step reads class-balanced images, one half is a pool, and each of its rows is
    drawn in proportion to its class's rate times its class's training images. The classes of a
    draw are then as frequent as theirs, and every class is in the pool, but images of frequent
    classes repeat within a draw. Their gradient passes through the probability of the drawn row
    alone, ours through those of all rows of the pool; their real step has the draw of the trial
    step, ours a new one at the new rates. Their trial step is the classifier's optimizer's, with
    its momentum and decay; it is also described as one at a larger rate, not stated. Ours is plain
    and at the current rate (``inner_lr_scale`` 1). The score's images are drawn with replacement.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from medldr import plugins
from medldr.algorithms.base import Algorithm, AlgorithmConfig, Step
from medldr.config import LossSection, RunConfig
from medldr.errors import InputError
from medldr.models.base import FeatureModel
from medldr.types import Batch, DataSpec, StepOutput

TITLE = "BALMS (meta-sampler)"
PLAIN = {"loss": "balanced_softmax"}
"""The loss that belongs to the method, and is no further part of its name."""


class BALMSConfig(AlgorithmConfig):
    """Keys of BALMS."""

    name: Literal["balms"] = "balms"
    loss: LossSection | None = Field(
        None, description="loss of the trial and the real step; unset: balanced_softmax"
    )
    meta_lr: float = Field(0.01, gt=0, description="Adam's rate for the classes' rates, constant")
    inner_lr_scale: float = Field(
        1.0, gt=0, description="factor on the current training rate, for the trial step; our choice"
    )
    temperature: float = Field(
        1.0, gt=0, description="of the soft draws through which gradients pass"
    )
    meta_repeats: bool = Field(
        False, description="allow classes with fewer images than a step scores on average"
    )


class BALMS(Algorithm):
    """Draw, try, score; change the rates; draw and step.

    Attributes:
        rate_logits: ``(K,)``, the free parameters: a class's rate is their sigmoid.
        images: ``(K,)``, training images of each class.
        trial_lr: ``()``, length of the trial step at this step.
    """

    sampler = "weighted"
    batches_per_step = 2
    config: BALMSConfig
    tasks = ("multi-class", "binary", "ordinal")

    def __init__(self, config: BALMSConfig, spec: DataSpec, model: FeatureModel) -> None:
        if config.loss is None:
            loss = plugins.load("losses", PLAIN["loss"]).Config()
            config = config.model_copy(update={"loss": loss})
        super().__init__(config, spec, model)
        self.rate_logits = nn.Parameter(torch.zeros(spec.num_classes))
        self.images: Tensor
        self.trial_lr: Tensor
        images = torch.tensor(spec.class_counts, dtype=torch.float32)
        self.register_buffer("images", images, persistent=False)
        self.register_buffer("trial_lr", torch.zeros(()), persistent=False)

    def check_run(self, config: RunConfig, *, processes: int, steps: int) -> list[str]:
        """Refuse other samplers, compiling, and classes with too few images for the score."""
        training = config.training
        sampler = "domains" if training.batch_per_domain else training.sampler
        if sampler not in (None, self.sampler):
            raise InputError(
                f"training.sampler: {sampler} does not balance the classes of a batch, and "
                "algorithm balms scores its rates on class-balanced images. Omit the sampler, in a "
                "stage too, and training.batch_per_domain, or set sampler: weighted"
            )
        if config.machine.compile:
            raise InputError(
                "machine.compile: algorithm balms differentiates through a step of the classifier, "
                "which cannot be compiled. Set machine.compile: false"
            )
        repeats = self._repeats(training.batch_size)
        if not repeats:
            return []
        said, enough = repeats
        if self.config.meta_repeats:
            return [f"algorithm.meta_repeats: {said}, so images repeat in that score"]
        raise InputError(
            f"training.batch_size, or batch_size of the stage: {said}. Set it to {enough} or less, "
            "or algorithm.meta_repeats: true if images may repeat in the score of a step, as in "
            "the authors' runs on CIFAR-100-LT"
        )

    def _repeats(self, batch_size: int) -> tuple[str, int] | None:
        """Which class the score of a single step repeats on average, and a batch that is enough.

        None where every class has as many images as a step scores of it.
        """
        named = zip(self.spec.class_names, self.spec.class_counts, strict=True)
        present = {name: count for name, count in named if count}
        rows = min(batch_size, sum(present.values()) // self.batches_per_step)
        name, fewest = min(present.items(), key=lambda item: item[1])
        enough = fewest * len(present)
        if rows <= enough:
            return None
        return (
            f"with {batch_size}, a step of algorithm balms scores its rates on {rows} "
            f"class-balanced images, about {rows / len(present):.3g} of each class, but class "
            f"{name!r} has {fewest} training images"
        ), enough

    def optimizers(self, model: FeatureModel) -> dict[str, list[dict[str, Any]]]:
        """``main`` trains the network; ``meta`` the rates, by Adam with its usual settings."""
        (group,) = super().optimizers(model)["main"]
        rates = {
            "params": [self.rate_logits],
            "optimizer": "adam",
            "lr": self.config.meta_lr,
            "weight_decay": 0.0,
            "betas": (0.9, 0.999),
            "eps": 1e-8,
            "scheduled": False,
        }
        weights = [p for p in group["params"] if p is not self.rate_logits]
        return {"main": [{"params": weights}], "meta": [rates]}

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The mean loss of a draw from the batch at the present rates: ``loss/original``."""
        z = model.features(batch.image)
        logits = model.classify(z)
        with torch.no_grad():
            drawn = self.draw(batch.label)
        loss = self._loss_of(drawn, logits, batch.label)
        return StepOutput(loss, z, logits, {"loss/original": loss.detach()})

    def meta_loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The score of the classifier after a trial step: ``loss/meta``.

        Nothing but `rate_logits` gets a gradient. Latents and logits are those of all rows, before
        the trial step.
        """
        with torch.no_grad():
            z = model.features(batch.image)
            logits = model.classify(z)
        pool, scored = _halves(len(z))
        with torch.autocast(z.device.type, enabled=False):
            full = z.to(torch.promote_types(z.dtype, torch.float32))
            weights = {n: p.detach().requires_grad_() for n, p in model.head.named_parameters()}
            tried = functional_call(model.head, weights, (full[pool],))
            label = batch.label[pool]
            trial = self._loss_of(self.draw(label), tried, label)
            slopes = torch.autograd.grad(trial, list(weights.values()), create_graph=True)
            moved = {
                name: weight - self.trial_lr * slope
                for (name, weight), slope in zip(weights.items(), slopes, strict=True)
            }
            after = functional_call(model.head, moved, (full[scored],))
            loss = functional.cross_entropy(after, batch.label[scored])
        rates = self.rate_logits.detach().sigmoid()
        logs = {"loss/meta": loss.detach(), "rate/lowest": rates.min(), "rate/highest": rates.max()}
        return StepOutput(loss, z, logits, logs)

    def update(self, step: Step, batch: Batch) -> StepOutput:
        """A step of the rates on both halves of the batch, then one of the network on its pool.

        Returns:
            The loss of the network's step, and latents and logits of all rows: of the pool those
            that step was made with. All detached.
        """
        self.trial_lr.fill_(step.groups()[0]["lr"] * self.config.inner_lr_scale)
        meta = step.forward(batch, "meta_loss")
        step.backward(meta.loss)
        step.optimizer_step("meta")
        pool, scored = _halves(len(batch.index))
        rows = torch.arange(len(batch.index), device=batch.index.device)
        output = step.forward(batch.select(rows[pool]))
        step.backward(output.loss)
        step.optimizer_step()
        z, logits = (
            torch.cat([new.detach(), old[scored]])
            for new, old in ((output.z, meta.z), (output.logits, meta.logits))
        )
        return StepOutput(output.loss.detach(), z, logits, {**output.logs, **meta.logs})

    def draw(self, label: Tensor) -> Tensor:
        """As many draws from a pool as it has rows, with replacement.

        Row i is drawn with probability proportional to the rate of its class times the training
        images of its class, since the pool has as many rows of every class.

        Args:
            label: ``(B,)`` classes of the pool.

        Returns:
            ``(B,)``, how often each row was drawn, divided by B. Its gradient is that of the soft
            draws: the same noise, but a softmax at `temperature` in place of the largest.
        """
        chance = (self.images.log() + functional.logsigmoid(self.rate_logits))[label]
        picks = functional.gumbel_softmax(
            chance.expand(len(label), -1), tau=self.config.temperature, hard=True
        )
        return picks.mean(0)

    def _loss_of(self, drawn: Tensor, logits: Tensor, label: Tensor) -> Tensor:
        """Mean loss of drawn rows, weighted by class where the run weighs classes."""
        losses, of_classes = self.sample_losses(logits, label)
        weights = drawn if of_classes is None else drawn * of_classes
        tiny = torch.finfo(losses.dtype).tiny  # all weights of a draw may be zero
        return (losses * weights).sum() / weights.sum().clamp_min(tiny)


def _halves(rows: int) -> tuple[slice, slice]:
    """The pool, and the rows of the score: of an odd number the pool has one more."""
    return slice(0, (rows + 1) // 2), slice((rows + 1) // 2, rows)


Config = BALMSConfig
ALGORITHM = BALMS

# Each process draws numbers of its own.
CONTRACT_CASES = {
    "balms": {"one_equals_two": False},
    "balms, uneven": {"keys": {"temperature": 0.5}, "rows": 11, "one_equals_two": False},
}
