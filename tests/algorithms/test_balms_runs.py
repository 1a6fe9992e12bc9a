"""Runs that do not suit BALMS are refused before the first step, with the cure."""

import dataclasses

import pytest

from medldr.errors import InputError


@pytest.fixture
def build(standins):
    """The algorithm for classes of these sizes."""

    def make(counts=(60, 12, 3), **keys):
        names = tuple(f"class {k}" for k in range(len(counts)))
        spec = dataclasses.replace(standins.make_spec(), class_names=names, class_counts=counts)
        return standins.make_algorithm("balms", spec, standins.make_model(spec), **keys)

    return make


def checked(run_config, build, batch_size=4, machine=None, keys=None, **training):
    algorithm = build(**(keys or {}))
    config = run_config(
        training={"epochs": 1, "batch_size": batch_size, **training}, machine=machine or {}
    )
    return algorithm.check_run(config, processes=1, steps=10)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"sampler": "shuffle"}, r"training\.sampler: shuffle does not balance the classes"),
        ({"batch_per_domain": 4}, r"training\.sampler: domains does not balance the classes"),
        ({"machine": {"compile": True}}, r"machine\.compile: algorithm balms"),
    ],
)
def test_runs_that_cannot_be_right_are_refused(run_config, build, changes, said):
    with pytest.raises(InputError, match=said):
        checked(run_config, build, **changes)


def test_its_own_sampler_may_be_stated(run_config, build):
    assert checked(run_config, build, sampler="weighted") == []


def test_a_class_with_too_few_images_is_refused_by_name(run_config, build):
    assert checked(run_config, build, batch_size=9) == []  # three of each class
    with pytest.raises(InputError) as error:
        checked(run_config, build, batch_size=10)
    said = str(error.value)
    assert "about 3.33 of each class, but class 'class 2' has 3 training images" in said
    assert said.startswith("training.batch_size, or batch_size of the stage: with 10, ")
    assert "Set it to 9 or less, or algorithm.meta_repeats: true" in said
    (note,) = checked(run_config, build, batch_size=10, keys={"meta_repeats": True})
    assert "class 'class 2' has 3 training images, so images repeat in that score" in note


def test_cifar_100_lt_at_the_published_batch_needs_repeats(run_config, build):
    """Its rarest classes have 5 images, and 512 rows hold 5.12 of each of 100 classes."""
    counts = tuple(int(500 * 0.01 ** (k / 99)) for k in range(100))
    with pytest.raises(InputError, match=r"class 'class 96' has 5 .* to 500 or less"):
        checked(run_config, build, batch_size=512, keys={"counts": counts})


def test_classes_without_images_are_not_drawn_and_not_missed(run_config, build):
    keys = {"loss": "cross_entropy", "counts": (60, 3, 0)}
    assert checked(run_config, build, batch_size=6, keys=keys) == []
    with pytest.raises(InputError, match=r"class 'class 1' has 3 .* to 6 or less"):
        checked(run_config, build, batch_size=7, keys=keys)


def test_a_batch_larger_than_the_data_counts_as_the_data(run_config, build):
    assert checked(run_config, build, batch_size=1000, keys={"counts": (4, 4, 4)}) == []
