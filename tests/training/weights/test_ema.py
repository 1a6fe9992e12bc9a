"""The moving average equals a NumPy loop; buffers are copied; a checkpoint keeps it."""

import numpy as np
import pytest
import torch

from medldr.config.training_options import AveragingConfig
from medldr.training.weights.ema import ExponentialAverage


@pytest.fixture
def tiny(make_config, parts_of):
    return parts_of(make_config()).model


def test_average_equals_a_numpy_loop(tiny):
    average = ExponentialAverage(tiny, AveragingConfig(decay=0.9))
    generator = torch.Generator().manual_seed(0)
    expected = None
    for step in range(6):
        with torch.no_grad():
            for parameter in tiny.parameters():
                parameter.add_(torch.randn(parameter.shape, generator=generator))
            tiny.norm.running_mean.fill_(step)
        average.update(tiny)
        now = {n: p.detach().numpy().astype(float) for n, p in tiny.named_parameters()}
        past = expected or now
        expected = {n: 0.9 * past[n] + 0.1 * now[n] for n in now}
    for name, parameter in average.model.named_parameters():
        np.testing.assert_allclose(parameter.numpy(), expected[name], atol=1e-5)
        assert not parameter.requires_grad
    assert average.model.norm.running_mean.tolist() == [5.0] * 6


def test_a_restored_average_goes_on_as_before(tiny):
    config = AveragingConfig(decay=0.5)
    one, other = ExponentialAverage(tiny, config), ExponentialAverage(tiny, config)
    one.update(tiny)
    other.load_state_dict(one.state_dict())
    with torch.no_grad():
        tiny.head.bias.add_(2.0)
    one.update(tiny)
    other.update(tiny)
    assert torch.equal(one.model.head.bias, other.model.head.bias)
    assert not torch.equal(one.model.head.bias, tiny.head.bias)
