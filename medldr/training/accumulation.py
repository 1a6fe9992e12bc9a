"""Accumulation: one optimizer step from several smaller passes, to save memory."""

from __future__ import annotations

import torch

from medldr.algorithms.base import Algorithm
from medldr.training.step import Stepper
from medldr.types import Batch, StepOutput


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
