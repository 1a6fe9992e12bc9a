import dataclasses
import inspect
import math

import numpy as np
import pytest
import torch
from torch.nn import functional

from medldr.algorithms.latentdr import LatentDRConfig
from medldr.errors import InputError
from medldr.latent import LatentDR
from medldr.models.base import CosineHead

NAN = float("nan")


@pytest.fixture
def build(standins):
    def make(task="multi-class", **keys):
        spec = standins.make_spec(task)
        model = standins.make_model(spec)
        algorithm = standins.make_algorithm("latentdr", spec, model, **keys)
        return model, algorithm, standins.make_batch(spec)

    return make


def test_every_option_of_the_method_is_a_key_with_the_same_default():
    options = inspect.signature(LatentDR).parameters
    keys = LatentDRConfig.model_fields
    for name, option in options.items():
        if name in ("dim", "num_classes", "multi_label"):
            continue
        assert keys[name].default == option.default, name
    assert keys["lr_scale"].default == 0.5
    assert keys["set_scope"].default == "global"


@pytest.mark.parametrize("task", ["multi-class", "binary", "ordinal", "multi-label"])
@pytest.mark.parametrize("degrade", ["attention", "pool"])
def test_loss_equals_the_method_in_a_plain_loop(task, degrade, build):
    model, algorithm, batch = build(task, degrade=degrade)
    algorithm.eval()
    out = algorithm.loss(model, batch)
    z = model.features(batch.image)
    expected = algorithm.augment.loss(z, batch.label, model.classify)
    torch.testing.assert_close(out.loss, expected)
    terms = [out.logs[f"loss/{term}"] for term in ("original", "degraded", "restored")]
    torch.testing.assert_close(out.loss.detach(), torch.stack(terms).sum())


def test_on_zero_logits_the_loss_is_three_times_log_k(build):
    for task, log_k in (("multi-class", math.log(4)), ("binary", math.log(2))):
        model, algorithm, batch = build(task)
        with torch.no_grad():
            model.head.weight.zero_()
            model.head.bias.zero_()
        assert algorithm.loss(model, batch).loss.item() == pytest.approx(3 * log_k, rel=1e-6)
    model, algorithm, batch = build("multi-label")
    with torch.no_grad():
        model.head.weight.zero_()
        model.head.bias.zero_()
    batch = batch._replace(label=batch.label.nan_to_num())
    assert algorithm.loss(model, batch).loss.item() == pytest.approx(3 * math.log(2), rel=1e-6)


def test_logs_are_the_terms_and_the_accuracies(build):
    model, algorithm, batch = build()
    algorithm.eval()
    out = algorithm.loss(model, batch)
    assert set(out.logs) == {
        "loss/original",
        "loss/degraded",
        "loss/degraded_excess",
        "loss/restored",
        "accuracy/degraded",
        "accuracy/restored",
    }
    views = algorithm.augment(out.z)
    for name, z in views._asdict().items():
        right = (model.classify(z).argmax(1) == batch.label).float().mean()
        assert out.logs[f"accuracy/{name}"] == right


def test_the_encoder_runs_once_and_the_base_is_not_changed(build):
    model, algorithm, batch = build(base={"name": "outside.projection", "factor": 0.5})
    out = algorithm.loss(model, batch)
    assert model.passes == 1
    base = algorithm.base.loss(model, batch)
    torch.testing.assert_close(out.logits, base.logits)
    assert out.logs["loss/projection"] == base.logs["loss/projection"]
    assert out.logs["loss/original"] == base.logs["loss/original"]
    extra = out.logs["loss/degraded"] + out.logs["loss/restored"]
    torch.testing.assert_close(out.loss.detach(), base.loss.detach() + extra)
    out.loss.backward()
    assert all(p.grad.abs().sum() > 0 for p in algorithm.base.parameters())


def test_the_base_gives_the_classification_loss_of_all_terms(build):
    smooth = {"name": "cross_entropy", "label_smoothing": 0.4}
    model, algorithm, batch = build(base={"name": "outside.projection", "loss": smooth})
    algorithm.eval()
    out = algorithm.loss(model, batch)
    z_r = algorithm.augment(out.z).restored
    expected = functional.cross_entropy(model.classify(z_r), batch.label, label_smoothing=0.4)
    torch.testing.assert_close(out.logs["loss/restored"], expected.detach())


def test_a_set_of_one_sample_without_it_is_an_error(build):
    model, algorithm, batch = build(include_query=False)
    one = batch.select(torch.tensor([0]))
    with pytest.raises(ValueError, match="at least two latents"):
        algorithm.loss(model, one)


def test_one_sample_is_fine_otherwise(build):
    model, algorithm, batch = build()
    assert torch.isfinite(algorithm.loss(model, batch.select(torch.tensor([0]))).loss)


def test_a_classifier_of_its_own_is_of_the_model_s_kind(standins):
    spec = standins.make_spec()
    model = standins.make_model(spec)
    model.head = CosineHead(model.dim, spec.num_classes)
    algorithm = standins.make_algorithm("latentdr", spec, model, share_classifier=False)
    own = algorithm.augment.own_classifier
    assert isinstance(own, CosineHead)
    assert own.weight is not model.head.weight
    out = algorithm.loss(model, standins.make_batch(spec))
    out.loss.backward()
    assert own.weight.grad.abs().sum() > 0


@pytest.mark.parametrize("share", [True, False])
def test_every_parameter_is_in_the_one_optimizer_once(share, build):
    model, algorithm, _ = build(base="outside.projection", share_classifier=share)
    groups = algorithm.optimizers(model)
    assert set(groups) == {"main"}
    given = [id(p) for group in groups["main"] for p in group["params"]]
    everything = [id(p) for m in (model, algorithm) for p in m.parameters()]
    assert sorted(given) == sorted(set(everything))


def test_a_method_without_parameters_has_one_group(build):
    model, algorithm, _ = build(degrade="gaussian", terms=["degraded"])
    assert len(algorithm.optimizers(model)["main"]) == 1


def test_labels_all_missing_leave_a_finite_loss(build):
    model, algorithm, batch = build("multi-label")
    label = torch.full_like(batch.label, NAN)
    out = algorithm.loss(model, batch._replace(label=label))
    out.loss.backward()
    assert out.loss == 0
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


@pytest.mark.parametrize("task", ["multi-class", "multi-label"])
def test_the_degraded_term_is_logged_above_the_entropy_of_its_label(task, build):
    model, algorithm, batch = build(task)
    logs = algorithm.eval().loss(model, batch).logs
    labels = batch.label.double().numpy()
    if task == "multi-label":
        p = np.nanmean(labels, axis=0)
        entropy = -(p * np.log(p) + (1 - p) * np.log(1 - p)).mean()
    else:
        p = np.bincount(batch.label) / len(labels)
        entropy = -(p * np.log(p)).sum()
    found = logs["loss/degraded_excess"].item()
    assert found == pytest.approx(logs["loss/degraded"].item() - entropy, rel=1e-4)
    assert found > 0
    with torch.no_grad():  # a classifier that answers with the mean label
        model.head.weight.zero_()
        odds = np.log(p / (1 - p)) if task == "multi-label" else np.log(p)
        model.head.bias.copy_(torch.from_numpy(odds))
    excess = algorithm.loss(model, batch).logs["loss/degraded_excess"].item()
    assert excess == pytest.approx(0, abs=1e-6)


def test_d_and_r_have_a_rate_and_a_decay_of_their_own_where_asked(build):
    model, algorithm, _ = build(share_classifier=False)
    (groups,) = algorithm.optimizers(model).values()
    assert [set(group) for group in groups] == [{"params"}, {"params"}]
    keys = {"operator_lr_scale": 0.1, "operator_weight_decay": 0.0}
    model, algorithm, _ = build(share_classifier=False, **keys)
    *_, operators, head = algorithm.optimizers(model)["main"]
    parts = (algorithm.augment.degradation, algorithm.augment.restoration)
    assert {id(p) for p in operators["params"]} == {id(p) for m in parts for p in m.parameters()}
    assert (operators["lr_scale"], operators["weight_decay"]) == (0.1, 0.0)
    assert list(head) == ["params"]
    own = algorithm.augment.own_classifier.parameters()
    assert [id(p) for p in head["params"]] == [id(p) for p in own]
    shared = build(share_operators=True, **keys)
    _, operators = shared[1].optimizers(shared[0])["main"]
    assert len(operators["params"]) == len(set(map(id, operators["params"])))
    with pytest.raises(InputError, match=r"algorithm\.operator_lr_scale .* no effect"):
        build(degrade="gaussian", terms=["degraded"], operator_lr_scale=0.5)


# Losses and weights for imbalanced classes


COUNTS = (40, 10, 3, 1)


@pytest.fixture
def imbalanced(standins):
    """LatentDR on data of unequal classes, in eval mode: model, algorithm, batch, latents."""

    def make(task="multi-class", **keys):
        spec = dataclasses.replace(standins.make_spec(task), class_counts=COUNTS)
        model = standins.make_model(spec).double()
        algorithm = standins.make_algorithm("latentdr", spec, model, **keys).double().eval()
        batch = standins.make_batch(spec)
        batch = batch._replace(image=batch.image.double())
        return model, algorithm, batch, algorithm.augment(model.features(batch.image)).degraded

    return make


def degraded_term(model, degraded, target, shift=0.0):
    """Mean over the rows of ``-sum_k target_k log softmax(logits + shift)_k``, in NumPy."""
    logits = model.classify(degraded).detach().numpy() + shift
    share = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    return -(target * np.log(share)).sum(1).mean()


@pytest.mark.parametrize(("chosen", "shift"), [("base", np.log(COUNTS)), ("plain", 0.0)])
@pytest.mark.parametrize("on_base", [True, False])
def test_the_degraded_term_has_the_base_s_loss_or_the_plain_one(chosen, shift, on_base, imbalanced):
    loss = {"name": "balanced_softmax"}
    stack = {"base": {"name": "erm", "loss": loss}} if on_base else {"loss": loss}
    model, algorithm, batch, degraded = imbalanced(degraded_loss=chosen, **stack)
    logs = algorithm.loss(model, batch).logs
    mean = np.bincount(batch.label, minlength=4) / len(batch.label)
    expected = degraded_term(model, degraded, mean, shift)
    assert logs["loss/degraded"].item() == pytest.approx(expected, rel=1e-6)
    z = model.classify(model.features(batch.image)).detach().numpy() + np.log(COUNTS)
    original = -np.log(np.exp(z) / np.exp(z).sum(1, keepdims=True))
    expected = original[np.arange(12), batch.label].mean()
    assert logs["loss/original"].item() == pytest.approx(expected, rel=1e-6)


def test_where_the_mean_label_is_the_frequencies_balanced_degraded_logits_are_level(imbalanced):
    # The lowest balanced loss against the training frequencies is that of equal logits.
    _, algorithm, _, _ = imbalanced(loss={"name": "balanced_softmax"})
    target = torch.tensor(COUNTS, dtype=torch.float64) / sum(COUNTS)
    z = torch.full((1, 4), 0.7, dtype=torch.float64, requires_grad=True)
    algorithm.classification_loss(z, target.unsqueeze(0)).backward()
    torch.testing.assert_close(z.grad, torch.zeros(1, 4).double(), atol=1e-8, rtol=0)


@pytest.mark.parametrize("chosen", ["equal", "weighted"])
def test_the_mean_label_takes_class_weights_only_where_asked(chosen, imbalanced):
    model, algorithm, batch, degraded = imbalanced(mean_label=chosen)
    weights = np.array([0.1, 1.0, 3.0, 0.5])
    algorithm.use_class_weights(torch.from_numpy(weights).float())
    logs = algorithm.loss(model, batch).logs
    of_samples = np.ones(12) if chosen == "equal" else weights[batch.label]
    mean = np.bincount(batch.label, of_samples, minlength=4) / of_samples.sum()
    expected = degraded_term(model, degraded, mean)
    assert logs["loss/degraded"].item() == pytest.approx(expected, rel=1e-6)


def test_a_weighted_mean_label_without_weights_is_the_equal_one_and_says_so(imbalanced, run_config):
    model, algorithm, batch, _ = imbalanced(mean_label="weighted")
    plain = imbalanced()[1]
    plain.load_state_dict(algorithm.state_dict())
    assert torch.equal(algorithm.loss(model, batch).loss, plain.loss(model, batch).loss)
    [note] = algorithm.check_run(run_config(), processes=1, steps=1)
    assert "training.class_weights is not set" in note
    weighed = run_config(training={"class_weights": "balanced"})
    assert algorithm.check_run(weighed, processes=1, steps=1) == []


def test_a_weighted_mean_label_leaves_out_missing_entries(imbalanced):
    model, algorithm, batch, _ = imbalanced("multi-label", mean_label="weighted")
    algorithm.use_class_weights(torch.tensor([0.1, 1.0, 3.0, 0.5]))
    label, known = batch.label.numpy(), ~np.isnan(batch.label.numpy())
    sums = np.nan_to_num(label) @ np.array([0.1, 1.0, 3.0, 0.5])
    w = np.where(np.nan_to_num(label).sum(1) > 0, sums, 1.0)[:, None]
    expected = (w * np.nan_to_num(label)).sum(0) / (w * known).sum(0)
    found = algorithm._mean_label(batch.label)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-6)
    assert algorithm.loss(model, batch).loss.isfinite()


@pytest.mark.parametrize("key", ["degraded_loss: plain", "mean_label: weighted"])
def test_settings_of_a_term_that_is_not_there_are_refused(key, imbalanced):
    name, value = key.split(": ")
    with pytest.raises(InputError, match=rf"algorithm\.{key} has no effect"):
        imbalanced(terms=["restored"], **{name: value})
