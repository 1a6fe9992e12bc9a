"""Running averages equal NumPy loops; a checkpoint keeps them."""

import numpy as np
import pytest
import torch

from medldr.config.training_options import AveragingConfig, MeanConfig
from medldr.training.weights.running_average import RunningAverage


@pytest.fixture
def tiny(make_config, parts_of):
    return parts_of(make_config()).model


def test_average_equals_a_numpy_loop(tiny):
    average = RunningAverage(tiny, AveragingConfig(decay=0.9))
    generator = torch.Generator().manual_seed(0)
    expected = None
    for step in range(6):
        with torch.no_grad():
            for parameter in tiny.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator))
            tiny.norm.running_mean.fill_(step)
        average.update(tiny, step + 1)
        now = {n: p.detach().numpy().astype(float) for n, p in tiny.named_parameters()}
        past = expected or now
        expected = {n: 0.9 * past[n] + 0.1 * now[n] for n in now}
    for name, parameter in average.model.named_parameters():
        np.testing.assert_allclose(parameter.numpy(), expected[name], atol=1e-5)
        assert not parameter.requires_grad
    assert average.model.norm.running_mean.tolist() == [5.0] * 6


def test_a_restored_average_goes_on_as_before(tiny):
    config = AveragingConfig(decay=0.5)
    one, other = RunningAverage(tiny, config), RunningAverage(tiny, config)
    one.update(tiny, 1)
    other.load_state_dict(one.state_dict())
    with torch.no_grad():
        tiny.head.bias.add_(2.0)
    one.update(tiny, 2)
    other.update(tiny, 2)
    assert torch.equal(one.model.head.bias, other.model.head.bias)
    assert not torch.equal(one.model.head.bias, tiny.head.bias)


def test_the_mean_equals_a_numpy_loop_from_its_first_step_on(tiny):
    average = RunningAverage(tiny, MeanConfig(name="mean", start=3))
    generator, path = torch.Generator().manual_seed(0), []
    for step in range(1, 8):
        with torch.no_grad():
            for parameter in tiny.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator))
            tiny.norm.running_mean.fill_(step)
            tiny.norm.num_batches_tracked.fill_(step)
        average.update(tiny, step)
        path.append({n: v.numpy().astype(float).copy() for n, v in tiny.state_dict().items()})
        counted = path[2:] or path[-1:]
        for name, value in average.model.state_dict().items():
            if value.is_floating_point():
                expected = np.mean([weights[name] for weights in counted], axis=0)
                np.testing.assert_allclose(value.numpy(), expected, atol=1e-5, err_msg=name)
    assert average.model.norm.running_mean.tolist() == [5.0] * 6  # of 3, 4, 5, 6 and 7
    assert average.model.norm.num_batches_tracked == 7
