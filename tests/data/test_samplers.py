"""Samplers: pure in (seed, epoch), never empty, the same global batches on any process count."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medldr.data.samplers import SAMPLERS, build_sampler, plan
from medldr.errors import InputError


def sampler(name="shuffle", labels=None, domains=None, **options):
    labels = np.zeros(50, np.int64) if labels is None else np.asarray(labels)
    domains = np.full(len(labels), -1) if domains is None else np.asarray(domains)
    settings = {"batch_size": 8, "drop_last": True, "seed": 0} | options
    return build_sampler(name, labels=labels, domains=domains, **settings)


def global_batches(built, epoch=0, world=1):
    order = built.order(epoch)
    b = built.batches
    assert len(order) == b.total
    return [
        np.concatenate([order[b.part(step, rank, world)] for rank in range(world)])
        for step in range(b.steps)
    ]


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 200), st.integers(1, 40), st.booleans(), st.integers(1, 4), st.integers(0, 3))
def test_a_plan_never_has_an_empty_or_uneven_batch(rows, per_process, drop_last, world, epoch):
    batch_size = per_process * world
    if rows < world:
        with pytest.raises(InputError, match="processes"):
            plan(rows, batch_size, drop_last=drop_last, world=world)
        return
    b = plan(rows, batch_size, drop_last=drop_last, world=world)
    assert b.steps >= 1
    assert b.total <= rows
    covered = []
    for step in range(b.steps):
        parts = [b.part(step, rank, world) for rank in range(world)]
        sizes = {part.stop - part.start for part in parts}
        assert len(sizes) == 1
        assert sizes.pop() >= (1 if rows < 2 * world or per_process == 1 else 2)
        covered += [n for part in parts for n in range(part.start, part.stop)]
    assert covered == list(range(b.total))
    if not drop_last:
        assert rows - b.total < 2 * world


def test_33_images_in_batches_of_4_leave_the_lone_one_out_with_a_note():
    b = plan(33, 4, drop_last=False)
    assert (b.steps, b.last) == (8, 4)
    assert "leave one alone" in b.notes[0]


def test_dropping_the_last_batch_needs_no_note():
    assert plan(33, 4, drop_last=True).notes == ()
    assert plan(35, 4, drop_last=False)[:3] == (9, 4, 3)


def test_fewer_images_than_a_batch_are_one_batch_with_both_numbers_noted():
    b = plan(8, 32, drop_last=True)
    assert b[:3] == (1, 8, 8)
    assert "32" in b.notes[0]
    assert "8 training images" in b.notes[0]


def test_batch_size_1_is_noted():
    b = plan(33, 1, drop_last=False)
    assert b.steps == 33
    assert "one image at a time" in b.notes[0]


def test_a_batch_that_does_not_divide_among_processes_is_refused():
    with pytest.raises(InputError, match=r"batch_size: 10 .* multiple of 4, such as 8 or 12"):
        plan(100, 10, drop_last=True, world=4)


def test_no_rows_are_refused():
    with pytest.raises(InputError, match="no training images"):
        plan(0, 4, drop_last=True)


# ---------------------------------------------------------------- orders


@pytest.mark.parametrize("name", SAMPLERS)
def test_an_order_is_a_function_of_seed_and_epoch_alone(name):
    def build(seed=0):
        return sampler(name, labels=[0, 1] * 25, domains=[0, 0, 1, 2, 2] * 10, seed=seed)

    used = build()
    for epoch in range(3):
        used.order(epoch)
    assert np.array_equal(used.order(5), build().order(5))
    assert not np.array_equal(used.order(5), used.order(6))
    assert not np.array_equal(used.order(5), build(seed=1).order(5))


def test_shuffle_shows_every_row_once():
    order = sampler(drop_last=False, batch_size=7).order(0)
    assert sorted(order.tolist()) == list(range(49)) or len(set(order.tolist())) == len(order)
    full = sampler(drop_last=False, batch_size=10).order(3)
    assert sorted(full.tolist()) == list(range(50))


@pytest.mark.parametrize("name", SAMPLERS)
@pytest.mark.parametrize("world", [2, 4])
def test_global_batches_hold_the_same_rows_on_any_number_of_processes(name, world):
    def build(processes):
        return sampler(
            name, labels=[0, 1] * 25, domains=[0, 1] * 25, batch_size=16, world=processes
        )

    alone, together = global_batches(build(1)), global_batches(build(world), world=world)
    assert [sorted(b.tolist()) for b in alone] == [sorted(b.tolist()) for b in together]


def test_weighted_draws_every_class_equally_often():
    labels = np.repeat([0, 1, 2], [900, 90, 10])
    built = sampler("weighted", labels=labels, batch_size=100)
    drawn = np.concatenate([built.order(epoch) for epoch in range(20)])
    shares = np.bincount(labels[drawn]) / len(drawn)
    np.testing.assert_allclose(shares, 1 / 3, atol=4 * np.sqrt(2 / 9 / len(drawn)))


def test_weighted_indexes_only_the_rows_used_also_when_a_class_is_absent():
    labels = np.array([0, 0, 0, 2, 2, 0, 0, 0])  # 30 % of some table; class 1 has no row
    built = sampler("weighted", labels=labels, batch_size=4)
    drawn = np.concatenate([built.order(epoch) for epoch in range(200)])
    assert drawn.max() < 8
    assert np.isfinite(built.weights).all()
    assert np.bincount(labels[drawn])[2] / len(drawn) == pytest.approx(0.5, abs=0.05)


def test_weighted_refuses_several_labels_per_row():
    with pytest.raises(InputError, match="multi-label"):
        sampler("weighted", labels=np.zeros((10, 3), np.float32))


@pytest.mark.parametrize("world", [1, 2])
def test_domain_blocks_are_equal_in_every_batch_and_on_every_process(world):
    domains = np.repeat([0, 1, 2], [60, 25, 5])
    built = sampler(
        "domains", labels=np.zeros(90, int), domains=domains, batch_size=12, world=world
    )
    order, b = built.order(0), built.batches
    assert b[:3] == (7, 12, 12)
    for step in range(b.steps):
        for rank in range(world):
            counts = np.bincount(domains[order[b.part(step, rank, world)]], minlength=3)
            assert counts.tolist() == [4 // world] * 3


def test_a_small_domain_recycles_and_shows_each_row_equally_often():
    domains = np.repeat([0, 1], [95, 5])
    built = sampler("domains", labels=np.zeros(100, int), domains=domains, batch_size=20)
    order = built.order(0)
    times = np.bincount(order[domains[order] == 1])[95:]
    assert times.tolist() == [10] * 5
    assert np.bincount(order[domains[order] == 0]).max() == 1


def test_domain_batches_are_rounded_to_equal_blocks_with_a_note():
    built = sampler("domains", labels=np.zeros(50, int), domains=[0, 1, 2, 2, 2] * 10, batch_size=8)
    assert built.batches.size == 6
    assert "each step uses 6: 2 from each of 3" in built.batches.notes[0]


def test_domain_batches_smaller_than_the_number_of_domains_are_refused():
    with pytest.raises(InputError, match=r"batch_size: 2 is too small.*least is 3"):
        sampler("domains", labels=np.zeros(50, int), domains=[0, 1, 2, 2, 2] * 10, batch_size=2)


def test_domain_blocks_without_domains_are_refused():
    with pytest.raises(InputError, match="this dataset has none"):
        sampler("domains")


def test_one_row_per_domain_still_gives_a_batch():
    built = sampler("domains", labels=np.zeros(3, int), domains=[0, 1, 2], batch_size=32)
    assert [sorted(b.tolist()) for b in global_batches(built)] == [[0, 1, 2]]


def test_an_unknown_sampler_is_named():
    with pytest.raises(InputError, match=r"no sampler 'wieghted'\. Did you mean 'weighted'"):
        sampler("wieghted")
