"""SWAD: the means of the weights between validations, and those of the valley averaged.

The published code's detector is derived anew as what it is, two queues of segments that hold
weights; medldr finds the valley from the losses alone, after the training.
"""

from collections import deque

import pytest
import torch
from fidelity import Case, Plain, Trained, TrainingConfig, fabric

from medldr.config.training_options import SwadConfig
from medldr.folders.files import RunFolder, load_tensors
from medldr.training.machine.processes import Processes
from medldr.training.weights.swad import ValleyAverage

LONG = [2, 1.5, 1.2, 1, 0.8, 0.7, 0.6, 0.5, 0.55, 0.6, 0.58, 0.62]
LOSSES = {
    "dies": [*LONG, 0.9, 0.95, 0.9, 0.92, 0.95, 0.99, 1, 1],
    "lasts": [*LONG, 0.61, 0.6, 0.63],
    "late": [5, 4, 3, 0.62, 0.58, 0.5, 0.55, 0.6, 0.61, 0.62, 0.63, 0.64, 0.65],
    "at once": [0.5, 0.6, 0.7, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6],
    "short": [2, 1.5, 1.2, 1, 0.5, 0.6, 0.7, 2, 2, 2, 2, 2, 2],
    "never": [3, 2.9, 2.8, 2.7, 2.6, 2.5],
}
INSIDE = {
    "dies": range(6, 12),
    "lasts": range(6, 15),
    "late": range(4, 13),
    "at once": range(10),
    "short": range(4, 7),
    "never": [5],
}
"""Segments of the valley, each once."""
SEGMENTS = max(map(len, LOSSES.values()))
TRAINING = TrainingConfig(lr=0.05, schedule="constant", steps=2 * SEGMENTS)


def steps_of(segment):
    """One step before the first validation, then two between any two."""
    return range(max(0, 2 * segment - 1), 2 * segment + 1)


def published(losses, weights, n_converge=3, n_tolerance=6, ratio=0.3):
    """What the code of SWAD averages: it counts some segments more than once."""
    converging, tolerating = deque(maxlen=n_converge), deque(maxlen=n_tolerance)
    best = threshold = None
    added = []
    for number in range(len(losses)):
        converging.append(number)
        tolerating.append(number)
        if best is None:
            window = [losses[k] for k in converging]
            if len(window) < n_converge or window.index(min(window)) != 0:
                continue
            best, threshold = converging[0], (1 + ratio) * sum(window) / n_converge
            held = list(tolerating)[: n_tolerance - n_converge + 1]
            above = [place for place, k in enumerate(held) if losses[k] > threshold]
            added += held[above[-1] + 2 if above else 1 :]
        elif tolerating[0] >= best:
            if min(losses[k] for k in tolerating) > threshold:
                break
            added.append(tolerating[0])
    else:
        if best is None:
            return weights[-1]
        tolerating.popleft()
        while tolerating and min(losses[k] for k in tolerating) <= threshold:
            added.append(tolerating.popleft())
    return mean([weights[k] for k in added or [best]])


def mean(states):
    return {name: torch.stack([s[name] for s in states]).mean(0) for name in states[0]}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """One training with an average for every list of losses; and the same steps derived."""
    ours = Trained("erm", Case(norm="live"), TRAINING)
    theirs = ours.derived(Plain, 1.0)
    model, averages = ours.pair.model, {}
    for name in LOSSES:
        for compat in (False, True):
            section = SwadConfig(name="swad", compat=compat, bn_batches=3)
            folder = RunFolder(tmp_path_factory.mktemp("run"))
            averages[name, compat] = ValleyAverage(
                section, folder, Processes(fabric()), fabric(), 0
            )
    segments = []
    for segment in range(SEGMENTS):
        path = []
        going = [own for (name, _), own in averages.items() if segment < len(LOSSES[name])]
        for number in steps_of(segment):
            ours.step(number)
            for average in going:
                average.update(model)
            theirs.update(ours.batch(number))
            path.append({name: w.detach().clone() for name, w in theirs.w.items()})
        for (name, _), average in averages.items():
            if segment < len(LOSSES[name]):
                row = {"epoch": 1, "step": steps_of(segment)[-1] + 1}
                average.close({**row, "val/domain_loss": LOSSES[name][segment]})
                average.tidy()
        segments.append(mean(path))
    return ours, averages, segments


class Batches:
    """A loader, as far as the statistics of normalisation need one."""

    def __init__(self, ours):
        self.ours = ours

    def batches(self, epoch):
        return (self.ours.batch(number) for number in range(2))


@pytest.mark.parametrize("compat", [False, True])
@pytest.mark.parametrize("name", LOSSES)
def test_the_average_of_the_valley(name, compat, trained):
    ours, averages, segments = trained
    average = averages[name, compat]
    average.publish(ours.pair.model, Batches(ours), 0)
    found = load_tensors(average.folder.selected("swad"))
    losses = LOSSES[name]
    if compat:
        expected = published(losses, segments[: len(losses)])
    else:
        expected = mean([segments[k] for k in INSIDE[name]])
    for key, value in expected.items():
        own = found[key.removeprefix("model.")]
        torch.testing.assert_close(own, value, rtol=1e-10, atol=1e-12, msg=key)
    # Running statistics are means over batches, made with the averaged weights.
    stem = [
        torch.conv2d(
            ours.batch(number).image,
            expected["model.blocks.0.weight"],
            expected["model.blocks.0.bias"],
            padding=1,
        ).tanh()
        for number in (0, 1, 0)
    ]
    for key, values in (
        ("running_mean", [x.mean((0, 2, 3)) for x in stem]),
        ("running_var", [x.var((0, 2, 3)) for x in stem]),
    ):
        value = torch.stack(values).mean(0)
        torch.testing.assert_close(found[f"norm.{key}"], value, rtol=1e-10, atol=1e-12)
