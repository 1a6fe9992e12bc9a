"""From configured parts to a trainer that is ready to start or resume."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from medldr.algorithms.base import Algorithm
from medldr.config import RunConfig, run_hash
from medldr.config.training_options import SwadConfig
from medldr.data import Data
from medldr.folders.files import RunFolder
from medldr.models.base import FeatureModel, ModelConfig
from medldr.training import start_checks as start
from medldr.training.finite_loss import FiniteLossCheck
from medldr.training.fit_result import NOTHING, Before
from medldr.training.machine.fabric import precision_name, use_threads
from medldr.training.machine.processes import Processes
from medldr.training.machine.progress import RunProgress
from medldr.training.optim import WeightsInTime, build_optimizers
from medldr.training.prepare import Again, prepare
from medldr.training.state.checkpoint import WHAT, Checkpoints, newest
from medldr.training.state.history import History, RunningMeans
from medldr.training.state.rng import Randomness, seed_process
from medldr.training.step import Stepper, TrainStep
from medldr.training.trainer import Trainer
from medldr.training.validation import Validation
from medldr.training.weights.running_average import RunningAverage
from medldr.training.weights.selection import Selector
from medldr.training.weights.swad import ValleyAverage

if TYPE_CHECKING:
    from lightning_fabric import Fabric


def assemble(
    config: RunConfig,
    data: Data,
    model: FeatureModel,
    algorithm: Algorithm,
    folder: RunFolder,
    fabric: Fabric,
    *,
    show_progress: bool = True,
    before: Before = NOTHING,
    evaluations: int | None = None,
    again: Again | None = None,
) -> Trainer:
    """Check a run, and assemble its trainer.

    The arguments are those of `medldr.training.fit`, ``before``: the stages before this one, and
    ``again``: how it repeats the first one.

    Raises:
        InputError: Naming the key and the cure.
    """
    training, averaging = config.training, config.training.averaging
    processes = Processes(fabric)
    prepared = prepare(config, data, model, algorithm, fabric, processes, again)
    loader, sampler, domains, per_epoch, steps, schedule, rules, splits, settings_notes = prepared
    until = again.until if again else steps
    rows = loader.batch_size
    selector = Selector(rules)
    validation = Validation(config, data, rules, splits, fabric, processes)
    facts: dict[str, Any] = {
        "precision": precision_name(fabric),
        "device": fabric.device.type,
        "threads": use_threads(config.machine),
        "processes": processes.world,
        "compile": config.machine.compile,
        "lr": training.lr * algorithm.config.lr_scale,
        "batch_size": rows,
        "sampler": sampler,
        "domains_per_batch": domains,
        "set_size": start.set_size(training, algorithm, rows, processes.world),
    }

    saved, notes = newest(folder)
    if saved is None and training.init_from:
        start.start_from(model, training.init_from)
    model.to_fast_memory()
    if saved is None:
        algorithm.begin(model)
    model, more = start.share_statistics(model, fabric)
    more += start.undefined_rules(rules, data)
    more += start.resting_statistics(model, warm_start=bool(training.init_from))
    if isinstance(config.model, ModelConfig):
        more += start.frozen_at_random(config.model, warm_start=bool(training.init_from))
    more += settings_notes
    weights = data.class_weights(training.class_weights)
    class_weights = WeightsInTime(
        None if weights is None else weights.to(fabric.device), training, per_epoch
    )
    pair = TrainStep(model, algorithm).to(fabric.device).train()
    average = valley = None
    if isinstance(averaging, SwadConfig):
        valley = ValleyAverage(averaging, folder, processes, fabric, config.seed)
    elif averaging is not None:
        average = RunningAverage(model, averaging)
    step = Stepper(
        fabric,
        pair,
        build_optimizers(
            algorithm.optimizers(model),
            training,
            lr_scale=algorithm.config.lr_scale,
            # A fused optimizer unscales float16 gradients itself, after they would be clipped.
            fused=facts["precision"] != "float16",
        ),
        total=steps,
        clip_norm=training.clip_norm,
        loss_check=FiniteLossCheck(
            lambda numbers: data.table.ids[list(numbers)].tolist(), processes
        ),
        compile=config.machine.compile,
    )
    means = RunningMeans(fabric.device, scored=not algorithm.mixes_labels)
    history = History(folder.metrics, writes=processes.first)
    history.rows = [dict(row) for row in before.rows]
    checkpoints = Checkpoints(
        folder,
        identity={
            "config": run_hash(config),
            "seed": config.seed,
            "data": data.parts_hashes["training"],
            **{key: facts[key] for key in WHAT if key in facts},
        },
        shared={
            "model": model,
            "algorithm": algorithm,
            "history": history,
            "selector": selector,
            "scaler": fabric.strategy.precision,
            **({"average": average} if average else {}),
            **({"valley": valley} if valley else {}),
            **{f"optimizer/{name}": part for name, part in step.optimizers.items()},
        },
        own={"means": means, "randomness": Randomness(fabric.device)},
        processes=processes,
    )

    seed_process(config.seed, processes.rank)
    position = {"step": 0, "seconds": 0.0, "stopped_early": False}
    if saved is not None:
        position = checkpoints.load(saved)
        selector.expect_weights(folder)
        if valley:
            valley.expect_segments()
        more.append(f"resumed after step {position['step']} of {until}")
    step.index = int(position["step"])
    # No process may write a checkpoint before all have read the old one.
    processes.wait()
    if notes and processes.first and not folder.last.is_dir():
        # A damaged one must not become the one before, which is the only whole one.
        folder.last.unlink(missing_ok=True)
    return Trainer(
        training=training,
        folder=folder,
        model=model,
        average=average,
        valley=valley,
        algorithm=algorithm,
        loader=loader,
        step=step,
        until=until,
        per_unit=1 if training.steps else per_epoch,
        schedule=schedule,
        class_weights=class_weights,
        means=means,
        validation=validation,
        selector=selector,
        history=history,
        checkpoints=checkpoints,
        processes=processes,
        progress=RunProgress(
            before.steps + until,
            before.steps + step.index,
            epochs=before.epochs + training.epochs if training.epochs else None,
            shown=show_progress and processes.first,
        ),
        facts=facts,
        notes=[*model.notes, *loader.notes, *validation.notes, *notes, *more],
        before=before,
        seconds_before=position["seconds"],
        stopped_early=bool(position["stopped_early"]),
        evaluations=evaluations,
    )
