"""Samplers: pure in (seed, epoch), never empty, the same global batches on any process count."""

import numpy as np
import pytest

from medldr.data.loading.samplers import SAMPLERS, build_sampler
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


# ---------------------------------------------------------------- orders


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


def test_a_step_of_several_batches_makes_an_epoch_no_longer():
    plain, several = sampler(batch_size=4), sampler(batch_size=4, batches_per_step=3)
    assert plain.batches[:2] == (12, 4)
    assert several.batches[:2] == (4, 12)


def test_an_unknown_sampler_is_named():
    with pytest.raises(InputError, match=r"unknown sampler 'wieghted'\. Did you mean 'weighted'"):
        sampler("wieghted")


def test_shuffle_shows_every_row_once():
    assert sorted(sampler(drop_last=False, batch_size=10).order(3).tolist()) == list(range(50))
