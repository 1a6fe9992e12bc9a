"""How the rows of a sweep were trained, and how one differs from another.

A method may bring its own learning rate or sampler, which changes more than the method: the rate,
how many images a step sees, how many steps there are. A table that hides this compares two things
at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from medldr.config.sections import MODIFIED, section
from medldr.reporting.read.run import RunFiles

RATE: Final = "training.lr"
"""The key of the learning rate."""


class Training(NamedTuple):
    """What a run was trained with; None where its files do not say.

    Attributes:
        rate: Learning rate used: the recipe's, times the algorithm's factor.
        images: Images of a step, over all processes.
        steps: Steps made.
        sampler: How batches were drawn.
        protocol: Protocol id, with ``+modified`` where a key that it pins was changed.
        early: Whether early stopping decided on the number of steps.
    """

    rate: float | None
    images: int | None
    steps: int | None
    sampler: str | None
    protocol: str
    early: bool = False


def training_of(files: RunFiles | None) -> Training | None:
    """What a run was trained with; None without a run."""
    if files is None or files.record is None:
        return None
    record = files.record
    return Training(
        rate=rate_of(files),
        images=record.batch_size,
        steps=record.steps,
        sampler=record.sampler or section(files.config, "training").get("sampler"),
        protocol=files.protocol,
        early=record.stopped_early,
    )


def rate_of(files: RunFiles | None) -> float | None:
    """The learning rate used by a run; None where its configuration does not say.

    Example:
        >>> config = {"training": {"lr": 0.002}, "algorithm": {"name": "x", "lr_scale": 0.5}}
        >>> rate_of(RunFiles("a", config))
        0.001
    """
    config = {} if files is None else files.config
    rate = section(config, "training").get("lr")
    scale = section(config, "algorithm").get("lr_scale", 1.0)
    if not isinstance(rate, int | float) or not isinstance(scale, int | float):
        return None
    return float(rate) * float(scale)


def differences(own: Training, other: Training) -> Iterator[str]:
    """Fields in which two runs were trained differently; what is not known does not differ.

    Numbers of steps count only where no early stopping decided on them.
    """
    # Another id altogether is a footnote of the comparison, on the number itself.
    bases = {of.protocol.removesuffix(MODIFIED) for of in (own, other)}
    if own.protocol != other.protocol and len(bases) == 1:
        yield "protocol"
    for field in ("rate", "images", "steps", "sampler"):
        one, two = getattr(own, field), getattr(other, field)
        decided = field == "steps" and (own.early or other.early)
        if None not in (one, two) and one != two and not decided:
            yield field
