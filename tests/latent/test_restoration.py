import numpy as np
import pytest
import torch

from medldr.latent import AttentionDegradation, AttentionRestoration


@pytest.fixture
def latents():
    generator = torch.Generator().manual_seed(1)
    draw = {"dtype": torch.float64, "generator": generator}
    return torch.randn(5, 12, **draw), torch.randn(8, 12, **draw)


@pytest.mark.parametrize("norm", ["post", "residual", "pre"])
@pytest.mark.parametrize("heads", [1, 2])
def test_equals_the_numpy_reference(norm, heads, latents, reference):
    z_d, z_set = latents
    restore = AttentionRestoration(12, heads=heads, norm=norm, dropout=0.0).double()
    reference.shake(restore)
    expected = reference.run_layer(restore, z_d, z_set, heads=heads)
    np.testing.assert_allclose(restore(z_d, z_set).detach(), expected, rtol=1e-10, atol=1e-12)


def test_own_original_is_left_out_on_request(latents, reference):
    z_d, z_set = latents
    restore = AttentionRestoration(12, include_query=False, dropout=0.0).double()
    own = torch.tensor([3, 4, 5, 6, 7])
    seen = np.arange(8) != own.numpy()[:, None]
    expected = reference.run_layer(restore, z_d, z_set, seen=seen)
    found = restore(z_d, z_set, own=own).detach()
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)


def test_order_of_the_set_does_not_matter(latents):
    z_d, z_set = latents
    restore = AttentionRestoration(12).double().eval()
    order = torch.randperm(8, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(restore(z_d, z_set[order]), restore(z_d, z_set))


@pytest.mark.parametrize("norm", ["post", "residual", "pre"])
def test_restoring_undegraded_latents_is_self_attention(norm, latents):
    z, _ = latents
    restore = AttentionRestoration(12, norm=norm).double().eval()
    degrade = AttentionDegradation(12, norm=norm).double().eval()
    degrade.load_state_dict(restore.state_dict())
    torch.testing.assert_close(restore(z, z), degrade(z))


def test_gradients_reach_queries_and_set(latents):
    z_d, z_set = (x.requires_grad_() for x in latents)
    AttentionRestoration(12).double().eval()(z_d, z_set).square().sum().backward()
    assert z_d.grad.abs().sum() > 0
    assert z_set.grad.abs().sum() > 0


def test_wrong_shapes_are_named():
    restore = AttentionRestoration(8)
    with pytest.raises(ValueError, match=r"z_d should be \(B, 8\)"):
        restore(torch.zeros(2, 4), torch.zeros(2, 8))
    with pytest.raises(ValueError, match=r"z_set should be \(B, 8\)"):
        restore(torch.zeros(2, 8), torch.zeros(8))
