"""Training as the other stages of a run see it: one function, whatever stages it has."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from medldr.algorithms import build_algorithm
from medldr.algorithms.base import Algorithm
from medldr.config import RunConfig
from medldr.config.training_options import RetrainAll, RetrainHead
from medldr.data import Data
from medldr.folders.files import RunFolder
from medldr.models.base import FeatureModel
from medldr.training.build_trainer import assemble
from medldr.training.fit_result import NOTHING, Before, FitResult
from medldr.training.later_stages import retrain_all, tau_norm
from medldr.training.later_stages.retrain_head import (
    stage_algorithm,
    stage_config,
    to_head,
)
from medldr.training.machine.processes import Processes
from medldr.training.prepare import Again, prepare
from medldr.training.trainer import Trainer

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
    evaluations: int | None = None,
) -> FitResult:
    """Train, or resume training, until the configured length or early stopping.

    Where the folder holds a checkpoint, the run resumes from it and its result equals that of an
    uninterrupted run bit for bit; a run that has finished training is left unchanged.

    With `training.stages`, each stage goes on from the weights that the last one reports, but for
    `retrain_all`, which begins with the weights that the network has when it comes here. The last
    stage writes into the run folder itself, earlier ones into ``stages/1`` and so on, each with its
    checkpoints: a stopped run goes on within its stage. `metrics.jsonl` of the run holds the
    evaluations of all stages, whose epochs and steps are counted on. Every stage is checked before
    the first one begins.

    Args:
        config: The run.
        data: Its images, split.
        model: The network; trained in place, and left with its last weights.
        algorithm: The method; trained in place too, where it has weights of its own.
        folder: Gets `metrics.jsonl`, `checkpoints/`, `selected/` and `model.safetensors`.
        fabric: From `make_fabric`; with several processes, inside its `launch`.
        show_progress: Whether to write progress to standard error.
        evaluations: Stop after this many, which raises `Enough`; unset: go on to the end.

    Returns:
        The choice of each selection rule, and how the run went.

    Raises:
        InputError: If the configuration does not fit, a checkpoint belongs to another run, or the
            disk is full.
        NonFiniteError: If a loss is not finite; the last good checkpoint is kept.
        Interrupted: After a signal that asks to end, with the state saved.
    """
    stages = config.training.stages
    how: dict[str, Any] = {"show_progress": show_progress, "evaluations": evaluations}
    _check_stages(config, data, model, algorithm, fabric)
    repeats = config.training.trains_on_validation
    untrained = copy.deepcopy(model.state_dict()) if repeats else {}

    def trainer(config: RunConfig, algorithm: Algorithm, to: RunFolder, before: Before) -> Trainer:
        return assemble(config, data, model, algorithm, to, fabric, before=before, **how)

    place = folder.stage(1) if stages else folder
    first = trainer(config, algorithm, place, Before(stage=1) if stages else NOTHING)
    fitted = first.run()
    for number, stage in enumerate(stages):
        before, earlier = Before.of(fitted, number + 2), place
        place = folder if number == len(stages) - 1 else folder.stage(number + 2)
        if isinstance(stage, RetrainHead):
            to_head(config, stage, data.spec, model, earlier.model)
            method = stage_algorithm(config, number, data.spec, model, algorithm)
            head = trainer(stage_config(config, stage, data.spec), method, place, before)
            head.notes.append(
                f"retrain_head: after epoch {before.epochs} only the classifier was trained, from "
                f"the weights that {fitted.reported.rule} chose in epoch {fitted.reported.epoch}"
            )
            after = head.run()
        elif isinstance(stage, RetrainAll):
            model.load_state_dict(untrained)
            chosen, run = fitted.reported, retrain_all.stage_config(config)
            again = Again(chosen.rule, first.per_epoch, chosen.step or fitted.steps)
            whole = data.with_validation()
            method = build_algorithm(config.algorithm, whole.spec, model, config.seed)
            made = assemble(
                run, whole, model, method, place, fabric, before=before, again=again, **how
            )
            after = retrain_all.settled(made.run(), fitted)
        else:
            after = tau_norm.apply(
                config, stage, data, model, earlier, place, fabric, fitted, before
            )
        fitted = fitted.followed_by(stage.name, after)
    return fitted


def _check_stages(
    config: RunConfig, data: Data, model: FeatureModel, algorithm: Algorithm, fabric: Fabric
) -> None:
    """Refuse later stages that could not work."""
    for number, stage in enumerate(config.training.stages):
        if isinstance(stage, RetrainHead):
            method = stage_algorithm(config, number, data.spec, model, algorithm)
            stage_run = stage_config(config, stage, data.spec)
            prepare(stage_run, data, model, method, fabric, Processes(fabric))
        elif isinstance(stage, RetrainAll):
            retrain_all.check(config, data)
            whole, run = data.with_validation(), retrain_all.stage_config(config)
            method = build_algorithm(config.algorithm, whole.spec, model, config.seed)
            again = Again(config.training.select[0], steps_per_epoch=1, until=1)
            prepare(run, whole, model, method, fabric, Processes(fabric), again)
        else:
            tau_norm.check(config, stage, model)
