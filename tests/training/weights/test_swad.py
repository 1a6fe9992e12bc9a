"""SWAD averages what it says, keeps what it may need, and its keys are checked."""

import numpy as np
import pytest
import torch

from medldr.config.training_options import SwadConfig
from medldr.errors import InputError
from medldr.folders.files import RunFolder, load_tensors
from medldr.training import make_fabric
from medldr.training.machine.processes import Processes
from medldr.training.weights.loss_valley import may_be_needed
from medldr.training.weights.running_average import live_norms
from medldr.training.weights.swad import ValleyAverage

SHORT = [2, 1.5, 1.2, 1, 0.5, 0.6, 0.7, 2, 2, 2, 2, 2, 2]
"""A valley over segments 4 to 6 that dies with the last validation."""


@pytest.fixture
def tiny(make_config, parts_of):
    """A network without normalisation, in the double precision that makes sums exact."""
    return parts_of(make_config({"model.norm": False})).model.double()


@pytest.fixture
def kept(make_config, tmp_path):
    """A valley's average by itself, for keys of its section."""

    def build(name="alone", **keys):
        config = make_config()
        fabric = make_fabric(config.machine, config.training)
        section = SwadConfig(name="swad", **keys)
        return ValleyAverage(section, RunFolder(tmp_path / name), Processes(fabric), fabric, 0)

    return build


def set_weights(model, generator=None, sign=None):
    """New random weights, or the same ones with a sign; returns a copy in float64."""
    with torch.no_grad():
        for parameter in model.parameters():
            if generator is not None:
                noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
                parameter.copy_(noise)
            elif sign is not None:
                parameter.mul_(sign)
    return {n: p.detach().double().numpy().copy() for n, p in model.named_parameters()}


def feed(average, model, losses, steps, change):
    """Steps and validations; returns the weights of each step, by segment."""
    seen = []
    for number, loss in enumerate(losses):
        seen.append([])
        for _ in range(steps):
            seen[-1].append(change())
            average.update(model)
        average.close({"epoch": 1, "step": steps * (number + 1), "val/loss": loss})
        average.tidy()
    return seen


def published(average, model):
    average.publish(model, None, 0)
    return load_tensors(average.folder.selected("swad"))


def test_the_result_is_the_mean_of_all_weights_of_the_chosen_segments(tiny, kept):
    average = kept()
    generator = torch.Generator().manual_seed(0)
    seen = feed(average, tiny, SHORT, 5, lambda: set_weights(tiny, generator))
    found = published(average, tiny)
    inside = [weights for segment in (4, 5, 6) for weights in seen[segment]]
    assert len(inside) == 15
    for name in inside[0]:
        expected = np.mean([weights[name] for weights in inside], axis=0)
        assert found[name].dtype == torch.float64
        np.testing.assert_allclose(found[name].numpy(), expected, rtol=0, atol=1e-14)


def test_compat_counts_a_segment_as_often_as_the_published_code(tiny, kept):
    average = kept(compat=True)
    losses = [0.5, 0.6, 0.7, *[0.6] * 7]
    generator = torch.Generator().manual_seed(0)
    seen = feed(average, tiny, losses, 3, lambda: set_weights(tiny, generator))
    found = published(average, tiny)
    times = [3, 2, 2, 1, 1, 1, 1, 1, 1, 1]
    for name in seen[0][0]:
        segments = [np.mean([weights[name] for weights in segment], axis=0) for segment in seen]
        expected = np.average(segments, axis=0, weights=times)
        np.testing.assert_allclose(found[name].numpy(), expected, rtol=0, atol=1e-14)


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_equal_weights_come_back_bit_for_bit(tiny, kept, kind):
    model = tiny.to(kind)
    set_weights(model, torch.Generator().manual_seed(0))
    average = kept()
    feed(average, model, SHORT, 7, lambda: set_weights(model))
    found = published(average, model)
    for name, parameter in model.named_parameters():
        assert torch.equal(found[name], parameter)


@pytest.mark.parametrize("steps", [2, 1])
def test_weights_and_their_negatives_average_to_nothing(tiny, kept, steps):
    set_weights(tiny, torch.Generator().manual_seed(0))
    average = kept(n_converge=2)
    # Both segments are averaged: with one step each, the signs meet only at the end.
    feed(average, tiny, [0.5, 0.6], steps, lambda: set_weights(tiny, sign=-1.0))
    found = published(average, tiny)
    for name, _ in tiny.named_parameters():
        assert torch.equal(found[name], torch.zeros_like(found[name])), name


def test_half_precision_weights_are_averaged_in_single_precision(tiny, kept):
    model = tiny.to(torch.bfloat16)
    average = kept()
    generator = torch.Generator().manual_seed(0)
    feed(average, model, [1.0], 3, lambda: set_weights(model, generator))
    segment = load_tensors(average._path(0))
    assert {value.dtype for value in segment.values()} == {torch.float32}
    assert published(average, model)["head.bias"].dtype == torch.bfloat16


def test_a_segment_that_is_gone_at_the_end_is_told(tiny, kept):
    average = kept()
    feed(average, tiny, SHORT, 1, lambda: set_weights(tiny))
    average._path(5).unlink()
    with pytest.raises(InputError, match=r"cannot average: .*segments \[4, 5, 6\].*restart=True"):
        average.publish(tiny, None, 0)


def test_only_what_may_be_needed_lies_on_the_disk_and_nothing_after_the_run(tiny, kept):
    average = kept()
    losses = [*SHORT, 0.1, 0.1, 0.1]
    place = average.folder.checkpoints / "swad"
    for count in range(1, len(losses) + 1):
        average.update(tiny)
        average.close({"epoch": 1, "step": count, "val/loss": losses[count - 1]})
        average.tidy()
        there = {int(path.stem) for path in place.iterdir()}
        assert there == may_be_needed(losses[:count])
    assert there == {4, 5, 6}
    published(average, tiny)
    assert not place.exists()


def test_frozen_statistics_and_other_buffers_stay_as_they_are(make_config, parts_of, kept):
    model = parts_of(make_config()).model
    model.register_buffer("scale", torch.tensor([3.0, 4.0]))
    model.norm.running_mean.fill_(0.5)
    model.freeze_batch_norm()
    assert live_norms(model) == []
    average = kept()
    feed(average, model, SHORT, 2, lambda: set_weights(model, torch.Generator().manual_seed(0)))
    found = published(average, model)
    assert found["norm.running_mean"].tolist() == [0.5] * 6
    assert found["scale"].tolist() == [3.0, 4.0]
    assert found["norm.num_batches_tracked"] == 0
