from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional

from medldr.algorithms.batchformer import BatchFormer, BatchFormerConfig
from medldr.errors import InputError
from medldr.models.base import CosineHead

TASKS = ["multi-class", "binary", "ordinal", "multi-label"]


@pytest.fixture
def build(standins):
    def make(task="multi-class", rows=12, **keys):
        spec = standins.make_spec(task)
        model = standins.make_model(spec)
        algorithm = standins.make_algorithm("batchformer", spec, model, **keys)
        return model, algorithm, standins.make_batch(spec, rows)

    return make


@pytest.fixture
def layer(standins):
    """BatchFormer for latents of a given size, without a network."""

    def make(dim, **keys):
        spec = standins.make_spec()
        config = BatchFormerConfig.model_validate({"name": "batchformer", **keys})
        return BatchFormer(config, spec, SimpleNamespace(dim=dim, head=nn.Linear(dim, 4)))

    return make


def latents(rows, dim, seed=0):
    return torch.randn(rows, dim, generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize(("dim", "count"), [(64, 25_216), (512, 1_577_984), (2048, 25_186_304)])
def test_parameter_counts_are_those_of_the_published_code(dim, count, layer):
    with torch.device("meta"):
        state = layer(dim).encoder.state_dict()
    assert sum(value.numel() for value in state.values()) == count == 6 * dim**2 + 10 * dim


@pytest.mark.parametrize(
    ("dim", "heads"), [(512, 4), (2048, 4), (132, 4), (128, 1), (64, 1), (130, 1), (257, 1)]
)
def test_heads_follow_the_width(dim, heads, layer):
    with torch.device("meta"):
        encoder = layer(dim).encoder
    assert encoder.self_attn.num_heads == heads
    assert encoder.linear1.out_features == dim
    assert encoder.dropout.p == encoder.self_attn.dropout == 0.5
    assert not encoder.norm_first


def test_widths_are_options_and_heads_that_do_not_divide_are_refused(layer):
    encoder = layer(12, heads=3, ff_dim=5, dropout=0.1).encoder
    assert encoder.self_attn.num_heads == 3
    assert encoder.linear1.out_features == 5
    assert encoder.dropout.p == 0.1
    with pytest.raises(InputError, match=r"algorithm\.heads: 12 latents .* into 5 heads"):
        layer(12, heads=5)


def test_a_batch_of_one_works(build):
    model, algorithm, batch = build(rows=1)
    out = algorithm.loss(model, batch)
    out.loss.backward()
    assert torch.isfinite(out.loss)
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


def test_it_computes_in_float32_under_autocast(layer):
    algorithm = layer(64).eval()
    z = latents(5, 64)
    with torch.no_grad():
        plain = algorithm.encode(z)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            assert torch.equal(algorithm.encode(z), plain)
            assert algorithm.encode(z.bfloat16()).dtype == torch.float32


def joint(model, algorithm, batch):
    """Logits of the batch as it is and after the layer, one below the other."""
    z = model.features(batch.image)
    return model.classify(torch.cat([z, algorithm.encode(z)]))


@pytest.mark.parametrize("task", TASKS)
def test_the_loss_is_the_mean_over_the_joint_batch(task, build):
    model, algorithm, batch = build(task)
    algorithm.eval()
    out = algorithm.loss(model, batch)
    logits, label = joint(model, algorithm, batch), torch.cat([batch.label, batch.label])
    if task == "multi-label":
        known = ~label.isnan()
        each = functional.binary_cross_entropy_with_logits(
            logits, label.nan_to_num(), reduction="none"
        )
        rows = (each * known).sum(1) / known.sum(1).clamp_min(1)
        expected = rows.mean()
    else:
        expected = functional.cross_entropy(logits, label)
    torch.testing.assert_close(out.loss, expected)
    torch.testing.assert_close(out.logits, logits[: len(batch.label)])


def test_class_weights_weigh_the_joint_batch(build):
    model, algorithm, batch = build()
    weights = torch.tensor([4.0, 1.0, 0.5, 2.0])
    algorithm.eval().use_class_weights(weights)
    label = torch.cat([batch.label, batch.label])
    expected = functional.cross_entropy(joint(model, algorithm, batch), label, weights)
    torch.testing.assert_close(algorithm.loss(model, batch).loss, expected)


def test_weights_are_shares_and_the_terms_are_logged(build):
    model, algorithm, batch = build(weights=[1, 3])
    algorithm.eval()
    out = algorithm.loss(model, batch)
    assert set(out.logs) == {"loss/original", "loss/batchformer", "accuracy/batchformer"}
    first, second = joint(model, algorithm, batch).chunk(2)
    a, b = (functional.cross_entropy(logits, batch.label) for logits in (first, second))
    torch.testing.assert_close(out.loss, 0.25 * a + 0.75 * b)
    torch.testing.assert_close(out.logs["loss/original"], a.detach())
    torch.testing.assert_close(out.logs["loss/batchformer"], b.detach())
    right = (second.argmax(1) == batch.label).float().mean()
    assert out.logs["accuracy/batchformer"] == right


@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("weights", [[1, 0], [0.3, 0]])
def test_without_its_term_it_is_erm_bit_for_bit(task, weights, build, standins):
    found = []
    model, algorithm, batch = build(task, weights=weights)
    erm = standins.make_algorithm("erm", standins.make_spec(task), model)
    for one in (algorithm, erm):
        model.zero_grad()
        torch.manual_seed(0)
        out = one.loss(model, batch)
        out.loss.backward()
        found.append([out.loss, *(p.grad.clone() for p in model.parameters())])
        assert set(out.logs) == {"loss/original"}
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))
    assert not list(algorithm.parameters())
    assert not algorithm.set_based


def test_without_the_original_loss_the_layer_s_term_stays(build):
    model, algorithm, batch = build(weights=[0, 2])
    out = algorithm.loss(model, batch)
    torch.testing.assert_close(out.loss.detach(), out.logs["loss/batchformer"])


def test_the_base_s_whole_loss_takes_its_place_and_the_network_runs_once(build):
    model, algorithm, batch = build(base={"name": "outside.projection", "factor": 0.5})
    algorithm.eval()
    out = algorithm.loss(model, batch)
    assert model.passes == 1
    base = algorithm.base.loss(model, batch)
    added = functional.cross_entropy(model.classify(algorithm.encode(base.z)), batch.label)
    torch.testing.assert_close(out.loss, (base.loss + added) / 2)
    assert out.logs["loss/projection"] == base.logs["loss/projection"]
    assert out.logs["loss/original"] == base.logs["loss/original"]
    out.loss.backward()
    assert all(p.grad.abs().sum() > 0 for p in algorithm.base.parameters())


def test_it_stands_on_latentdr_and_latentdr_on_it(standins):
    spec = standins.make_spec()
    batch = standins.make_batch(spec)
    for one, other in (("batchformer", "latentdr"), ("latentdr", "batchformer")):
        model = standins.make_model(spec)
        algorithm = standins.make_algorithm(one, spec, model, base=other)
        out = algorithm.loss(model, batch)
        assert model.passes == 1
        assert {"loss/batchformer", "loss/degraded", "loss/restored"} < set(out.logs)
        given = [id(p) for g in algorithm.optimizers(model)["main"] for p in g["params"]]
        everything = [id(p) for m in (model, algorithm) for p in m.parameters()]
        assert sorted(given) == sorted(set(everything))


def test_a_classifier_of_its_own_is_of_the_model_s_kind(standins):
    spec = standins.make_spec()
    model, batch = standins.make_model(spec), standins.make_batch(spec)
    model.head = CosineHead(model.dim, spec.num_classes)
    algorithm = standins.make_algorithm("batchformer", spec, model, share_classifier=False).eval()
    own = algorithm.own_classifier
    assert isinstance(own, CosineHead)
    assert torch.equal(own.weight, model.head.weight)
    with torch.no_grad():
        own.weight.neg_()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = algorithm.loss(model, batch)
    z = algorithm.encode(out.z)
    expected = functional.cross_entropy(-model.classify(z), batch.label)
    torch.testing.assert_close(out.logs["loss/batchformer"], expected.detach())
    out.loss.backward()
    assert own.weight.grad.abs().sum() > 0
    given = [id(p) for group in algorithm.optimizers(model)["main"] for p in group["params"]]
    assert sorted(given) == sorted(id(p) for m in (model, algorithm) for p in m.parameters())


def test_labels_all_missing_leave_a_finite_loss(build):
    model, algorithm, batch = build("multi-label")
    out = algorithm.loss(model, batch._replace(label=torch.full_like(batch.label, float("nan"))))
    out.loss.backward()
    assert out.loss == 0
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


def test_heads_of_the_whole_width_equal_torch_s_layer(layer):
    own, torchs = layer(8, head_dim=8).eval(), layer(8, heads=1).eval()
    given = torchs.encoder.state_dict()
    state = {}
    for kind in ("weight", "bias"):
        mixed = given[f"self_attn.in_proj_{kind}"].chunk(3)
        state |= {f"{part}.{kind}": mixed[n] for n, part in enumerate(("query", "key", "value"))}
        for ours, theirs in (
            ("out", "self_attn.out_proj"),
            ("ff_in", "linear1"),
            ("ff_out", "linear2"),
            ("norm_mix", "norm1"),
            ("norm_ff", "norm2"),
        ):
            state[f"{ours}.{kind}"] = given[f"{theirs}.{kind}"]
    own.encoder.load_state_dict(state)
    z = latents(7, 8)
    torch.testing.assert_close(own.encode(z), torchs.encode(z))


def test_narrow_heads_are_those_that_the_paper_searched(layer):
    encoder = layer(16, head_dim=4, ff_dim=2).encoder
    # q, k, v to 4, back to 16, 16 to 2 and back, two norms
    count = 3 * (16 * 4 + 4) + (4 * 16 + 16) + (16 * 2 + 2) + (2 * 16 + 16) + 4 * 16
    assert sum(p.numel() for p in encoder.parameters()) == count
