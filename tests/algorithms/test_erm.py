import math

import pytest
import torch
from torch.nn import functional

from medldr.algorithms import Algorithm


def test_loss_is_the_mean_cross_entropy_and_adds_nothing(standins):
    spec = standins.make_spec()
    model, batch = standins.make_model(spec), standins.make_batch(spec)
    algorithm = standins.make_algorithm("erm", spec, model)
    out = algorithm.loss(model, batch)
    assert torch.equal(out.logits, model(batch.image))
    torch.testing.assert_close(out.loss, functional.cross_entropy(out.logits, batch.label))
    assert set(out.logs) == {"loss/original"}
    assert not list(algorithm.parameters())
    assert not algorithm.set_based
    assert type(algorithm).update is Algorithm.update


def test_label_smoothing_is_an_option_of_its_loss(standins):
    spec = standins.make_spec()
    model, batch = standins.make_model(spec), standins.make_batch(spec)
    smooth = {"name": "cross_entropy", "label_smoothing": 0.3}
    algorithm = standins.make_algorithm("erm", spec, model, loss=smooth)
    expected = functional.cross_entropy(model(batch.image), batch.label, label_smoothing=0.3)
    torch.testing.assert_close(algorithm.loss(model, batch).loss, expected)


@pytest.mark.parametrize(("classes", "expected"), [(7, 1.94591), (345, 5.84354)])
def test_on_zero_logits_the_loss_is_log_k(classes, expected, standins):
    spec = standins.make_spec(classes=classes)
    model = standins.make_model(spec).double()
    torch.nn.init.zeros_(model.head.weight)
    torch.nn.init.zeros_(model.head.bias)
    batch = standins.make_batch(spec)
    algorithm = standins.make_algorithm("erm", spec, model)
    loss = algorithm.loss(model, batch._replace(image=batch.image.double())).loss.item()
    assert loss == pytest.approx(math.log(classes), rel=1e-12) == pytest.approx(expected, abs=1e-5)


def test_a_batch_of_equal_blocks_counts_as_the_mean_of_the_domains(standins):
    spec = standins.make_spec()
    model, batch = standins.make_model(spec).double(), standins.make_batch(spec)
    batch = batch._replace(image=batch.image.double())
    algorithm = standins.make_algorithm("erm", spec, model)
    parts = [algorithm.loss(model, part).loss for part in batch.by_domain()]
    losses = (algorithm.loss(model, batch).loss, sum(parts) / 3)
    gradients = [torch.autograd.grad(loss, list(model.parameters())) for loss in losses]
    assert losses[0].item() == pytest.approx(losses[1].item(), rel=1e-12)
    for whole, mean in zip(*gradients, strict=True):
        torch.testing.assert_close(whole, mean, rtol=1e-10, atol=1e-12)
