"""The loop: steps, evaluations, checkpoints, and the end of a run."""

from __future__ import annotations

import contextlib
import math
import time
from dataclasses import dataclass
from typing import Any

import torch

from medldr.algorithms.base import Algorithm
from medldr.config.schema import TrainingConfig
from medldr.config.training_options import SWAD
from medldr.data import TrainLoader
from medldr.folders.files import RunFolder, StorageError, checksum, save_tensors
from medldr.folders.lifecycle import Interrupted
from medldr.folders.owner import refuse_if_taken
from medldr.models.base import FeatureModel
from medldr.training.fit_result import NOTHING, Before, FitResult
from medldr.training.machine.processes import Processes
from medldr.training.machine.progress import RunProgress
from medldr.training.machine.signals import SignalWatch
from medldr.training.optim import Schedule, WeightsInTime, set_lr
from medldr.training.state.checkpoint import Checkpoints, twin
from medldr.training.state.history import History, RunningMeans
from medldr.training.state.rng import undisturbed
from medldr.training.step import Stepper
from medldr.training.validation import Validation
from medldr.training.weights.running_average import RunningAverage
from medldr.training.weights.selection import Selector
from medldr.training.weights.swad import ValleyAverage
from medldr.types import Batch, StepOutput


class Enough(BaseException):
    """Training was asked for so many evaluations and no more; it holds their rows."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        super().__init__(f"stopped after {len(rows)} evaluations, as asked")
        self.rows = rows


@dataclass
class Trainer:
    """One run during training; `medldr.training.build_trainer` assembles it.

    Attributes:
        training: The section of the configuration.
        folder: The run folder.
        model: The network being trained.
        average: The running average of its weights, if one is asked for.
        valley: Their average over a valley of the validation loss, if one is asked for.
        algorithm: The method.
        loader: Batches by epoch and position.
        step: Makes optimizer steps, and counts them.
        until: After how many steps training ends.
        per_unit: Steps of what `training` counts in: of an epoch of the first stage, or 1.
        schedule: Factor on the learning rate at each step.
        class_weights: Those of the loss at each step.
        means: Of what the steps logged since the last evaluation.
        validation: Scores the splits that select.
        selector: Knows each rule's best evaluation.
        history: The evaluations so far.
        checkpoints: Writes the state of all of these.
        processes: Of the run.
        progress: Shows how far it is.
        facts: How it is run, for `run.json`.
        notes: What readers of any number should know.
        before: Earlier stages of the run, whose epochs and steps are counted on.
        seconds_before: Time spent by earlier starts of the run.
        stopped_early: Whether early stopping has ended it.
        evaluations: After how many evaluations it ends by `Enough`; None: it goes on.
    """

    training: TrainingConfig
    folder: RunFolder
    model: FeatureModel
    average: RunningAverage | None
    valley: ValleyAverage | None
    algorithm: Algorithm
    loader: TrainLoader
    step: Stepper
    until: int
    per_unit: int
    schedule: Schedule
    class_weights: WeightsInTime
    means: RunningMeans
    validation: Validation
    selector: Selector
    history: History
    checkpoints: Checkpoints
    processes: Processes
    progress: RunProgress
    facts: dict[str, Any]
    notes: list[str]
    before: Before = NOTHING
    seconds_before: float = 0.0
    stopped_early: bool = False
    evaluations: int | None = None

    def __post_init__(self) -> None:
        self.per_epoch = self.loader.steps_per_epoch
        self.interval = self.training.evaluate_every * self.per_unit
        self.offset = self.training.evaluate_offset * self.per_unit
        self.head_alone = self.training.warmup_head * self.per_unit
        # The averaged weights, if any, are the ones validated, selected and saved.
        self.scored = self.average.model if self.average else self.model

    def finished(self) -> bool:
        """Whether no steps remain."""
        return self.stopped_early or self.step.index >= self.until

    def run(self) -> FitResult:
        """Make all remaining steps, and publish the reported weights."""
        self.began = self.saved_at = time.monotonic()
        self.history.rewrite()
        with SignalWatch() as watch, self.progress:
            for note in self.notes:
                self.progress.note(note)
            while not self.finished():
                epoch, position = divmod(self.step.index, self.per_epoch)
                with contextlib.closing(
                    undisturbed(self.loader.batches(epoch, position))
                ) as batches:
                    for batch in batches:
                        self.advance(batch)
                        self.look_after(watch)
                        if self.finished():
                            break
                    else:
                        self._expect_epoch_done(epoch)
        return self._publish()

    def advance(self, batch: Batch) -> None:
        """One optimizer step."""
        if self.head_alone:
            self._warm_up()
        self.lr = set_lr(self.step.optimizers, self.schedule(self.step.index))
        self.algorithm.use_class_weights(self.class_weights(self.step.index))
        parts = self.training.accumulate
        for part, output in update_in_parts(self.algorithm, self.step, batch, parts):
            self.means.add(part, output)
        if self.average:
            self.average.update(self.model, self.step.index + 1)
        if self.valley:
            self.valley.update(self.model)
        self.step.index += 1
        self.progress.step()

    def _warm_up(self) -> None:
        """Hold the encoder back while the classifier warms up; optimizers then start anew."""
        hold = self.step.index < self.head_alone
        if self.step.index == self.head_alone:
            for name in self.step.optimizers:
                self.step.reset_optimizer(name)
        if hold != self.model.features_frozen:
            # Not by `freeze_features`: several processes expect a gradient of every weight.
            self.model.features_frozen = hold
            self.model.train()
        own = {id(weight) for weight in self.model.head.parameters()}
        self.step.held = [w for w in self.model.parameters() if hold and id(w) not in own]

    def look_after(self, watch: SignalWatch) -> None:
        """After a step: evaluate, save or stop, as all processes agree."""
        since = self.step.index - self.offset
        evaluated = since >= 0 and since % self.interval == 0
        evaluated |= self.step.index == self.until
        if evaluated:
            self._evaluate()
        minutes = (time.monotonic() - self.saved_at) / 60
        late = minutes >= self.training.checkpoint_minutes
        signum, late_somewhere = self.processes.largest(watch.received, late)
        if signum:
            # A full disk must not hide the request to stop.
            try:
                if not evaluated:
                    self.save()
            except StorageError as error:
                self.progress.note(str(error))
            raise Interrupted(signum, resumable=self.folder.last.exists())
        if late_somewhere:
            self.save()

    def _evaluate(self) -> None:
        """Score validation, write the row, keep what is best, save."""
        self.step.check_weights()
        if self.processes.first:
            refuse_if_taken(self.folder)
        row: dict[str, Any] = {
            "epoch": self.before.epochs + math.ceil(self.step.index / self.per_epoch),
            "step": self.before.steps + self.step.index,
            **({"stage": self.before.stage} if self.before.stage else {}),
            "time_s": round(self.before.seconds + self._seconds(), 3),
            "lr": self.lr,
        }
        row |= {f"train/{name}": mean for name, mean in self.means.means(self.processes).items()}
        row |= self.validation.scores(self.scored)
        self.means.reset()
        self.history.append(row)
        if self.evaluations is not None and len(self.history.rows) >= self.evaluations:
            raise Enough(self.history.rows)
        improved = self.selector.offer(row)
        patience = self.training.early_stopping
        self.stopped_early = patience is not None and self.selector.waited >= patience
        if self.processes.first:
            for rule in improved:
                if not rule.averaged:
                    path = self.folder.selected(rule.name)
                    save_tensors(path, self.scored.state_dict())
                    self.selector.wrote(rule.name, checksum(path))
        if self.valley:
            self.valley.close(row)
        self.save()
        if self.valley:
            self.valley.tidy()
        best = self.selector.rules[0] in improved
        if best:
            self.checkpoints.keep_best()
        self.progress.evaluation(row, best=best)

    def save(self) -> None:
        """Write `last.ckpt`: every process calls it, the first one writes."""
        self.step.check_weights()
        if self.processes.first:
            refuse_if_taken(self.folder)
        position = {
            "step": self.step.index,
            "seconds": self._seconds(),
            "stopped_early": self.stopped_early,
        }
        self.checkpoints.save(position)
        self.saved_at = time.monotonic()

    def _publish(self) -> FitResult:
        """Give the reported choice its final name, and return how the run went."""
        epochs = math.ceil(self.step.index / self.per_epoch)
        more = []
        if self.valley:
            self.selector.settle(SWAD, self.valley.publish(self.model, self.loader, epochs))
            more = self.valley.notes()
        fitted = FitResult(
            selections=self.selector.chosen(),
            history=self.history.rows,
            steps=self.step.index,
            epochs=epochs,
            stopped_early=self.stopped_early,
            facts=self.facts,
            notes=(*self.notes, *self.selector.notes(), *more),
        )
        if self.processes.first:
            self.selector.expect_written(self.folder)
            twin(self.folder.selected(fitted.reported.rule), self.folder.model)
            self.folder.before.unlink(missing_ok=True)
        # Every process is left with the same network, and finds the file.
        self.processes.equal_buffers(self.model)
        self.processes.wait()
        return fitted

    def _expect_epoch_done(self, epoch: int) -> None:
        if self.step.index != (epoch + 1) * self.per_epoch:
            raise RuntimeError(f"the training loader ended epoch {epoch + 1} early")

    def _seconds(self) -> float:
        return self.seconds_before + time.monotonic() - self.began


def update_in_parts(
    algorithm: Algorithm, step: Stepper, batch: Batch, parts: int
) -> list[tuple[Batch, StepOutput]]:
    """One optimizer step on a batch, in at most this many passes.

    The parts take every ``parts``-th row, which keeps a domain-balanced batch balanced where its
    blocks divide by ``parts``. Each part's loss is weighted by its share of the rows: for a loss
    that is a mean over samples, the gradient is that of the whole batch. No part has fewer than two
    rows, because batch normalisation needs two.

    Returns:
        Each part with its output; one pair when ``parts`` is 1.
    """
    rows = len(batch.index)
    parts = max(1, min(parts, rows // 2))
    if parts == 1:
        return [(batch, algorithm.update(step, batch))]
    outputs = []
    for number in range(parts):
        part = batch.select(torch.arange(number, rows, parts, device=batch.index.device))
        # Processes exchange gradients once, in the last pass.
        with step.local(enabled=number < parts - 1):
            output = step.forward(part)
            step.backward(output.loss * (len(part.index) / rows))
        outputs.append((part, output))
    step.optimizer_step()
    return outputs
