import numpy as np
import pytest
import torch

from medldr.algorithms.groupdro import GroupDROConfig, moved

NAMES = ("north", "south", "west")


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


def reference(q, risks, eta):
    """The rule as it is published, in NumPy."""
    q = q * np.exp(eta * risks)
    return q / q.sum()


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


def test_equal_risks_keep_the_weights_uniform_and_the_loss_their_mean():
    log_q = torch.zeros(4, dtype=torch.float64)
    for _ in range(50):
        log_q = moved(log_q, torch.arange(4), torch.full((4,), 0.7, dtype=torch.float64))
    assert log_q.exp().tolist() == pytest.approx([0.25] * 4, abs=1e-14)


def test_fixed_risks_send_the_weight_to_the_largest_and_it_comes_back_when_another_is():
    log_q, risks = torch.zeros(3), torch.tensor([1.0, 5.0, 2.0])
    for _ in range(2000):
        log_q = moved(log_q, torch.arange(3), 0.1 * risks)
    assert log_q.exp().tolist() == pytest.approx([0, 1, 0], abs=1e-6)
    # Weights themselves would be 0 in float32 by now, and stay so for ever.
    for _ in range(3000):
        log_q = moved(log_q, torch.arange(3), 0.1 * torch.tensor([5.0, 1.0, 2.0]))
    assert log_q.exp().tolist() == pytest.approx([1, 0, 0], abs=1e-6)


def test_the_weights_follow_the_published_rule_step_by_step_and_the_new_ones_are_used(build):
    model, algorithm, batch = build(eta=7.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    q = np.ones(3)
    for _ in range(5):
        optimizer.zero_grad()
        out = algorithm.loss(model, batch)
        out.loss.backward()
        risks = risks_of(out, batch)
        q = reference(q, risks, 7.0)
        assert out.loss.item() == pytest.approx((q * risks).sum(), abs=1e-12)
        assert algorithm.q.tolist() == pytest.approx(q.tolist(), abs=1e-12)
        logged = [out.logs[f"weight/{name}"].item() for name in NAMES]
        assert logged == pytest.approx(q.tolist(), abs=1e-12)
        assert sum(logged) == pytest.approx(1, abs=1e-12)
        told = [out.logs[f"loss/domain/{name}"].item() for name in NAMES]
        assert told == pytest.approx(risks.tolist(), abs=1e-12)
        optimizer.step()
    assert np.ptp(q) > 0.01


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


def test_no_gradient_flows_through_the_weights(build):
    model, algorithm, batch = build(eta=3.0)
    _, gradient = backward(model, algorithm, batch)
    q = algorithm.q
    model.zero_grad()
    logits = model(batch.image)
    for d in range(3):
        rows = batch.domain == d
        loss = torch.nn.functional.cross_entropy(logits[rows], batch.label[rows])
        (q[d] * loss).backward(retain_graph=True)
    expected = torch.cat([p.grad.flatten() for p in model.parameters()])
    torch.testing.assert_close(gradient, expected, rtol=1e-10, atol=1e-13)


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


def test_a_positive_eta_reaches_the_encoders_gradient(build):
    plain = backward(*build(eta=0.0))[1]
    changed = backward(*build(eta=50.0))[1]
    assert (plain - changed).norm() > 1e-3 * plain.norm()


def test_the_weights_move_in_training_alone(build):
    model, algorithm, batch = build(eta=1.0)
    algorithm.eval()
    algorithm.loss(model, batch)
    assert algorithm.q.tolist() == pytest.approx([1 / 3] * 3, abs=1e-15)


def test_the_state_has_one_weight_per_domain_from_the_start(build):
    _, fresh, _ = build()
    model, algorithm, batch = build(eta=1.0)
    algorithm.loss(model, batch)
    fresh.load_state_dict(algorithm.state_dict())
    assert torch.equal(fresh.log_q, algorithm.log_q)
    assert fresh.log_q.shape == (3,)


def test_half_precision_is_computed_in_float32_also_under_autocast(standins):
    spec = standins.make_spec()
    model = standins.make_model(spec)
    algorithm = standins.make_algorithm("groupdro", spec, model).train()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = algorithm.loss(model, standins.make_batch(spec))
    assert out.loss.dtype == algorithm.log_q.dtype == torch.float32


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


@pytest.mark.slow  # compilation
def test_it_compiles_to_the_same_loss(build):
    pytest.importorskip("torch._dynamo")
    model, algorithm, batch = build(eta=1.0)
    expected = algorithm.loss(model, batch).loss
    algorithm.log_q.zero_()
    compiled = torch.compile(algorithm.loss, backend="eager")
    torch.testing.assert_close(compiled(model, batch).loss, expected)
