"""The contract between training algorithms and the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

import torch
from pydantic import Field
from torch import Tensor, nn

from medldr import plugins
from medldr.config import LossSection, PluginSection, RunConfig
from medldr.errors import InputError
from medldr.models.base import FeatureModel
from medldr.types import TASKS, Batch, DataSpec, StepOutput

if TYPE_CHECKING:
    from medldr.losses.base import Loss


class AlgorithmConfig(PluginSection):
    """Keys that every algorithm has."""

    lr_scale: float = Field(1.0, gt=0, description="factor on training.lr, recorded in run.json")
    loss: LossSection | None = Field(
        None, description="classification loss; unset: cross_entropy, or binary_cross_entropy"
    )


class Step(Protocol):
    """What the loop offers to `Algorithm.update`; it handles precision and processes."""

    index: int
    """Number of this optimizer step, from 0."""
    total: int
    """Number of steps of the whole run."""

    def forward(self, batch: Batch, method: str = "loss") -> StepOutput:
        """Evaluate ``algorithm.<method>(model, batch)`` through the wrapped pair."""
        ...

    def backward(self, loss: Tensor) -> None:
        """Add the gradients of a loss."""
        ...

    def optimizer_step(self, *names: str) -> None:
        """Step these optimizers (by default ``main``), then clear all gradients."""
        ...

    def reset_optimizer(self, name: str = "main") -> None:
        """Forget this optimizer's running state (momentum)."""
        ...

    def groups(self, name: str = "main") -> list[dict[str, Any]]:
        """Parameter groups of this optimizer, with the rates of this step; do not modify."""
        ...

    def state(self) -> dict[str, Tensor]:
        """The model's and the algorithm's floating state itself, by name; no copy."""
        ...

    def snapshot(self) -> dict[str, Tensor]:
        """A copy of the model's and the algorithm's floating state."""
        ...

    def restore(self, snapshot: dict[str, Tensor]) -> None:
        """Put a snapshot back, in place."""
        ...

    def interpolate(self, snapshot: dict[str, Tensor], eps: float) -> None:
        """Set every floating entry to ``snapshot + eps * (current - snapshot)``, in place."""
        ...


class Algorithm(nn.Module):
    """A method of training: the loss of a batch and, if needed, how a step is made.

    `loss` is pure: no optimizer, device, autocast, logging or file. Running state is kept only in
    buffers, which checkpoints hold.

    Attributes:
        needs_domains: Refuse data without domain names, before the first step.
        sampler: ``shuffle``, ``weighted`` for class-balanced draws, or ``domains`` for equal blocks
            per source domain.
        domains_per_batch: With ``domains``: how many source domains a batch holds, drawn for each
            batch; None for all of them.
        batches_per_step: How many times `training.batch_size` images one `update` takes.
        rows_per_domain: How many images of each of its domains a batch must hold, over all
            processes; from 1 on, only the sampler ``domains`` will do.
        set_based: A sample's loss depends on the other samples in the batch.
        mixes_labels: The classification targets are mixed, so no method can stack on it.
        views: Extra augmented views of each image that the data stage must supply.
        tasks: Kinds of labels that the method can learn from; others are refused.
    """

    needs_domains: bool = False
    sampler: str = "shuffle"
    domains_per_batch: int | None = None
    batches_per_step: int = 1
    rows_per_domain: int = 0
    set_based: bool = False
    mixes_labels: bool = False
    views: tuple[str, ...] = ()
    tasks: tuple[str, ...] = TASKS

    def __init__(self, config: AlgorithmConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__()
        if spec.task not in self.tasks:
            raise InputError(
                f"algorithm {config.name} does not fit {spec.task} labels, only "
                f"{', '.join(self.tasks)}. Choose another algorithm, such as erm or latentdr"
            )
        self.config = config
        self.spec = spec
        self.classification = build_loss(config.loss, spec)
        self.classification.bind(model.head)
        self.class_weights: Tensor | None
        self.register_buffer("class_weights", None, persistent=False)

    def use_class_weights(self, weights: Tensor | None) -> None:
        """Weigh the samples of each class ``(K,)`` from now on, also in algorithms within."""
        for module in self.modules():
            if isinstance(module, Algorithm):
                module.class_weights = weights

    def classification_loss(self, logits: Tensor, target: Tensor) -> Tensor:
        """Mean classification loss of a batch, with the run's class weights if it has any.

        The weighted mean divides by the sum of the weights, as torch does. With several processes
        each divides by that of its own rows.

        Args:
            logits: ``(B, K)``.
            target: Class numbers ``(B,)``, or soft or multi-hot labels ``(B, K)``.
        """
        losses, weights = self.sample_losses(logits, target)
        if weights is None:
            return losses.mean()
        tiny = torch.finfo(losses.dtype).tiny  # all weights of a batch may be zero
        return (losses * weights).sum() / weights.sum().clamp_min(tiny)

    def sample_losses(self, logits: Tensor, target: Tensor) -> tuple[Tensor, Tensor | None]:
        """Classification loss of each sample ``(B,)``, and its weight if the run weighs classes.

        Args:
            logits: ``(B, K)``.
            target: As for `classification_loss`.
        """
        losses: Tensor = self.classification(logits, target)
        return losses, self.sample_weights(target)

    def sample_weights(self, target: Tensor) -> Tensor | None:
        """Weight of each sample ``(B,)`` by its label; None if the run weighs no classes.

        Args:
            target: As for `classification_loss`.
        """
        weights = self.class_weights
        if weights is None:
            return None
        if target.ndim == 1:
            return weights[target]
        of_samples = target.nan_to_num() @ weights
        if self.spec.multi_label:
            of_samples = torch.where(target.nan_to_num().sum(1) > 0, of_samples, 1.0)
        return of_samples

    def check_run(self, config: RunConfig, *, processes: int, steps: int) -> list[str]:
        """Refuse a run that does not suit the method; called before the first step.

        Args:
            config: The whole run's.
            processes: How many train together.
            steps: Optimizer steps of the whole run.

        Returns:
            Notes on the method in this run; usually none.

        Raises:
            InputError: Naming the key and the cure.
        """
        return []

    def begin(self, model: FeatureModel) -> None:
        """Look at the weights that training starts from.

        Called once on every process, after `training.init_from` and before the first step, but not
        where a run is resumed: anything kept of the weights must be in the state.
        """

    def constant(self) -> list[str]:
        """Names of own state that training never changes and processes need not share."""
        return []

    def optimizers(self, model: FeatureModel) -> dict[str, list[dict[str, Any]]]:
        """Parameter groups of each optimizer, by name; the default is one over everything."""
        trainable = [p for m in (model, self) for p in m.parameters() if p.requires_grad]
        return {"main": [{"params": trainable}]}

    def loss(self, model: FeatureModel, batch: Batch) -> StepOutput:
        """The training loss of a batch."""
        raise NotImplementedError

    def update(self, step: Step, batch: Batch) -> StepOutput:
        """One optimizer step; overridden only by methods with several backward passes."""
        output = step.forward(batch)
        step.backward(output.loss)
        step.optimizer_step()
        return output


def accuracy(logits: Tensor, label: Tensor) -> Tensor:
    """Share of right predictions: of samples, or (multi-label) of known entries at 0.5.

    Args:
        logits: ``(B, K)``.
        label: ``(B,)`` class numbers, or ``(B, K)`` multi-hot with NaN for missing entries.

    Returns:
        Scalar float32; NaN where nothing is known.

    Example:
        >>> import torch
        >>> accuracy(torch.tensor([[1.0, -1.0]]), torch.tensor([[1.0, float("nan")]]))
        tensor(1.)
    """
    if label.ndim == 1:
        return (logits.argmax(1) == label).float().mean()
    known = ~label.isnan()
    right = ((logits > 0) == (label > 0.5)) & known
    return right.sum().float() / known.sum()


def require_domains(name: str, spec: DataSpec) -> None:
    """Refuse data without domains for an algorithm that needs them.

    Raises:
        InputError: If no training row has a domain.
    """
    if not spec.train_domains:
        raise InputError(
            f"algorithm {name} needs the domain of every training image, but the dataset has no "
            "domains. Use a dataset with domains, or an algorithm that works without them "
            "(erm, mixstyle with random partners, latentdr)"
        )


def linear_head(name: str, model: FeatureModel) -> nn.Linear:
    """The head of a network, for an algorithm that works with its weights.

    Raises:
        InputError: If the head is not linear.
    """
    if not isinstance(model.head, nn.Linear):
        raise InputError(
            f"algorithm {name} works with the weights of a linear head, but this network's head is "
            f"{type(model.head).__name__}. Set model.head: linear"
        )
    return model.head


def build_loss(config: PluginSection | None, spec: DataSpec) -> Loss:
    """The classification loss for a task.

    Raises:
        InputError: If the loss does not fit the task.
    """
    if config is None:
        name = "binary_cross_entropy" if spec.multi_label else "cross_entropy"
        config = plugins.load("losses", name).Config(name=name)
    loss_class: type[Loss] = plugins.load("losses", config.name).LOSS
    if spec.task not in loss_class.tasks:
        fitting = [
            name
            for name in plugins.names("losses")
            if spec.task in plugins.load("losses", name).LOSS.tasks
        ]
        raise InputError(
            f"algorithm.loss: {config.name} does not fit {spec.task} labels. "
            f"Suitable losses: {', '.join(fitting)}"
        )
    return loss_class(config, spec)  # type: ignore[arg-type]
