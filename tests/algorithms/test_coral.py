from itertools import combinations

import numpy as np
import pytest
import torch

from medldr.algorithms.coral import coral_penalty
from medldr.errors import InputError

SQUARE = torch.tensor([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0], [2.0, 2.0]], dtype=torch.float64)


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def reference(blocks):
    """The definition: a loop over all pairs, with NumPy's covariances."""
    distances = []
    for one, other in combinations([b.detach().numpy() for b in blocks], 2):
        d = one.shape[1]
        means = one.mean(0) - other.mean(0)
        covariances = np.cov(one, rowvar=False) - np.cov(other, rowvar=False)
        distances.append((means**2).sum() / d + (covariances**2).sum() / d**2)
    return np.mean(distances)


@pytest.fixture
def build(standins):
    def make(task="multi-class", spec=None, rows=12, **keys):
        spec = spec or standins.make_spec(task)
        model = standins.make_model(spec)
        algorithm = standins.make_algorithm("coral", spec, model, **keys).train()
        return model, algorithm, standins.make_batch(standins.make_spec(task), rows)

    return make


def test_worked_values():
    assert coral_penalty([SQUARE, SQUARE]).item() == 0
    shifted = SQUARE + torch.tensor([1.0, 0.0])
    assert coral_penalty([SQUARE, shifted]).item() == pytest.approx(0.5, abs=1e-12)
    # Means (1, 1) and (2, 2): 2 / 2. Covariances 4/3 and 16/3 on the diagonal: 2 x 16 / 4.
    assert coral_penalty([SQUARE, 2 * SQUARE]).item() == pytest.approx(9.0, abs=1e-12)


@pytest.mark.parametrize("sizes", [(4, 4), (5, 3, 8), (2, 2, 2, 2, 2), (40, 2)])
@pytest.mark.parametrize("dim", [1, 3, 17])
def test_equals_the_mean_over_all_pairs_also_of_uneven_blocks(sizes, dim):
    blocks = [draw(n, dim, seed=k) * (k + 1) + k for k, n in enumerate(sizes)]
    if dim == 1:  # NumPy's covariance of one column has no axes; the squared distance is the same
        expected = np.mean(
            [
                (a.mean() - b.mean()) ** 2 + (a.var(ddof=1) - b.var(ddof=1)) ** 2
                for a, b in combinations([b.numpy() for b in blocks], 2)
            ]
        )
    else:
        expected = reference(blocks)
    assert coral_penalty(blocks).item() == pytest.approx(expected, rel=1e-12)


def test_gradients_do_not_depend_on_which_is_larger_rows_or_numbers():
    wide = [draw(n, 40, seed=n).requires_grad_() for n in (5, 7, 9)]  # 21 rows: by their products
    by_rows = torch.autograd.grad(coral_penalty(wide), wide)
    covariances = torch.stack([torch.cov(block.T) for block in wide])
    means = torch.stack([block.mean(0) for block in wide])
    pairs = list(combinations(range(3), 2))
    expected = sum(
        (means[a] - means[b]).square().mean() + (covariances[a] - covariances[b]).square().mean()
        for a, b in pairs
    ) / len(pairs)
    for found, right in zip(by_rows, torch.autograd.grad(expected, wide), strict=True):
        torch.testing.assert_close(found, right, rtol=1e-10, atol=1e-14)


def test_equal_domains_cost_nothing_and_a_penalty_is_never_negative():
    one = draw(6, 8).float()
    assert 0 <= coral_penalty([one] * 3).item() < 1e-12
    # Five domains that are one in truth, in a precision that cannot tell them apart.
    near = [1000 + 1e-4 * draw(6, 8, seed=k).float() for k in range(5)]
    assert coral_penalty(near).item() >= 0


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_float32_also_under_autocast(dtype):
    blocks = [(50 + draw(8, 6, seed=k)).to(dtype) for k in range(2)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = coral_penalty(blocks)
    assert found.dtype == torch.float32
    expected = reference([b.double() for b in blocks])
    assert found.item() == pytest.approx(expected, rel=1e-3)


@pytest.mark.parametrize(
    ("domain", "message"),
    [([0] * 12, "got the latents of 1"), ([0] * 6 + [1] * 5 + [2], "at least two rows")],
)
def test_a_batch_without_blocks_is_an_error(domain, message, build):
    model, algorithm, batch = build()
    with pytest.raises(ValueError, match=message):
        algorithm.loss(model, batch._replace(domain=torch.tensor(domain)))


def test_more_domains_per_batch_than_there_are_is_refused(build):
    with pytest.raises(InputError, match=r"domains_per_batch: 4.*3 source.*north, south, west"):
        build(domains_per_batch=4)


def test_a_method_stacked_on_it_takes_over_its_blocks(standins):
    spec = standins.make_spec()
    model = standins.make_model(spec)
    base = {"name": "coral", "domains_per_batch": 2}
    algorithm = standins.make_algorithm("latentdr", spec, model, base=base)
    assert algorithm.sampler == "domains"
    assert (algorithm.domains_per_batch, algorithm.rows_per_domain) == (2, 2)
    out = algorithm.loss(model, standins.make_batch(spec))
    assert out.logs["loss/coral"] > 0
    assert model.passes == 1
