"""Notes on settings that do the same thing twice, or nothing."""

from __future__ import annotations

from typing import Final

from medldr.algorithms.base import Algorithm
from medldr.config.schema import TrainingConfig
from medldr.losses.base import Loss

_ONLY_COSINE: Final = ("cosine_top", "cosine_zero")


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
    if isinstance(training.class_weights, tuple):
        ways.append("training.class_weights, if its numbers are for rare classes,")
    elif training.class_weights is not None:
        ways.append("training.class_weights")
    if len(ways) < 2:
        return []
    return [
        f"{', '.join(ways[:-1])} and {ways[-1]} each make up for rare classes; together they "
        "correct too much. Keep one of them"
    ]


def without_effect(training: TrainingConfig) -> list[str]:
    """Notes on keys of the schedule that the run sets and does not use."""
    notes = []
    if training.warmup_from is not None and not training.warmup:
        notes.append("training.warmup_from has no effect, because training.warmup is 0")
    keys = [k for k in _ONLY_COSINE if getattr(training, k) != _default(k)]
    if keys and training.schedule != "cosine":
        named = " and ".join(f"training.{key}" for key in keys)
        notes.append(
            f"{named} {'has' if len(keys) == 1 else 'have'} no effect, because training.schedule "
            f"is {training.schedule}"
        )
    return notes


def _default(key: str) -> object:
    return TrainingConfig.model_fields[key].default
