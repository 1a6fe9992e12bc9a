"""Preparations and checks before the first step, and notes on settings without effect."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm

from medldr.algorithms.base import Algorithm
from medldr.config.schema import TrainingConfig
from medldr.config.training_options import SWAD, start_of
from medldr.data import Data
from medldr.errors import InputError
from medldr.evaluation import auc
from medldr.folders.files import RunFolder, load_tensors
from medldr.losses.base import Loss
from medldr.models.base import FeatureModel, ModelConfig
from medldr.training.weights.selection import Rule
from medldr.types import DataSpec

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def check(training: TrainingConfig, algorithm: Algorithm, model: nn.Module, rows: int) -> None:
    """Refuse settings that would fail during training, or not do what they seem to.

    Args:
        training: The section of the configuration.
        algorithm: The method.
        model: The network.
        rows: Rows of one process in one step.

    Raises:
        InputError: Naming the key and the cure.
    """
    name = algorithm.config.name
    if training.accumulate > 1 and type(algorithm).update is not Algorithm.update:
        raise InputError(
            f"training.accumulate: {training.accumulate} does not work with algorithm {name}, "
            "which makes its own optimizer steps. Set training.accumulate: 1"
        )
    length = training.steps or training.epochs or 1
    if training.warmup_head >= length:
        raise InputError(
            f"training.warmup_head: {training.warmup_head} takes up the whole run of {length} "
            "epochs or steps. Use a smaller training.warmup_head"
        )
    if training.accumulate > 1 and algorithm.set_based and not training.accumulate_sets:
        raise InputError(
            f"training.accumulate: {training.accumulate} would make the sets that algorithm {name} "
            "learns from as many times smaller. Set training.accumulate: 1, or confirm with "
            "training.accumulate_sets: true"
        )
    per_pass = rows // training.accumulate // algorithm.batches_per_step
    if _normalises_by_batch(model) and per_pass < 2:
        raise InputError(
            "training.batch_size: batch normalisation needs at least 2 images per pass, which are "
            f"training.batch_size / (processes x training.accumulate), here {per_pass}. Use a "
            "larger batch, or model.batch_norm: frozen for a network that starts from trained "
            "weights"
        )
    if training.early_stopping and training.select[0] in ("last", SWAD):
        raise InputError(
            "training.early_stopping has no metric to monitor with the rule "
            f"{training.select[0]!r}. Put a rule such as val_auc first in training.select"
        )


def _normalises_by_batch(model: nn.Module) -> bool:
    """Whether any batch normalisation uses the batch's statistics while training."""
    return any(isinstance(module, _BatchNorm) and module.training for module in model.modules())


def resting_statistics(model: FeatureModel, warm_start: bool) -> list[str]:
    """A note on frozen batch normalisation that would normalise nothing.

    Args:
        model: The network as it was built.
        warm_start: Whether it takes over the weights of another run.
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if warm_start or not model.batch_norm_frozen:
        return []
    for norm in norms:
        mean, var = norm.running_mean, norm.running_var
        if mean is None or var is None or mean.any() or (var != 1).any():
            return []
    return [
        "model.batch_norm: frozen keeps the statistics of a new network, mean 0 and variance 1, "
        "so nothing is normalised"
    ]


def frozen_at_random(config: ModelConfig, warm_start: bool) -> list[str]:
    """A note on a network that is frozen before it has learned anything.

    Args:
        config: The section `model`.
        warm_start: Whether it takes over the weights of another run.
    """
    if config.freeze == "none" or warm_start or config.pretrained or config.weights:
        return []
    return [
        f"model.freeze: {config.freeze} keeps random weights as they are; model.pretrained or "
        "training.init_from brings trained ones"
    ]


def check_sampler(sampler: str, algorithm: Algorithm) -> None:
    """Refuse a sampler without domain blocks where the algorithm needs them.

    Raises:
        InputError: Naming the key and the cure.
    """
    if algorithm.rows_per_domain and sampler != "domains":
        raise InputError(
            f"training.sampler: {sampler} does not control which domains a batch contains, and "
            f"algorithm {algorithm.config.name} needs images of each. Omit training.sampler or set "
            "training.sampler: domains"
        )


def domains_per_batch(sampler: str, algorithm: Algorithm, spec: DataSpec) -> int | None:
    """How many source domains a batch holds in equal blocks; None with another sampler."""
    if sampler != "domains":
        return None
    return algorithm.domains_per_batch or len(spec.train_domains)


def check_blocks(
    training: TrainingConfig, algorithm: Algorithm, rows: int, domains: int | None, processes: int
) -> None:
    """Refuse blocks that are too small for the algorithm.

    Args:
        training: The section of the configuration.
        algorithm: The method.
        rows: Rows of one process in one step.
        domains: Source domains in a batch; None without blocks.
        processes: How many there are.

    Raises:
        InputError: Naming the key and the cure.
    """
    if domains is None:
        return
    share = rows // domains // training.accumulate * processes
    if share < algorithm.rows_per_domain:
        key = "batch_per_domain" if training.batch_per_domain else "batch_size"
        raise InputError(
            f"training.{key}: algorithm {algorithm.config.name} needs {algorithm.rows_per_domain} "
            f"images of each domain per pass, not {share}. Use a larger training.{key}, or "
            "training.accumulate: 1"
        )


def undefined_rules(rules: Sequence[Rule], data: Data) -> list[str]:
    """Notes on rules that cannot choose, because their split contains only one class."""
    notes = []
    for rule in rules:
        if rule.column.rpartition("/")[2] != "auc":
            continue
        rows = {**data.rows, **data.parts}[rule.split]
        unknown = np.full((len(rows), data.spec.num_classes), 0.5)
        labels = data.table.labels[rows].astype(np.float64)
        if auc(labels, unknown, data.spec.task) is None:
            notes.append(
                f"training.select: {rule.name} cannot be measured, because all {rule.split} images "
                "are of one class; use val_loss, val_accuracy or last"
            )
    return notes


def start_from(model: nn.Module, source: str | Path) -> None:
    """Load the weights of another run's reported model.

    Args:
        model: Gets the weights.
        source: A run folder, or a safetensors file.

    Raises:
        InputError: If there are no weights, or any of them does not fit, naming them.
    """
    path = Path(source).expanduser()
    path = RunFolder(path).model if path.is_dir() else path
    if not path.exists():
        raise InputError(
            f"training.init_from: {path} does not exist. Give the folder of a finished run"
        )
    try:
        model.load_state_dict(load_tensors(path))
    except RuntimeError as error:
        raise InputError(
            f"training.init_from: the weights in {path} do not fit this model: "
            f"{' '.join(str(error).split())}. Use the same model section and the same classes"
        ) from error


def share_statistics(model: FeatureModel, fabric: Fabric) -> tuple[FeatureModel, list[str]]:
    """Have batch normalisation see the global batch, where torch can do it.

    Returns:
        The model, and notes for the reader where it sees each process's rows alone.
    """
    if fabric.world_size == 1 or not _normalises_by_batch(model):
        return model, []
    if fabric.device.type == "cuda":
        return model.share_batch_norm(), []
    return model, [
        "batch normalisation uses the rows of each process separately, because torch shares its "
        "statistics only on CUDA; results differ from those of a single process"
    ]


def set_size(
    training: TrainingConfig, algorithm: Algorithm, batch_size: int, processes: int
) -> int | None:
    """Rows that a set-based method sees at once; None for a method that is not set-based.

    Args:
        training: The section of the configuration.
        algorithm: The method; its key ``set_scope`` says whether sets are confined to a process.
        batch_size: Rows per step over all processes.
        processes: How many there are.
    """
    if not algorithm.set_based:
        return None
    local = getattr(algorithm.config, "set_scope", "global") == "local"
    return batch_size // training.accumulate // (processes if local else 1)


def over_corrected(algorithm: Algorithm, sampler: str, training: TrainingConfig) -> list[str]:
    """A note where more than one part of a run makes up for rare classes.

    A method that asks for class-balanced batches itself does not count them: the draw of ``balms``
    gives the classes their frequencies back.

    Args:
        algorithm: The method, with all its losses.
        sampler: The sampler of the run or the stage.
        training: The section of the configuration.
    """
    losses = (part for part in algorithm.modules() if isinstance(part, Loss))
    ways = [f"the loss {loss.config.name}" for loss in losses if loss.balances_classes][:1]
    if sampler == "weighted" and algorithm.sampler != sampler:
        ways.append("class-balanced batches (sampler: weighted)")
    if training.class_weights is not None:
        ways.append("training.class_weights")
    if len(ways) < 2:
        return []
    return [f"{' and '.join(ways)} each make up for rare classes: keep one of them"]


def without_effect(training: TrainingConfig) -> list[str]:
    """Notes on keys of the schedule that the run sets and does not use."""
    length = training.steps or training.epochs or 1
    unused = {
        "warmup_from": not training.warmup,
        "cosine_top": training.schedule != "cosine",
        "cosine_zero": training.schedule != "cosine",
        "class_weights": start_of(training.class_weights) >= length,
    }
    return [
        f"training.{key} has no effect with the other keys of training"
        for key, idle in unused.items()
        if idle and getattr(training, key) != TrainingConfig.model_fields[key].default
    ]
