"""The sampler `domains`: equal blocks in every batch, of all source domains or of some."""

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medldr.data.loading.samplers import build_sampler
from medldr.errors import InputError

NAMES = ("north", "south", "west", "east")


def sampler(sizes, batch_size, *, mixed=True, **options):
    """A sampler over domains of these sizes, and the domain of every row."""
    domains = np.repeat(np.arange(len(sizes)), sizes)
    if mixed:
        np.random.default_rng(0).shuffle(domains)
    keys = {"drop_last": False, "seed": 0, "domain_names": NAMES} | options
    built = build_sampler(
        "domains",
        labels=np.zeros(len(domains), np.int64),
        domains=domains,
        batch_size=batch_size,
        **keys,
    )
    return built, domains


def parts(built, epoch=0, world=1):
    """Rows by step and process."""
    order = built.order(epoch)
    assert len(order) == built.batches.total
    return [
        [order[built.batches.part(step, rank, world)] for rank in range(world)]
        for step in range(built.batches.steps)
    ]


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=4),
    st.integers(1, 40),
    st.integers(1, 4),
    st.integers(1, 3),
    st.integers(1, 3),
    st.booleans(),
)
def test_every_batch_is_whole_balanced_and_without_repeats_or_it_is_refused(
    sizes, batch_size, chosen, world, times, drop_last
):
    chosen = min(chosen, len(sizes))
    options = {
        "domains_per_batch": chosen,
        "batches_per_step": times,
        "world": world,
        "drop_last": drop_last,
    }
    try:
        built, domains = sampler(sizes, batch_size, **options)
    except InputError as error:
        assert "training.batch_size" in str(error)  # noqa: PT017  (both outcomes are right)
        too_small = batch_size * times < chosen * world
        rows = min(batch_size * times, sum(sizes)) // (chosen * world) * world
        assert too_small or min(sizes) < max(world, rows)
        return
    share = built.batches.size // chosen
    assert built.batches.size == built.batches.last
    assert built.batches.size <= batch_size * times
    for step in parts(built, epoch=2, world=world):
        together = np.concatenate(step)
        assert len(set(together.tolist())) == len(together) == built.batches.size
        for part in step:
            counts = np.bincount(domains[part], minlength=len(sizes))
            assert sorted(counts[counts > 0].tolist()) == [share // world] * chosen
            assert (np.diff(domains[part]) >= 0).all()
    shown = built.batches.steps * built.batches.size
    if drop_last:
        assert shown <= max(sum(sizes), built.batches.size)
    else:
        assert 0 <= shown - sum(sizes) < built.batches.size


@pytest.mark.parametrize(("chosen", "world"), [(1, 2), (2, 3), (3, 3)])
def test_any_number_of_processes_sees_the_same_global_batches(chosen, world):
    alone, _ = sampler((90, 50, 40), 36, domains_per_batch=chosen)
    together, _ = sampler((90, 50, 40), 36, domains_per_batch=chosen, world=world)
    for [one], several in zip(parts(alone), parts(together, world=world), strict=True):
        assert sorted(one.tolist()) == sorted(np.concatenate(several).tolist())


def test_a_small_domain_comes_again_and_shows_each_row_equally_often():
    built, domains = sampler((95, 6), 8, drop_last=True)  # 12 batches of 4 from each
    order = built.order(0)
    times = np.bincount(order, minlength=101)
    assert set(times[domains == 1].tolist()) == {8}
    assert times[domains == 0].max() == 1


@pytest.mark.parametrize("rows", [4, 5, 7, 11])
def test_no_batch_shows_an_image_twice_where_a_small_domain_begins_again(rows):
    built, domains = sampler((400, rows), 8)
    for epoch in range(3):
        small = [part[domains[part] == 1] for [part] in parts(built, epoch)]
        assert all(len(set(block.tolist())) == 4 for block in small)
        times = np.bincount(np.concatenate(small), minlength=404 - 4 + rows)[domains == 1]
        assert times.max() - times.min() <= 1


def test_the_rows_that_begin_a_pass_are_drawn_evenly():
    # 5 rows in blocks of 3: the second batch takes the two that are left and one of the others.
    built, domains = sampler((60, 5), 6, mixed=False)
    seconds = Counter()
    for epoch in range(300):
        (first,), (second,) = parts(built, epoch)[:2]
        [again] = set(first[domains[first] == 1]) & set(second[domains[second] == 1])
        seconds[int(again)] += 1
    assert set(seconds) == set(range(60, 65))
    # Chi-squared with 4 degrees of freedom: above 18.5 once in a thousand seeds.
    assert sum((n - 60) ** 2 / 60 for n in seconds.values()) < 18.5


# ---------------------------------------------------------------- some domains per batch


def test_every_set_of_domains_is_drawn_equally_often():
    built, domains = sampler((3000, 3000, 3000, 3000), 4, domains_per_batch=2)
    found = Counter(tuple(np.unique(domains[part]).tolist()) for [part] in parts(built))
    assert set(found) == set(combinations(range(4), 2))
    # 3,000 batches, 500 expected of each; 5 degrees of freedom, once in a thousand seeds.
    assert sum((n - 500) ** 2 / 500 for n in found.values()) < 20.5


def test_which_domains_a_batch_holds_follows_from_seed_epoch_and_step_alone():
    short, _ = sampler((40, 40, 40), 8, domains_per_batch=2)
    long, _ = sampler((400, 400, 400), 8, domains_per_batch=2)
    other, _ = sampler((40, 40, 40), 8, domains_per_batch=2, seed=1)
    steps = short.batches.steps
    assert long.batches.steps > steps
    assert np.array_equal(short.drawn(3), long.drawn(3)[:steps])
    assert not np.array_equal(short.drawn(3), short.drawn(4))
    assert not np.array_equal(short.drawn(3), other.drawn(3))


# ---------------------------------------------------------------- several batches per step


def test_a_step_of_three_batches_holds_as_many_images_of_each_domain():
    built, domains = sampler((300, 200, 110), 16, domains_per_batch=3, batches_per_step=3)
    assert built.batches[:3] == (13, 48, 48)  # 610 images, and fewer than 48 more
    assert built.batches.notes == ()
    for [part] in parts(built):
        assert np.bincount(domains[part]).tolist() == [16, 16, 16]


# ---------------------------------------------------------------- what is noted and refused


def test_batches_are_rounded_to_equal_blocks_with_a_note():
    built, _ = sampler((10, 10, 30), 8)
    assert built.batches.size == 6
    assert "each step uses 6: 2 from each of 3 source domains" in built.batches.notes[0]
    built, _ = sampler((10, 10, 30), 9, domains_per_batch=2)
    assert "each step uses 8: 4 from each of 2 of the 3 source domains" in built.batches.notes[0]
    built, _ = sampler((9, 9, 9), 100, batches_per_step=3)
    (note,) = built.batches.notes
    assert "training.batch_size is 100, 3 times in a step; each step uses 27" in note


def test_a_domain_that_an_epoch_shows_several_times_is_noted():
    built, _ = sampler((900, 95, 5), 9)
    (note,) = built.batches.notes
    assert "each image of south 4 times, of west 67 times" in note
    assert "north" not in note
    assert sampler((100, 60, 51), 9)[0].batches.notes == ()


def test_batches_smaller_than_their_number_of_domains_are_refused():
    with pytest.raises(InputError, match=r"batch_size: 2 is too small.*minimum is 3"):
        sampler((10, 10, 30), 2)
    with pytest.raises(
        InputError, match=r"2 source domains on each of 4 processes; .*minimum is 8"
    ):
        sampler((10, 10, 30), 4, domains_per_batch=2, world=4)
    with pytest.raises(InputError, match=r"minimum is 2$"):
        sampler((10, 10, 30), 1, batches_per_step=3, world=2)


def test_a_domain_smaller_than_its_share_is_refused_with_its_name_and_the_cure():
    with pytest.raises(InputError) as caught:
        sampler((60, 25, 5, 7), 32)
    message = str(caught.value)
    for words in (
        "training.batch_size: with 32",
        "8 images from each of its source domains",
        "west has 5, east has 7",
        "training.batch_size to 20 or less",
        "data.held_out",
        "data.exclude",
        "training.sampler: shuffle",
    ):
        assert words in message
    sampler((60, 25, 5, 7), 20)
    with pytest.raises(InputError):
        sampler((60, 25, 5, 7), 24)


@pytest.mark.parametrize(
    ("options", "largest"),
    [
        ({}, 15),
        ({"domains_per_batch": 2}, 10),
        ({"world": 2, "batches_per_step": 3}, 4),
    ],
)
def test_the_batch_size_that_is_named_works_and_a_larger_one_does_not(options, largest):
    with pytest.raises(InputError, match=rf"training\.batch_size to {largest} or less"):
        sampler((90, 40, 5), 60, **options)
    assert sampler((90, 40, 5), largest, **options)[0].share <= 5
    unit = 3 * options.get("world", 1)
    with pytest.raises(InputError):
        sampler((90, 40, 5), largest + unit, **options)


def test_fewer_images_of_a_domain_than_processes_ask_for_fewer_processes():
    with pytest.raises(InputError, match=r"south has 2\. Use fewer processes \(machine\.devices\)"):
        sampler((60, 2), 32, world=4)


def test_more_domains_per_batch_than_there_are_is_refused():
    with pytest.raises(InputError, match="needs 3 source domains in each batch, but there are"):
        sampler((10, 10), 8, domains_per_batch=3)


@pytest.mark.parametrize("domains", [[-1] * 10, [0] * 9 + [-1], []])
def test_rows_without_domains_are_refused(domains):
    with pytest.raises(InputError, match="this dataset has none"):
        build_sampler(
            "domains",
            labels=np.zeros(len(domains), np.int64),
            domains=np.array(domains, np.int64),
            batch_size=8,
            drop_last=True,
            seed=0,
        )


@pytest.mark.parametrize("domains_per_batch", [None, 2])
def test_images_per_domain_may_be_given_instead_of_a_batch_size(domains_per_batch):
    built, domains = sampler(
        [9, 5, 30],
        7,
        batch_per_domain=4,
        domains_per_batch=domains_per_batch,
        batches_per_step=3,
    )
    chosen = domains_per_batch or 3
    assert built.batches.size == 4 * chosen
    for (batch,) in parts(built):
        assert sorted(Counter(domains[batch].tolist()).values()) == [4] * chosen


def test_a_domain_smaller_than_its_share_is_named_with_the_cure():
    with pytest.raises(InputError, match=r"training.batch_per_domain.*south has 5.*to 5 or less"):
        sampler([9, 5, 30], 7, batch_per_domain=8)
    with pytest.raises(InputError, match=r"batch_per_domain: 5 .* 2 processes.* multiple of 2"):
        sampler([9, 9], 7, batch_per_domain=5, world=2)
    with pytest.raises(InputError, match=r"batch_per_domain.*sampler is shuffle"):
        build_sampler(
            "shuffle",
            labels=np.zeros(4, np.int64),
            domains=np.zeros(4, np.int64),
            batch_size=2,
            drop_last=False,
            seed=0,
            batch_per_domain=2,
        )


def test_the_images_of_a_domain_come_again_only_after_all_of_it():
    built, domains = sampler((60, 60, 60), 8, domains_per_batch=2)
    order = built.order(0)
    for domain in range(3):
        own = order[domains[order] == domain]
        assert len(set(own[:60].tolist())) == min(60, len(own))
