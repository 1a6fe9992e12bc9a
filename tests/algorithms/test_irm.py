import sys
from types import ModuleType

import numpy as np
import pytest
import torch
from torch.nn import functional

from medldr.algorithms.irm import IRMConfig, irm_penalty, irm_slopes
from medldr.errors import InputError
from medldr.losses.base import Loss, LossConfig


@pytest.fixture
def build(standins):
    """A model, IRM and a batch of three equal blocks, all in float64."""

    def make(task="multi-class", spec=None, name="irm", **keys):
        spec = spec or standins.make_spec(task)
        model = standins.make_model(spec).double()
        algorithm = standins.make_algorithm(name, spec, model, **keys).train().double()
        batch = standins.make_batch(standins.make_spec(task))
        return model, algorithm, batch._replace(image=batch.image.double())

    return make


def draw(*shape, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def slope_by_autograd(losses, logits):
    """The definition: the derivative of a mean loss along a factor on the logits, at 1."""
    factor = torch.ones((), dtype=logits.dtype, requires_grad=True)
    return torch.autograd.grad(losses(factor * logits), factor)[0].item()


def penalty_by_autograd(losses, logits, target, domain):
    """Every other row of each domain against the rest, with a mean loss of chosen rows."""
    products = []
    for d in sorted(set(domain.tolist())):
        rows = (domain == d).nonzero()[:, 0]
        halves = rows[0::2], rows[1::2]
        one, other = (
            slope_by_autograd(lambda s, half=half: losses(s, target[half]), logits[half])
            for half in halves
        )
        products.append(one * other)
    return np.mean(products)


def masked_bce(logits, target):
    known = ~target.isnan()
    each = functional.binary_cross_entropy_with_logits(
        logits, target.nan_to_num().to(logits.dtype), reduction="none"
    )
    return ((each * known).sum(1) / known.sum(1).clamp_min(1)).mean()


def test_worked_values():
    logits = torch.tensor([[2.0, 0.0], [2.0, 0.0]], dtype=torch.float64)
    slopes = irm_slopes(logits, torch.tensor([0, 1]))
    assert slopes.tolist() == pytest.approx([-0.238406, 1.761594], abs=5e-7)
    assert irm_penalty([slopes]).item() == pytest.approx(-0.41998, abs=1e-5)
    zero = irm_slopes(torch.zeros(4, 7), torch.arange(4))
    assert irm_penalty([zero, zero]).item() == 0


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
@pytest.mark.parametrize("soft", [False, True])
def test_the_slope_of_cross_entropy_is_that_of_autograd(smoothing, soft):
    logits = 3 * draw(9, 5)
    target = draw(9, 5, seed=1).softmax(1) if soft else torch.arange(9) % 5
    slopes = irm_slopes(logits, target, label_smoothing=smoothing)
    for row in range(9):
        expected = slope_by_autograd(
            lambda s, row=row: functional.cross_entropy(
                s, target[row : row + 1], label_smoothing=smoothing
            ),
            logits[row : row + 1],
        )
        assert slopes[row].item() == pytest.approx(expected, abs=1e-12)


def test_the_slope_of_binary_cross_entropy_is_that_of_autograd_with_labels_missing():
    logits, target = 3 * draw(6, 4), (draw(6, 4, seed=1) > 0).double()
    target[0, 1] = target[2] = float("nan")
    slopes = irm_slopes(logits, target, multi_label=True)
    for row in range(6):
        expected = slope_by_autograd(
            lambda s, row=row: masked_bce(s, target[row : row + 1]), logits[row : row + 1]
        )
        assert slopes[row].item() == pytest.approx(expected, abs=1e-12)
    assert slopes[2].item() == 0


@pytest.mark.parametrize("sizes", [(2, 2), (3, 5, 4), (7,)])
def test_the_penalty_is_a_mean_of_products_of_halves_also_of_odd_blocks(sizes):
    blocks = [draw(n, seed=k) for k, n in enumerate(sizes)]
    arrays = [block.numpy() for block in blocks]
    expected = np.mean([a[::2].mean() * a[1::2].mean() for a in arrays])
    assert irm_penalty(blocks).item() == pytest.approx(expected, abs=1e-14)
    ones = [torch.ones_like(block) for block in blocks]
    assert irm_penalty(blocks, ones).item() == pytest.approx(expected, abs=1e-14)
    weights = [draw(n, seed=9).abs() for n in sizes]
    weighted = np.mean(
        [
            np.average(a[::2], weights=w[::2]) * np.average(a[1::2], weights=w[1::2])
            for a, w in zip(arrays, (w.numpy() for w in weights), strict=True)
        ]
    )
    assert irm_penalty(blocks, weights).item() == pytest.approx(weighted, abs=1e-14)


def test_a_half_without_any_weight_counts_nothing():
    assert irm_penalty([torch.ones(4)], [torch.tensor([0.0, 1.0, 0.0, 1.0])]).item() == 0


@pytest.mark.parametrize("domain", [[0, 1, 2] * 4, [0] * 5 + [1] * 4 + [2] * 3])
@pytest.mark.parametrize("task", ["multi-class", "binary", "multi-label"])
def test_the_loss_is_the_mean_risk_plus_the_weighted_penalty_of_the_definition(task, domain, build):
    model, algorithm, batch = build(task, weight=7.0, anneal_steps=0)
    batch = batch._replace(domain=torch.tensor(domain))
    out = algorithm.loss(model, batch)
    losses = masked_bce if task == "multi-label" else functional.cross_entropy
    logits = out.logits.detach()
    risks = [
        losses(logits[batch.domain == d], batch.label[batch.domain == d]).item() for d in range(3)
    ]
    penalty = penalty_by_autograd(losses, logits, batch.label, batch.domain)
    assert out.loss.item() == pytest.approx(np.mean(risks) + 7 * penalty, abs=1e-10)
    assert out.logs["loss/irm"].item() == pytest.approx(penalty, abs=1e-12)
    assert out.logs["loss/domain/south"].item() == pytest.approx(risks[1], abs=1e-12)


def test_class_weights_and_smoothing_are_those_of_the_loss_that_is_trained(build):
    loss = {"name": "cross_entropy", "label_smoothing": 0.1}
    model, algorithm, batch = build(weight=7.0, anneal_steps=0, loss=loss)
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    algorithm.use_class_weights(weights)
    out = algorithm.loss(model, batch)

    def losses(logits, label):
        each = functional.cross_entropy(logits, label, reduction="none", label_smoothing=0.1)
        return (each * weights[label]).sum() / weights[label].sum()

    expected = penalty_by_autograd(losses, out.logits.detach(), batch.label, batch.domain)
    assert out.logs["loss/irm"].item() == pytest.approx(expected, abs=1e-12)


def test_the_weight_is_1_before_the_switch(build):
    model, algorithm, batch = build(weight=7.0, anneal_steps=3)
    for steps, factor in ((0, 1.0), (2, 1.0), (3, 7.0)):
        algorithm.steps.fill_(steps)
        out = algorithm.loss(model, batch)
        added = (out.loss.detach() - out.logs["loss/original"]) / out.logs["loss/irm"]
        assert added.item() == pytest.approx(factor, rel=1e-9)


def test_half_precision_is_computed_in_float32_also_under_autocast():
    logits = (3 * draw(8, 4)).to(torch.bfloat16)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = irm_slopes(logits, torch.arange(8) % 4)
    assert found.dtype == torch.float32
    expected = irm_slopes(logits.double(), torch.arange(8) % 4)
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-6)


def test_a_domain_of_one_row_is_an_error(build):
    model, algorithm, batch = build()
    domain = torch.tensor([0] * 6 + [1] * 5 + [2])
    with pytest.raises(ValueError, match="at least two rows of every domain"):
        algorithm.loss(model, batch._replace(domain=domain))


def test_a_loss_whose_slope_is_not_known_is_refused_by_name(build, monkeypatch):
    class Other(Loss):
        def forward(self, logits, target):
            return logits.square().sum(1)

    module = ModuleType("outside.squares")
    module.Config, module.LOSS = LossConfig, Other
    monkeypatch.setitem(sys.modules, "outside.squares", module)
    with pytest.raises(InputError, match=r"irm does not support outside\.squares.*vrex"):
        build(loss="outside.squares")


def test_the_defaults_are_domainbeds():
    assert (IRMConfig().weight, IRMConfig().anneal_steps) == (100.0, 500)
