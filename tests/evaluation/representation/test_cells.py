"""Sums of classes give the mean squared distances of loops over pairs, and are small."""

from itertools import product

import numpy as np
import pytest

from medldr.evaluation.representation.centres import class_sums


def by_hand(z, domain, group, copies, domains):
    """Mean squared distances over pairs of images of different groups, as often as these meet."""
    out = np.full((domains, domains), np.nan)
    for a, b in product(range(domains), repeat=2):
        pairs = [(i, j) for i, j in product(range(len(z)), repeat=2)
                 if domain[i] == a and domain[j] == b and group[i] != group[j]]  # fmt: skip
        weight = [copies[group[i]] * copies[group[j]] for i, j in pairs]
        if sum(weight):
            out[a, b] = np.average([((z[i] - z[j]) ** 2).sum() for i, j in pairs], weights=weight)
    return out


@pytest.mark.parametrize("dim", [2, 50])
@pytest.mark.parametrize("groups", [1, 9, 40])
def test_distances_are_those_of_loops(dim, groups):
    rng = np.random.default_rng(groups)
    # Groups have images of several domains and classes; one domain has no image at all.
    z, label = rng.normal(size=(40, dim)), rng.integers(2, size=40)
    domain = rng.integers(3, size=40)
    group = np.arange(40) if groups == 40 else rng.integers(groups, size=40)
    weights = np.column_stack([np.ones(groups), rng.integers(3, size=(groups, 4))])
    for k, sums in enumerate(class_sums(z, label, domain, group, 4)):
        rows = label == k
        found = sums.squared(weights)
        assert found.shape == (4, 4, 5)
        for draw in range(5):
            expected = by_hand(z[rows], domain[rows], group[rows], weights[:, draw], 4)
            np.testing.assert_allclose(found[:, :, draw], expected, rtol=1e-9)


def test_wide_latents_are_kept_in_no_more_coordinates_than_there_are_entries():
    rng = np.random.default_rng(0)
    z = 5 + rng.normal(size=(30, 400))
    (sums,) = class_sums(z, np.zeros(30, int), np.arange(30) % 3, np.arange(30) // 3, 3)
    assert sums.total.shape == (30, 30)
    order = np.lexsort((np.arange(30) // 3, np.arange(30) % 3))
    np.testing.assert_allclose(sums.total @ sums.total.T, z[order] @ z[order].T)


def test_groups_that_domains_share_are_looked_for_once():
    """Not in every draw: pairs within a group are found when sums are made."""
    domain, group = np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 2, 2])
    (sums,) = class_sums(np.eye(5), np.zeros(5, int), domain, group, 2)
    # Entries: group 0 and 1 of the first domain, 1 and 2 (two images) of the second.
    assert sums.n.tolist() == [1, 1, 1, 2]
    assert sorted(sums.shared.group.tolist()) == [0, 1, 1, 1, 1, 2]
    assert sums.shared.pairs.sum(axis=1).tolist() == [2, 1, 1, 5]
    assert sums.shared.squared.sum(axis=1).tolist() == pytest.approx([0, 2, 2, 4])
