"""What holds for every method that compares domains or adds a weighted penalty, found by its keys.

The worked values of each penalty are in `tests/algorithms`; what all of them promise is here.
"""

import pytest
import torch

from medldr import plugins
from medldr.errors import InputError
from medldr.types import DataSpec

PLUGINS = {name: plugins.load("algorithms", name) for name in plugins.names("algorithms")}
DOMAINS = [name for name, module in PLUGINS.items() if module.ALGORITHM.needs_domains]
COMPARED = [name for name in DOMAINS if name != "fish"]
"""Fish steps along one domain after the other, which one alone allows too."""
OTHER_TURN = ("sagnet",)
"""Its weight belongs to an update of its own, and not to `loss`."""
WEIGHTED = [
    name
    for name, module in PLUGINS.items()
    if "weight" in module.Config.model_fields and name not in OTHER_TURN
]
VARIANTS = {"mmd": [{}, {"bandwidths": "median"}]}
HEAD_MOVES = {"coral": False, "mmd": False, "miro": False, "dann": False, "fishr": True}
"""Whether the penalty reaches the classifier, where the method's definition says so."""


def cases(*switches):
    """Weighted methods with keys; where the weight counts from a later step on, for each switch."""
    found = []
    for name in WEIGHTED:
        annealed = "anneal_steps" in PLUGINS[name].Config.model_fields
        for keys in VARIANTS.get(name, [{}]):
            for switch in [{"anneal_steps": step} for step in switches] if annealed else [{}]:
                named = "-".join([name, *map(str, (keys | switch).values())])
                found.append(pytest.param(name, keys | switch, id=named))
    return found


@pytest.fixture
def build(standins):
    """A model, a method and a batch in float64, so sums in another order stay equal.

    The model has moved since the method first saw it: a distance to first weights is not zero.
    """

    def make(name, task="multi-class", **keys):
        spec = standins.make_spec(task)
        model = standins.make_model(spec).double()
        algorithm = standins.make_algorithm(name, spec, model, **keys).double().train()
        noise = torch.Generator().manual_seed(1)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.1 * torch.randn(
                    parameter.shape, generator=noise, dtype=torch.float64
                )
        batch = standins.make_batch(spec)
        return model, algorithm, batch._replace(image=batch.image.double())

    return make


def gradient(model, algorithm, batch):
    """The output, and each parameter's gradient by its name."""
    out = algorithm.loss(model, batch)
    names = [name for name, _ in model.named_parameters()]
    found = torch.autograd.grad(out.loss, [*model.parameters()])
    return out, dict(zip(names, found, strict=True))


def test_there_are_methods_to_hold_to_it():
    assert len(DOMAINS) >= 10
    assert len(WEIGHTED) >= 8


@pytest.mark.parametrize("name", DOMAINS)
def test_data_without_domains_are_refused(name, standins):
    spec = standins.make_spec(domains=False)
    with pytest.raises(InputError, match=f"{name} needs the domain of every training image"):
        standins.make_algorithm(name, spec, standins.make_model(spec))


@pytest.mark.parametrize("name", COMPARED)
def test_one_source_domain_is_refused_with_the_cure(name, standins):
    one = DataSpec("multi-class", ("a", "b"), (1, 1), 1, (8, 8), ("north", "south"), ("south",))
    with pytest.raises(InputError) as caught:
        standins.make_algorithm(name, one, standins.make_model(one))
    said = str(caught.value)
    for word in (name, "south", "data.held_out", "erm"):
        assert word in said, said


@pytest.mark.parametrize("task", ["multi-class", "binary", "multi-label"])
@pytest.mark.parametrize(("name", "keys"), cases(0, 500))
def test_with_weight_0_it_is_erm_in_loss_and_gradient(name, keys, task, build):
    out, found = gradient(*build(name, task, weight=0.0, **keys))
    erm, expected = gradient(*build("erm", task))
    assert abs(out.loss - erm.loss).item() <= 1e-10
    for part, value in expected.items():
        assert (found[part] - value).abs().max().item() <= 1e-10, part
    others = [value for key, value in out.logs.items() if key not in erm.logs]
    assert any(value != 0 for value in others), "the penalty is logged all the same"


@pytest.mark.parametrize(("name", "keys"), cases(0))
def test_the_penalty_reaches_the_encoder_and_its_gradient_is_linear_in_the_weight(
    name, keys, build
):
    usual = PLUGINS[name].Config.model_fields["weight"].default
    found = {
        factor: gradient(*build(name, weight=factor * usual, **keys))[1]
        for factor in (0.0, 0.5, 1.0, 4.0)
    }
    start = found.pop(0.0)
    change = {k: {part: g[part] - start[part] for part in g} for k, g in found.items()}
    encoder = [part for part in start if not part.startswith("head.")]
    assert encoder
    for part in encoder:
        assert change[1.0][part].abs().max() > 1e-9, part
    for factor in (0.5, 4.0):
        for part, value in change[1.0].items():
            torch.testing.assert_close(change[factor][part], factor * value, rtol=1e-5, atol=1e-9)
    if name in HEAD_MOVES:
        heads = [change[1.0][part].abs().max() > 1e-12 for part in start if part not in encoder]
        assert heads
        assert all(moves == HEAD_MOVES[name] for moves in heads)
