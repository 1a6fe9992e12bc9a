import inspect
import math

import pytest
import torch
from pydantic import ValidationError
from torch.nn import functional

from medldr.algorithms.latentdr import LatentDRConfig
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


def test_loss_of_its_own_serves_all_terms_without_a_base(build):
    smooth = {"name": "cross_entropy", "label_smoothing": 0.4}
    model, algorithm, batch = build(loss=smooth)
    out = algorithm.loss(model, batch)
    expected = functional.cross_entropy(out.logits, batch.label, label_smoothing=0.4)
    torch.testing.assert_close(out.logs["loss/original"], expected.detach())


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"degrade": "none"}, "choose a degradation"),
        ({"restore": "none"}, "set restore to 'attention'"),
        ({"terms": []}, "plain training"),
        ({"terms": ["degradation"]}, "degraded"),
        ({"dropout": 1.0}, "less than 1"),
        ({"keep": 0.0}, "greater than 0"),
        ({"norm": "middle"}, "post"),
        ({"share_operators": True, "degrade": "pool"}, "two attention operators"),
        ({"weights": [1, -1, 1]}, "three finite numbers"),
    ],
)
def test_options_that_do_not_fit_fail_in_the_config(keys, message):
    with pytest.raises(ValidationError, match=message):
        LatentDRConfig.model_validate({"name": "latentdr", **keys})


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


def test_predictions_are_bit_identical_with_and_without_it(build):
    model, algorithm, batch = build()
    model.eval()
    with torch.no_grad():
        before = model(batch.image)
        algorithm.loss(model, batch)
        del algorithm
        assert torch.equal(model(batch.image), before)


def test_labels_all_missing_leave_a_finite_loss(build):
    model, algorithm, batch = build("multi-label")
    label = torch.full_like(batch.label, NAN)
    out = algorithm.loss(model, batch._replace(label=label))
    out.loss.backward()
    assert out.loss == 0
    assert all(torch.isfinite(p.grad).all() for p in model.parameters())


@pytest.mark.slow  # compilation
def test_it_compiles_to_the_same_loss(build):
    pytest.importorskip("torch._dynamo")
    model, algorithm, batch = build()
    algorithm.eval()
    expected = algorithm.loss(model, batch).loss
    compiled = torch.compile(algorithm.loss, backend="eager")
    torch.testing.assert_close(compiled(model, batch).loss, expected)
