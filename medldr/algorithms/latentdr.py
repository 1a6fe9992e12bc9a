"""LatentDR: classify each latent three times: unchanged, degraded by its batch, and restored.

What it changes: a degradation D makes ``z_d = D(z)`` out of a batch of latents, which should
predict the batch's mean label; a restoration R makes ``z_r = R(z_d, z)``, which should predict
the true one. One classifier serves all three terms. Prediction does not use D and R.

When to use: the test hospital, scanner or style is not among the training ones, or classes are
imbalanced; batches of 16 and more (the paper finds smaller sets harmful and larger ones no
better than its 32 to 128). Compare with ``erm`` and, because the learning rate is halved, with
``erm`` at ``lr_scale: 0.5`` and ``latentdr`` at ``lr_scale: 1``.

Cost: at 512 latents 793,600 extra parameters (``attention``) or 169,648 (``pool``) while
training, none afterwards; two small transformer layers over (B, D) per step.

Works with: every task, model and loss; on top of another algorithm (``base``). Does not work
with: a base that mixes labels or has several optimizers; accumulation, which makes sets smaller.

Settings: degrade ``attention`` (the paper's SA) or ``pool``; the others are the paper's values.

Several processes: the queries are a process's own rows, the set is the batch of all processes
(``set_scope: global``), and random subsets are drawn once for all of them, so the protocol does
not depend on the number of processes. Dropout masks are drawn on each.

Class weights: they weigh the samples of the original and the restored term. All rows of the
degraded term share one target, so a weighted mean with that target's weight is the plain mean:
class weights leave it as it is. The mean label itself is reweighted only with
``mean_label: weighted``, which brings it nearer to equal shares of all classes.

Losses for imbalanced classes: the loss of the base serves all three terms. With
``balanced_softmax`` the degraded term is lowest where the adjusted prediction is the mean label;
as that is near the training frequencies, the plain logits of degraded latents then favour no
class. With ``degraded_loss: plain`` they favour the frequent ones instead.

Logged: ``loss/degraded_excess`` is ``loss/degraded`` minus the entropy of the mean label, which is
the least that cross-entropy can be against it. It is 0 where the classifier answers with the mean
label, whatever the number of classes, so curves of several tasks can be compared by it.

Source:
    "LatentDR" (latent degradation and restoration), method section and appendix; its authors
    published no code. What each option is in the paper, and where it is silent our choice:
    `medldr.latent.LatentDR`. ``lr_scale`` 0.5 is the paper's "fixed learning rate adjustment of
    50%". Gathering the set over processes and ``base`` are our choice; the paper's long-tail
    rows stack LatentDR on other losses and methods in this way. It has one loss for all terms and
    adds LatentDR to methods that have "explicit CrossEntropy term in their loss functions", so the
    base's classification loss judges the degraded term too (``degraded_loss: base``), against the
    mean label with weights 1 / B (``mean_label: equal``). How that loss and label meet where
    classes are adjusted or weighted the paper does not say; the other values are our options. Nor
    does it name a learning rate or weight decay of D and R: they have the network's, our choice,
    unless ``operator_lr_scale`` and ``operator_weight_decay`` say otherwise.
"""

from __future__ import annotations

import copy
from inspect import signature
from typing import Any, Literal, NamedTuple, Self, get_type_hints

from pydantic import Field, create_model, model_validator
from torch import Tensor

from medldr.algorithms._gather import RowGatherer, several_processes
from medldr.algorithms._stacking import Stacked, StackedConfig
from medldr.algorithms.base import accuracy, build_loss
from medldr.config import RunConfig
from medldr.errors import InputError
from medldr.latent import OPTIONS, LatentDR, Option, check_options, label_entropy, mean_label
from medldr.models.base import FeatureModel
from medldr.types import Batch, DataSpec, StepOutput

TITLE = "LatentDR"
TITLE_BY = {"degrade": {"attention": "SA", "pool": "Pool", "gaussian": "Gaussian"}}
PLAIN = {
    "degraded_loss": "base",
    "mean_label": "equal",
    "norm": "post",
    "restore": "attention",
    "share_classifier": True,
    "terms": ["degraded", "restored"],
}
FORMS = (
    {"id": "latentdr_sa", "when": {"degrade": "attention"}},
    {"id": "latentdr_sa_residual", "when": {"degrade": "attention", "norm": "residual"}},
    {"id": "latentdr_pool", "when": {"degrade": "pool"}},
    {"id": "latentdr_gaussian", "when": {"degrade": "gaussian"}},
    {"id": "latentdr_own_classifier", "when": {"degrade": "pool", "share_classifier": False}},
    {"id": "latentdr_r_only", "when": {"degrade": "none", "terms": ["restored"]}},
    {"id": "latentdr_gaussian_r_only", "when": {"degrade": "gaussian", "terms": ["restored"]}},
    # Without the restored term nothing is restored, whatever the value of `restore`.
    {"id": "latentdr_d_only", "when": {"degrade": "pool", "terms": ["degraded"]}},
    {
        "id": "latentdr_d_only",
        "when": {"degrade": "pool", "terms": ["degraded"], "restore": "none"},
    },
    {"id": "latentdr_gaussian_d_only", "when": {"degrade": "gaussian", "terms": ["degraded"]}},
    {
        "id": "latentdr_gaussian_d_only",
        "when": {"degrade": "gaussian", "terms": ["degraded"], "restore": "none"},
    },
)
"""The forms whose numbers the paper prints."""


class _Keys(StackedConfig):
    """What LatentDR has in common with every algorithm, and the check of its own keys."""

    name: Literal["latentdr"] = "latentdr"
    lr_scale: float = Field(
        0.5, gt=0, description="factor on training.lr, recorded in run.json; the paper halves it"
    )
    degraded_loss: Literal["base", "plain"] = Field(
        "base",
        description="loss of the degraded term: the base's classification loss, or cross-entropy "
        "(multi-label: binary) whatever the base's is",
    )
    mean_label: Literal["equal", "weighted"] = Field(
        "equal", description="weights of the samples in the mean label: equal, or class weights"
    )
    operator_lr_scale: float = Field(
        1.0, gt=0, description="factor on the learning rate of D and R, besides lr_scale"
    )
    operator_weight_decay: float | None = Field(
        None, ge=0, description="weight decay of D and R; unset: training.weight_decay"
    )

    @model_validator(mode="after")
    def _options_fit(self) -> Self:
        check_options(**{key: getattr(self, key) for key in signature(check_options).parameters})
        return self


def _options() -> dict[str, Any]:
    """The options of the method as keys: each with its type, its default and its range."""
    types, keys = get_type_hints(LatentDR.__init__), {}
    for name, option in signature(LatentDR).parameters.items():
        if name in ("dim", "num_classes", "multi_label"):  # those of the network and the data
            continue
        known = OPTIONS.get(name, Option())
        field = Field(
            option.default,
            description=known.meaning,
            ge=known.ge,
            gt=known.gt,
            le=known.le,
            lt=known.lt,
        )
        keys[name] = (known.stored or types[name], field)
    return keys


LatentDRConfig = create_model(
    "LatentDRConfig",
    __base__=_Keys,
    __module__=__name__,
    __doc__="Keys of LatentDR; `medldr.latent.LatentDR` says where each value comes from.",
    **_options(),
)


class LatentDRAlgorithm(Stacked):
    """Degraded and restored terms on top of a base algorithm, by default ERM.

    Attributes:
        augment: The degradation and the restoration.
    """

    def __init__(self, config: _Keys, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        try:
            self.augment = LatentDR(
                model.dim,
                spec.num_classes,
                multi_label=spec.multi_label,
                **config.model_dump(exclude=set(_Keys.model_fields)),
            )
        except ValueError as error:
            raise InputError(f"algorithm latentdr: {error}") from error
        self._check_degraded(config)
        self.operator_options = self._operator_options(config)
        self.label_weighted = config.mean_label == "weighted"
        self.plain = build_loss(None, spec) if config.degraded_loss == "plain" else None
        if self.augment.own_classifier is not None:
            # The same kind of head as the model's, with the same initial weights.
            self.augment.own_classifier = copy.deepcopy(model.head).requires_grad_(True)

    def _check_degraded(self, config: _Keys) -> None:
        """Refuse settings of the degraded term where there is none."""
        for key in ("degraded_loss", "mean_label"):
            value = getattr(config, key)
            if value != PLAIN[key] and "degraded" not in self.augment.terms:
                raise InputError(
                    f"algorithm.{key}: {value} has no effect, because algorithm.terms has no "
                    f"degraded term. Omit algorithm.{key}, or add degraded to algorithm.terms"
                )

    def _operator_options(self, config: _Keys) -> dict[str, float]:
        """Options of the optimizer for D and R, where they are not the network's."""
        options: dict[str, float] = {}
        if config.operator_lr_scale != 1:
            options["lr_scale"] = config.operator_lr_scale
        if config.operator_weight_decay is not None:
            options["weight_decay"] = config.operator_weight_decay
        parts = (self.augment.degradation, self.augment.restoration)
        if options and not any(list(part.parameters()) for part in parts if part is not None):
            raise InputError(
                "algorithm.operator_lr_scale and operator_weight_decay have no effect, because D "
                "and R have no parameters here. Omit them"
            )
        return options

    def optimizers(self, model: FeatureModel) -> dict[str, list[dict[str, Any]]]:
        """The base's groups, and those of D and R and of a classifier of their own."""
        groups = list(self.base.optimizers(model)["main"])
        own = [p for p in self.augment.parameters() if p.requires_grad]
        if self.operator_options:
            head = self.augment.own_classifier
            of_head = [] if head is None else list(head.parameters())
            operators = own[: len(own) - len(of_head)]  # the classifier comes last
            groups.append({"params": operators, **self.operator_options})
            own = of_head
        if own:
            groups.append({"params": own})
        return {"main": groups}

    def check_run(self, config: RunConfig, *, processes: int, steps: int) -> list[str]:
        """The base's checks and notes, and one on a weighted mean label without weights."""
        notes = super().check_run(config, processes=processes, steps=steps)
        if self.label_weighted and config.training.class_weights is None:
            notes = [
                *notes,
                "algorithm.mean_label: weighted weighs nothing, because training.class_weights is "
                "not set",
            ]
        return notes

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The base's loss plus the degraded and restored terms; the encoder runs once."""
        out = self.base.loss(model, batch)
        set_ = self._set(out.z, batch.label)
        terms = self.augment.extra_terms(
            out.z,
            batch.label,
            model.classify,
            criterion=self.classification_loss,
            degraded_criterion=None if self.plain is None else self._plain_loss,
            soft_label=set_.soft_label,
            z_set=set_.latents,
            own=set_.own,
            drawn=set_.drawn,
        )
        logs = {"loss/original": out.loss.detach(), **out.logs}
        for name, term in terms.items():
            logs[f"loss/{name}"] = term.loss.detach()
            logs[f"accuracy/{name}"] = accuracy(term.logits.detach(), batch.label)
        if "degraded" in terms:
            loss = logs["loss/degraded"]
            least = label_entropy(set_.soft_label.to(loss.dtype), self.spec.multi_label)
            logs["loss/degraded_excess"] = loss - least
        return StepOutput(self.augment.total(out.loss, terms), out.z, out.logits, logs)

    def _set(self, z: Tensor, label: Tensor) -> _Set:
        """The set this process's latents are mixed with, and its mean label."""
        if self.config.set_scope == "local" or not several_processes():
            return _Set(None, None, self._mean_label(label), None)
        rows = RowGatherer(len(z), z.device)
        latents = rows.gather(z)
        # Every process draws, to keep shapes and generators equal; the first one's draw counts.
        drawn = self.augment.draw(latents.detach()) if self.augment.training else None
        return _Set(
            latents,
            rows.own,
            self._mean_label(rows.gather(label)),
            None if drawn is None else rows.from_first(drawn),
        )

    def _mean_label(self, label: Tensor) -> Tensor:
        weights = self.sample_weights(label) if self.label_weighted else None
        return mean_label(label, self.spec.num_classes, weights)

    def _plain_loss(self, logits: Tensor, target: Tensor) -> Tensor:
        """Of the degraded term alone, whose rows share a target: class weights cancel."""
        assert self.plain is not None
        losses: Tensor = self.plain(logits, target)
        return losses.mean()


class _Set(NamedTuple):
    """What the queries are mixed with; None means the batch itself and a new draw."""

    latents: Tensor | None
    own: Tensor | None
    soft_label: Tensor
    drawn: Tensor | None


Config = LatentDRConfig
ALGORITHM = LatentDRAlgorithm

CONTRACT_CASES = {
    "latentdr attention": {"keys": {"dropout": 0.0}},
    "latentdr pool": {"keys": {"dropout": 0.0, "degrade": "pool"}},
    "latentdr gaussian": {"keys": {"dropout": 0.0, "degrade": "gaussian"}},
    "latentdr restored alone": {"keys": {"dropout": 0.0, "degrade": "none", "terms": ["restored"]}},
    "latentdr attention without query": {"keys": {"dropout": 0.0, "include_query": False}},
    "latentdr pool without query": {
        "keys": {"dropout": 0.0, "degrade": "pool", "include_query": False}
    },
    "latentdr pool, one subset, own rate": {
        "keys": {
            "dropout": 0.0,
            "degrade": "pool",
            "subset_per": "batch",
            "subset_size": "fixed",
            "operator_lr_scale": 0.5,
        }
    },
    "latentdr on balanced softmax": {
        "keys": {"dropout": 0.0, "loss": {"name": "balanced_softmax"}, "degraded_loss": "plain"}
    },
    "latentdr multi-label": {"keys": {"dropout": 0.0, "degrade": "pool"}, "task": "multi-label"},
    "latentdr attention, uneven": {"keys": {"dropout": 0.0}, "rows": 11},
    "latentdr pool, uneven": {"keys": {"dropout": 0.0, "degrade": "pool"}, "rows": 11},
    "latentdr with dropout": {"keys": {"degrade": "pool"}, "one_equals_two": False},
    "latentdr local": {"keys": {"dropout": 0.0, "set_scope": "local"}, "one_equals_two": False},
    "latentdr on groupdro": {"keys": {"dropout": 0.0, "base": {"name": "groupdro", "eta": 1.0}}},
    "latentdr on coral": {"keys": {"dropout": 0.0, "base": {"name": "coral", "weight": 10.0}}},
    "latentdr on miro": {"keys": {"dropout": 0.0, "base": {"name": "miro", "weight": 0.5}}},
    "latentdr on bcl": {
        "keys": {"dropout": 0.0, "base": {"name": "bcl"}},
        "one_equals_two": False,
        "norm": True,
    },
}
