import numpy as np
import pytest
import torch

from medldr.algorithms.dsu import redraw_styles
from medldr.errors import InputError

SHAPES = [(5, 3, 4, 6), (5, 3, 2, 4, 3)]


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def reference(x, noise, eps):
    """The definition, channel by channel, in float64."""
    x, noise = x.double().numpy(), noise.double().numpy()
    out = np.empty_like(x)
    for c in range(x.shape[1]):
        m = np.array([row[c].mean() for row in x])
        s = np.array([np.sqrt(row[c].var(ddof=1) + eps) for row in x])
        for i, row in enumerate(x):
            m_new = m[i] + noise[0, i, c] * np.sqrt(m.var(ddof=1) + eps)
            s_new = s[i] + noise[1, i, c] * np.sqrt(s.var(ddof=1) + eps)
            out[i, c] = (row[c] - m[i]) / s[i] * s_new + m_new
    return out


@pytest.fixture
def build(standins):
    def make(rows=12, **keys):
        spec = standins.make_spec()
        model = standins.make_model(spec)
        algorithm = standins.make_algorithm("dsu", spec, model, **keys).train()
        return model, algorithm, standins.make_batch(spec, rows)

    return make


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("eps", [1e-6, 0.3])
def test_maps_equal_the_definition_in_numpy(shape, eps):
    x, noise = 3 + draw(*shape), draw(2, *shape[:2], seed=1)
    expected = reference(x, noise, eps)
    np.testing.assert_allclose(redraw_styles(x.double(), noise, eps), expected, atol=1e-12)
    np.testing.assert_allclose(redraw_styles(x, noise, eps), expected, atol=2e-5)


def test_the_noise_is_that_of_the_style_alone():
    x, noise = draw(6, 2, 5, 5).double(), draw(2, 6, 2, seed=1)
    normed = [
        (v - v.mean((2, 3), keepdim=True)) / v.std((2, 3), keepdim=True)
        for v in (x, redraw_styles(x, noise, 1e-12))
    ]
    sign = (normed[1] / normed[0]).sign()  # a deviation that was drawn below 0 turns a map round
    torch.testing.assert_close(normed[0], normed[1] * sign)
    torch.testing.assert_close(redraw_styles(x, torch.zeros(2, 6, 2)), x)


@pytest.mark.parametrize("shape", [(1, 4, 3, 3), (3, 4, 1, 1), (3, 4, 1, 1, 1)])
def test_without_a_spread_a_map_goes_on_as_it_is(shape):
    x = draw(*shape)
    assert torch.equal(redraw_styles(x, torch.ones(2, *shape[:2])), x)


@pytest.mark.parametrize("changed", [{"p": 0}, {"p": 1}])
def test_with_p_0_and_in_evaluation_it_is_erm_bit_for_bit(changed, build, standins):
    model, algorithm, batch = build(**changed)
    algorithm.train(changed["p"] == 0)
    erm = standins.make_algorithm("erm", standins.make_spec(), model)
    found = []
    for one in (algorithm, erm):
        out = one.loss(model, batch)
        found.append((out.loss, *torch.autograd.grad(out.loss, list(model.parameters()))))
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_it_redraws_after_all_stages_of_the_network_or_those_that_are_named(build):
    _, algorithm, _ = build(p=1)
    assert algorithm.draw_stages() == ["stem", "stage1", "stage2", "stage3", "stage4"]
    model, algorithm, batch = build(p=1, stages=["stage2"])
    assert algorithm.draw_stages() == ["stage2"]
    assert algorithm.loss(model, batch).loss.isfinite()


def test_a_network_without_maps_is_refused_at_once(standins):
    spec = standins.make_spec()
    model = standins.make_model(spec)
    model.maps = False
    with pytest.raises(InputError, match=r"algorithm\.stages.*feature maps"):
        standins.make_algorithm("dsu", spec, model)
