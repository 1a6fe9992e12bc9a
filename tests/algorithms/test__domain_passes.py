"""CORAL, MMD and GroupDRO with the whole batch, or one domain at a time, through the network."""

import copy

import pytest
import torch
from torch import nn

from medldr.algorithms._domain_passes import domain_features

METHODS = {"coral": {"weight": 3.0}, "mmd": {"weight": 2.0}, "groupdro": {"eta": 0.5}}
MIXED = [2, 0, 1, 1, 0, 2, 2, 1, 0, 0, 2, 1]


@pytest.fixture
def build(standins):
    """The same network, method and batch in float64, however the images pass."""

    def make(name, forward, norm=True):
        spec = standins.make_spec()
        model = standins.make_model(spec, norm=norm).double().train()
        keys = METHODS[name] | {"forward": forward}
        algorithm = standins.make_algorithm(name, spec, model, **keys).train().double()
        batch = standins.make_batch(spec)
        batch = batch._replace(image=batch.image.double(), domain=torch.tensor(MIXED))
        return model, algorithm, batch

    return make


def gradients(model, loss):
    model.zero_grad()
    loss.backward()
    return torch.cat([p.grad.flatten() for p in model.parameters()])


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("frozen", [True, False])
def test_both_are_the_same_without_live_batch_normalisation(build, name, frozen):
    found = []
    for forward in ("batch", "domain"):
        model, algorithm, batch = build(name, forward, norm=frozen)
        if frozen:
            model.norm.running_mean.fill_(0.3)
            model.norm.eval()
        out = algorithm.loss(model, batch)
        found.append((out.loss, out.z, out.logits, gradients(model, out.loss)))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", METHODS)
def test_live_batch_normalisation_makes_a_difference(build, name):
    outputs = []
    for forward in ("batch", "domain"):
        model, algorithm, batch = build(name, forward)
        outputs.append(algorithm.loss(model, batch))
    whole, alone = outputs
    assert (whole.z - alone.z).abs().max() > 1e-3
    assert (whole.loss - alone.loss).abs() > 1e-5


@pytest.mark.parametrize("name", METHODS)
def test_one_domain_at_a_time_is_a_loop_over_the_domains(build, name):
    model, algorithm, batch = build(name, "domain")
    looped = copy.deepcopy(model)
    out = algorithm.loss(model, batch)
    z = torch.full_like(out.z, float("nan"))
    for domain in range(3):
        rows = [row for row, own in enumerate(MIXED) if own == domain]
        z[rows] = looped.features(batch.image[rows])
    torch.testing.assert_close(out.z, z, rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(out.logits, looped.classify(z), rtol=1e-12, atol=1e-14)
    running = ("running_mean", "running_var", "num_batches_tracked")
    for name_ in running:
        torch.testing.assert_close(getattr(model.norm, name_), getattr(looped.norm, name_))
    assert model.norm.num_batches_tracked == model.passes == 3


def test_a_domain_is_normalised_by_its_own_statistics():
    class Normed(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.BatchNorm1d(2, affine=False)

        def features(self, image):
            return self.norm(image)

    batch = type("B", (), {"image": torch.randn(9, 2), "domain": torch.arange(9) % 3})
    z = domain_features(Normed().train(), batch, "domain")
    for domain in range(3):
        assert z[domain::3].mean(0).abs().max() < 1e-6
    whole = domain_features(Normed().train(), batch, "batch")
    assert whole[0::3].mean(0).abs().max() > 1e-3
