"""BALMS against its definition: gradients in closed form in NumPy, draws by their frequencies."""

import copy

import numpy as np
import pytest
import torch
from lightning_fabric import Fabric

from medldr.config.method import method_id, method_title
from medldr.config.schema import TrainingConfig
from medldr.models.base import FeatureModel
from medldr.training.optim import build_optimizers, set_lr
from medldr.training.step import Stepper, TrainStep
from medldr.types import Batch, DataSpec

COUNTS = (60, 12, 3)


class Flat(FeatureModel):
    """Latents are the pixels: only the classifier learns."""

    def __init__(self, dim=4, classes=3):
        super().__init__(stage_dims=(dim,) * 5, dim=dim, num_classes=classes)

    def latents(self, image, taps=None):
        return image.flatten(1)


@pytest.fixture
def build(standins):
    """A model, the algorithm and a batch of 12 rows, all in float64."""

    def make(rows=12, counts=COUNTS, **keys):
        spec = DataSpec("multi-class", ("a", "b", "c"), counts, 1, (2, 2))
        torch.manual_seed(0)
        model = Flat().double()
        algorithm = standins.make_algorithm("balms", spec, model, **keys).double().train()
        row = torch.arange(rows)
        image = torch.randn(rows, 1, 2, 2).double() + (row % 3).view(-1, 1, 1, 1)
        return model, algorithm, Batch(image, row % 3, torch.full_like(row, -1), row, row)

    return make


def stepper(model, algorithm, lr=0.1, **options):
    training = TrainingConfig(steps=10, lr=lr, momentum=0.9, precision="float32", **options)
    return Stepper(
        Fabric(accelerator="cpu", devices=1),
        TrainStep(model, algorithm).train(),
        build_optimizers(algorithm.optimizers(model), training),
        total=10,
    )


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def soft_and_hard(label, theta, counts, temperature=1.0, seed=3):
    """The draws that torch's generator gives, ``(draws, rows)``, in NumPy."""
    torch.manual_seed(seed)
    noise = -np.log(torch.empty(len(label), len(label)).double().exponential_().numpy())
    chance = np.log(np.array(counts)[label] / (1 + np.exp(-theta[label])))
    soft = softmax((chance + noise) / temperature)
    return soft, np.eye(len(label))[soft.argmax(1)]


def rates(algorithm, values):
    with torch.no_grad():
        algorithm.rate_logits.copy_(torch.tensor(values, dtype=torch.float64))
    return np.array(values)


# ---------------------------------------------------------------- draws


@pytest.mark.parametrize("temperature", [1.0, 0.3])
def test_draws_are_of_whole_rows_and_their_gradient_is_the_soft_ones(build, temperature):
    _, algorithm, batch = build(temperature=temperature)
    theta = rates(algorithm, [0.4, -1.0, 2.0])
    soft, hard = soft_and_hard(batch.label.numpy(), theta, COUNTS, temperature)
    torch.manual_seed(3)
    drawn = algorithm.draw(batch.label)
    np.testing.assert_allclose(drawn.detach(), hard.mean(0), atol=1e-12)
    assert float(drawn.detach().sum()) == pytest.approx(1)
    worth = np.random.default_rng(0).normal(size=12)
    (drawn * torch.from_numpy(worth)).sum().backward()
    # d soft_bi / d theta_c = soft_bi ([y_i = c] - sum_j soft_bj [y_j = c]) (1 - rate_c) / T
    of_class = np.eye(3)[batch.label.numpy()]
    expected = (soft * worth) @ of_class - (soft @ worth)[:, None] * (soft @ of_class)
    expected = expected.mean(0) / (1 + np.exp(theta)) / temperature
    np.testing.assert_allclose(algorithm.rate_logits.grad, expected, rtol=1e-9)


def test_classes_are_drawn_by_their_rate_times_their_images(build):
    """As often as in a draw from the whole training set, whatever the pool."""
    _, algorithm, batch = build()
    theta = rates(algorithm, [-2.0, 0.0, 3.0])
    torch.manual_seed(0)
    with torch.no_grad():
        drawn = torch.stack([algorithm.draw(batch.label) for _ in range(600)]).mean(0)
    found = np.bincount(batch.label, weights=drawn)
    weight = np.array(COUNTS) / (1 + np.exp(-theta))
    expected = weight / weight.sum()
    error = np.sqrt(expected * (1 - expected) / (600 * 12))
    assert (np.abs(found - expected) < 4 * error).all()
    assert np.abs(expected - np.array(COUNTS) / sum(COUNTS)).max() > 0.1


def test_at_first_draws_are_as_frequent_as_training_images(build):
    _, algorithm, _ = build()
    assert not algorithm.rate_logits.any()
    one_of_each = torch.arange(3)
    with torch.no_grad():
        torch.manual_seed(0)
        found = torch.stack([algorithm.draw(one_of_each) for _ in range(3000)]).mean(0)
    np.testing.assert_allclose(found, np.array(COUNTS) / sum(COUNTS), atol=0.02)


# ---------------------------------------------------------------- losses


def test_the_loss_is_the_mean_of_the_drawn_rows(build):
    model, algorithm, batch = build()
    theta = rates(algorithm, [0.4, -1.0, 2.0])
    _, hard = soft_and_hard(batch.label.numpy(), theta, COUNTS)
    torch.manual_seed(3)
    out = algorithm.loss(model, batch)
    label = batch.label.numpy()
    log_p = np.log(softmax(out.logits.detach().numpy() + np.log(COUNTS)))
    expected = -log_p[np.arange(12), label][hard.argmax(1)].mean()
    assert out.loss.item() == pytest.approx(expected, rel=1e-6)  # float32 logarithms of counts
    out.loss.backward()
    assert algorithm.rate_logits.grad is None


def closed_form(model, batch, theta, lr, temperature=1.0):
    """Score after the trial step, and its gradient with respect to the free parameters."""
    z = batch.image.flatten(1).numpy()
    z = np.hstack([z, np.ones((len(z), 1))])
    weight = np.hstack([p.detach().numpy().reshape(3, -1) for p in model.head.parameters()])
    label = batch.label.numpy()
    half = len(z) // 2
    pool, scored = slice(0, half), slice(half, None)
    logs = np.log(np.array(COUNTS)).astype(np.float32)
    of_class = np.eye(3)[label]
    away = softmax(z[pool] @ weight.T + logs) - of_class[pool]
    slopes = away[:, :, None] * z[pool][:, None, :]
    soft, hard = soft_and_hard(label[pool], theta, COUNTS, temperature)
    moved = weight - lr * np.einsum("i,ijk->jk", hard.mean(0), slopes)
    p = softmax(z[scored] @ moved.T)
    score = -np.log(p[np.arange(half), label[scored]]).mean()
    of_score = (p - of_class[scored]).T @ z[scored] / half
    worth = -lr * np.einsum("jk,ijk->i", of_score, slopes)
    slope = (soft * worth) @ of_class[pool] - (soft @ worth)[:, None] * (soft @ of_class[pool])
    return score, slope.mean(0) / (1 + np.exp(theta)) / temperature


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_the_score_and_its_gradient_equal_their_closed_form(build, temperature):
    model, algorithm, batch = build(temperature=temperature)
    theta = rates(algorithm, [0.4, -1.0, 2.0])
    algorithm.trial_lr.fill_(0.7)
    score, slope = closed_form(model, batch, theta, 0.7, temperature)
    torch.manual_seed(3)
    out = algorithm.meta_loss(model, batch)
    out.loss.backward()
    assert out.loss.item() == pytest.approx(score, rel=1e-9)
    np.testing.assert_allclose(algorithm.rate_logits.grad, slope, rtol=1e-7)
    assert all(p.grad is None for p in model.parameters())
    assert np.abs(slope).min() > 1e-5


def test_the_gradient_of_the_score_is_a_difference_of_scores(build):
    """With soft draws, which are a smooth function of the rates."""
    model, algorithm, batch = build()

    def soft(label):
        chance = (algorithm.images.log() + algorithm.rate_logits.sigmoid().log())[label]
        return torch.nn.functional.gumbel_softmax(chance.expand(6, -1)).mean(0)

    algorithm.draw = soft
    algorithm.trial_lr.fill_(0.7)

    def score(values):
        rates(algorithm, values)
        torch.manual_seed(3)
        return algorithm.meta_loss(model, batch).loss

    score([0.4, -1.0, 2.0]).backward()
    for k in range(3):
        up, down = ([0.4, -1.0, 2.0] for _ in range(2))
        up[k], down[k] = up[k] + 1e-5, down[k] - 1e-5
        difference = (score(up) - score(down)).item() / 2e-5
        assert algorithm.rate_logits.grad[k].item() == pytest.approx(difference, rel=1e-6)


def test_class_weights_count_in_the_trial_step_but_not_in_the_score(build):
    model, algorithm, batch = build()
    scores = []
    for weights, lr in (([1.0, 1, 1], 0.0), ([5.0, 1, 1], 0.0), ([1.0, 1, 1], 1), ([5.0, 1, 1], 1)):
        algorithm.use_class_weights(torch.tensor(weights).double())
        algorithm.trial_lr.fill_(lr)
        torch.manual_seed(3)
        scores.append(algorithm.meta_loss(model, batch).loss.item())
    assert scores[0] == scores[1]
    assert scores[2] != scores[3]


# ---------------------------------------------------------------- updates


def test_an_update_is_a_step_of_adam_and_one_of_the_classifier(build):
    model, algorithm, batch = build(inner_lr_scale=2.0)
    expected_model = copy.deepcopy(model)
    step = stepper(model, algorithm, lr=0.1, weight_decay=0.0)
    set_lr(step.optimizers, 0.5)
    _, slope = closed_form(model, batch, np.zeros(3), lr=2.0 * 0.05)
    torch.manual_seed(3)
    out = algorithm.update(step, batch)
    # Adam's first step: the gradient over its own size.
    theta = -0.01 * slope / (np.abs(slope) + 1e-8)
    np.testing.assert_allclose(algorithm.rate_logits.detach(), theta, rtol=1e-7)
    # The new draw is the second one of the generator, at the new rates.
    torch.manual_seed(3)
    torch.empty(6, 6).double().exponential_()
    pool = batch.select(torch.arange(6))
    loss = algorithm.loss(expected_model, pool).loss
    slopes = torch.autograd.grad(loss, list(expected_model.parameters()))
    for p, before, g in zip(model.parameters(), expected_model.parameters(), slopes, strict=True):
        torch.testing.assert_close(p, before - 0.05 * g, rtol=1e-9, atol=1e-12)
    assert out.loss.item() == pytest.approx(loss.item())
    assert not out.loss.requires_grad
    # Of all rows, in the order of the batch, before the step.
    torch.testing.assert_close(out.logits, expected_model.classify(batch.image.flatten(1)).detach())
    torch.testing.assert_close(out.z, batch.image.flatten(1))
    assert set(out.logs) == {"loss/original", "loss/meta", "rate/lowest", "rate/highest"}


def test_classes_whose_images_harm_are_drawn_less(build):
    """Class a's images in the pool are labelled wrongly: those of b and c help the score."""
    model, algorithm, _ = build(loss="cross_entropy", counts=(10, 10, 10))
    with torch.no_grad():
        for p in model.head.parameters():
            p.zero_()
    step = stepper(model, algorithm, lr=0.5)
    corners = torch.eye(4).double()
    for number in range(60):
        torch.manual_seed(number)
        label = torch.arange(24) % 3
        shown = label.clone()
        shown[:12] = torch.where(label[:12] == 0, 1 + torch.arange(12) % 2, label[:12])
        image = corners[shown].view(-1, 1, 2, 2) + 0.1 * torch.randn(24, 1, 2, 2).double()
        algorithm.update(step, Batch(image, label, label * 0, label, torch.arange(24)))
    a, b, c = algorithm.rate_logits.sigmoid().tolist()
    assert a < 0.45
    assert min(b, c) > 0.5


def test_an_unset_loss_is_balanced_softmax(build):
    _, unset, _ = build()
    _, named, _ = build(loss="balanced_softmax")
    _, other, _ = build(loss="cross_entropy")
    names = [algorithm.classification.config.name for algorithm in (unset, named, other)]
    assert names == ["balanced_softmax", "balanced_softmax", "cross_entropy"]


def test_its_own_loss_is_no_part_of_its_name():
    for loss in (None, "balanced_softmax"):
        config = {"algorithm": {"name": "balms"} | ({"loss": {"name": loss}} if loss else {})}
        assert (method_title(config), method_id(config)) == ("BALMS (meta-sampler)", "balms")
    config = {"algorithm": {"name": "balms", "loss": {"name": "ldam"}}}
    assert method_id(config) == "balms+ldam"
