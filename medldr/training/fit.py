"""Training as the other stages of a run see it: one function, whatever stages it has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from medldr.algorithms.base import Algorithm
from medldr.config import RunConfig
from medldr.config.training_options import RetrainHead
from medldr.data import Data
from medldr.folders.files import RunFolder
from medldr.models.base import FeatureModel
from medldr.training.build_trainer import assemble
from medldr.training.fit_result import Before, FitResult
from medldr.training.later_stages import tau_norm
from medldr.training.later_stages.retrain_head import (
    stage_algorithm,
    stage_config,
    to_head,
)
from medldr.training.machine.processes import Processes
from medldr.training.prepare import prepare

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


def fit_in_stages(
    config: RunConfig,
    data: Data,
    model: FeatureModel,
    algorithm: Algorithm,
    folder: RunFolder,
    fabric: Fabric,
    *,
    show_progress: bool = True,
) -> FitResult:
    """Train the whole network, then each stage from the weights that the last one reports.

    The last stage writes into the run folder itself, earlier ones into ``stages/1`` and so on, each
    with its checkpoints: a stopped run goes on within its stage. `metrics.jsonl` of the run holds
    the evaluations of all stages, whose epochs and steps are counted on.

    The arguments are those of `medldr.training.fit`. Every stage is checked before the first one
    begins.

    Raises:
        InputError: Naming the key and the cure.
    """
    stages, processes = config.training.stages, Processes(fabric)
    for number, stage in enumerate(stages):
        if isinstance(stage, RetrainHead):
            method = stage_algorithm(config, number, data.spec, model, algorithm)
            stage_run = stage_config(config, stage, data.spec)
            prepare(stage_run, data, model, method, fabric, processes)
        else:
            tau_norm.check(config, stage, model)
    place = folder.stage(1)
    trainer = assemble(
        config,
        data,
        model,
        algorithm,
        place,
        fabric,
        show_progress=show_progress,
        before=Before(stage=1),
    )
    fitted = trainer.run()
    for number, stage in enumerate(stages):
        before, earlier = Before.of(fitted, number + 2), place
        place = folder if number == len(stages) - 1 else folder.stage(number + 2)
        if isinstance(stage, RetrainHead):
            to_head(config, stage, data.spec, model, earlier.model)
            trainer = assemble(
                stage_config(config, stage, data.spec),
                data,
                model,
                stage_algorithm(config, number, data.spec, model, algorithm),
                place,
                fabric,
                show_progress=show_progress,
                before=before,
            )
            trainer.notes.append(
                f"retrain_head: after epoch {before.epochs} only the classifier was trained, from "
                f"the weights that {fitted.reported.rule} chose in epoch {fitted.reported.epoch}"
            )
            after = trainer.run()
        else:
            after = tau_norm.apply(
                config, stage, data, model, earlier, place, fabric, fitted, before
            )
        fitted = fitted.followed_by(stage.name, after)
    return fitted
