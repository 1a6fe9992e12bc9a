"""BCL beside its update, which `tests/fidelity` derives: its heads, and what stacks on it."""

import dataclasses

import pytest
import torch
from torch import nn

from medldr import plugins
from medldr.algorithms import bcl as module
from medldr.algorithms import build_algorithm
from medldr.algorithms._balanced_contrast import balanced_contrast
from medldr.algorithms.bcl import BCL, BCLConfig
from medldr.errors import InputError
from medldr.models import build_model
from medldr.types import DataSpec


@pytest.fixture
def build(standins):
    def make(name="bcl", task="multi-class", counts=(40, 30, 20, 10), rows=12, **keys):
        spec = standins.make_spec(task)
        spec = dataclasses.replace(spec, class_counts=counts[: spec.num_classes])
        model = standins.make_model(spec)
        algorithm = standins.make_algorithm(name, spec, model, **keys).train()
        views = algorithm.views
        return model, algorithm, standins.make_batch(spec, rows, views=views)

    return make


def test_all_views_go_through_the_network_at_once(build):
    model, algorithm, batch = build()
    algorithm.loss(model, batch)
    assert model.passes == 1


@pytest.mark.parametrize(("head", "total"), [("cosine", 669_840), ("linear", 669_940)])
def test_parameters_with_a_resnet32_are_the_published_numbers(head, total):
    spec = DataSpec("multi-class", tuple(f"c{k}" for k in range(100)), (5,) * 100, 3, (32, 32))
    config = plugins.load("models", "resnet32").Config(head=head)
    model = build_model(config, spec, seed=0)
    algorithm = build_algorithm(BCLConfig(), spec, model, seed=0)
    heads = [sum(p.numel() for p in h.parameters()) for h in (algorithm.embed, algorithm.prototype)]
    assert heads == [99_968, 99_968]
    assert sum(p.numel() for p in model.parameters()) + sum(heads) == total


def test_unset_the_heads_are_as_wide_as_the_latents(build):
    model, algorithm, _ = build(hidden=None, feat_dim=1024)
    assert algorithm.embed.hidden.out_features == model.dim
    assert algorithm.prototype.out.out_features == 1024


def test_a_loss_of_ones_own_takes_the_place_of_the_logit_adjusted_one(build):
    model, algorithm, batch = build(loss="cross_entropy")
    out = algorithm.loss(model, batch)
    expected = nn.functional.cross_entropy(out.logits, batch.label)
    torch.testing.assert_close(out.logs["loss/original"], expected.detach())


def test_multi_label_data_are_refused(build):
    with pytest.raises(InputError, match="bcl does not fit multi-label labels"):
        build(task="multi-label", loss="binary_cross_entropy")


def test_a_head_without_weights_is_refused(standins):
    spec = standins.make_spec()
    model = standins.make_model(spec)
    model.head = nn.Sequential(nn.Linear(8, 4))
    with pytest.raises(InputError, match=r"class prototypes .* \(Sequential\) has none"):
        BCL(BCLConfig(), spec, model)


@pytest.mark.parametrize("name", ["latentdr", "batchformer"])
def test_methods_of_sets_stack_on_the_first_view(name, build):
    keys = {} if name == "batchformer" else {"degrade": "gaussian"}
    model, algorithm, batch = build(name, base={"name": "bcl"}, dropout=0.0, **keys)
    assert algorithm.views == ("second", "third")
    out = algorithm.loss(model, batch)
    assert model.passes == 1
    assert out.z.shape == (12, model.dim)
    alone = algorithm.base.loss(model, batch)
    torch.testing.assert_close(out.logs["loss/bcl"], alone.logs["loss/bcl"])
    if name == "latentdr":  # its own terms are added to the whole of the base's loss
        added = out.logs["loss/degraded"] + out.logs["loss/restored"]
        torch.testing.assert_close(out.loss, alone.loss + added)
    with pytest.raises(InputError, match="bcl does not fit multi-label"):
        build(name, task="multi-label", base={"name": "bcl"})


class Together:
    """Two processes' rows, of which this one has the first."""

    others = ()

    def __init__(self, rows, device):
        self.total = 2 * rows
        self.own = torch.arange(rows)
        self.waiting = list(self.others)

    def gather(self, value):
        return torch.cat([value, self.waiting.pop(0)])


@pytest.mark.parametrize("scope", ["global", "local"])
def test_the_set_spans_all_processes_unless_told_otherwise(scope, build, monkeypatch):
    _, algorithm, _ = build(set_scope=scope)
    unit = [nn.functional.normalize(torch.randn(3, 6), dim=1) for _ in range(4)]
    corners = nn.functional.normalize(torch.randn(4, 6), dim=1)
    mine, theirs = torch.tensor([0, 1, 1]), torch.tensor([1, 2, 3])
    monkeypatch.setattr(module, "several_processes", lambda: True)
    monkeypatch.setattr(module, "RowGatherer", Together)
    monkeypatch.setattr(Together, "others", (unit[2], unit[3], theirs))
    found = algorithm._contrast(unit[0], unit[1], mine, corners)
    if scope == "local":
        rows, label, anchors = torch.cat(unit[:2]), mine.repeat(2), None
    else:
        rows = torch.cat([unit[0], unit[2], unit[1], unit[3]])
        label, anchors = torch.cat([mine, theirs]).repeat(2), torch.tensor([0, 1, 2, 6, 7, 8])
    expected = balanced_contrast(rows, label, corners, temperature=0.1, anchors=anchors)
    torch.testing.assert_close(found, expected)
