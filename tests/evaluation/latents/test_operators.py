"""Degraded and restored latents of a run are those of its own D and R, on sets as in training."""

import numpy as np
import pytest
import torch
from torch import nn

from medldr.errors import InputError
from medldr.evaluation.latents.operators import Operators, with_operators
from medldr.evaluation.latents.training_batches import TrainingBatches
from medldr.folders.latents_record import DEGRADED, ORIGINAL, RESTORED
from medldr.latent import LatentDR


def operators(dim=8, classes=3, set_size=12, *, sampler="shuffle", **options):
    torch.manual_seed(0)
    augment = LatentDR(dim, classes, **options).train()
    return Operators(augment, nn.Linear(dim, classes), TrainingBatches(set_size, sampler))


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


@pytest.mark.parametrize("sampler", ["shuffle", "weighted", "domains"])
def test_every_sampler_leaves_no_row_out(latents, sampler):
    found = operators(set_size=10, sampler=sampler).views(latents)
    assert np.abs(found[DEGRADED].z).sum(1).min() > 0
    assert np.abs(found[RESTORED].z).sum(1).min() > 0


def test_a_row_that_a_batch_holds_twice_is_what_one_of_the_two_became(latents):
    """Every batch is of both rows of the rare class, several times each."""
    latents.label[:] = 0
    rare = np.flatnonzero(latents.split == "train")[:2]
    latents.label[rare] = 1
    made = operators(set_size=12, sampler="weighted", dropout=0.0)
    first = made.first_batch(latents, seed=2)
    assert len(first) == len(set(first.tolist())) == 8
    blocks = made.batches.blocks(latents, np.flatnonzero(latents.split == "train"))
    batch = next(made.batches.every(blocks, np.random.default_rng(2)))
    assert sorted(set(batch.tolist())) == sorted(first.tolist())
    with torch.no_grad():
        direct = made.augment(torch.from_numpy(latents.z[batch]))
    found = made.views(latents, seed=2)
    np.testing.assert_allclose(found[RESTORED].z[batch], direct.restored, atol=1e-5)


@pytest.mark.parametrize(("set_size", "together"), [(96, 8), (64, 8), (32, 4), (12, 1), (4, 1)])
def test_few_images_of_other_splits_share_a_set(synthetic_latents, set_size, together):
    """Without dropout, what becomes of equal latents differs by their set alone."""
    latents = synthetic_latents(n=300, views=False)
    latents.z[latents.split != "train"] = 1.0
    found = operators(set_size=set_size, dropout=0.0).views(latents)
    other = found[DEGRADED].z[latents.split != "train"]
    changes = np.flatnonzero(np.abs(np.diff(other, axis=0)).max(1) > 1e-5) + 1
    np.testing.assert_array_equal(changes, np.arange(together, len(other), together))


def test_fewer_training_rows_than_a_set_are_one_set(latents):
    made = operators(set_size=10_000)
    assert made.views(latents)[RESTORED].z.shape == latents.z.shape


@pytest.mark.parametrize("rows", [0, 1])
@pytest.mark.parametrize("sampler", ["shuffle", "weighted", "domains"])
def test_with_fewer_than_two_training_rows_nothing_is_mixed(latents, rows, sampler):
    train = np.flatnonzero(latents.split == "train")[:rows]
    few = latents.select(np.sort(np.concatenate([train, np.flatnonzero(latents.split == "test")])))
    made = operators(sampler=sampler, include_query=False)
    for refused in (made.views, made.first_batch, lambda held: made.insert(held, 0)):
        with pytest.raises(InputError, match="fewer than 2 latents of training images"):
            refused(few)
    assert with_operators(few, made) is few


@pytest.mark.parametrize("sampler", ["shuffle", "weighted", "domains"])
def test_two_training_rows_are_enough(latents, sampler):
    train = np.flatnonzero(latents.split == "train")[:2]
    few = latents.select(np.sort(np.concatenate([train, np.flatnonzero(latents.split == "test")])))
    query = int(np.flatnonzero(few.split == "train")[0])
    made = operators(sampler=sampler, include_query=False)
    assert np.isfinite(with_operators(few, made).views[RESTORED].z).all()
    assert made.insert(few, query, times=3)[DEGRADED].shape == (3, 8)


def test_a_method_without_operators_keeps_its_latents(latents):
    assert with_operators(latents, None) is latents
    assert list(with_operators(latents, operators()).views) == [ORIGINAL, DEGRADED, RESTORED]


@pytest.mark.parametrize("sampler", ["shuffle", "domains"])
def test_the_first_batch_is_one_forward_pass(latents, sampler):
    made = operators(set_size=12, sampler=sampler, dropout=0.0)
    rows = made.first_batch(latents, seed=5)
    assert set(latents.split[rows].tolist()) == {"train"}
    found = made.views(latents, seed=5)
    with torch.no_grad():
        direct = made.augment(torch.from_numpy(latents.z[rows]))
    np.testing.assert_allclose(found[RESTORED].z[rows], direct.restored, atol=1e-5)
