import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from medldr.latent import (
    AttentionDegradation,
    AttentionRestoration,
    GaussianDegradation,
    PoolDegradation,
)

NORMS = ("post", "residual", "pre")


@pytest.fixture
def z():
    return torch.randn(7, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def z_set():
    return torch.randn(9, 12, dtype=torch.float64, generator=torch.Generator().manual_seed(2))


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("heads", [1, 3])
def test_attention_equals_the_numpy_reference(norm, heads, z, z_set, reference):
    degrade = AttentionDegradation(12, heads=heads, norm=norm, dropout=0.0).double()
    reference.shake(degrade)
    expected = reference.run_layer(degrade, z, z, heads=heads)
    np.testing.assert_allclose(degrade(z).detach(), expected, rtol=1e-10, atol=1e-12)
    expected = reference.run_layer(degrade, z, z_set, heads=heads)
    np.testing.assert_allclose(degrade(z, z_set).detach(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("norm", NORMS)
def test_pool_equals_the_numpy_reference(norm, z, z_set, reference):
    degrade = reference.shake(PoolDegradation(12, norm=norm, dropout=0.0).double())
    subset = degrade.draw(z, z_set)
    expected = reference.run_layer(degrade, z, z_set, seen=subset)
    found = degrade(z, z_set, drawn=subset).detach()
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    degrade.eval()
    expected = reference.run_layer(degrade, z, z)
    np.testing.assert_allclose(degrade(z).detach(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("activation", ["relu", "gelu"])
@pytest.mark.parametrize("scaled", [True, False])
def test_activation_and_scale_of_the_scores_are_the_stated_ones(
    activation, scaled, z, z_set, reference
):
    named = {"activation": getattr(reference, activation)}
    keys = {"activation": activation, "scale_scores": scaled, "heads": 2}
    for kind in (AttentionDegradation, AttentionRestoration):
        layer = reference.shake(kind(12, dropout=0.0, **keys).double())
        expected = reference.run_layer(layer, z, z_set, heads=2, scaled=scaled, **named)
        np.testing.assert_allclose(layer(z, z_set).detach(), expected, rtol=1e-10, atol=1e-12)
        other = reference.run_layer(layer, z, z_set, heads=2, scaled=not scaled, **named)
        assert np.abs(other - expected).max() > 1e-3
    degrade = reference.shake(PoolDegradation(12, activation=activation).double().eval())
    expected = reference.run_layer(degrade, z, z_set, **named)
    np.testing.assert_allclose(degrade(z, z_set).detach(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("place", ["attention", "mixing", "hidden", "output"])
def test_dropout_acts_at_the_stated_places_alone(place, z):
    def apply(**keys):
        torch.manual_seed(0)
        layer = AttentionDegradation(12, head_dim=2, ff_dim=4, **keys).double()
        seen = []
        layer.dropout.register_forward_hook(lambda _, given, out: seen.append(tuple(out.shape)))
        return layer(z), seen

    shapes = {"attention": (1, 7, 7), "mixing": (7, 12), "hidden": (7, 4), "output": (7, 12)}
    assert apply(dropout_at=(place,))[1] == [shapes[place]]
    all_of_them, seen = apply()
    assert seen == list(shapes.values())
    assert torch.equal(apply(dropout_at=tuple(shapes))[0], all_of_them)


def test_unknown_places_and_none_are_refused():
    with pytest.raises(ValueError, match="dropout_at should be one of attention, mixing"):
        AttentionDegradation(4, dropout_at=("query",))
    with pytest.raises(ValueError, match="set dropout: 0"):
        PoolDegradation(4, dropout_at=())
    for key in ("activation", "subset_per", "subset_size"):
        with pytest.raises(ValueError, match=f"{key} should be one of"):
            PoolDegradation(4, **{key: "none"})


@pytest.mark.parametrize("include", [True, False])
@pytest.mark.parametrize("size", ["random", "fixed"])
def test_one_draw_serves_the_whole_batch(include, size, z):
    keys = {"keep": 0.4, "include_query": include, "subset_size": size}
    degrade = PoolDegradation(12, subset_per="batch", **keys)
    for seed in range(20):
        subset = degrade.draw(z, generator=torch.Generator().manual_seed(seed))
        chance = torch.rand(1, 7, generator=torch.Generator().manual_seed(seed))[0].numpy()
        for row, members in enumerate(subset.numpy()):
            allowed = [n for n in range(7) if include or n != row]
            by_chance = sorted(allowed, key=chance.__getitem__)
            few = [n for n in by_chance if chance[n] < np.float32(0.4)] or by_chance[:1]
            wanted = few if size == "random" else by_chance[: round(0.4 * len(allowed))]
            assert sorted(wanted) == np.flatnonzero(members).tolist()
    assert len({tuple(row) for row in subset.tolist()}) == 1 or not include


@pytest.mark.parametrize(("keep", "members"), [(0.5, 4), (0.3, 3), (0.01, 1), (1.0, 9)])
def test_a_fixed_size_is_the_stated_share(keep, members, z, z_set):
    degrade = PoolDegradation(12, keep=keep, subset_size="fixed")
    subset = degrade.draw(z, z_set)
    assert subset.shape == (7, 9)
    assert (subset.sum(1) == members).all()
    drawn = torch.stack([degrade.draw(z, z_set) for _ in range(400)]).double().mean((0, 1))
    np.testing.assert_allclose(drawn, members / 9, atol=0.05)  # every member as often
    assert len({tuple(row) for row in subset.tolist()}) > 1 or keep == 1


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("kind", [AttentionDegradation, PoolDegradation])
def test_without_its_query_a_row_never_sees_itself(kind, norm, z, reference):
    degrade = kind(12, norm=norm, include_query=False, dropout=0.0).double().eval()
    expected = reference.run_layer(degrade, z, z, seen=~np.eye(7, dtype=bool))
    np.testing.assert_allclose(degrade(z).detach(), expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("kind", [AttentionDegradation, PoolDegradation])
def test_own_columns_of_a_set_given_apart_are_left_out(kind, z, reference):
    degrade = kind(12, include_query=False, dropout=0.0).double().eval()
    part, own = z[2:5], torch.arange(2, 5)
    torch.testing.assert_close(degrade(part, z, own=own), degrade(z)[2:5])
    seen = np.ones((3, 7), dtype=bool)
    np.testing.assert_allclose(
        degrade(part, z).detach(), reference.run_layer(degrade, part, z, seen=seen), rtol=1e-10
    )


@pytest.mark.parametrize("kind", [AttentionDegradation, PoolDegradation])
def test_without_its_query_one_sample_alone_is_an_error(kind):
    degrade = kind(12, include_query=False)
    with pytest.raises(ValueError, match="at least two latents"):
        degrade(torch.zeros(1, 12))
    with pytest.raises(ValueError, match=r"own should be \(1,\)"):
        degrade(torch.zeros(1, 12), torch.zeros(3, 12), own=torch.arange(2))


@pytest.mark.parametrize("kind", [AttentionDegradation, PoolDegradation])
def test_one_sample_alone_is_its_own_set(kind):
    z = torch.randn(1, 12)
    assert torch.isfinite(kind(12)(z)).all()


@pytest.mark.parametrize("kind", [AttentionDegradation, PoolDegradation])
def test_changing_one_sample_changes_the_others(kind, z):
    degrade = kind(12).double().eval()
    changed = z.clone()
    changed[2, :3] += 1  # not all alike: a layer norm takes that out
    difference = (degrade(changed) - degrade(z)).abs().amax(1)
    assert (difference > 1e-4).all()


@pytest.mark.parametrize("kind", [AttentionDegradation, PoolDegradation])
def test_permuting_a_batch_permutes_the_output(kind, z):
    degrade = kind(12).double().eval()
    order = torch.randperm(7, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(degrade(z[order]), degrade(z)[order], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", [AttentionDegradation, PoolDegradation])
def test_random_in_training_and_repeatable_in_evaluation(kind, z):
    degrade = kind(12).double()
    assert not torch.equal(degrade(z), degrade(z))
    degrade.eval()
    assert torch.equal(degrade(z), degrade(z))


def test_pool_is_random_by_its_subset_alone(z):
    degrade = PoolDegradation(12, dropout=0.0).double()
    assert not torch.equal(degrade(z), degrade(z))
    subset = degrade.draw(z)
    assert torch.equal(degrade(z, drawn=subset), degrade(z, drawn=subset))


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 20),
    columns=st.integers(2, 20),
    keep=st.floats(0.01, 1.0),
    include=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_every_query_keeps_at_least_one(rows, columns, keep, include, seed):
    degrade = PoolDegradation(4, keep=keep, include_query=include)
    generator = torch.Generator().manual_seed(seed)
    own = torch.arange(rows) % columns
    z, z_set = torch.zeros(rows, 4), torch.zeros(columns, 4)
    subset = degrade.draw(z, z_set, own=own, generator=generator)
    assert subset.shape == (rows, columns)
    assert subset.any(1).all()
    if not include:
        assert not subset[torch.arange(rows), own].any()


def test_members_are_kept_with_the_stated_probability():
    z = torch.zeros(400, 4)
    subset = PoolDegradation(4, keep=0.3).draw(z, generator=torch.Generator().manual_seed(0))
    kept = subset.double().mean()
    assert abs(kept - 0.3) < 5 * (0.3 * 0.7 / 400**2) ** 0.5
    lonely = PoolDegradation(4, keep=1e-9).draw(z, generator=torch.Generator().manual_seed(0))
    assert (lonely.sum(1) == 1).all()
    assert len(set(lonely.int().argmax(1).tolist())) > 150  # picked fairly, not always the first


def test_a_draw_repeats_with_its_generator():
    degrade, z = PoolDegradation(4), torch.zeros(6, 4)
    draws = [degrade.draw(z, generator=torch.Generator().manual_seed(s)) for s in (3, 3, 4)]
    assert torch.equal(draws[0], draws[1])
    assert not torch.equal(draws[0], draws[2])


def test_gaussian_adds_noise_in_training_only():
    z = torch.randn(2000, 8, generator=torch.Generator().manual_seed(0))
    degrade = GaussianDegradation(sigma=0.5)
    torch.manual_seed(0)
    noise = degrade(z) - z
    assert abs(noise.mean()) < 0.02
    assert abs(noise.std() - 0.5) < 0.02
    drawn = degrade.draw(z, generator=torch.Generator().manual_seed(1))
    assert torch.equal(degrade(z, drawn=drawn), z + 0.5 * drawn)
    assert torch.equal(degrade.eval()(z), z)


def test_dropout_stands_where_torch_has_it(z):
    # The same masks fall on the same tensors of torch's own layer: attention weights, after
    # mixing, inside and after the feed-forward part, in this order.
    ours = AttentionDegradation(12, head_dim=12, ff_dim=12, dropout=0.4).double()
    theirs = nn.TransformerEncoderLayer(12, 1, 12, 0.4, batch_first=True, dtype=torch.float64)
    state = ours.state_dict()
    packed = {
        "self_attn.in_proj_weight": torch.cat(
            [state[f"{n}.weight"] for n in ("query", "key", "value")]
        ),
        "self_attn.in_proj_bias": torch.cat(
            [state[f"{n}.bias"] for n in ("query", "key", "value")]
        ),
    }
    names = {
        "self_attn.out_proj": "out",
        "linear1": "ff_in",
        "linear2": "ff_out",
        "norm1": "norm_mix",
        "norm2": "norm_ff",
    }
    for their_name, our_name in names.items():
        for kind in ("weight", "bias"):
            packed[f"{their_name}.{kind}"] = state[f"{our_name}.{kind}"]
    theirs.load_state_dict(packed)
    torch.manual_seed(3)
    expected = theirs(z[None])[0]
    torch.manual_seed(3)
    torch.testing.assert_close(ours(z), expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("kind", [AttentionDegradation, PoolDegradation])
def test_runs_in_float32_under_autocast(kind):
    degrade, z = kind(16, dropout=0.0).eval(), 50 * torch.randn(6, 16)
    expected = degrade(z)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = degrade(z)
    assert found.dtype == torch.float32
    assert torch.equal(found, expected)


def test_softmax_is_float32_in_half_precision_weights():
    degrade = AttentionDegradation(16, dropout=0.0).bfloat16().eval()
    seen = []
    softmax = torch.Tensor.softmax

    class Spy(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if func is softmax:
                seen.append(args[0].dtype)
            return func(*args, **(kwargs or {}))

    with Spy():
        out = degrade(torch.randn(6, 16).bfloat16())
    assert seen == [torch.float32]
    assert out.dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: AttentionDegradation(8, dropout=1.0), r"dropout should be in \[0, 1\)"),
        (lambda: AttentionDegradation(8, norm="middle"), "norm should be one of post"),
        (lambda: AttentionDegradation(8, heads=0), "heads should be at least 1"),
        (lambda: AttentionDegradation(8, head_dim=0), "head_dim should be at least 1"),
        (lambda: PoolDegradation(8, ff_dim=0), "ff_dim should be at least 1"),
        (lambda: PoolDegradation(8, keep=0.0), r"keep should be in \(0, 1\]"),
        (lambda: PoolDegradation(8)(torch.zeros(2, 7)), r"z should be \(B, 8\)"),
        (lambda: PoolDegradation(8)(torch.zeros(2, 8), torch.zeros(0, 8)), "z_set should be"),
        (lambda: AttentionDegradation(8)(torch.zeros(2, 3, 8)), "z should be"),
        (lambda: GaussianDegradation(-1.0), "sigma should be at least 0"),
    ],
)
def test_wrong_use_is_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_tiny_dimensions_get_widths_of_at_least_one():
    assert PoolDegradation(3).ff_in.out_features == 1
    assert AttentionDegradation(3).head_dim == 1
