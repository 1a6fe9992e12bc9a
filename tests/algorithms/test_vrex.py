import numpy as np
import pytest
import torch

from medldr.algorithms.vrex import VRExConfig, vrex_penalty
from medldr.errors import InputError


@pytest.fixture
def build(standins):
    """A model, VREx and a batch of three equal blocks, all in float64."""

    def make(task="multi-class", spec=None, name="vrex", **keys):
        spec = spec or standins.make_spec(task)
        model = standins.make_model(spec).double()
        algorithm = standins.make_algorithm(name, spec, model, **keys).train().double()
        batch = standins.make_batch(standins.make_spec(task))
        return model, algorithm, batch._replace(image=batch.image.double())

    return make


class Steps:
    """What `update` sees of the loop; notes what it is asked for."""

    def __init__(self, model, algorithm):
        self.index, self.total, self.asked = 0, 10, []
        self.model, self.algorithm = model, algorithm

    def forward(self, batch, method="loss"):
        return getattr(self.algorithm, method)(self.model, batch)

    def backward(self, loss):
        loss.backward()

    def optimizer_step(self, *names):
        self.asked.append(("step", self.index))

    def reset_optimizer(self, name="main"):
        self.asked.append(("reset", self.index))


def backward(model, algorithm, batch):
    model.zero_grad()
    out = algorithm.loss(model, batch)
    out.loss.backward()
    return out, torch.cat([p.grad.flatten() for p in model.parameters()])


def test_worked_values():
    risks = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    assert vrex_penalty(risks).item() == pytest.approx(2 / 3, abs=1e-12)
    assert (risks.mean() + 10 * vrex_penalty(risks)).item() == pytest.approx(8.6667, abs=1e-4)


@pytest.mark.parametrize("number", [1, 2, 3, 7])
def test_the_penalty_is_numpys_population_variance(number):
    risks = torch.from_numpy(np.random.default_rng(number).random(number))
    assert vrex_penalty(risks).item() == pytest.approx(np.var(risks.numpy()), abs=1e-14)


def test_equal_risks_cost_nothing_and_have_no_gradient():
    risks = torch.full((4,), 0.7, dtype=torch.float64, requires_grad=True)
    penalty = vrex_penalty(risks)
    penalty.backward()
    assert penalty.item() == 0
    assert risks.grad.abs().max() == 0


@pytest.mark.parametrize("domain", [[0, 1, 2] * 4, [0] * 5 + [1] * 4 + [2] * 3, [0] * 4 + [2] * 8])
def test_the_loss_is_mean_plus_weighted_variance_of_the_domains_also_of_uneven_blocks(
    domain, build
):
    model, algorithm, batch = build(weight=7.0, anneal_steps=0)
    batch = batch._replace(domain=torch.tensor(domain))
    out = algorithm.loss(model, batch)
    logits = out.logits.detach().numpy()
    losses = np.log(np.exp(logits).sum(1)) - logits[np.arange(12), batch.label.numpy()]
    present = sorted(set(domain))
    risks = np.array([losses[np.array(domain) == d].mean() for d in present])
    assert out.loss.item() == pytest.approx(risks.mean() + 7 * risks.var(), abs=1e-12)
    names = [("north", "south", "west")[d] for d in present]
    logged = {k: v.item() for k, v in out.logs.items() if k.startswith("loss/domain/")}
    assert logged == pytest.approx(
        {f"loss/domain/{n}": r for n, r in zip(names, risks, strict=True)}
    )
    assert out.logs["loss/original"].item() == pytest.approx(risks.mean())


def test_class_weights_count_within_each_domain(build):
    model, algorithm, batch = build(weight=7.0, anneal_steps=0)
    weights = torch.tensor([1.0, 2.0, 3.0, 4.0], dtype=torch.float64)
    algorithm.use_class_weights(weights)
    out = algorithm.loss(model, batch)
    risks = [
        torch.nn.functional.cross_entropy(out.logits[rows], batch.label[rows], weight=weights)
        for rows in (batch.domain == d for d in range(3))
    ]
    risks = torch.stack(risks).detach().numpy()
    assert out.loss.item() == pytest.approx(risks.mean() + 7 * risks.var(), abs=1e-12)


def test_the_weight_is_1_until_the_switch_at_which_the_optimizer_begins_anew(build):
    model, algorithm, batch = build(weight=7.0, anneal_steps=2)
    steps = Steps(model, algorithm)
    for index in range(4):
        steps.index = index
        logs = algorithm.update(steps, batch)
        used = (logs.loss.detach() - logs.logs["loss/original"]) / logs.logs["loss/vrex"]
        assert used.item() == pytest.approx(1.0 if index < 2 else 7.0, rel=1e-9)
        assert algorithm.steps.item() == index
    assert steps.asked == [("step", 0), ("step", 1), ("reset", 2), ("step", 2), ("step", 3)]


@pytest.mark.parametrize("keys", [{"anneal_steps": 0}, {"reset_optimizer": False}, {"weight": 0}])
def test_nothing_is_reset_without_a_switch_or_where_it_is_not_wished(keys, build):
    model, algorithm, batch = build(**{"anneal_steps": 1} | keys)
    steps = Steps(model, algorithm)
    for steps.index in range(3):
        algorithm.update(steps, batch)
    assert steps.asked == [("step", 0), ("step", 1), ("step", 2)]


def test_the_step_is_in_the_state_and_so_a_resumed_run_is_past_the_switch(build):
    model, algorithm, batch = build(weight=7.0, anneal_steps=2)
    steps = Steps(model, algorithm)
    steps.index = 5
    algorithm.update(steps, batch)
    _, other, _ = build(weight=7.0, anneal_steps=2)
    before = other.loss(model, batch).loss
    other.load_state_dict(algorithm.state_dict())
    after = other.loss(model, batch)
    expected = after.logs["loss/original"] + 7 * after.logs["loss/vrex"]
    assert after.loss.item() == pytest.approx(expected.item(), abs=1e-12)
    assert before < after.loss


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_computed_in_float32_also_under_autocast(dtype, standins):
    spec = standins.make_spec()
    model = standins.make_model(spec)
    algorithm = standins.make_algorithm("vrex", spec, model, anneal_steps=0)
    with torch.autocast("cpu", dtype=dtype):
        out = algorithm.loss(model, standins.make_batch(spec))
    assert out.loss.dtype == out.logs["loss/vrex"].dtype == torch.float32


@pytest.mark.slow
def test_training_with_a_large_weight_keeps_the_risks_together(build):
    left = {}
    for weight in (0.0, 20.0):
        model, algorithm, batch = build(weight=weight, anneal_steps=0)
        batch.image[batch.domain == 2] = 0  # nothing to learn from
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        for _ in range(60):
            optimizer.zero_grad()
            algorithm.loss(model, batch).loss.backward()
            optimizer.step()
        left[weight] = algorithm.loss(model, batch).logs["loss/vrex"].item()
    assert left[20.0] < left[0.0] / 4


def test_nothing_is_stacked_on_it_because_it_makes_its_own_steps(standins):
    spec = standins.make_spec()
    with pytest.raises(InputError, match="vrex makes its own steps"):
        standins.make_algorithm("latentdr", spec, standins.make_model(spec), base="vrex")


def test_the_defaults_are_domainbeds():
    assert (VRExConfig().weight, VRExConfig().anneal_steps) == (10.0, 500)


@pytest.mark.slow  # compilation
def test_it_compiles_to_the_same_loss(build):
    pytest.importorskip("torch._dynamo")
    model, algorithm, batch = build(anneal_steps=0)
    expected = algorithm.loss(model, batch).loss
    compiled = torch.compile(algorithm.loss, backend="eager")
    torch.testing.assert_close(compiled(model, batch).loss, expected)
