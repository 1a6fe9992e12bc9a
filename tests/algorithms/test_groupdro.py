import numpy as np
import pytest
import torch

from medldr.algorithms.groupdro import GroupDROConfig, moved


@pytest.fixture
def build(standins):
    """A model, GroupDRO and a batch of three equal blocks, all in float64."""

    def make(task="multi-class", spec=None, name="groupdro", **keys):
        spec = spec or standins.make_spec(task)
        model = standins.make_model(spec).double()
        algorithm = standins.make_algorithm(name, spec, model, **keys).train().double()
        batch = standins.make_batch(standins.make_spec(task))
        return model, algorithm, batch._replace(image=batch.image.double())

    return make


def backward(model, algorithm, batch):
    model.zero_grad()
    out = algorithm.loss(model, batch)
    out.loss.backward()
    return out, torch.cat([p.grad.flatten() for p in model.parameters()])


def risks_of(out, batch):
    logits, label = out.logits.detach().numpy(), batch.label.numpy()
    losses = np.log(np.exp(logits).sum(1)) - logits[np.arange(len(label)), label]
    domain = batch.domain.numpy()
    return np.array([losses[domain == d].mean() for d in np.unique(domain)])


def test_worked_values():
    risks = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    q = moved(torch.zeros(3, dtype=torch.float64), torch.arange(3), 0.01 * risks).exp()
    assert q.tolist() == pytest.approx([0.330006, 0.333322, 0.336672], abs=5e-7)
    assert (q * risks).sum().item() == pytest.approx(2.006667, abs=5e-7)


def test_fixed_risks_send_the_weight_to_the_largest_and_it_comes_back_when_another_is():
    log_q, risks = torch.zeros(3), torch.tensor([1.0, 5.0, 2.0])
    for _ in range(2000):
        log_q = moved(log_q, torch.arange(3), 0.1 * risks)
    assert log_q.exp().tolist() == pytest.approx([0, 1, 0], abs=1e-6)
    # Weights themselves would be 0 in float32 by now, and stay so for ever.
    for _ in range(3000):
        log_q = moved(log_q, torch.arange(3), 0.1 * torch.tensor([5.0, 1.0, 2.0]))
    assert log_q.exp().tolist() == pytest.approx([1, 0, 0], abs=1e-6)


def test_a_domain_that_a_batch_lacks_keeps_its_weight_but_for_the_scaling(build):
    model, algorithm, batch = build(eta=2.0)
    batch = batch.select(batch.domain != 1)
    out = algorithm.loss(model, batch)
    one, other = risks_of(out, batch)
    q = np.exp(2 * np.array([one, 0, other]))
    q /= q.sum()
    assert algorithm.q.tolist() == pytest.approx(q.tolist(), abs=1e-12)
    assert out.loss.item() == pytest.approx(q[0] * one + q[2] * other, abs=1e-12)
    assert "loss/domain/south" not in out.logs
    assert out.logs["weight/south"].item() == pytest.approx(q[1], abs=1e-12)


@pytest.mark.parametrize("task", ["multi-class", "binary", "multi-label"])
def test_with_eta_0_it_is_erm_in_loss_and_gradient_and_stays_so(task, build):
    model, algorithm, batch = build(task, eta=0.0)
    expected, plain = backward(*build(task, name="erm"))
    for _ in range(3):
        out, gradient = backward(model, algorithm, batch)
        assert abs(out.loss - expected.loss).item() <= 1e-10
        assert (gradient - plain).abs().max().item() <= 1e-10


def test_eta_0_is_erm_also_where_only_the_network_is_in_float64(standins):
    spec = standins.make_spec()
    model = standins.make_model(spec).double()
    algorithm = standins.make_algorithm("groupdro", spec, model, eta=0.0).train()
    batch = standins.make_batch(spec)
    batch = batch._replace(image=batch.image.double())
    erm = standins.make_algorithm("erm", spec, model)
    for _ in range(3):
        found = algorithm.loss(model, batch).loss
        assert abs(found - erm.loss(model, batch).loss).item() <= 1e-10


def test_the_weights_move_in_training_alone(build):
    model, algorithm, batch = build(eta=1.0)
    algorithm.eval()
    algorithm.loss(model, batch)
    assert algorithm.q.tolist() == pytest.approx([1 / 3] * 3, abs=1e-15)


def test_a_method_stacked_on_it_moves_its_weights(standins):
    spec = standins.make_spec()
    model = standins.make_model(spec)
    base = {"name": "groupdro", "eta": 1.0}
    algorithm = standins.make_algorithm("latentdr", spec, model, base=base).train()
    out = algorithm.loss(model, standins.make_batch(spec))
    assert algorithm.sampler == "domains"
    assert algorithm.base.q.max() > 1 / 3
    assert "weight/north" in out.logs
    assert model.passes == 1


def test_the_default_is_domainbeds():
    assert GroupDROConfig().eta == 0.01
