"""What holds for every algorithm that builds on another one."""

import pytest
import torch
from torch.nn import functional

from medldr.algorithms.erm import ERM
from medldr.algorithms.latentdr import LatentDRAlgorithm, LatentDRConfig
from medldr.config import PluginSection
from medldr.errors import InputError
from medldr.losses.balanced_softmax import BalancedSoftmax

pytestmark = pytest.mark.parametrize("name", ["latentdr", "batchformer"])


class Unrelated(PluginSection):
    """A configuration that is not an algorithm's."""


class DerivedConfig(LatentDRConfig):
    """Keys of the variant."""


class Derived(LatentDRAlgorithm):
    """Another laboratory's variant of LatentDR."""


@pytest.fixture
def build(standins, name):
    standins.offer_plugin("outside.unrelated", ERM, Unrelated)
    standins.offer_plugin("outside.derived", Derived, DerivedConfig)

    def make(task="multi-class", domains=True, plugin=name, **keys):
        spec = standins.make_spec(task, domains=domains)
        model = standins.make_model(spec)
        algorithm = standins.make_algorithm(plugin, spec, model, **keys)
        return model, algorithm, standins.make_batch(spec)

    return make


def test_without_a_base_it_stands_on_erm_with_the_loss_of_its_own(name, build):
    smooth = {"name": "cross_entropy", "label_smoothing": 0.4}
    model, algorithm, batch = build(loss=smooth)
    assert isinstance(algorithm.base, ERM)
    assert (algorithm.needs_domains, algorithm.sampler) == (False, "shuffle")
    out = algorithm.loss(model, batch)
    expected = functional.cross_entropy(out.logits, batch.label, label_smoothing=0.4)
    torch.testing.assert_close(out.logs["loss/original"], expected.detach())
    found = algorithm.classification_loss(out.logits, batch.label)
    torch.testing.assert_close(found, expected)


def test_a_base_passes_on_what_it_needs(name, build):
    _, algorithm, _ = build(base="outside.pattern_5")
    assert algorithm.needs_domains
    assert algorithm.sampler == "domains"
    with pytest.raises(InputError, match="needs the domain of every"):
        build(domains=False, base="outside.pattern_5")


def test_class_weights_reach_the_base(name, build):
    _, algorithm, batch = build(base="outside.projection")
    weights = torch.tensor([4.0, 1.0, 0.5, 2.0])
    algorithm.use_class_weights(weights)
    logits = torch.randn(12, 4, generator=torch.Generator().manual_seed(0))
    expected = functional.cross_entropy(logits, batch.label, weights)
    torch.testing.assert_close(algorithm.classification_loss(logits, batch.label), expected)


def test_the_base_starts_from_the_weights_it_has_alone(name, build):
    _, algorithm, _ = build(base="outside.projection")
    _, base, _ = build(plugin="outside.projection")
    assert torch.equal(algorithm.base.head.weight, base.head.weight)


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"base": "outside.mixed_labels"}, "mixes labels, which leaves {name} without true labels"),
        ({"base": "{name}"}, "{name} cannot be its own base"),
        ({"base": "outside.pattern_0"}, "makes its own steps or has several optimizers"),
        ({"base": "outside.pattern_4"}, "makes its own steps or has several optimizers"),
        ({"base": "outside.unrelated"}, r"Config of outside\.unrelated is not an AlgorithmConfig"),
        ({"base": "erm", "loss": "cross_entropy"}, "set algorithm.base.loss"),
        ({"base": {"name": "erm", "lr_scale": 0.1}}, "set algorithm.lr_scale"),
    ],
)
def test_bases_on_which_nothing_can_stand_are_refused(name, keys, message, build):
    if keys["base"] == "{name}":
        keys = {"base": name}
    with pytest.raises(InputError, match=message.format(name=name)):
        build(**keys)


def test_a_variant_of_latentdr_is_latentdr_here(name, build):
    if name == "latentdr":
        with pytest.raises(InputError, match=r"outside\.derived cannot be its own base"):
            build(base="outside.derived")
    else:
        _, algorithm, _ = build(base="outside.derived")
        assert isinstance(algorithm.base, Derived)
    with pytest.raises(InputError, match="latentdr cannot be its own base"):
        build(plugin="outside.derived", base="latentdr")


# On losses for imbalanced classes


@pytest.mark.parametrize("through", ["algorithm.loss", "algorithm.base"])
def test_on_balanced_softmax_every_term_is_adjusted_and_the_encoder_runs_once(name, through, build):
    loss = {"name": "balanced_softmax"}
    keys = (
        {"loss": loss} if through == "algorithm.loss" else {"base": {"name": "erm", "loss": loss}}
    )
    model, algorithm, batch = build(**keys)
    out = algorithm.loss(model, batch)
    assert model.passes == 1
    counts = torch.tensor(algorithm.spec.class_counts).log()
    expected = functional.cross_entropy(out.logits + counts, batch.label)
    torch.testing.assert_close(out.logs["loss/original"], expected.detach())
    assert isinstance(algorithm.base.classification, BalancedSoftmax)
    logits = torch.randn(12, 4)
    torch.testing.assert_close(
        algorithm.classification_loss(logits, batch.label),
        functional.cross_entropy(logits + counts, batch.label),
    )


def test_prediction_has_no_adjustment(name, build):
    model, algorithm, batch = build(loss={"name": "balanced_softmax"})
    out = algorithm.loss(model, batch)
    assert torch.equal(out.logits, model.classify(out.z))
    torch.testing.assert_close(out.logits, model(batch.image))
