"""What holds for every classification loss, found by name."""

import pytest
import torch
from torch.nn import functional

from medldr import plugins
from medldr.algorithms.base import build_loss
from medldr.errors import InputError
from medldr.models.base import FeatureModel, ModelConfig
from medldr.types import TASKS, DataSpec

COUNTS = (40, 10, 3, 1)
SCALE = 30.0

pytestmark = pytest.mark.parametrize("name", plugins.names("losses"))


def make(name, task=None, counts=COUNTS):
    """A loss for a task that it fits, bound to the head that it needs."""
    module = plugins.load("losses", name)
    task = task or module.LOSS.tasks[0]
    names = tuple("abcd"[: len(counts)])
    spec = DataSpec(task, names, counts, 1, (8, 8))
    loss = build_loss(module.Config(name=name), spec)
    keys = {"head": loss.head or "linear"}
    if loss.head == "cosine":
        keys["cosine_scale"] = SCALE
    config = ModelConfig(name="any", **keys)
    model = FeatureModel(stage_dims=(3,), dim=3, num_classes=len(counts), config=config)
    loss.bind(model.head)
    return loss, spec


def some(spec, rows=6, dtype=torch.float32):
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(rows, spec.num_classes, generator=generator)
    if spec.multi_label:
        return logits.to(dtype), (torch.rand(logits.shape, generator=generator) > 0.5).float()
    return logits.to(dtype), torch.arange(rows) % spec.num_classes


def soft_of(label, spec):
    return label if spec.multi_label else functional.one_hot(label, spec.num_classes).float()


@pytest.mark.parametrize("task", TASKS)
def test_it_serves_the_tasks_it_names_and_refuses_the_others(name, task):
    counts = COUNTS[:2] if task == "binary" else COUNTS
    if task in plugins.load("losses", name).LOSS.tasks:
        loss, spec = make(name, task, counts)
        logits, label = some(spec)
        assert loss(logits, label).shape == (6,)
        assert loss(logits, label).isfinite().all()
    else:
        fitting = "binary_cross_entropy" if task == "multi-label" else "cross_entropy"
        with pytest.raises(InputError, match=rf"{name} does not fit {task} .*{fitting}"):
            make(name, task, counts)


def test_each_value_is_that_of_its_own_sample(name):
    loss, spec = make(name)
    logits, label = some(spec)
    order = torch.tensor([3, 0, 5, 1, 4, 2])
    whole = loss(logits, label)
    torch.testing.assert_close(loss(logits[order], label[order]), whole[order])
    one = torch.cat([loss(logits[i : i + 1], label[i : i + 1]) for i in range(6)])
    torch.testing.assert_close(one, whole)


def test_a_one_hot_label_is_its_class_and_a_mixed_one_lies_between(name):
    loss, spec = make(name)
    logits, label = some(spec)
    ends = [soft_of(label, spec), soft_of(label.roll(1, 0), spec)]
    one, other = (loss(logits, end) for end in ends)
    if not spec.multi_label:
        torch.testing.assert_close(one, loss(logits, label))
    mixed = loss(logits, 0.3 * ends[0] + 0.7 * ends[1])
    torch.testing.assert_close(mixed, 0.3 * one + 0.7 * other, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_taken_to_float32_also_under_autocast(name, dtype):
    loss, spec = make(name)
    logits, label = some(spec, dtype=dtype)
    for target in (label, soft_of(label, spec)):
        exact = loss(logits.float(), target)
        with torch.autocast("cpu", dtype=dtype):
            found = loss(logits, target)
        assert found.dtype == exact.dtype == torch.float32
        torch.testing.assert_close(found, exact)
    assert loss(logits.double(), label).dtype == torch.float64


def test_extreme_logits_leave_value_and_gradient_finite(name):
    loss, spec = make(name)
    for size in (0.0, SCALE, 1e4):
        for k in range(spec.num_classes):
            logits = torch.zeros(spec.num_classes, spec.num_classes)
            logits[:, k] = size
            logits.requires_grad_()
            target = torch.eye(spec.num_classes)
            value = loss(logits, target)
            value.sum().backward()
            assert value.isfinite().all(), (size, k)
            assert logits.grad.isfinite().all(), (size, k)


def test_gradients_are_those_of_finite_differences(name):
    loss, spec = make(name)
    logits, label = some(spec, dtype=torch.float64)
    for target in (label, soft_of(label, spec).double() * 0.9 + 0.1 / spec.num_classes):
        assert torch.autograd.gradcheck(lambda z, t=target: loss(z, t), logits.requires_grad_())


def test_it_keeps_nothing_that_a_checkpoint_needs(name):
    assert make(name)[0].state_dict() == {}


@pytest.mark.parametrize("shape", [(6,), (5,), (6, 2)])
def test_a_target_of_another_shape_is_refused(name, shape):
    loss, spec = make(name)
    with pytest.raises(ValueError, match=f"the target of {name} should be"):
        loss(some(spec)[0], torch.zeros(shape))


def test_its_facts_are_stated(name):
    assert plugins.summary("losses", name).endswith(".")
    text = plugins.load("losses", name).__doc__
    assert "When to use:" in text
    assert "Source:" in text
