import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from medldr.latent import LatentDR, mean_label

NAN = float("nan")
DIM, K, B = 16, 4, 10


@pytest.fixture
def z():
    return torch.randn(B, DIM, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def y():
    return torch.arange(B) % K


@pytest.fixture
def classifier():
    torch.manual_seed(7)
    return nn.Linear(DIM, K)


def count(module):
    return sum(p.numel() for p in module.parameters())


def make(**options):
    torch.manual_seed(0)
    return LatentDR(DIM, K, **options)


def log_softmax(x):
    x = x - x.max(1, keepdims=True)
    return x - np.log(np.exp(x).sum(1, keepdims=True))


def test_parameter_counts_are_the_stated_ones():
    assert count(LatentDR(512, 7)) == 793_600
    assert count(LatentDR(512, 7, degrade="pool")) == 169_648
    assert count(LatentDR(512, 7, degrade="gaussian", terms=["degraded"])) == 0
    assert count(LatentDR(512, 7, share_operators=True)) == 793_600 // 2
    assert count(LatentDR(512, 7, share_classifier=False)) == 793_600 + 512 * 7 + 7
    # BatchFormer's form has 6 d^2 + 10 d parameters with its own widths.
    form = {"degrade": "none", "terms": ["restored"], "head_dim": 64, "ff_dim": 64}
    assert count(LatentDR(64, 7, **form)) == 25_216


@pytest.mark.parametrize("norm", ["post", "residual", "pre"])
def test_the_number_of_parameters_does_not_depend_on_the_norm(norm):
    assert count(LatentDR(512, 7, norm=norm)) == 793_600


@pytest.mark.parametrize("degrade", ["attention", "pool"])
def test_loss_equals_the_numpy_reference(degrade, z, y, classifier, reference):
    aug, head, z = make(degrade=degrade, dropout=0.0).double(), classifier.double(), z.double()
    reference.shake(aug)
    drawn = aug.draw(z)
    z_d = reference.run_layer(aug.degradation, z, z, seen=drawn)
    z_r = reference.run_layer(aug.restoration, z_d, z)
    weight, bias = head.weight.detach().numpy(), head.bias.detach().numpy()
    logs = [log_softmax(x @ weight.T + bias) for x in (z.numpy(), z_d, z_r)]
    one_hot = np.eye(K)[y.numpy()]
    soft = one_hot.mean(0)
    expected = (
        -(one_hot * logs[0]).sum(1).mean()
        - (soft * logs[1]).sum(1).mean()
        - (one_hot * logs[2]).sum(1).mean()
    )
    found = aug.loss(z, y, head, drawn=drawn).item()
    assert found == pytest.approx(expected, rel=1e-7)  # the mean label is float32


def test_loss_is_the_sum_of_three_calls_of_the_pseudocode(z, y, classifier):
    aug = make().eval()
    z_d = aug.degradation(z)
    z_r = aug.restoration(z_d, z)
    views = aug(z)
    assert torch.equal(views.degraded, z_d)
    assert torch.equal(views.restored, z_r)
    one_hot = nn.functional.one_hot(y, K).float()
    soft = one_hot.sum(0) / B
    loss = nn.functional.cross_entropy
    expected = (
        loss(classifier(z), one_hot)
        + loss(classifier(z_d), soft.expand(B, K))
        + loss(classifier(z_r), one_hot)
    )
    torch.testing.assert_close(aug.loss(z, y, classifier), expected)


@pytest.mark.parametrize("degrade", ["attention", "pool", "gaussian"])
@pytest.mark.parametrize("k", [2, 3, 11])
def test_on_zero_logits_the_loss_is_three_times_log_k(degrade, k, z):
    aug = LatentDR(DIM, k, degrade=degrade)
    for y in (torch.zeros(B, dtype=torch.int64), torch.arange(B) % k):
        loss = aug.loss(z, y, lambda v: v.new_zeros(len(v), k))
        assert loss.item() == pytest.approx(3 * math.log(k), rel=1e-6)


def test_on_zero_logits_a_multi_label_loss_is_three_times_log_two(z):
    aug = LatentDR(DIM, K, multi_label=True)
    y = (torch.arange(B * K).reshape(B, K) % 3 == 0).float()
    loss = aug.loss(z, y, lambda v: v.new_zeros(len(v), K))
    assert loss.item() == pytest.approx(3 * math.log(2), rel=1e-6)


@settings(max_examples=40, deadline=None)
@given(
    labels=st.lists(st.integers(0, K - 1), min_size=1, max_size=12),
    scale=st.floats(0, 30),
    seed=st.integers(0, 10**6),
)
def test_degraded_term_is_never_below_the_entropy_of_the_mean_label(labels, scale, seed):
    y = torch.tensor(labels)
    z = torch.randn(len(y), DIM, generator=torch.Generator().manual_seed(seed))
    aug = LatentDR(DIM, K)
    term = aug.extra_terms(z, y, lambda v: scale * v[:, :K])["degraded"].loss
    p = np.bincount(labels, minlength=K) / len(labels)
    entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
    assert term.item() >= entropy - 1e-5


def test_degraded_label_is_the_batch_mean():
    soft = mean_label(torch.tensor([0, 0, 1, 2]), 3)
    assert soft.tolist() == [0.5, 0.25, 0.25]
    assert -(soft * soft.log()).sum().item() == pytest.approx(1.039721, abs=1e-6)
    soft = mean_label(torch.tensor([[1.0, NAN, 0.0], [0.0, NAN, NAN]]), 3)
    assert soft[0] == 0.5
    assert soft[1].isnan()
    assert soft[2] == 0.0
    for wrong in (torch.zeros(3), torch.zeros(3, 2), torch.zeros(3, 3, dtype=torch.int64)):
        with pytest.raises(ValueError, match="labels should be"):
            mean_label(wrong, 3)


TERMS = {
    "D+R": ({}, {"degraded", "restored"}),
    "D-only": ({"terms": ["degraded"], "restore": "none"}, {"degraded"}),
    "R-only": ({"terms": ["restored"], "degrade": "none"}, {"restored"}),
    "Gaussian D-only": ({"degrade": "gaussian", "terms": ["degraded"]}, {"degraded"}),
    "Gaussian R-only": ({"degrade": "gaussian", "terms": ["restored"]}, {"restored"}),
    "Gaussian D+R": ({"degrade": "gaussian"}, {"degraded", "restored"}),
    "restored through D": ({"terms": ["restored"]}, {"restored"}),
}


@pytest.mark.parametrize("name", TERMS)
def test_terms_of_the_ablation_are_the_ones_in_use(name, z, y, classifier):
    options, used = TERMS[name]
    aug = make(**options)
    views = aug(z)
    assert (views.degraded is not None) == ("degraded" in used)
    assert (views.restored is not None) == ("restored" in used)
    terms = aug.extra_terms(z, y, classifier)
    assert set(terms) == used
    # Nothing is built that no term uses: every parameter gets a gradient.
    aug.loss(z, y, classifier).backward()
    assert all(p.grad is not None for p in aug.parameters())


def test_restoration_alone_is_a_transformer_encoder_layer_over_the_batch(z):
    # BatchFormer's form, against torch's own layer: the batch is one sequence.
    aug = make(degrade="none", terms=["restored"], head_dim=DIM, ff_dim=DIM, dropout=0.0)
    theirs = nn.TransformerEncoderLayer(DIM, 1, DIM, 0.0, batch_first=True)
    r = aug.restoration
    with torch.no_grad():
        theirs.self_attn.in_proj_weight.copy_(
            torch.cat([r.query.weight, r.key.weight, r.value.weight])
        )
        theirs.self_attn.in_proj_bias.copy_(torch.cat([r.query.bias, r.key.bias, r.value.bias]))
        for a, b in (
            (theirs.self_attn.out_proj, r.out),
            (theirs.linear1, r.ff_in),
            (theirs.linear2, r.ff_out),
            (theirs.norm1, r.norm_mix),
            (theirs.norm2, r.norm_ff),
        ):
            a.load_state_dict(b.state_dict())
    torch.testing.assert_close(aug(z).restored, theirs(z[None])[0], rtol=1e-5, atol=1e-5)


def test_weights_multiply_the_terms(z, y, classifier):
    aug = make(weights=(0.5, 2.0, 3.0)).eval()
    terms = aug.extra_terms(z, y, classifier)
    original = nn.functional.cross_entropy(classifier(z), y)
    expected = 0.5 * original + 2 * terms["degraded"].loss + 3 * terms["restored"].loss
    torch.testing.assert_close(aug.loss(z, y, classifier), expected)


def test_own_classifier_serves_the_extra_terms_alone(z, y, classifier):
    aug = make(share_classifier=False).eval()
    aug.loss(z, y, classifier).backward()
    assert all(p.grad.abs().sum() > 0 for p in aug.own_classifier.parameters())
    expected = torch.autograd.grad(
        nn.functional.cross_entropy(classifier(z), y), classifier.weight
    )[0]
    torch.testing.assert_close(classifier.weight.grad, expected)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert aug.extra_terms(z, y, classifier)["restored"].logits.dtype == torch.float32


def test_shared_classifier_gets_gradients_of_all_terms(z, y, classifier):
    aug = make().eval()
    aug.loss(z, y, classifier).backward()
    alone = torch.autograd.grad(nn.functional.cross_entropy(classifier(z), y), classifier.weight)
    assert not torch.allclose(classifier.weight.grad, alone[0])


def test_shared_operators_are_one_layer(z, y, classifier):
    aug = make(share_operators=True).eval()
    assert aug.restoration is aug.degradation
    views = aug(z)
    torch.testing.assert_close(
        views.restored, aug.degradation(views.degraded, z, own=torch.arange(B))
    )
    state = aug.state_dict()
    twin = LatentDR(DIM, K, share_operators=True).eval()
    twin.load_state_dict(state)
    assert torch.equal(twin(z).restored, views.restored)


def test_widths_follow_the_variant():
    sa, pool, gaussian = (make(degrade=d) for d in ("attention", "pool", "gaussian"))
    assert (sa.degradation.head_dim, sa.degradation.ff_in.out_features) == (4, 4)
    assert (sa.restoration.head_dim, sa.restoration.ff_in.out_features) == (4, 4)
    assert (pool.restoration.head_dim, pool.restoration.ff_in.out_features) == (1, 2)
    assert pool.degradation.ff_in.out_features == 2
    assert (gaussian.restoration.head_dim, gaussian.restoration.ff_in.out_features) == (1, 2)
    chosen = make(degrade="pool", head_dim=3, ff_dim=5, heads=2)
    assert (chosen.restoration.query.out_features, chosen.restoration.ff_in.out_features) == (6, 5)
    assert chosen.degradation.ff_in.out_features == 5


@pytest.mark.parametrize("degrade", ["attention", "pool", "gaussian"])
def test_parts_of_a_set_give_the_rows_of_the_whole(degrade, z, y, classifier):
    # What several processes do: each has some of the queries, all have the set and the draw.
    for include in (True, False):
        aug = make(degrade=degrade, dropout=0.0, include_query=include)
        drawn, soft = aug.draw(z), mean_label(y, K)
        whole = aug(z, drawn=drawn)
        losses = []
        for part in (slice(0, 3), slice(3, B)):
            rows = None if drawn is None else drawn[part]
            own = torch.arange(B)[part]
            views = aug(z[part], z, own=own, drawn=rows)
            torch.testing.assert_close(views.degraded, whole.degraded[part])
            torch.testing.assert_close(views.restored, whole.restored[part])
            loss = aug.loss(
                z[part], y[part], classifier, z_set=z, own=own, drawn=rows, soft_label=soft
            )
            losses.append(loss * len(own) / B)
        torch.testing.assert_close(sum(losses), aug.loss(z, y, classifier, drawn=drawn))


def test_drawing_and_applying_are_apart(z):
    aug = make(degrade="pool", dropout=0.0)
    draw = aug.draw(z, generator=torch.Generator().manual_seed(3))
    assert torch.equal(aug(z, drawn=draw).restored, aug(z, drawn=draw).restored)
    assert make().draw(z) is None
    assert make(degrade="none", terms=["restored"]).draw(z) is None


@pytest.mark.parametrize("degrade", ["attention", "pool", "gaussian"])
def test_evaluation_is_repeatable(degrade, z):
    aug = make(degrade=degrade).eval()
    state = torch.get_rng_state()
    assert torch.equal(aug(z).restored, aug(z).restored)
    assert torch.equal(torch.get_rng_state(), state)  # and draws nothing
    if degrade == "gaussian":
        assert torch.equal(aug(z).degraded, z)


def test_missing_labels_are_left_out(z, classifier):
    aug = make(multi_label=True).eval()
    y = (torch.arange(B * K).reshape(B, K) % 3 == 0).float()
    y[0] = NAN
    y[:, 2] = NAN
    y[3, 1] = NAN
    terms = aug.extra_terms(z, y, classifier)
    known = (~y.isnan()).double().numpy()
    target = np.nan_to_num(y.double().numpy())
    soft = (target * known).sum(0) / np.maximum(known.sum(0), 1)

    def bce(latents, target, known):
        x = classifier(latents).detach().double().numpy()
        each = np.logaddexp(0, x) - x * target
        return ((each * known).sum(1) / np.maximum(known.sum(1), 1)).mean()

    views = aug(z)
    column_known = np.broadcast_to(known.any(0), known.shape).astype(float)
    expected = bce(views.degraded, soft, column_known)
    assert terms["degraded"].loss.item() == pytest.approx(expected, rel=1e-5)
    assert terms["restored"].loss.item() == pytest.approx(
        bce(views.restored, target, known), rel=1e-5
    )
    loss = aug.loss(z, y, classifier)
    loss.backward()
    assert torch.isfinite(loss)
    assert all(torch.isfinite(p.grad).all() for p in aug.parameters())


def test_soft_targets_equal_hard_ones_where_they_are_one_hot(z, y, classifier):
    aug = make().eval()
    soft = nn.functional.one_hot(y, K).float()
    torch.testing.assert_close(aug.loss(z, soft, classifier), aug.loss(z, y, classifier))


def test_any_callable_and_any_criterion_will_do(z, y):
    calls = []

    def criterion(logits, target):
        calls.append(target.shape)
        return nn.functional.cross_entropy(logits, target)

    make().loss(z, y, lambda v: v[:, :K], criterion=criterion)
    assert calls == [(B,), (B, K), (B,)]


@pytest.mark.parametrize("degrade", ["attention", "pool", "gaussian"])
@pytest.mark.parametrize("share_classifier", [True, False])
def test_half_precision_training_is_finite(z, y, classifier, degrade, share_classifier):
    aug = make(degrade=degrade, share_classifier=share_classifier)
    latents = z.clone().requires_grad_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = aug.loss(latents.bfloat16(), y, classifier)
    assert loss.dtype == torch.float32
    loss.backward()
    assert torch.isfinite(latents.grad).all()


def test_predictions_are_bit_identical_with_and_without_it(z, y, classifier):
    encoder = nn.Sequential(nn.Linear(DIM, DIM), nn.ReLU())
    images = torch.randn(B, DIM)
    before = classifier(encoder(images))
    aug = make()
    aug.loss(encoder(images), y, classifier)
    assert torch.equal(classifier(encoder(images)), before)


def test_it_learns_in_a_plain_loop(z):
    torch.manual_seed(0)
    y = (z[:, 0] > 0).long()
    encoder, head = nn.Linear(DIM, DIM), nn.Linear(DIM, 2)
    aug = LatentDR(DIM, 2, degrade="pool", dropout=0.0)
    optimizer = torch.optim.Adam(
        [*encoder.parameters(), *head.parameters(), *aug.parameters()], lr=0.02
    )
    for _ in range(120):
        optimizer.zero_grad()
        aug.loss(encoder(z), y, head).backward()
        optimizer.step()
    aug.eval()
    latents = encoder(z)
    assert (head(latents).argmax(1) == y).all()
    assert (head(aug(latents).restored).argmax(1) == y).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"degrade": "attn"}, "degrade should be one of attention, pool, gaussian, none"),
        ({"restore": "pool"}, "restore should be one of attention, none"),
        ({"terms": ["degrade"]}, "terms should be one of degraded, restored"),
        ({"terms": []}, "plain training"),
        ({"terms": ["restored", "restored"]}, "each once"),
        ({"terms": ["degraded"], "degrade": "none"}, "choose a degradation"),
        ({"subset_per": "batch"}, "no effect with degrade 'attention'"),
        ({"subset_size": "fixed", "degrade": "gaussian"}, "no effect with degrade 'gaussian'"),
        ({"degrade": "none"}, "choose a degradation"),
        ({"terms": ["restored"], "restore": "none"}, "set restore to 'attention'"),
        ({"restore": "none"}, "set restore to 'attention'"),
        ({"share_operators": True, "degrade": "pool"}, "two attention operators"),
        ({"share_operators": True, "terms": ["degraded"]}, "two attention operators"),
        ({"weights": (1, 1)}, "three finite numbers"),
        ({"weights": (1, -1, 1)}, "three finite numbers"),
        ({"weights": (1, NAN, 1)}, "three finite numbers"),
        ({"dropout": 1.5}, "dropout should be"),
        ({"degrade": "pool", "keep": 2.0}, "keep should be"),
    ],
)
def test_options_that_do_not_fit_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        LatentDR(DIM, K, **options)


def test_wrong_inputs_are_named(z, y, classifier):
    with pytest.raises(ValueError, match=r"z should be \(B, 16\)"):
        make()(z[:, :5])
    with pytest.raises(ValueError, match=r"logits should be \(B, 4\)"):
        make().loss(z, y, nn.Linear(DIM, 3))
    with pytest.raises(ValueError, match=r"labels should be \(10, 4\) floats"):
        make(multi_label=True).loss(z, y, classifier)
    with pytest.raises(
        ValueError, match=r"\(10,\) integers or \(10, 4\) floats, but are \(10, 1\)"
    ):
        make().loss(z, y[:, None], classifier)  # MedMNIST's own label shape
    with pytest.raises(ValueError, match="num_classes should be at least 1"):
        LatentDR(DIM, 0)


@pytest.mark.slow  # a fresh process imports torch
def test_it_imports_no_other_part_of_medldr():
    import subprocess
    import sys

    code = (  # but for what looks up the names of the package itself
        "import sys, medldr.latent;"
        "names = [m for m in sys.modules if m.startswith('medldr.')];"
        "print([m for m in names if not m.startswith(('medldr.latent', 'medldr.lazy'))])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
