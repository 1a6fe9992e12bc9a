"""The interface of training to the other stages: one function."""

from __future__ import annotations

from typing import TYPE_CHECKING

from medldr.algorithms.base import Algorithm
from medldr.config import RunConfig
from medldr.data import Data
from medldr.folders.files import RunFolder
from medldr.models.base import FeatureModel
from medldr.training.build_trainer import assemble
from medldr.training.fit_result import FitResult
from medldr.training.later_stages import fit_in_stages

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def fit(
    config: RunConfig,
    data: Data,
    model: FeatureModel,
    algorithm: Algorithm,
    folder: RunFolder,
    fabric: Fabric,
    *,
    show_progress: bool = True,
) -> FitResult:
    """Train, or resume training, until the configured length or early stopping.

    Where the folder holds a checkpoint, the run resumes from it and its result equals that of an
    uninterrupted run bit for bit; a run that has finished training is left unchanged.

    Args:
        config: The run.
        data: Its images, split.
        model: The network; trained in place, and left with its last weights.
        algorithm: The method; trained in place too, where it has weights of its own.
        folder: Gets `metrics.jsonl`, `checkpoints/`, `selected/` and `model.safetensors`.
        fabric: From `make_fabric`; with several processes, inside its `launch`.
        show_progress: Whether to write progress to standard error.

    Returns:
        The choice of each selection rule, and how the run went.

    Raises:
        InputError: If the configuration does not fit, a checkpoint belongs to another run, or the
            disk is full.
        NonFiniteError: If a loss is not finite; the last good checkpoint is kept.
        Interrupted: After SIGINT or SIGTERM, with the state saved.
    """
    if config.training.stages:
        return fit_in_stages(
            config, data, model, algorithm, folder, fabric, show_progress=show_progress
        )
    trainer = assemble(config, data, model, algorithm, folder, fabric, show_progress=show_progress)
    return trainer.run()
