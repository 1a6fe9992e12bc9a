"""What can be checked of a training run before its first step."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from medldr.algorithms.base import Algorithm
from medldr.config import RunConfig
from medldr.data import Data, TrainLoader
from medldr.models.base import FeatureModel
from medldr.training import start_checks as start
from medldr.training.machine.processes import Processes
from medldr.training.optim import Schedule
from medldr.training.start_checks import over_corrected, without_effect
from medldr.training.weights.selection import Rule, parse_rules

if TYPE_CHECKING:
    from lightning_fabric import Fabric


class Again(NamedTuple):
    """How a stage repeats the first one on other rows.

    Attributes:
        rule: Which of the first stage's selection rules decided how long.
        steps_per_epoch: Of the first stage, so that its schedule holds step by step.
        until: The number of steps to make.
    """

    rule: str
    steps_per_epoch: int
    until: int


class Prepared(NamedTuple):
    """What is known of a training run before its first step, once it has been checked.

    Attributes:
        loader: Its batches.
        sampler: The name of their sampler.
        domains: Source domains per batch; None where the sampler makes no blocks of them.
        steps_per_epoch: Optimizer steps of what the schedule calls an epoch.
        steps: Optimizer steps of the whole run.
        schedule: Factor on the learning rate at each step.
        rules: The selection rules.
        splits: Splits, and parts of held-out domains, that have rows.
        notes: Of the method on the run, and on settings that double or do nothing.
    """

    loader: TrainLoader
    sampler: str
    domains: int | None
    steps_per_epoch: int
    steps: int
    schedule: Schedule
    rules: tuple[Rule, ...]
    splits: set[str]
    notes: list[str]


def prepare(
    config: RunConfig,
    data: Data,
    model: FeatureModel,
    algorithm: Algorithm,
    fabric: Fabric,
    processes: Processes,
    again: Again | None = None,
) -> Prepared:
    """Check everything that can be checked before the first step.

    The arguments are those of `medldr.training.fit`, and ``again``: how a stage repeats the first
    one. Unsuitable runs are refused here.

    Raises:
        InputError: Naming the key and the cure.
    """
    training = config.training
    sampler = training.sampler or ("domains" if training.batch_per_domain else algorithm.sampler)
    start.check_sampler(sampler, algorithm)
    loader = data.train_loader(
        config,
        sampler=sampler,
        views=algorithm.views,
        domains_per_batch=algorithm.domains_per_batch,
        batches_per_step=algorithm.batches_per_step,
        device=fabric.device,
        rank=processes.rank,
        world=processes.world,
    )
    rows = loader.batch_size
    domains = start.domains_per_batch(sampler, algorithm, data.spec)
    start.check(training, algorithm, model, rows // processes.world)
    start.check_blocks(training, algorithm, rows // processes.world, domains, processes.world)
    per_epoch = again.steps_per_epoch if again else loader.steps_per_epoch
    steps = training.steps or (training.epochs or 1) * per_epoch
    notes = algorithm.check_run(config, processes=processes.world, steps=steps)
    notes += over_corrected(algorithm, sampler, training) + without_effect(training)
    schedule = Schedule(training, per_epoch)
    splits = {split for split, rows in {**data.rows, **data.parts}.items() if len(rows)}
    averaging = training.averaging
    # A rule that reads no split keeps the last weights.
    rules = (
        (Rule(again.rule),)
        if again
        else parse_rules(
            training.select,
            splits,
            task=data.spec.task,
            oracle=config.evaluation.oracle,
            averaging=averaging.name if averaging else None,
        )
    )
    return Prepared(loader, sampler, domains, per_epoch, steps, schedule, rules, splits, notes)
