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


def test_nothing_is_stacked_on_it_because_it_makes_its_own_steps(standins):
    spec = standins.make_spec()
    with pytest.raises(InputError, match="vrex makes its own steps"):
        standins.make_algorithm("latentdr", spec, standins.make_model(spec), base="vrex")


def test_the_defaults_are_domainbeds():
    assert (VRExConfig().weight, VRExConfig().anneal_steps) == (10.0, 500)
