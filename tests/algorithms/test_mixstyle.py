import numpy as np
import pytest
import torch

from medldr.algorithms import mixstyle
from medldr.algorithms.mixstyle import mix_styles, other_domain_partners
from medldr.errors import InputError
from medldr.types import DataSpec

WORKED = torch.tensor([[1.0, 3.0], [10.0, 14.0]]).reshape(2, 1, 1, 2)
SWAP = torch.tensor([1, 0])
SHAPES = [(5, 3, 4, 6), (5, 3, 2, 4, 3)]


def draw(shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def reference(x, partner, share, eps):
    """The definition, sample by sample and channel by channel, in float64."""
    x = x.double().numpy()
    out = np.empty_like(x)
    for i, j in enumerate(partner.tolist()):
        lam = share[i].item()
        for c in range(x.shape[1]):
            m = [x[k, c].mean() for k in (i, j)]
            s = [np.sqrt(x[k, c].var(ddof=1) + eps) for k in (i, j)]
            m_new, s_new = (lam * a + (1 - lam) * b for a, b in (m, s))
            out[i, c] = (x[i, c] - m[0]) / s[0] * s_new + m_new
    return out


@pytest.fixture
def build(standins):
    def make(task="multi-class", rows=12, spec=None, **keys):
        spec = spec or standins.make_spec(task)
        model = standins.make_model(spec)
        algorithm = standins.make_algorithm("mixstyle", spec, model, **keys).train()
        return model, algorithm, standins.make_batch(standins.make_spec(task), rows)

    return make


@pytest.fixture
def erm(standins):
    """ERM's loss and gradients for a model and a batch."""

    def make(model, batch, task="multi-class"):
        algorithm = standins.make_algorithm("erm", standins.make_spec(task), model)
        return backward(model, algorithm, batch)

    return make


def backward(model, algorithm, batch):
    model.zero_grad()
    out = algorithm.loss(model, batch)
    out.loss.backward()
    return out, [p.grad.clone() for p in model.parameters()]


def same(one, other):
    return torch.equal(one[0].loss, other[0].loss) and all(
        torch.equal(a, b) for a, b in zip(one[1], other[1], strict=True)
    )


def test_worked_value():
    mixed = mix_styles(WORKED, SWAP, torch.tensor([0.25, 0.25]), eps=1e-6)
    expected = torch.tensor([[7.75, 11.25], [3.25, 5.75]])
    torch.testing.assert_close(mixed.flatten(1), expected, atol=1e-4, rtol=0)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("eps", [1e-6, 0.1])
def test_equals_the_definition_in_two_and_three_dimensions(shape, eps):
    x = 3 * draw(shape) + 5 * draw((5, 3, *[1] * (len(shape) - 2)), 1)
    partner, share = torch.tensor([3, 0, 1, 4, 2]), torch.tensor([0.0, 0.2, 0.5, 0.9, 1.0])
    found = mix_styles(x, partner, share, eps).numpy()
    np.testing.assert_allclose(found, reference(x, partner, share, eps), atol=2e-5)
    exact = mix_styles(x.double(), partner, share.double(), eps).numpy()
    np.testing.assert_allclose(exact, reference(x, partner, share.double(), eps), atol=1e-12)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_share_of_one_and_an_own_partner_change_nothing_at_all(shape):
    x, partner = draw(shape), torch.tensor([3, 1, 0, 4, 2])
    assert torch.equal(mix_styles(x, partner, torch.ones(5)), x)
    own = mix_styles(x, torch.arange(5), torch.rand(5, generator=torch.Generator().manual_seed(0)))
    assert torch.equal(own, x)


@pytest.mark.parametrize(
    ("shape", "layout"),
    [(SHAPES[0], torch.channels_last), (SHAPES[1], torch.channels_last_3d)],
)
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_dtype_and_layout_stay_and_statistics_are_float32(shape, layout, dtype):
    # Far from zero, half precision would lose the spread altogether.
    x = (60 + draw(shape)).to(dtype).contiguous(memory_format=layout)
    partner, share = torch.tensor([3, 0, 1, 4, 2]), torch.full((5,), 0.5)
    mixed = mix_styles(x, partner, share)
    assert mixed.dtype == dtype
    assert mixed.stride() == x.stride()
    expected = torch.from_numpy(reference(x, partner, share, 1e-6))
    torch.testing.assert_close(mixed, expected.to(dtype), atol=1e-4, rtol=torch.finfo(dtype).eps)


@pytest.mark.parametrize("shape", [(3, 4, 1, 1), (3, 4, 1, 1, 1)])
def test_a_map_of_one_position_goes_on_as_it_is(shape):
    x = draw(shape)
    assert torch.equal(mix_styles(x, torch.tensor([1, 2, 0]), torch.zeros(3)), x)


def test_a_constant_map_stays_finite():
    x = torch.cat([torch.ones(1, 2, 3, 3), draw((1, 2, 3, 3))]).requires_grad_()
    mixed = mix_styles(x, SWAP, torch.tensor([0.0, 0.0]))
    mixed.sum().backward()
    assert torch.isfinite(mixed).all()
    assert torch.isfinite(x.grad).all()
    # No content: what is left is the partner's mean (rounding grows with 1 / sqrt(eps) = 1000).
    mean = x[1].mean((1, 2), keepdim=True).expand(2, 3, 3)
    torch.testing.assert_close(mixed[0], mean, atol=1e-4, rtol=0)


@pytest.mark.parametrize("task", ["multi-class", "multi-label"])
@pytest.mark.parametrize("partners", ["random", "cross_domain"])
def test_with_p_zero_it_is_erm_bit_for_bit(task, partners, build, erm):
    model, algorithm, batch = build(task, p=0.0, partners=partners)
    assert same(backward(model, algorithm, batch), erm(model, batch, task))


def test_in_evaluation_it_is_erm_bit_for_bit_and_draws_nothing(build, erm):
    model, algorithm, batch = build(p=1.0)
    algorithm.eval()
    state = torch.get_rng_state()
    assert same(backward(model, algorithm, batch), erm(model, batch))
    assert torch.equal(torch.get_rng_state(), state)


def spy(monkeypatch):
    calls = []
    real = mix_styles

    def watched(x, partner, share, eps):
        calls.append((x, partner, share))
        return real(x, partner, share, eps)

    monkeypatch.setattr(mixstyle, "mix_styles", watched)
    return calls


def test_the_smallest_alphas_give_shares_of_zero_or_one(build, monkeypatch):
    model, algorithm, batch = build(p=1.0, alpha=0.01, rows=200)
    calls = spy(monkeypatch)
    torch.manual_seed(0)
    algorithm.loss(model, batch)
    share = torch.cat([share for _, _, share in calls])
    # Between 0.01 and 0.99 lie 4.5 % of Beta(0.01, 0.01); none of it is an underflow to 1/2.
    assert ((share > 0.01) & (share < 0.99)).float().mean() < 0.08
    assert not (share == 0.5).any()


@pytest.mark.parametrize(
    "sizes",
    [(4, 4), (3, 3, 3), (5, 5, 5, 5), (1, 1), (2, 1, 1), (3, 2, 1), (4, 3, 2, 2), (6, 5, 1)],
)
def test_no_block_above_half_each_row_meets_another_domain_and_each_is_used_once(sizes):
    domain = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    for seed in range(20):
        torch.manual_seed(seed)
        mixed_up = domain[torch.randperm(len(domain))]
        partner = other_domain_partners(mixed_up)
        assert (mixed_up[partner] != mixed_up).all()
        assert sorted(partner.tolist()) == list(range(len(domain)))


@pytest.mark.parametrize("sizes", [(4, 3), (3, 4), (7, 1), (6, 2, 3), (1, 2)])
def test_a_block_above_half_still_meets_other_domains_alone(sizes):
    domain = torch.arange(len(sizes)).repeat_interleave(torch.tensor(sizes))
    met = set()
    for seed in range(60):
        torch.manual_seed(seed)
        mixed_up = domain[torch.randperm(len(domain))]
        partner = other_domain_partners(mixed_up)
        assert (mixed_up[partner] != mixed_up).all()
        met |= set(partner.tolist())
    assert met == set(range(len(domain)))


def test_with_several_domains_each_meets_each():
    domain = torch.arange(4).repeat_interleave(3)
    torch.manual_seed(0)
    pairs = {
        pair
        for _ in range(50)
        for pair in zip(
            domain.tolist(), domain[other_domain_partners(domain)].tolist(), strict=True
        )
    }
    assert pairs == {(a, b) for a in range(4) for b in range(4) if a != b}


def test_every_distance_that_no_block_spans_is_drawn_equally_often():
    domain = torch.arange(3)
    torch.manual_seed(0)
    found = [tuple(other_domain_partners(domain).tolist()) for _ in range(300)]
    assert set(found) == {(1, 2, 0), (2, 0, 1)}
    # Standard error of a share of one half in 300 draws: 0.029.
    assert found.count((1, 2, 0)) / 300 == pytest.approx(0.5, abs=0.12)


@pytest.mark.parametrize("rows", [1, 5])
def test_one_domain_alone_is_everybodys_own_partner(rows):
    assert torch.equal(other_domain_partners(torch.full((rows,), 2)), torch.arange(rows))


def test_a_batch_of_one_domain_is_erm_bit_for_bit(build, erm):
    model, algorithm, batch = build(p=1.0, partners="cross_domain")
    batch = batch._replace(domain=torch.ones_like(batch.domain))
    assert same(backward(model, algorithm, batch), erm(model, batch))


@pytest.mark.parametrize("rows", [1, 7, 11])
@pytest.mark.parametrize("partners", ["random", "cross_domain"])
def test_odd_batches_work(rows, partners, build, monkeypatch):
    model, algorithm, batch = build(p=1.0, partners=partners, rows=rows)
    calls = spy(monkeypatch)
    out, gradients = backward(model, algorithm, batch)
    assert torch.isfinite(out.loss)
    assert all(torch.isfinite(g).all() for g in gradients)
    if partners == "cross_domain" and rows > 1:
        assert all((batch.domain[p] != batch.domain).all() for _, p, _ in calls)


def test_volumes_of_voxel_size_train(standins):
    spec = DataSpec("binary", ("no", "yes"), (5, 5), 1, (4, 4, 4), ("a", "b"), ("a", "b"))
    model = standins.make_model(spec)
    algorithm = standins.make_algorithm("mixstyle", spec, model, p=1.0, partners="cross_domain")
    flat = standins.make_batch(standins.make_spec("binary"), 6)
    batch = flat._replace(image=draw((6, 1, 4, 4, 4)), domain=torch.arange(6) % 2)
    _, gradients = backward(model, algorithm, batch)
    assert all(torch.isfinite(g).all() and g.abs().sum() > 0 for g in gradients)


def test_cross_domain_needs_domains_and_says_so(standins, build):
    _, algorithm, _ = build(partners="cross_domain")
    assert algorithm.needs_domains
    assert algorithm.sampler == "domains"
    _, algorithm, _ = build(spec=standins.make_spec(domains=False))
    assert not algorithm.needs_domains
    assert algorithm.sampler == "shuffle"
    with pytest.raises(InputError, match="cross_domain needs the domain of every"):
        build(spec=standins.make_spec(domains=False), partners="cross_domain")
    one = DataSpec("multi-class", ("a", "b"), (1, 1), 1, (8, 8), ("north", "south"), ("south",))
    with pytest.raises(InputError, match=r"two training domains.*are from south.*partners: random"):
        build(spec=one, partners="cross_domain")


def test_a_method_stacked_on_it_takes_over_its_needs(standins):
    spec = standins.make_spec()
    model = standins.make_model(spec)
    base = {"name": "mixstyle", "partners": "cross_domain", "p": 1.0}
    algorithm = standins.make_algorithm("latentdr", spec, model, base=base)
    assert algorithm.needs_domains
    assert algorithm.sampler == "domains"
    out = algorithm.loss(model, standins.make_batch(spec))
    assert model.passes == 1
    assert torch.isfinite(out.loss)


def test_a_tap_outside_of_its_pass_is_an_error(build):
    model, algorithm, batch = build()
    algorithm.loss(model, batch)
    with pytest.raises(ValueError, match="outside its forward pass"):
        model.features(batch.image, algorithm.taps)


@pytest.mark.slow  # compilation
def test_it_compiles_to_the_same_loss(build):
    pytest.importorskip("torch._dynamo")
    model, algorithm, batch = build(p=1.0, partners="cross_domain")
    torch.manual_seed(0)
    expected = algorithm.loss(model, batch).loss
    torch.manual_seed(0)
    compiled = torch.compile(algorithm.loss, backend="eager")
    torch.testing.assert_close(compiled(model, batch).loss, expected)
