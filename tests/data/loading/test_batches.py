"""Every cut of an epoch has whole batches that divide among the processes, and at least one."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medldr.data.loading.batches import plan
from medldr.errors import InputError


@settings(max_examples=20, deadline=None)
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
    assert "leave a last batch of one" in b.notes[0]


def test_dropping_the_last_batch_needs_no_note():
    assert plan(33, 4, drop_last=True).notes == ()
    assert plan(35, 4, drop_last=False)[:3] == (9, 4, 3)


def test_fewer_images_than_a_batch_are_one_batch_with_both_numbers_noted():
    b = plan(8, 32, drop_last=True)
    assert b[:3] == (1, 8, 8)
    assert "32" in b.notes[0]
    assert "8 training images" in b.notes[0]


def test_a_batch_that_does_not_divide_among_processes_is_refused():
    with pytest.raises(InputError, match=r"batch_size: 10 .* multiple of 4, such as 8 or 12"):
        plan(100, 10, drop_last=True, world=4)


def test_no_rows_are_refused():
    with pytest.raises(InputError, match="no training images"):
        plan(0, 4, drop_last=True)
