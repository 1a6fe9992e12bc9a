"""Extra views: other draws of the images' transform or of one of their own, whoever makes them."""

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from medldr.data import build_data
from medldr.errors import InputError
from medldr.transforms import ImageShape, build_pipeline
from medldr.transforms.contrast_views import Config as ContrastViews
from medldr.transforms.natural import Config as Natural
from medldr.transforms.scan import Config as Scan

VIEWS = ("second", "third")
NOISE = {"RandGaussianNoise": {"prob": 1.0, "std": 5.0}}
PLAIN = {"mean": [0.5] * 3, "std": [0.5] * 3}
CIFAR = {"name": "cifar", "policy": "auto_augment", "cutout": 4, **PLAIN}
CONTRAST = {"name": "contrast_views", **PLAIN}
TRANSFORMS = {
    "draws of the images' own rule": CIFAR,
    "a rule of their own": {**CIFAR, "views": CONTRAST},
    "an augmented image beside views from a list": {
        **CIFAR,
        "views": {"name": "medmnist", "train": [NOISE]},
    },
    "an image from a list beside a rule of their own": {
        "name": "medmnist",
        "train": [NOISE],
        "views": CONTRAST,
    },
    "a list after a rule that draws": {**CIFAR, "train": [NOISE]},
}


@pytest.fixture
def table(make_table):
    splits = ["train"] * 16 + ["val"] * 4
    images = np.random.default_rng(0).integers(0, 256, (20, 3, 12, 12), dtype=np.uint8)
    return make_table([0, 1] * 10, splits=splits, images=images)


@pytest.fixture
def load(make_run, table):
    def make(transform, *, views=VIEWS, rank=0, world=1, sampler="shuffle", size=8, workers=0):
        run = make_run(
            table,
            transform=transform,
            training={"batch_size": size},
            machine={"workers": workers},
        )
        data = build_data(run)
        place = {"device": "cpu", "rank": rank, "world": world}
        return data.train_loader(run, sampler=sampler, views=views, **place)

    return make


def by_row(batches):
    """Image and views of each row."""
    return {
        int(row): torch.stack([batch.image[n], *(batch.views[v][n] for v in VIEWS)])
        for batch in batches
        for n, row in enumerate(batch.index)
    }


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[row], other[row]) for row in one)


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_no_two_views_are_alike_and_the_image_is_as_without_them(load, transform):
    train = load(transform)
    for epoch in range(2):
        made = by_row(train.batches(epoch))
        assert len(made) == 16
        for images in made.values():
            assert images.shape == (3, 3, 12, 12)
            assert images.isfinite().all()
            assert len(torch.unique(images.flatten(1), dim=0)) == 3
        for batch, alone in zip(
            train.batches(epoch), load(transform, views=()).batches(epoch), strict=True
        ):
            assert torch.equal(batch.image, alone.image)
            assert alone.views == {}
            for view in batch.views.values():
                assert view.is_contiguous(memory_format=torch.channels_last)
    assert not same(by_row(train.batches(0)), by_row(train.batches(1)))


@pytest.mark.parametrize("transform", TRANSFORMS.values(), ids=TRANSFORMS)
def test_workers_ranks_batch_sizes_and_resuming_change_no_view(load, transform):
    whole = list(load(transform).batches(3))
    made = by_row(whole)
    assert same(made, by_row(load(transform, size=4).batches(3)))
    parts = [load(transform, rank=rank, world=2).batches(3) for rank in range(2)]
    assert same(made, by_row([batch for part in parts for batch in part]))
    assert same(by_row(whole[1:]), by_row(load(transform).batches(3, start=1)))


def test_worker_processes_change_no_view(load):
    transform = TRANSFORMS["an augmented image beside views from a list"]
    assert same(by_row(load(transform).batches(1)), by_row(load(transform, workers=2).batches(1)))


def test_a_view_is_its_rule_on_the_stored_image_and_its_own_numbers(load, table):
    train = load({**CIFAR, "views": CONTRAST})
    (rule, other) = (train.pipeline.rule, train.pipeline.views.rule)
    for batch in train.batches(0):
        stored = torch.from_numpy(table.images[batch.index.numpy()])
        for number, (name, image) in enumerate({"": batch.image, **batch.views}.items()):
            made_by = other if name else rule
            table_of = np.random.default_rng((0, 0, number, 0, 3))
            drawn = table_of.random((20, made_by.draws), dtype=np.float32)
            uniform = torch.from_numpy(drawn[batch.index.numpy()])
            assert torch.equal(image, made_by(stored, train=True, uniform=uniform))


def test_a_list_beside_a_rule_sees_what_the_rule_alone_would_give(load):
    """The path through worker processes and that on the device make the same views."""
    fast = by_row(load({**CIFAR, "views": CONTRAST}).batches(2))
    slow = by_row(load({**CIFAR, "views": {**CONTRAST, "train": ["Identity"]}}).batches(2))
    assert same(fast, slow)


def test_a_row_that_comes_twice_has_other_views_each_time(make_run, make_table):
    images = np.full((18, 3, 12, 12), 90, np.uint8)
    images[:, :, ::3] = 200
    splits = ["train"] * 16 + ["val"] * 2
    table = make_table([0] * 15 + [1, 0, 1], splits=splits, images=images)
    run = make_run(table, transform={**CIFAR, "views": CONTRAST}, training={"batch_size": 16})
    train = build_data(run).train_loader(run, sampler="weighted", device="cpu", views=VIEWS)
    (batch,) = train.batches(0)
    rare = torch.cat([view[batch.index == 15] for view in batch.views.values()]).flatten(1)
    assert len(rare) > 5
    assert len(torch.unique(rare, dim=0)) == len(rare)


@pytest.mark.parametrize(
    ("transform", "place"),
    [
        ("medmnist", "transform"),
        ({"name": "none", "train": ["Identity"]}, "transform"),
        ({**CIFAR, "views": "medmnist"}, r"transform\.views"),
    ],
    ids=str,
)
def test_views_without_anything_random_are_refused_with_the_cure(load, transform, place):
    cure = rf"extra views \(second, third\), but {place} has no random.*scan or rand_augment"
    with pytest.raises(InputError, match=cure):
        load(transform)


# ---------------------------------------------------------------- what does not fit

SHAPE = ImageShape(3, (12, 12))


def test_views_of_another_size_are_refused():
    with pytest.raises(InputError, match=r"3 x 8 x 8, but the network receives 3 x 12 x 12.*size"):
        build_pipeline(Natural(size=12, views={"name": "contrast_views", "size": 8}), SHAPE)
    assert build_pipeline(Natural(size=8, views={"name": "contrast_views", "size": 8}), SHAPE)
    cropped = {"name": "medmnist", "train": [{"RandSpatialCrop": {"roi_size": 8}}]}
    with pytest.raises(InputError, match=r"makes images of 3 x 8 x 8"):
        build_pipeline(ContrastViews(views=cropped), SHAPE)


def test_views_with_another_normalisation_are_refused():
    with pytest.raises(InputError, match=r"transform\.views normalises otherwise.*mean and std"):
        build_pipeline(ContrastViews(views={"name": "medmnist"}), SHAPE)
    listed = {"name": "none", "train": [{"NormalizeIntensity": {}}, NOISE]}
    assert build_pipeline(ContrastViews(views=listed), SHAPE)  # a list may well normalise


def test_what_is_wrong_with_the_section_is_told_by_its_key():
    with pytest.raises(InputError, match=r"transform\.views: .*contrast_views is for colour"):
        build_pipeline(Scan(views={"name": "contrast_views"}), ImageShape(1, (12, 12)))
    with pytest.raises(InputError, match=r"transform\.views: .*takes pictures of 8 bits"):
        build_pipeline(Scan(views={"name": "contrast_views"}), SHAPE, floating=True)
    with pytest.raises(InputError, match=r"transform\.views\.train\[0\].*RandFlop"):
        build_pipeline(Scan(views={"name": "scan", "train": ["RandFlop"]}), SHAPE)


@pytest.mark.parametrize(
    "extra", [{"eval": ["Identity"]}, {"views": "scan"}, {"augment_validation": True}], ids=str
)
def test_what_acts_outside_training_has_no_place_in_views(extra):
    name = "natural" if "augment_validation" in extra else "scan"
    with pytest.raises(ValidationError, match="views are made in training alone"):
        Scan(views={"name": name, **extra})


def test_volumes_have_views_by_the_rule_for_scans():
    shape = ImageShape(1, (8, 8, 6))
    pipeline = build_pipeline(Scan(), shape)
    assert pipeline.views.random
    volume = torch.randint(0, 256, (1, 8, 8, 6), dtype=torch.uint8)
    drawn = torch.rand(2, pipeline.rule.draws)
    one, other = (pipeline.views(volume, uniform=numbers) for numbers in drawn)
    assert one.shape == other.shape == (1, 8, 8, 6)
    assert not torch.equal(one, other)
    floats = build_pipeline(Scan(views={"name": "scan", "noise": (0.1, 0.2)}), shape, floating=True)
    assert floats.views.rule is not floats.rule
