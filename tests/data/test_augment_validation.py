"""Validation pictures augmented as in training, which DomainBed's protocol has."""

import numpy as np
import pytest
import torch

from medldr.data import build_data

SPLITS = ["train"] * 12 + ["val"] * 8 + ["id_val"] * 4 + ["test"] * 4
DOMAINS = ["a", "b"] * 6 + ["a", "b", "c", "d"] * 2 + ["a", "b"] * 2 + ["e"] * 4


@pytest.fixture
def build(make_run, make_table):
    def make(*, domains=DOMAINS, seed=0, **keys):
        images = np.random.default_rng(5).integers(0, 256, (28, 3, 12, 12), dtype=np.uint8)
        table = make_table([0, 1] * 14, splits=SPLITS, domains=domains, images=images)
        run = make_run(
            table,
            transform={"name": "natural", "size": 16, **keys},
            evaluation={"batch_size": 3},
            seed=seed,
        )
        return build_data(run), run

    return make


def images(data, run, split, **place):
    batches = list(data.eval_loader(split, run, device="cpu", **place))
    return torch.cat([b.image for b in batches]), torch.cat([b.index for b in batches])


def test_only_validation_pictures_of_source_domains_are_augmented(build):
    plain, on = build(), build(augment_validation=True)
    for split in ("train", "test"):
        assert torch.equal(images(*plain, split)[0], images(*on, split)[0])
    one, index = images(*plain, "val")
    other, again = images(*on, "val")
    assert torch.equal(index, again)
    changed = (one != other).flatten(1).any(1)
    assert changed.tolist() == [DOMAINS[row] in "ab" for row in index.tolist()]
    assert (images(*plain, "id_val")[0] != images(*on, "id_val")[0]).flatten(1).any(1).all()


def test_an_augmented_picture_is_the_rule_of_training_from_the_numbers_of_its_row(build):
    data, run = build(augment_validation=True)
    found, index = images(data, run, "id_val")
    rule = data.pipeline.rule
    # All numbers of (seed 0, epoch 0), one row of them per row of the table.
    drawn = np.random.default_rng((0, 0, 0, 0, 3)).random((28, rule.draws), dtype=np.float32)
    stored = torch.from_numpy(data.table.images[index.numpy()])
    uniform = torch.from_numpy(drawn[index.numpy()])
    assert torch.equal(found, rule(stored, train=True, uniform=uniform))


def test_it_is_the_same_at_every_validation_and_for_any_number_of_processes(build):
    data, run = build(augment_validation=True)
    first = images(data, run, "val")[0]
    assert torch.equal(first, images(data, run, "val")[0])
    parts = [images(data, run, "val", rank=rank, world=3)[0] for rank in range(3)]
    assert torch.equal(first, torch.cat(parts))
    assert not torch.equal(first, images(*build(augment_validation=True, seed=1), "val")[0])


def test_without_domains_all_validation_pictures_are_augmented_and_no_others(build):
    plain = build(domains=[""] * 28)
    on = build(domains=[""] * 28, augment_validation=True)
    assert (images(*plain, "val")[0] != images(*on, "val")[0]).flatten(1).any(1).all()
    assert torch.equal(images(*plain, "test")[0], images(*on, "test")[0])


def test_prediction_never_augments(build):
    data, _ = build(augment_validation=True)
    plain, _ = build()
    stored = torch.from_numpy(data.table.images)
    assert torch.equal(data.pipeline.evaluate(stored), plain.pipeline.evaluate(stored))
