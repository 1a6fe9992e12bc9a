"""The balanced contrastive loss, against worked values and its definition in two loops."""

import math

import numpy as np
import pytest
import torch

from medldr.algorithms._balanced_contrast import balanced_contrast


def unit(rows, dim, seed):
    drawn = np.random.default_rng(seed).normal(size=(rows, dim))
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)


def definition(embeddings, label, prototypes, temperature, anchors=None):
    """Class by class and row by row, in NumPy's float64."""
    keys = np.concatenate([embeddings, prototypes])
    of_class = np.concatenate([label, np.arange(len(prototypes))])
    costs = []
    for i in range(len(embeddings)) if anchors is None else anchors:
        similar = keys @ keys[i] / temperature
        among_all = 0.0
        for j in range(len(prototypes)):
            members = [k for k in range(len(keys)) if of_class[k] == j and k != i]
            among_all += sum(math.exp(similar[k]) for k in members) / len(members)
        own = [p for p in range(len(keys)) if of_class[p] == of_class[i] and p != i]
        costs.append(np.mean([math.log(among_all) - similar[p] for p in own]))
    return np.mean(costs)


def loss(embeddings, label, prototypes, temperature, dtype=torch.float32, **keys):
    tensors = (torch.tensor(np.asarray(v), dtype=dtype) for v in (embeddings, prototypes))
    embeddings, prototypes = tensors
    return balanced_contrast(
        embeddings, torch.as_tensor(label), prototypes, temperature=temperature, **keys
    ).item()


@pytest.mark.parametrize("temperature", [0.07, 0.1, 1.0])
def test_equal_vectors_everywhere_cost_the_logarithm_of_the_classes(temperature):
    vector = np.array([[0.6, 0.8]])
    found = loss(vector.repeat(8, 0), [0, 1, 2, 0, 0, 1, 2, 0], vector.repeat(3, 0), temperature)
    assert found == pytest.approx(1.098612, abs=1e-5)


@pytest.mark.parametrize(
    ("temperature", "expected"), [(1.0, 0.551445), (0.1, math.log1p(2 * math.exp(-10)))]
)
def test_classes_in_the_corners_of_a_simplex(temperature, expected):
    corners = np.eye(3)
    label = [0, 1, 1, 2, 0, 1, 1, 2]
    found = loss(corners[label], label, corners, temperature)
    assert found == pytest.approx(expected, abs=1e-6)
    if temperature == 0.1:
        assert expected == pytest.approx(9.08e-5, abs=1e-7)


def at_angles(*degrees):
    turned = np.deg2rad(degrees)
    return np.stack([np.cos(turned), np.sin(turned)], axis=1)


@pytest.mark.parametrize(
    ("label", "temperature", "expected"),
    [
        ([0, 0, 1, 2], 1.0, 0.444447),
        ([0, 0, 1, 2], 0.1, 0.230692),
        ([0, 0, 1, 2], 0.07, 0.407958),
        ([0, 0, 1, 1], 0.1, 3.737798),  # the last class is there by its prototype alone
    ],
)
def test_worked_values_in_the_plane(label, temperature, expected):
    views = np.concatenate([at_angles(0, 10, 100, 200), at_angles(20, -15, 130, 250)])
    centres = at_angles(5, 120, 240)
    assert loss(views, label * 2, centres, temperature) == pytest.approx(expected, abs=1e-5)
    in_loops = definition(views, label * 2, centres, temperature)
    assert in_loops == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("classes", [2, 5, 40])
@pytest.mark.parametrize("temperature", [0.07, 0.5])
def test_equals_its_definition(classes, temperature):
    label = np.random.default_rng(classes).integers(0, min(classes, 7), 12)
    both = np.concatenate([label, label])
    embeddings, prototypes = unit(24, 6, 1), unit(classes, 6, 2)
    found = loss(embeddings, both, prototypes, temperature, torch.float64)
    expected = definition(embeddings, both, prototypes, temperature)
    assert found == pytest.approx(expected, rel=1e-12)
    assert loss(embeddings, both, prototypes, temperature) == pytest.approx(expected, rel=1e-4)


def test_parts_of_the_anchors_against_the_whole_set_come_to_the_whole():
    """So processes that each have their own anchors do what one would."""
    label = torch.tensor([0, 1, 1, 2, 0, 1] * 2)
    embeddings, prototypes = unit(12, 4, 3), unit(3, 4, 4)
    parts = [torch.tensor([0, 1, 2, 6, 7, 8]), torch.tensor([3, 4, 5, 9, 10, 11])]
    found = [loss(embeddings, label, prototypes, 0.1, torch.float64, anchors=p) for p in parts]
    for one, part in zip(found, parts, strict=True):
        expected = definition(embeddings, label.numpy(), prototypes, 0.1, part.tolist())
        assert one == pytest.approx(expected, rel=1e-12)
    whole = loss(embeddings, label, prototypes, 0.1, torch.float64)
    assert np.mean(found) == pytest.approx(whole, rel=1e-12)


def test_more_images_of_a_class_weigh_no_more():
    """Copies of the images of a class that is not the anchor's change nothing for the anchor."""
    first = unit(4, 5, 5)
    label = np.array([0, 0, 1, 2])
    many = np.concatenate([first, first[2:3].repeat(9, 0)])
    labels = np.concatenate([label, np.full(9, 1)])
    anchors = torch.tensor([0])
    prototypes = unit(3, 5, 6)
    prototypes[1] = first[2]  # else copies would outweigh the prototype in their class's mean
    once = loss(first, label, prototypes, 0.2, torch.float64, anchors=anchors)
    often = loss(many, labels, prototypes, 0.2, torch.float64, anchors=anchors)
    assert once == pytest.approx(often, rel=1e-12)


def test_gradients_are_those_of_finite_differences_and_small_temperatures_do_not_overflow():
    embeddings = torch.tensor(unit(6, 3, 7), requires_grad=True)
    prototypes = torch.tensor(unit(2, 3, 8), requires_grad=True)
    label = torch.tensor([0, 1, 1, 0, 1, 1])

    def of(e, p):
        return balanced_contrast(e, label, p, temperature=0.3)

    assert torch.autograd.gradcheck(of, (embeddings, prototypes))
    value = balanced_contrast(embeddings.float(), label, prototypes.float(), temperature=1e-3)
    value.backward()
    assert torch.isfinite(value)
    assert torch.isfinite(embeddings.grad).all()
