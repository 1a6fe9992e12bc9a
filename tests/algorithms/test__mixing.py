"""Pairs and blends against NumPy, and at both ends of the share."""

import numpy as np
import pytest
import torch

from medldr.algorithms._mixing import Pairs, blend, draw_pairs

PARTNER = torch.tensor([3, 0, 5, 1, 4, 7, 2, 6])


def test_a_draw_is_one_share_and_one_permutation_from_the_global_generator():
    torch.manual_seed(5)
    share, partner = draw_pairs(64, 0.4)
    assert share.ndim == 0
    assert sorted(partner.tolist()) == list(range(64))
    assert partner.tolist() != list(range(64))
    torch.manual_seed(5)
    again = draw_pairs(64, 0.4)
    assert torch.equal(again.share, share)
    assert torch.equal(again.partner, partner)
    following = draw_pairs(64, 0.4)
    assert not torch.equal(following.share, share)
    assert not torch.equal(following.partner, partner)


def test_tiny_concentrations_give_shares_of_0_or_1_and_never_nan():
    torch.manual_seed(0)
    shares = torch.stack([draw_pairs(1, 1e-3).share for _ in range(200)])
    assert shares.isfinite().all()
    assert 0.3 < (shares > 0.5).double().mean() < 0.7


def test_concentration_0_is_no_mixing_and_draws_nothing():
    state = torch.get_rng_state()
    share, partner = draw_pairs(5, 0)
    assert share == 1
    assert partner.tolist() == [0, 1, 2, 3, 4]
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.77, 1.0])
def test_a_blend_is_the_weighted_sum(share):
    value = torch.randn(8, 2, 3, 4, 5, dtype=torch.float64)
    found = blend(value, Pairs(torch.tensor(share, dtype=torch.float64), PARTNER)).numpy()
    plain = value.numpy()
    expected = share * plain + (1 - share) * plain[PARTNER.numpy()]
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_blend_keeps_the_dtype_and_is_exact_at_both_ends(dtype):
    value = torch.randn(8, 3, 4).to(dtype)
    for share, expected in ((1.0, value), (0.0, value[PARTNER])):
        found = blend(value, Pairs(torch.tensor(share), PARTNER))
        assert found.dtype == dtype
        assert torch.equal(found, expected)
    middle = blend(value, Pairs(torch.tensor(0.3), PARTNER)).double()
    expected = 0.3 * value.double() + 0.7 * value[PARTNER].double()
    torch.testing.assert_close(middle, expected, rtol=0, atol=4 * torch.finfo(dtype).eps * 3)


@pytest.mark.parametrize(
    ("shape", "layout"),
    [((8, 3, 4, 5), torch.channels_last), ((8, 3, 4, 5, 6), torch.channels_last_3d)],
)
def test_a_blend_keeps_the_memory_format(shape, layout):
    pairs = Pairs(torch.tensor(0.3), PARTNER)
    value = torch.randn(shape)
    assert blend(value, pairs).is_contiguous()
    last = value.contiguous(memory_format=layout)
    assert blend(last, pairs).is_contiguous(memory_format=layout)
    assert torch.equal(blend(last, pairs), blend(value, pairs))
