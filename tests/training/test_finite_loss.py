"""A loss that is not finite stops the run before the step, naming step, term and samples."""

import pytest
import torch
from lightning_fabric import Fabric

from medldr.errors import InputError
from medldr.training.finite_loss import FiniteLossCheck, NonFiniteError
from medldr.training.step import Stepper, TrainStep
from medldr.types import Batch


@pytest.fixture
def stepper(make_config, parts_of):
    parts = parts_of(make_config())

    def build(**keys):
        optimizers = {"main": torch.optim.SGD(parts.model.parameters(), lr=0.1)}
        pair = TrainStep(parts.model, parts.algorithm)
        fabric = Fabric(accelerator="cpu", devices=1)
        return Stepper(fabric, pair, optimizers, total=4, **keys)

    return build


def batch(rows=4, broken=()):
    image = torch.rand(rows, 1, 8, 8)
    image[list(broken)] = float("nan")
    number = torch.arange(rows)
    return Batch(image, number % 3, number, number, number + 100)


def test_a_nan_names_step_term_and_samples_and_changes_no_weight(stepper):
    step = stepper(loss_check=FiniteLossCheck(lambda rows: [f"scan_{row}" for row in rows]))
    algorithm = step.pair.algorithm
    algorithm.update(step, batch())
    step.index += 1
    before = {name: value.clone() for name, value in step.pair.model.named_parameters()}
    with pytest.raises(NonFiniteError) as caught:
        algorithm.update(step, batch(broken=[2]))
    assert isinstance(caught.value, InputError)
    text = str(caught.value)
    assert "at step 2 (term: loss" in text
    assert "= nan" in text
    assert "scan_100, scan_101, scan_102, scan_103" in text
    for name, value in step.pair.model.named_parameters():
        assert torch.equal(value, before[name])


def test_a_second_loss_of_the_same_step_is_watched_too(stepper):
    step = stepper()
    step.backward(step.forward(batch()).loss)
    step.backward(step.forward(batch()).loss * float("inf"))
    with pytest.raises(NonFiniteError, match=r"term: loss\)"):
        step.optimizer_step()


def test_many_samples_are_counted_and_not_all_listed(stepper):
    step = stepper()
    with pytest.raises(NonFiniteError, match=r"119 and 10 more\."):
        step.pair.algorithm.update(step, batch(30, broken=[0]))


def test_weights_that_overflowed_are_found_before_anything_is_written(stepper):
    step = stepper()
    step.check_weights()
    step.pair.model.norm.running_var[0] = float("inf")
    step.index = 7
    with pytest.raises(NonFiniteError, match="weights are not finite after step 7"):
        step.check_weights()


def test_clipping_limits_the_step(stepper):
    step = stepper(clip_norm=0.01)
    before = torch.cat([p.detach().flatten() for p in step.pair.model.parameters()])
    step.pair.algorithm.update(step, batch())
    after = torch.cat([p.detach().flatten() for p in step.pair.model.parameters()])
    assert (after - before).norm().item() == pytest.approx(0.1 * 0.01, rel=1e-3)
    assert all(p.grad is None for p in step.pair.parameters())


def test_autocast_leaves_the_batch_as_it_is_and_losses_in_float32(make_config, parts_of):
    from medldr.training.machine.fabric import make_fabric

    config = make_config({"training.precision": "bfloat16"})
    parts = parts_of(config)
    seen = {}
    features = parts.model.features

    def looked_at(image, taps=None):
        seen["image"], seen["conv"] = image.dtype, parts.model.conv(image).dtype
        return features(image, taps)

    parts.model.features = looked_at
    optimizers = {"main": torch.optim.SGD(parts.model.parameters(), lr=0.1)}
    fabric = make_fabric(config.machine, config.training)
    step = Stepper(fabric, TrainStep(parts.model, parts.algorithm), optimizers, total=1)
    output = step.forward(batch())
    assert seen == {"image": torch.float32, "conv": torch.bfloat16}
    assert {output.loss.dtype, output.z.dtype, output.logits.dtype} == {torch.float32}
