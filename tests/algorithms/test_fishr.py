"""Fishr against NumPy and against gradients that autograd takes sample by sample."""

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric
from torch import nn
from torch.nn import functional

from medldr import plugins
from medldr.algorithms.fishr import gradient_variances, residuals
from medldr.config.schema import TrainingConfig
from medldr.errors import InputError
from medldr.models import build_model
from medldr.training.optim import build_optimizers
from medldr.training.step import Stepper, TrainStep

NAN = float("nan")


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def by_autograd(head, z, loss_of_one):
    """Population variances of the head's gradients, each sample's taken by itself."""
    rows = []
    for number in range(len(z)):
        loss = loss_of_one(head(z[number : number + 1]), number)
        rows.append(torch.cat([g.flatten() for g in torch.autograd.grad(loss, head.parameters())]))
    return torch.stack(rows).numpy().var(0)


def distance(variances):
    """The penalty of variances ``(n, entries)``, by loops over domains."""
    mean = sum(variances) / len(variances)
    return float(np.mean([((v - mean) ** 2).mean() for v in variances]))


@pytest.fixture
def build(standins):
    def make(task="multi-class", spec=None, double=False, rows=12, **keys):
        spec = spec or standins.make_spec(task)
        model = standins.make_model(spec)
        batch = standins.make_batch(standins.make_spec(task), rows)
        if double:
            model.double()
            batch = batch._replace(image=batch.image.double())
        keys = {"anneal_steps": 0, **keys}
        algorithm = standins.make_algorithm("fishr", spec, model, **keys).train()
        return model, algorithm, batch

    return make


def stepper(model, algorithm, **options):
    training = TrainingConfig(lr=0.05, **{"optimizer": "sgd", **options})
    return Stepper(
        Fabric(accelerator="cpu", devices=1),
        TrainStep(model, algorithm).train(),
        build_optimizers(algorithm.optimizers(model), training),
        total=10,
    )


def test_they_equal_them_for_soft_labels():
    head = nn.Linear(5, 3).double()
    z, label = draw(6, 5), draw(6, 3, seed=1).softmax(1)
    found = gradient_variances(residuals(head(z), label, multi_label=False), z)
    expected = by_autograd(
        head, z, lambda logits, i: functional.cross_entropy(logits, label[i : i + 1])
    )
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12, atol=1e-14)


def test_they_equal_them_for_several_labels_of_which_some_are_missing(standins):
    spec = standins.make_spec("multi-label")
    loss = standins.make_algorithm("erm", spec, standins.make_model(spec)).classification
    head = nn.Linear(5, 4).double()
    z, label = draw(4, 5), (draw(4, 4, seed=1) > 0).double()
    label[0, 1] = label[2, 0] = label[2, 3] = NAN
    label[3] = NAN
    found = gradient_variances(residuals(head(z), label, multi_label=True), z)
    expected = by_autograd(head, z, lambda logits, i: loss(logits, label[i : i + 1]).sum())
    np.testing.assert_allclose(found.detach().numpy(), expected, rtol=1e-12, atol=1e-14)


def test_a_worked_value():
    # Zero logits of two classes: errors +-1/2. Gradients of the first class: z (1, 3), labels 1, 0
    # make 1/2 and -3/2, whose variance is 1; of its bias 1/2 and -1/2, variance 1/4.
    errors = residuals(torch.zeros(2, 2), torch.tensor([1, 0]), multi_label=False)
    found = gradient_variances(errors, torch.tensor([[1.0], [3.0]]))
    assert found.tolist() == [1.0, 1.0, 0.25, 0.25]


def test_one_sample_has_no_variance():
    errors, z = draw(1, 3), draw(1, 5, seed=1)
    assert gradient_variances(errors, z).abs().max() < 1e-14


@pytest.mark.parametrize("task", ["binary", "multi-label"])
def test_the_loss_adds_the_weighted_penalty_of_the_definition(task, build):
    model, algorithm, batch = build(task, double=True, rows=11, weight=0.3)
    out = algorithm.loss(model, batch)
    plain = algorithm.classification
    variances = []
    for domain in range(3):
        own = batch.select(batch.domain == domain)
        z = model.features(own.image).detach()

        def one(logits, i, own=own):
            return plain(logits, own.label[i : i + 1]).sum()

        variances.append(by_autograd(model.head, z, one))
    expected = distance(variances)
    assert out.logs["loss/fishr"].item() == pytest.approx(expected, rel=1e-10)
    original = algorithm.classification_loss(model(batch.image), batch.label).item()
    assert out.loss.item() == pytest.approx(original + 0.3 * expected, rel=1e-12)


def test_one_domain_in_a_batch_has_nothing_to_be_compared_with(build):
    model, algorithm, batch = build(double=True)
    out = algorithm.loss(model, batch.select(batch.domain == 1))
    assert out.logs["loss/fishr"] == 0
    assert algorithm.average[1].abs().sum() > 0
    assert algorithm.average[[0, 2]].abs().sum() == 0


@pytest.mark.parametrize("dtype", [torch.bfloat16])
def test_variances_are_float32_also_under_autocast(dtype, build):
    model, algorithm, batch = build()
    expected = algorithm.loss(model, batch).logs["loss/fishr"]
    algorithm.average.zero_()
    with torch.autocast("cpu", dtype=dtype):
        out = algorithm.loss(model, batch)
    assert out.logs["loss/fishr"].dtype == torch.float32
    torch.testing.assert_close(out.logs["loss/fishr"], expected, rtol=0.1, atol=0)


def test_averages_stay_in_eval_mode_and_sit_in_the_state(build):
    model, algorithm, batch = build()
    algorithm.eval()
    algorithm.loss(model, batch)
    assert algorithm.average.abs().sum() == 0
    assert algorithm.state_dict()["average"].shape == (3, 4 * 8 + 4)


@pytest.mark.parametrize(
    ("keys", "forgotten"),
    [
        ({"anneal_steps": 2}, [2]),
        ({"anneal_steps": 0}, []),
        ({"anneal_steps": 2, "weight": 0.0}, []),
        ({"anneal_steps": 2, "reset_optimizer": False}, []),
    ],
)
def test_the_optimizers_state_is_forgotten_at_the_switch_alone(keys, forgotten, build):
    model, algorithm, batch = build(**keys)
    step = stepper(model, algorithm, optimizer="adam")
    fresh = []
    for step.index in range(4):
        algorithm.update(step, batch)
        state = next(iter(step.optimizers["main"].state.values()))
        if step.index and state["step"] == 1:
            fresh.append(step.index)
    assert fresh == forgotten


def test_a_cosine_head_is_refused_with_the_cure(standins):
    spec = standins.make_spec()
    config = plugins.load("models", "resnet18").Config(name="resnet18", width=0.125, head="cosine")
    model = build_model(config, spec, seed=0)
    with pytest.raises(InputError, match=r"linear head.*CosineHead.*model\.head: linear"):
        standins.make_algorithm("fishr", spec, model)


def test_class_weights_change_the_loss_and_not_the_variances(build):
    model, algorithm, batch = build()
    algorithm.eval()
    plain = algorithm.loss(model, batch).logs
    algorithm.use_class_weights(torch.tensor([5.0, 1.0, 1.0, 1.0]))
    weighted = algorithm.loss(model, batch).logs
    assert plain["loss/original"] != weighted["loss/original"]
    assert plain["loss/fishr"] == weighted["loss/fishr"]
