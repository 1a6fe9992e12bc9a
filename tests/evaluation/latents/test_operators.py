"""Degraded and restored latents of a run are those of its own D and R, on sets as in training."""

import numpy as np
import pytest
import torch
from torch import nn

from medldr.errors import InputError
from medldr.evaluation.latents.operators import Operators, with_operators
from medldr.folders.latents_record import DEGRADED, ORIGINAL, RESTORED
from medldr.latent import LatentDR


def operators(dim=8, classes=3, set_size=12, *, by_domain=False, **options):
    torch.manual_seed(0)
    augment = LatentDR(dim, classes, **options).train()
    return Operators(augment, nn.Linear(dim, classes), set_size, by_domain)


@pytest.fixture
def latents(synthetic_latents):
    return synthetic_latents(n=90, views=False)


def test_every_row_is_degraded_and_restored_and_the_seed_repeats_it(latents):
    found = operators().views(latents, seed=3)
    assert list(found) == [DEGRADED, RESTORED]
    for view in found.values():
        assert view.z.shape == latents.z.shape
        assert view.logits.shape == (90, 3)
        assert np.abs(view.z).sum(1).min() > 0  # no row was left out
    again = operators().views(latents, seed=3)
    np.testing.assert_array_equal(found[RESTORED].z, again[RESTORED].z)
    other = operators().views(latents, seed=4)
    assert not np.array_equal(found[RESTORED].z, other[RESTORED].z)


def test_the_global_generator_is_left_as_it_was(latents):
    made = operators()
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    made.views(latents)
    assert torch.rand(1) == expected


def test_without_chance_rows_are_what_d_and_r_make_of_the_whole_set(latents):
    """One set that holds all training rows: their order in it cannot matter."""
    train = latents.split == "train"
    made = operators(set_size=int(train.sum()), dropout=0.0)
    found = made.views(latents)
    z = torch.from_numpy(latents.z)
    with torch.no_grad():
        direct = made.augment(z[train])
        apart = made.augment(z[~train], z[train])  # the set of other rows is one of training
    np.testing.assert_allclose(found[DEGRADED].z[train], direct.degraded, atol=1e-5)
    np.testing.assert_allclose(found[RESTORED].z[train], direct.restored, atol=1e-5)
    np.testing.assert_allclose(found[RESTORED].z[~train], apart.restored, atol=1e-5)


@pytest.mark.parametrize(
    ("options", "names"),
    [
        ({"degrade": "none", "terms": ["restored"]}, [RESTORED]),
        ({"terms": ["degraded"], "restore": "none"}, [DEGRADED]),
        ({"degrade": "gaussian"}, [DEGRADED, RESTORED]),
        ({"degrade": "gaussian", "terms": ["restored"]}, [DEGRADED, RESTORED]),
        ({"degrade": "pool", "include_query": False}, [DEGRADED, RESTORED]),
    ],
)
def test_forms_without_one_of_the_two_have_the_other(latents, options, names):
    found = operators(**options)
    assert list(found.views(latents)) == names
    assert list(found.insert(latents, 0, times=2)) == names


def test_a_query_is_inserted_into_other_batches_each_time(latents):
    query = int(np.flatnonzero(latents.split == "train")[0])
    found = operators(dropout=0.0).insert(latents, query, times=32)
    assert found[DEGRADED].shape == (32, 8)
    assert len(np.unique(found[RESTORED].round(6), axis=0)) == 32
    unseen = int(np.flatnonzero(latents.split == "test")[0])
    assert operators().insert(latents, unseen)[RESTORED].shape == (32, 8)


def test_sets_hold_as_many_rows_of_each_domain_as_in_training(latents):
    train = np.flatnonzero(latents.split == "train")
    made = operators(set_size=10, by_domain=True)
    for seed in range(5):
        drawn = made.draw_set(latents, train, np.random.default_rng(seed))
        names, counts = np.unique(latents.domain[drawn], return_counts=True)
        assert dict(zip(names.tolist(), counts.tolist(), strict=True)) == {"a": 5, "b": 5}
        assert len(set(drawn.tolist())) == 10
    assert list(made.views(latents)) == [DEGRADED, RESTORED]
    assert np.abs(made.views(latents)[DEGRADED].z).sum(1).min() > 0


def test_fewer_training_rows_than_a_set_are_one_set(latents):
    made = operators(set_size=10_000)
    assert made.views(latents)[RESTORED].z.shape == latents.z.shape


def test_a_run_without_training_rows_is_refused(latents):
    with pytest.raises(InputError, match="no latents of training images"):
        operators().views(latents.select(latents.split == "test"))


def test_a_method_without_operators_keeps_its_latents(latents):
    assert with_operators(latents, None) is latents
    assert list(with_operators(latents, operators()).views) == [ORIGINAL, DEGRADED, RESTORED]


@pytest.mark.parametrize("by_domain", [False, True])
def test_the_first_batch_is_one_forward_pass(latents, by_domain):
    made = operators(set_size=12, by_domain=by_domain, dropout=0.0)
    rows = made.first_batch(latents, seed=5)
    assert set(latents.split[rows].tolist()) == {"train"}
    found = made.views(latents, seed=5)
    with torch.no_grad():
        direct = made.augment(torch.from_numpy(latents.z[rows]))
    np.testing.assert_allclose(found[RESTORED].z[rows], direct.restored, atol=1e-5)
