"""Batches of training rows are drawn as the run's sampler drew them."""

import dataclasses

import numpy as np
import pytest

from medldr.evaluation.latents.training_batches import TrainingBatches, can_mix, training_rows


@pytest.fixture
def latents(synthetic_latents):
    return synthetic_latents(n=90, views=False)


def shares(names):
    return dict(zip(*(part.tolist() for part in np.unique(names, return_counts=True)), strict=True))


def test_a_shuffled_batch_is_any_rows_each_once(latents):
    train = training_rows(latents)
    rng = np.random.default_rng(0)
    drawn = [TrainingBatches(12).draw([train], rng) for _ in range(300)]
    assert all(len(set(batch.tolist())) == 12 for batch in drawn)
    counts = np.bincount(np.concatenate(drawn), minlength=90)
    assert set(np.flatnonzero(counts).tolist()) == set(train.tolist())
    expected = 300 * 12 / len(train)
    assert np.abs(counts[train] - expected).max() < 5 * expected**0.5


def test_domains_give_equally_many_rows_each_once(latents):
    train = training_rows(latents)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        made = TrainingBatches(10, "domains")
        batch = made.draw(made.blocks(latents, train), rng)
        assert shares(latents.domain[batch]) == {"a": 5, "b": 5}
        assert len(set(batch.tolist())) == 10


def test_a_weighted_batch_has_all_classes_alike_however_rare(latents):
    train = training_rows(latents)
    latents.label[train] = 0
    latents.label[train[:3]] = 1
    for batches in (TrainingBatches(12, "weighted"), TrainingBatches(13, "weighted")):
        blocks = batches.blocks(latents, train)
        drawn = [batches.draw(blocks, np.random.default_rng(s)) for s in range(40)]
        counts = [np.bincount(latents.label[batch], minlength=2) for batch in drawn]
        assert all(part.sum() == batches.size for part in counts)
        assert max(np.abs(part[0] - part[1]) for part in counts) == batches.size % 2
        each = list(batches.every(blocks, np.random.default_rng(0)))
        assert {len(batch) for batch in each} == {batches.size}
        assert all(abs(int((latents.label[b] == 1).sum()) - 6) <= 1 for b in each)


@pytest.mark.parametrize("sampler", ["shuffle", "weighted", "domains"])
@pytest.mark.parametrize("size", [1, 2, 7, 12, 1_000])
def test_every_row_is_in_some_batch_and_none_is_larger_than_it_was(latents, sampler, size):
    train = training_rows(latents)
    made = TrainingBatches(size, sampler)
    batches = list(made.every(made.blocks(latents, train), np.random.default_rng(1)))
    assert set(np.concatenate(batches).tolist()) == set(train.tolist())
    assert max(map(len, batches)) <= size
    if sampler != "weighted":
        assert all(len(set(batch.tolist())) == len(batch) for batch in batches)
    if sampler == "shuffle":
        assert len(batches) == -(-len(train) // min(size, len(train)))


def test_of_more_domains_than_fit_as_many_as_fit(latents):
    train = training_rows(latents)
    names = latents.domain.astype("<U3")
    names[train] = [f"h{number % 30}" for number in range(len(train))]
    latents = dataclasses.replace(latents, domain=names)
    for batches in (TrainingBatches(8, "domains"), TrainingBatches(16, "domains", domains=4)):
        number = batches.domains or 8
        rng = np.random.default_rng(0)
        blocks = batches.blocks(latents, train)
        drawn = [batches.draw(blocks, rng) for _ in range(60)]
        for batch in [*drawn, *batches.every(blocks, rng)]:
            assert len(shares(latents.domain[batch])) == number
            assert len(batch) <= batches.size
        assert len({d for batch in drawn for d in latents.domain[batch].tolist()}) == 30


def test_two_training_rows_can_be_mixed_and_one_cannot(latents):
    train = training_rows(latents)
    assert can_mix(latents.select(train[:2]))
    assert not can_mix(latents.select(train[:1]))
    assert not can_mix(dataclasses.replace(latents, split=np.full(90, "test")))
