"""The moving average of a network's weights, over the steps of a training."""

import pytest
import torch
from fidelity import STEPS, Case, Plain, Trained, TrainingConfig

from medldr.config.training_options import AveragingConfig
from medldr.training.weights.running_average import RunningAverage


@pytest.mark.parametrize("norm", ["none", "live"])
def test_the_average_after_every_step(norm, optimizer):
    training = TrainingConfig(optimizer=optimizer, lr=0.02, schedule="constant", steps=STEPS)
    ours = Trained("erm", Case(norm=norm), training)
    theirs = ours.derived(Plain, 1.0)
    model, decay = ours.pair.model, 0.7
    average = RunningAverage(model, AveragingConfig(decay=decay))
    path = []
    for number in range(STEPS):
        ours.step(number)
        average.update(model, number + 1)
        theirs.update(ours.batch(number))
        path.append({name: w.detach().clone() for name, w in theirs.w.items()})
        found = average.model.state_dict()
        for name in path[0]:
            # Every step's share in the sum; what the others leave is the first step's.
            shares = [(1 - decay) * decay ** (number - k) for k in range(1, number + 1)]
            expected = (1 - sum(shares)) * path[0][name]
            for share, weights in zip(shares, path[1:], strict=True):
                expected = expected + share * weights[name]
            key = name.removeprefix("model.")
            torch.testing.assert_close(found[key], expected, rtol=1e-10, atol=1e-12)
        for name, value in theirs.tracked().items():  # copied, not averaged
            key = name.removeprefix("model.")
            torch.testing.assert_close(found[key], value, rtol=1e-10, atol=1e-12)
