from itertools import combinations

import numpy as np
import pytest
import torch
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel

from medldr.algorithms.mmd import FIXED, MMDConfig, mmd_penalty


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def reference(blocks, factors=(1e-3, 1e-2, 1e-1, 1, 10, 100, 1000)):
    """The definition: a loop over all pairs of domains, with scikit-learn's kernels."""
    blocks = [block.detach().double().numpy() for block in blocks]

    def mean(one, other):
        return sum(rbf_kernel(one, other, gamma=factor).mean() for factor in factors)

    return np.mean([mean(a, a) + mean(b, b) - 2 * mean(a, b) for a, b in combinations(blocks, 2)])


def around_the_median(blocks):
    """Factors of the median heuristic; the lower one of two numbers in the middle."""
    rows = torch.cat(list(blocks)).detach().double().numpy()
    squared = [((a - b) ** 2).sum() for a, b in combinations(rows, 2)]
    middle = np.sort(squared)[(len(squared) - 1) // 2]
    return [2.0**k / middle for k in range(-3, 4)]


@pytest.fixture
def build(standins):
    """A model, MMD and a batch of three equal blocks, all in float64."""

    def make(task="multi-class", spec=None, name="mmd", **keys):
        spec = spec or standins.make_spec(task)
        model = standins.make_model(spec).double()
        algorithm = standins.make_algorithm(name, spec, model, **keys).train().double()
        batch = standins.make_batch(standins.make_spec(task))
        return model, algorithm, batch._replace(image=batch.image.double())

    return make


def backward(model, algorithm, batch):
    model.zero_grad()
    out = algorithm.loss(model, batch)
    out.loss.backward()
    return out, torch.cat([p.grad.flatten() for p in model.parameters()])


def test_worked_values():
    zero, one = torch.zeros(1, 1, dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)
    assert mmd_penalty([zero, one]).item() == pytest.approx(7.4763748, abs=5e-8)
    expected = 2 * (7 - sum(np.exp(-g) for g in FIXED))
    assert mmd_penalty([zero, one]).item() == pytest.approx(expected, abs=1e-12)
    x = draw(6, 3)
    assert mmd_penalty([x, x]).item() == pytest.approx(0, abs=1e-13)


def test_the_median_heuristic_sees_rows_far_apart_and_is_blind_to_their_scale():
    blocks = [draw(5, 6, seed=k) + k for k in range(2)]
    expected = mmd_penalty(blocks, "median").item()
    for scale in (1e-3, 1e4):
        far = [(scale * block).requires_grad_() for block in blocks]
        penalty = mmd_penalty(far, "median")
        assert penalty.item() == pytest.approx(expected, rel=1e-9)
        penalty.backward()
        assert far[0].grad.abs().max() * scale > 1e-3


@pytest.mark.parametrize("sizes", [(4, 4), (5, 1, 3), (2, 2, 2, 2)])
@pytest.mark.parametrize("dim", [1, 9])
def test_it_equals_the_mean_over_all_pairs_also_of_uneven_blocks(sizes, dim):
    blocks = [draw(n, dim, seed=k) * (k + 1) + k for k, n in enumerate(sizes)]
    assert mmd_penalty(blocks).item() == pytest.approx(reference(blocks), abs=1e-10)
    wanted = reference(blocks, around_the_median(blocks))
    assert mmd_penalty(blocks, "median").item() == pytest.approx(wanted, abs=1e-10)


@pytest.mark.parametrize("bandwidths", ["fixed", "median"])
def test_equal_rows_are_no_trouble(bandwidths):
    same = torch.ones(4, 3, requires_grad=True)
    penalty = mmd_penalty([same[:2], same[2:]], bandwidths)
    penalty.backward()
    assert penalty.item() == pytest.approx(0, abs=1e-6)
    assert torch.isfinite(same.grad).all()


def test_where_most_rows_are_equal_the_mean_distance_stands_for_the_median():
    rows = torch.zeros(6, 2, dtype=torch.float64)
    rows[5] = torch.tensor([3.0, 4.0])
    blocks = [rows[:3], rows[3:]]
    middle = 5 * 25 / 15  # of the 15 pairs, 5 are 5 apart
    wanted = reference(blocks, [2.0**k / middle for k in range(-3, 4)])
    assert mmd_penalty(blocks, "median").item() == pytest.approx(wanted, abs=1e-12)


def test_no_gradient_flows_through_the_median():
    blocks = [(draw(3, 2, seed=k) + k).requires_grad_() for k in range(2)]
    mmd_penalty(blocks, "median").backward()
    factors = around_the_median(blocks)
    again = [block.detach().clone().requires_grad_() for block in blocks]
    squared = torch.cdist(torch.cat(again), torch.cat(again)).square()
    k = sum(torch.exp(-factor * squared) for factor in factors)
    (k[:3, :3].mean() + k[3:, 3:].mean() - 2 * k[:3, 3:].mean()).backward()
    for one, other in zip(blocks, again, strict=True):
        torch.testing.assert_close(one.grad, other.grad, rtol=1e-6, atol=1e-10)


def test_distances_of_near_rows_far_from_the_origin_keep_their_digits():
    """By products in float32, or in TF32, nothing would be left of them."""
    blocks = [300 + 1e-2 * draw(5, 64, seed=k).float() + 1e-2 * k for k in range(2)]
    rows = [b.double().numpy() for b in blocks]
    squared = euclidean_distances(rows[0], rows[1]) ** 2
    assert 0.001 < squared.min() < squared.max() < 0.1
    assert mmd_penalty(blocks).item() == pytest.approx(reference(blocks), rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_full_also_under_autocast(dtype):
    blocks = [(5 + draw(6, 3, seed=k)).to(dtype) for k in range(2)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = mmd_penalty(blocks)
    assert found.dtype == torch.float32
    assert found.item() == pytest.approx(reference(blocks), rel=1e-6)


def test_a_batch_of_one_domain_is_an_error(build):
    model, algorithm, batch = build()
    with pytest.raises(ValueError, match="got the latents of 1"):
        algorithm.loss(model, batch._replace(domain=torch.zeros(12, dtype=torch.int64)))


def test_the_defaults_are_domainbeds():
    assert (MMDConfig().weight, MMDConfig().bandwidths) == (1.0, "fixed")
    assert [np.log10(factor) for factor in FIXED] == pytest.approx(range(-3, 4))
