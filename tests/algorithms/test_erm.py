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
