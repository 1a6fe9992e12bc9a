"""What holds for every algorithm, found by name."""

import copy
import dataclasses

import pytest
import torch
from lightning_fabric import Fabric
from pydantic import ValidationError

from medldr import plugins
from medldr.config.schema import TrainingConfig
from medldr.config.section import Plugin
from medldr.errors import InputError
from medldr.models import build_model
from medldr.training.optim import build_optimizers, set_lr
from medldr.training.step import Stepper, TrainStep
from medldr.types import TASKS, Batch

EXAMPLE = "mylab.logit_noise"
"""The algorithm of CONTRIBUTING, taken out of its text by the stand-ins."""
NAMES = [*plugins.names("algorithms"), EXAMPLE]
KEY_BIASES = ("key.bias",)
"""A softmax does not see what all keys have in common: their bias has no gradient, by nature."""
NEED_IMAGES = ("cutmix", "dsu", "manifold_mixup", "miro", "mixstyle")
"""What they do needs pixels, or the stages of a network."""

pytestmark = [pytest.mark.parametrize("name", NAMES), pytest.mark.usefixtures("standins")]


@pytest.fixture
def setup(standins):
    """A model, an algorithm and a batch for a task."""

    def make(name, task="multi-class", seed=0, rows=12):
        spec = standins.make_spec(task)
        model = standins.make_model(spec, seed)
        algorithm = standins.make_algorithm(name, spec, model, seed)
        return model, algorithm, standins.make_batch(spec, rows, seed, algorithm.views)

    return make


def make_step(model, algorithm, precision="32-true"):
    pair = TrainStep(model, algorithm).train()
    training = TrainingConfig(optimizer="sgd", lr=0.05, momentum=0.9)
    return Stepper(
        Fabric(accelerator="cpu", devices=1, precision=precision),
        pair,
        build_optimizers(algorithm.optimizers(model), training),
        total=10,
    )


def run_steps(step, algorithm, batch, count):
    outputs = []
    for _ in range(count):
        outputs.append(algorithm.update(step, batch))
        step.index += 1
    return outputs


def fits(name, task):
    return task in plugins.load("algorithms", name).ALGORITHM.tasks


def test_output_is_as_promised_and_a_task_that_it_cannot_learn_from_is_refused(name, setup):
    for task in TASKS:
        if not fits(name, task):
            with pytest.raises(InputError, match=f"algorithm {name} does not fit {task} labels"):
                setup(name, task)
            continue
        model, algorithm, batch = setup(name, task)
        out = algorithm.loss(model, batch)
        assert out.loss.ndim == 0, task
        assert torch.isfinite(out.loss), task
        assert out.z.shape == (12, model.dim), task
        assert out.logits.shape == (12, model.num_classes), task
        assert out.z.requires_grad
        assert out.logits.requires_grad
        assert out.logs
        for key, value in out.logs.items():
            assert value.ndim == 0, key
            assert not value.requires_grad, key
            assert key == key.lower()


@pytest.mark.parametrize("task", ["multi-class", "multi-label"])
def test_every_trainable_parameter_gets_a_gradient(name, task, setup):
    if not fits(name, task):
        return
    model, algorithm, batch = setup(name, task)
    step = make_step(model, algorithm)
    total = {n: torch.zeros(()) for n, p in step.pair.named_parameters() if p.requires_grad}
    for key, parameter in step.pair.named_parameters():
        if parameter.requires_grad:

            def add(p, key=key):
                total[key] += p.grad.abs().sum()

            parameter.register_post_accumulate_grad_hook(add)
    torch.manual_seed(0)
    run_steps(step, algorithm, batch, 4)
    assert not [n for n, value in total.items() if not value.isfinite()]
    assert not [n for n, value in total.items() if value == 0 and not n.endswith(KEY_BIASES)]
    covered = [p for o in step.optimizers.values() for g in o.param_groups for p in g["params"]]
    trainable = {id(p) for p in step.pair.parameters() if p.requires_grad}
    assert {id(p) for p in covered} == trainable


def test_same_seed_same_loss_bit_for_bit(name, setup):
    losses = []
    for _ in range(2):
        model, algorithm, batch = setup(name)
        torch.manual_seed(3)
        losses.append(algorithm.loss(model, batch).loss)
    assert torch.equal(*losses)


def test_classes_that_are_absent_from_a_batch_do_no_harm(name, setup):
    for present in (1, 3):
        model, algorithm, batch = setup(name)
        out = algorithm.loss(model, batch._replace(label=batch.label % present))
        out.loss.backward()
        assert torch.isfinite(out.loss), present
        assert all(p.grad is None or torch.isfinite(p.grad).all() for p in model.parameters())


def test_bfloat16_autocast_is_finite_and_the_loss_float32(name, setup):
    model, algorithm, batch = setup(name)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        out = algorithm.loss(model, batch)
    out.loss.backward()
    assert out.loss.dtype == torch.float32
    assert torch.isfinite(out.loss)
    assert all(p.grad is None or torch.isfinite(p.grad).all() for p in model.parameters())


@pytest.mark.slow  # each method with two whole networks
@pytest.mark.parametrize(("axes", "precision"), [(2, "bf16-mixed"), (3, "32-true")])
def test_a_resnet_trains_on_images_and_volumes(name, axes, precision, standins):
    spec = dataclasses.replace(standins.make_spec(), spatial_size=(8,) * axes)
    config = plugins.load("models", "resnet18").Config(name="resnet18", width=0.125)
    model = build_model(config, spec, seed=0)
    algorithm = standins.make_algorithm(name, spec, model)
    batch = standins.make_batch(spec, views=algorithm.views)
    step = make_step(model, algorithm, precision)
    before = {n: p.detach().clone() for n, p in step.pair.named_parameters() if p.requires_grad}
    torch.manual_seed(0)
    outputs = run_steps(step, algorithm, batch, 2)
    assert all(out.loss.isfinite() and out.loss.dtype == torch.float32 for out in outputs)
    after = dict(step.pair.named_parameters())
    assert all(after[n].isfinite().all() for n in before)
    still = [n for n, p in before.items() if torch.equal(p, after[n])]
    assert not [n for n in still if not n.endswith(KEY_BIASES)]


def test_a_frozen_encoder_stays_while_adapter_and_head_learn(name, standins):
    spec = dataclasses.replace(standins.make_spec(), spatial_size=(8, 8))
    keys = {"width": 0.125, "freeze": "all", "adapter": "linear"}
    config = plugins.load("models", "resnet18").Config(name="resnet18", **keys)
    model = build_model(config, spec, seed=0)
    algorithm = standins.make_algorithm(name, spec, model)
    step = make_step(model, algorithm)
    before = {key: value.clone() for key, value in model.state_dict().items()}
    torch.manual_seed(0)
    outputs = run_steps(step, algorithm, standins.make_batch(spec, views=algorithm.views), 2)
    assert all(out.loss.isfinite() for out in outputs)
    moved = {
        key for key, value in model.state_dict().items() if not torch.equal(value, before[key])
    }
    assert {key.partition(".")[0] for key in moved} == {"adapter", "head"}


def test_on_stored_latents_it_trains_or_says_at_once_that_it_cannot(name, standins):
    spec = dataclasses.replace(standins.make_spec(), channels=8, spatial_size=())
    config = plugins.load("models", "features").Config(adapter="linear")
    model = build_model(config, spec, seed=0)
    if name in NEED_IMAGES:
        with pytest.raises(InputError, match=r"stored latents have n.*works on latents, such as"):
            standins.make_algorithm(name, spec, model)
        return
    algorithm = standins.make_algorithm(name, spec, model)
    before = model.head.weight.clone()
    torch.manual_seed(0)
    batch = standins.make_batch(spec, views=algorithm.views)
    outputs = run_steps(make_step(model, algorithm), algorithm, batch, 2)
    assert all(out.loss.isfinite() for out in outputs)
    assert not torch.equal(model.head.weight, before)


def test_going_on_from_saved_state_equals_going_on(name, setup):
    model, algorithm, batch = setup(name)
    step = make_step(model, algorithm)
    torch.manual_seed(1)
    run_steps(step, algorithm, batch, 2)
    saved = copy.deepcopy(
        (step.pair.state_dict(), {n: o.state_dict() for n, o in step.optimizers.items()})
    )
    state = torch.get_rng_state()
    expected = run_steps(step, algorithm, batch, 2)

    model_2, algorithm_2, _ = setup(name, seed=9)
    step_2 = make_step(model_2, algorithm_2)
    step_2.index = 2
    step_2.pair.load_state_dict(saved[0])
    for key, optimizer in step_2.optimizers.items():
        optimizer.load_state_dict(saved[1][key])
    torch.set_rng_state(state)
    found = run_steps(step_2, algorithm_2, batch, 2)
    assert all(torch.equal(a.loss, b.loss) for a, b in zip(expected, found, strict=True))
    for key, value in step.pair.state_dict().items():
        assert torch.equal(value, step_2.pair.state_dict()[key]), key


def test_predictions_do_not_depend_on_the_algorithm(name, setup, standins):
    spec = standins.make_spec()
    alone = standins.make_model(spec).eval()
    model, algorithm, batch = setup(name)
    assert torch.equal(model.eval()(batch.image), alone(batch.image))
    step = make_step(model, algorithm)
    run_steps(step, algorithm, batch, 3)
    state = {k: v for k, v in step.pair.state_dict().items() if k.startswith("model.")}
    alone.load_state_dict({k.removeprefix("model."): v for k, v in state.items()})
    assert torch.equal(model.eval()(batch.image), alone(batch.image))


@pytest.mark.slow
def test_loss_changes_no_parameter_and_learning_lowers_it(name, setup):
    model, algorithm, batch = setup(name)
    before = copy.deepcopy(dict(TrainStep(model, algorithm).named_parameters()))
    algorithm.loss(model, batch)
    for key, value in TrainStep(model, algorithm).named_parameters():
        assert torch.equal(value, before[key])
    step = make_step(model, algorithm)
    torch.manual_seed(0)
    # Of the images as they are: the loss of mixed ones says little about one step.
    first = torch.nn.functional.cross_entropy(model(batch.image), batch.label)
    for number in range(30):  # in a new order: irm distinguishes halves of a domain's rows
        set_lr(step.optimizers, 1 - number / 30)  # what single draws add to the weights dies out
        run_steps(step, algorithm, batch.select(torch.randperm(12)), 1)
    assert torch.nn.functional.cross_entropy(model(batch.image), batch.label) < first


@pytest.mark.slow  # compilation
@pytest.mark.filterwarnings("ignore:The .grad attribute")  # of torch's compiler, about itself
def test_it_compiles_to_the_same_loss(name, setup):
    pytest.importorskip("torch._dynamo")
    model, algorithm, batch = setup(name)
    begun = copy.deepcopy(algorithm.state_dict())
    torch.manual_seed(3)
    expected = algorithm.loss(model, batch).loss
    algorithm.load_state_dict(begun)
    torch.manual_seed(3)
    found = torch.compile(algorithm.loss, backend="eager")(model, batch).loss
    torch.testing.assert_close(found, expected)


def test_initial_weights_follow_the_seed_alone(name, setup):
    torch.manual_seed(5)
    state = torch.get_rng_state()
    _, one, _ = setup(name, seed=1)
    assert torch.equal(torch.get_rng_state(), state)
    torch.manual_seed(6)
    _, two, _ = setup(name, seed=1)
    _, other, _ = setup(name, seed=2)
    assert all(torch.equal(v, two.state_dict()[k]) for k, v in one.state_dict().items())
    weights = [k for k, v in one.named_parameters() if v.ndim > 1]
    assert not any(torch.equal(one.state_dict()[k], other.state_dict()[k]) for k in weights)


def test_state_is_tensors_and_class_facts_are_ones_the_loop_knows(name, setup):
    _, algorithm, batch = setup(name)
    assert all(isinstance(v, torch.Tensor) for v in algorithm.state_dict().values())
    assert algorithm.sampler in ("shuffle", "weighted", "domains")
    assert isinstance(batch, Batch)
    assert all(isinstance(v, str) for v in algorithm.views)
    for fact in (algorithm.needs_domains, algorithm.set_based, algorithm.mixes_labels):
        assert isinstance(fact, bool)
    assert algorithm.domains_per_batch is None or algorithm.domains_per_batch >= 1
    assert algorithm.batches_per_step >= 1
    if algorithm.rows_per_domain:
        assert algorithm.needs_domains
        assert algorithm.sampler == "domains"


def test_class_weights_reach_the_loss(name, setup):
    model, algorithm, batch = setup(name)
    algorithm.eval()
    plain = algorithm.loss(model, batch).logs
    algorithm.use_class_weights(torch.tensor([5.0, 1.0, 1.0, 1.0]))
    weighted = algorithm.loss(model, batch).logs
    assert any(not torch.equal(plain[k], weighted[k]) for k in plain)


def test_config_stands_by_itself(name):
    config_class = plugins.load("algorithms", name).Config
    config = config_class(name=name)
    assert config_class.model_validate(config.model_dump()) == config
    assert Plugin("algorithms").resolve(name) == config
    assert config.lr_scale > 0
    with pytest.raises(ValidationError, match="Extra inputs"):
        config_class(name=name, no_such_key=1)


def test_its_module_states_a_card_and_the_title_that_pages_print(name, standins):
    card = plugins.load("algorithms", name).__doc__
    for heading in ("What it changes", "When to use", "Cost", "Works with", "Source:"):
        assert heading in card, heading
    title = standins.stated(name)["TITLE"]
    assert isinstance(title, str)
    assert title.strip() == title != ""
    assert title == plugins.load("algorithms", name).TITLE
