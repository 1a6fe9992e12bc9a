"""What holds for every method that mixes pairs: ERM at share 1, and missing labels."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from medldr.algorithms._mixing import Pairs
from medldr.errors import InputError
from medldr.models.base import FeatureModel
from medldr.types import TASKS

NAN = float("nan")
NO_MIXING = {
    "mixup": {"alpha": 0},
    "cutmix": {"beta": 0},
    "manifold_mixup": {"alpha": 0},
}
PARTNER = torch.tensor([3, 0, 5, 1, 4, 7, 2, 6])


class Plain(FeatureModel):
    """One convolution; unlike the stand-in it counts nothing, which compiled code would notice."""

    def __init__(self, spec):
        super().__init__(stage_dims=(4,) * 5, dim=4, num_classes=spec.num_classes)
        self.convolution = torch.nn.Conv2d(spec.channels, 4, 3)

    def features(self, image, taps=None):
        return self.tap("stage1", self.convolution(image), taps).flatten(2).mean(2)


@pytest.fixture
def build(standins):
    """A method, ERM, and a model and a batch for both: 8 pictures or volumes."""

    def make(name, task="multi-class", dims=2, **keys):
        spec = standins.make_spec(task)
        batch = standins.make_batch(spec, 8)
        if dims == 3:
            spec = replace(spec, spatial_size=(4, 5, 6))
            generator = torch.Generator().manual_seed(4)
            batch = batch._replace(image=torch.randn(8, 1, 4, 5, 6, generator=generator))
        model = standins.make_model(spec)
        erm = standins.make_algorithm("erm", spec, model)
        return model, standins.make_algorithm(name, spec, model, **keys), erm, batch

    return make


def force(algorithm, share, partner=PARTNER):
    """Have the method draw these pairs."""
    pairs = Pairs(torch.tensor(share, dtype=torch.float64), partner)
    algorithm.draw = lambda rows: pairs
    return algorithm


def gradients(algorithm, model, batch):
    model.zero_grad()
    out = algorithm.loss(model, batch)
    out.loss.backward()
    return out, {name: p.grad.clone() for name, p in model.named_parameters()}


def expect_equal(found, expected):
    """Loss, logits and gradients, bit for bit."""
    assert torch.equal(found[0].loss, expected[0].loss)
    assert torch.equal(found[0].logits, expected[0].logits)
    assert torch.equal(found[0].z, expected[0].z)
    assert set(found[1]) == set(expected[1])
    for name, gradient in expected[1].items():
        assert torch.equal(found[1][name], gradient), name


def cross_entropy(logits, label):
    """NumPy's own mean over the samples, in float64."""
    logits = logits.detach().numpy().astype(np.float64)
    return np.mean(
        [np.log(np.exp(row).sum()) - row[k] for row, k in zip(logits, label.tolist(), strict=True)]
    )


def binary_cross_entropy(logits, label):
    """NumPy's own mean over the samples of the mean over their known entries, in float64."""
    logits = logits.detach().numpy().astype(np.float64)
    each = []
    for row, known in zip(logits, label.numpy().astype(np.float64), strict=True):
        terms = [np.log1p(np.exp(s)) - y * s for s, y in zip(row, known, strict=True) if y == y]
        each.append(np.mean(terms) if terms else 0.0)
    return np.mean(each)


@pytest.mark.parametrize("dims", [2, 3])
@pytest.mark.parametrize("task", TASKS)
@pytest.mark.parametrize("name", NO_MIXING)
def test_share_1_is_erm_bit_for_bit(name, task, dims, build):
    # With missing labels among them: row 0 of the multi-label batch knows nothing.
    model, algorithm, erm, batch = build(name, task, dims)
    expected = gradients(erm, model, batch)
    for _ in range(4):  # of Manifold Mixup's places
        found = gradients(force(algorithm, 1.0), model, batch)
        expect_equal(found, expected)
        assert found[0].logs["lambda"] == 1
        assert torch.equal(found[0].logs["loss/mixed"], expected[0].loss)


@pytest.mark.parametrize("name", NO_MIXING)
def test_share_1_is_erm_also_with_class_weights_and_where_all_labels_are_missing(name, build):
    model, algorithm, erm, batch = build(name)
    for one in (algorithm, erm):
        one.use_class_weights(torch.tensor([3.0, 0.0, 1.0, 0.5]))
    expect_equal(gradients(force(algorithm, 1.0), model, batch), gradients(erm, model, batch))
    model, algorithm, erm, batch = build(name, "multi-label")
    for one in (algorithm, erm):
        one.use_class_weights(torch.tensor([3.0, 0.0, 1.0, 0.5]))
    batch = batch._replace(label=torch.full_like(batch.label, NAN))
    expect_equal(gradients(force(algorithm, 1.0), model, batch), gradients(erm, model, batch))


@pytest.mark.parametrize("name", NO_MIXING)
def test_share_1_is_erm_under_bfloat16(name, build):
    model, algorithm, erm, batch = build(name)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        expected = gradients(erm, model, batch)
        expect_equal(gradients(force(algorithm, 1.0), model, batch), expected)


@pytest.mark.parametrize("name", NO_MIXING)
def test_outside_of_training_nothing_is_mixed_or_drawn(name, build):
    model, algorithm, erm, batch = build(name)
    algorithm.eval()
    state = torch.get_rng_state()
    expect_equal(gradients(algorithm, model, batch), gradients(erm, model, batch))
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("name", NO_MIXING)
def test_missing_labels_count_in_neither_term(name, build):
    model, algorithm, _, batch = build(name, "multi-label")
    assert batch.label[0].isnan().all()
    assert batch.label[1].isnan().any()
    out = force(algorithm, 0.25).loss(model, batch)
    share = out.logs["lambda"].item()
    first, second = (
        binary_cross_entropy(out.logits, label) for label in (batch.label, batch.label[PARTNER])
    )
    assert out.loss.item() == pytest.approx(share * first + (1 - share) * second, rel=1e-5)


@pytest.mark.parametrize("name", NO_MIXING)
def test_class_weights_weigh_each_term_by_its_own_label(name, build):
    model, algorithm, _, batch = build(name)
    weights = np.array([3.0, 0.5, 1.0, 0.0])
    algorithm.use_class_weights(torch.tensor(weights, dtype=torch.float32))
    out = force(algorithm, 0.25).loss(model, batch)
    share = out.logs["lambda"].item()
    terms = []
    for label in (batch.label, batch.label[PARTNER]):
        each = np.array([cross_entropy(out.logits[i : i + 1], label[i : i + 1]) for i in range(8)])
        terms.append((each * weights[label]).sum() / weights[label].sum())
    assert out.loss.item() == pytest.approx(share * terms[0] + (1 - share) * terms[1], rel=1e-5)


@pytest.mark.parametrize("task", ["multi-class", "multi-label"])
@pytest.mark.parametrize("name", NO_MIXING)
def test_logs_hold_the_share_and_the_accuracy_weighted_in_its_way(name, task, build):
    model, algorithm, _, batch = build(name, task)
    # A network that is not trained gives all rows one class; these logits tell rows apart.
    fixed = torch.randn(8, 4, generator=torch.Generator().manual_seed(1))
    model.classify = lambda z: fixed + 0 * z.sum()
    out = force(algorithm, 0.25).loss(model, batch)
    assert set(out.logs) == {"loss/mixed", "accuracy/mixed", "lambda"}
    share = out.logs["lambda"].item()
    logits = out.logits.detach().numpy()
    right = []
    for label in (batch.label.numpy(), batch.label[PARTNER].numpy()):
        if task == "multi-class":
            right.append(np.mean(logits.argmax(1) == label))
        else:
            known = ~np.isnan(label)
            right.append(np.mean((logits > 0)[known] == (label > 0.5)[known]))
    assert abs(right[0] - right[1]) > 0.05
    expected = share * right[0] + (1 - share) * right[1]
    assert out.logs["accuracy/mixed"].item() == pytest.approx(expected, rel=1e-6)
    assert out.logs["loss/mixed"] == out.loss


@pytest.mark.parametrize("name", NO_MIXING)
def test_a_label_smoothing_of_the_users_own_is_used_in_both_terms(name, build):
    smooth = {"name": "cross_entropy", "label_smoothing": 0.3}
    model, algorithm, _, batch = build(name, loss=smooth)
    out = force(algorithm, 0.25).loss(model, batch)
    share = out.logs["lambda"]
    first, second = (
        torch.nn.functional.cross_entropy(out.logits, label, label_smoothing=0.3)
        for label in (batch.label, batch.label[PARTNER])
    )
    torch.testing.assert_close(out.loss, share * first + (1 - share) * second)


@pytest.mark.parametrize("name", NO_MIXING)
def test_nothing_stacks_on_a_method_that_mixes_labels(name, build, standins):
    model, algorithm, _, _ = build(name)
    assert algorithm.mixes_labels
    assert not algorithm.set_based
    assert not list(algorithm.parameters())
    with pytest.raises(InputError, match=f"algorithm.base: {name} mixes labels"):
        standins.make_algorithm("latentdr", standins.make_spec(), model, base={"name": name})


@pytest.mark.parametrize("name", NO_MIXING)
def test_one_row_alone_is_itself(name, build):
    model, algorithm, erm, batch = build(name)
    alone = batch.select(torch.tensor([2]))
    torch.testing.assert_close(algorithm.loss(model, alone).loss, erm.loss(model, alone).loss)


@pytest.mark.parametrize("name", NO_MIXING)
def test_infinite_or_negative_concentrations_are_refused(name, build):
    key = next(iter(NO_MIXING[name]))
    for value in (-0.1, float("inf"), NAN):
        with pytest.raises(ValueError, match=key):
            build(name, **{key: value})


@pytest.mark.parametrize("name", NO_MIXING)
def test_the_host_never_looks_at_what_is_on_the_device(name, build):
    # Tensors on the meta device have no values; any look at one is an error.
    _, algorithm, _, batch = build(name)
    model = Plain(algorithm.spec).to("meta")
    for _ in range(4):
        z, pairs = algorithm.mixed_latents(model, batch.image.to("meta"), algorithm.draw(8))
        assert z.is_meta
        assert z.shape == (8, 4)
        assert pairs.share.is_meta
        assert pairs.share.dtype == torch.float32


@pytest.mark.slow  # compilation
@pytest.mark.parametrize("name", ["mixup", "cutmix"])
def test_compiled_code_serves_every_share(name, build):
    _, algorithm, _, batch = build(name)
    model = Plain(algorithm.spec)
    torch._dynamo.reset()
    compiled = torch.compile(algorithm.loss, backend="eager", fullgraph=True)
    with torch._dynamo.config.patch(error_on_recompile=True):
        for _ in range(3):
            state = torch.get_rng_state()
            found = compiled(model, batch)
            torch.set_rng_state(state)
            expected = algorithm.loss(model, batch)
            torch.testing.assert_close(found.loss, expected.loss)
            assert found.logs["lambda"] == expected.logs["lambda"]
