"""Loaders: the same batches whatever the workers, processes and resumption; nothing read early."""

import multiprocessing
import threading
from dataclasses import replace

import numpy as np
import pytest
import torch

from medldr.data import build_data
from medldr.data.loading.pixels import Pixels, copied, one_ahead
from medldr.datasets.base import LazyImages
from medldr.errors import InputError

NOISE = {"name": "none", "train": [{"RandGaussianNoise": {"prob": 1.0, "std": 5.0}}]}


@pytest.fixture
def table(make_table):
    splits = ["train"] * 24 + ["val"] * 5 + ["test"] * 7
    return make_table(
        [0, 1, 2] * 12,
        splits=splits,
        domains=["x", "y", "x", "x"] * 9,
        groups=[f"p{n // 3}" if n < 24 else "" for n in range(36)],
    )


def loader(make_run, table, *, views=(), rank=0, world=1, sampler="shuffle", **sections):
    sections.setdefault("training", {"batch_size": 8})
    run = make_run(table, **sections)
    data = build_data(run)
    return data.train_loader(
        run, sampler=sampler, device="cpu", views=views, rank=rank, world=world
    )


def epoch_images(train, epoch, start=0):
    return torch.cat([batch.image for batch in train.batches(epoch, start)])


def assert_same(first, second):
    first, second = list(first), list(second)
    assert len(first) == len(second)
    for a, b in zip(first, second, strict=True):
        assert torch.equal(a.index, b.index)
        assert torch.equal(a.image, b.image)
        assert torch.equal(a.label, b.label)


# ---------------------------------------------------------------- batches


def test_a_batch_carries_what_the_table_says_of_each_row(make_run, table):
    train = loader(make_run, table)
    assert (train.steps_per_epoch, train.batch_size) == (3, 8)
    seen = []
    for batch in train.batches(0):
        rows = batch.index.numpy()
        assert np.array_equal(batch.image.numpy(), table.images[rows].astype(np.float32))
        assert np.array_equal(batch.label.numpy(), table.labels[rows])
        assert batch.label.dtype == batch.domain.dtype == batch.group.dtype == torch.int64
        assert batch.domain.tolist() == [["x", "y"].index(d) for d in table.domains[rows]]
        for number, group in zip(batch.group.tolist(), table.groups[rows], strict=True):
            assert (number == -1) == (group == "")
        assert batch.image.is_contiguous(memory_format=torch.channels_last)
        seen += rows.tolist()
    assert sorted(seen) == list(range(24))


def test_rows_of_held_out_domains_have_domain_minus_one(make_run, table):
    run = make_run(table, data={"held_out": ["y"]})
    data = build_data(run)
    (batch,) = data.eval_loader("test", run, device="cpu")
    assert set(table.domains[batch.index.numpy()]) == {"y"}
    assert batch.domain.tolist() == [-1] * len(batch.index)
    assert data.spec.domains == ("x", "y")
    assert data.spec.train_domains == ("x",)


def test_multi_label_batches_are_float_with_nan_for_missing(make_run, make_table):
    labels = np.array([[0, 1, np.nan], [1, 0, 1]] * 6)
    table = make_table(labels, splits=["train"] * 8 + ["val"] * 4)
    train = loader(make_run, table, training={"batch_size": 4})
    batch = next(train.batches(0))
    assert batch.label.shape == (4, 3)
    assert batch.label.dtype == torch.float32
    assert np.array_equal(batch.label.numpy(), table.labels[batch.index], equal_nan=True)


# ---------------------------------------------------------------- resuming and processes


@pytest.mark.parametrize("transform", ["none", NOISE])
def test_resuming_within_an_epoch_gives_the_rest_of_it(make_run, table, transform):
    train = loader(make_run, table, transform=transform)
    assert_same(
        list(train.batches(4))[2:], loader(make_run, table, transform=transform).batches(4, 2)
    )


@pytest.mark.parametrize(
    ("transform", "sampler"),
    [("none", "shuffle"), (NOISE, "shuffle"), ("none", "weighted"), (NOISE, "domains")],
)
def test_two_processes_share_the_global_batch_that_one_would_see(
    make_run, table, transform, sampler
):
    def of(rank, world):
        options = {"transform": transform, "sampler": sampler}
        return list(loader(make_run, table, rank=rank, world=world, **options).batches(1))

    for whole, first, second in zip(of(0, 1), of(0, 2), of(1, 2), strict=True):
        assert len(first.index) == len(second.index) == len(whole.index) // 2
        index = torch.cat([first.index, second.index])
        image = torch.cat([first.image, second.image])
        # As sets: with equal blocks per process the order within the batch differs.
        key = [
            sorted(zip(i.tolist(), m.flatten(1).sum(1).tolist(), strict=True))
            for i, m in ((whole.index, whole.image), (index, image))
        ]
        assert key[0] == key[1]


# ---------------------------------------------------------------- randomness of samples


@pytest.fixture
def equal_images(make_table):
    table = make_table([0, 1] * 8, splits=["train"] * 12 + ["val"] * 4)
    table.images[:] = 100
    return table


@pytest.mark.parametrize("workers", [0, 2])
def test_no_two_samples_and_no_two_epochs_are_augmented_alike(make_run, equal_images, workers):
    train = loader(
        make_run,
        equal_images,
        transform=NOISE,
        training={"batch_size": 4},
        machine={"workers": workers},
    )
    images = torch.cat([epoch_images(train, epoch) for epoch in range(2)]).flatten(1)
    assert len(torch.unique(images, dim=0)) == 24
    again = torch.cat([epoch_images(train, epoch) for epoch in range(2)]).flatten(1)
    assert torch.equal(images, again)


def test_workers_change_nothing_and_leave_torchs_generator_alone(make_run, table):
    def batches(count):
        train = loader(make_run, table, transform=NOISE, machine={"workers": count})
        torch.manual_seed(0)
        made = list(train.batches(2))
        return made, torch.random.get_rng_state()

    (inline, state), (worked, state_after) = batches(0), batches(2)
    assert_same(inline, worked)
    assert torch.equal(state, state_after)
    assert torch.equal(state, torch.manual_seed(0).get_state())


def test_repeated_draws_of_one_row_get_different_numbers_from_the_rule(make_run, make_table):
    table = make_table([0] * 15 + [1] + [0, 1], splits=["train"] * 16 + ["val"] * 2)
    table.images[:] = 255
    rule = {"name": "medmnist3d", "shape_transform": True}
    train = loader(make_run, table, transform=rule, sampler="weighted", training={"batch_size": 16})
    (batch,) = train.batches(0)
    numbers = batch.image[batch.index == 15].flatten(1)[:, 0]
    assert len(numbers) > 2
    assert len(torch.unique(numbers)) == len(numbers)


def test_the_shape_transform_draws_per_sample_and_alike_with_and_without_a_chain(
    make_run, make_table
):
    table = make_table([0, 1] * 8, splits=["train"] * 12 + ["val"] * 4)
    table.images[:] = 255
    rule = {"name": "medmnist3d", "shape_transform": True}
    fast = epoch_images(loader(make_run, table, transform=rule), 3)
    chained = epoch_images(loader(make_run, table, transform={**rule, "train": ["Identity"]}), 3)
    assert torch.equal(fast, chained)
    assert len(torch.unique(fast.flatten(1)[:, 0])) == 8


def test_a_chain_with_changing_sizes_is_told_with_its_cure(make_run, table):
    crop = {"RandSpatialCrop": {"roi_size": 2, "max_roi_size": 4, "random_size": True}}
    same = {"Resize": {"spatial_size": [4, 4]}}
    transform = {"name": "none", "train": [crop, same]}
    assert epoch_images(loader(make_run, table, transform=transform), 0).shape[2:] == (4, 4)
    train = loader(make_run, table, transform=transform)
    train.pipeline.train.compose.transforms = train.pipeline.train.compose.transforms[:1]
    with pytest.raises(InputError, match=r"transform\.train gives images of different shapes"):
        epoch_images(train, 0)


# ---------------------------------------------------------------- evaluation


@pytest.mark.parametrize("steps", [[], ["ScaleIntensity"]])
def test_evaluation_equals_what_prediction_does(make_run, table, steps):
    run = make_run(table, transform={"name": "medmnist", "eval": steps})
    data = build_data(run)
    (batch,) = data.eval_loader("test", run, device="cpu")
    stored = torch.from_numpy(table.images[batch.index.numpy()])
    assert torch.equal(batch.image, data.pipeline.evaluate(stored))


def test_an_absent_split_is_named(make_run, table):
    run = make_run(table)
    with pytest.raises(InputError, match=r"no split 'tset'\. Did you mean 'test'"):
        build_data(run).eval_loader("tset", run, device="cpu")


# ---------------------------------------------------------------- where the pixels are


def test_elsewhere_only_the_asked_splits_rows_travel_and_only_once(table):
    """The meta device replaces a graphics card: it holds shapes without values."""
    pixels = Pixels(table.images)
    device = torch.device("meta")
    images, places = pixels.of_split("train", np.arange(24), device)
    assert images.shape == (24, 1, 4, 4)
    assert places.shape == (24,)
    assert pixels.of_split("train", np.arange(24), device)[0] is images


def test_elsewhere_some_rows_of_a_split_are_those_that_were_asked_for(table):
    pixels, device = Pixels(table.images), torch.device("meta")
    every, some = np.arange(10, 24), np.array([12, 20, 23])
    few, _ = pixels.of_split("train", some, device)
    assert len(few) == 3
    images, _ = pixels.of_split("train", every, device)  # more than were there
    assert len(images) == 14
    placed = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch, "from_numpy", lambda array: placed.append(array) or torch.empty(3))
        again, _ = pixels.of_split("train", some, device)
    assert again is images
    assert placed[0].tolist() == [2, 10, 13]


def test_what_would_fill_the_device_stays_on_the_host(table, monkeypatch):
    monkeypatch.setattr("medldr.data.loading.pixels.free_bytes", lambda device: 100)
    pixels = Pixels(table.images)
    images, places = pixels.of_split("train", np.arange(24), torch.device("meta"))
    assert images.device.type == "cpu"
    assert places.tolist() == list(range(24))
    assert images is pixels.host


def test_rows_with_gaps_are_gathered_block_by_block(table, monkeypatch):
    monkeypatch.setattr("medldr.data.loading.pixels.BLOCK_BYTES", 2 * 16)  # two images
    rows = np.array([1, 5, 6, 9, 30])
    copy = copied(torch.from_numpy(table.images), rows, torch.device("cpu"), lambda _: None)
    assert np.array_equal(copy.numpy(), table.images[rows])


def test_read_only_memory_maps_serve_too(make_run, table, tmp_path):
    np.save(tmp_path / "images.npy", table.images)
    mapped = replace(table, images=np.load(tmp_path / "images.npy", mmap_mode="r"))
    assert_same(loader(make_run, mapped).batches(0), loader(make_run, table).batches(0))


# ---------------------------------------------------------------- pixels read when asked for


class Shelf(LazyImages):
    """An array that is read row by row, and remembers where it was asked."""

    def __init__(self, images, broken=()):
        self.images, self.broken = images, broken
        self.shape, self.stamp = images.shape, "shelf"

    def __getitem__(self, rows):
        asked = np.atleast_1d(np.arange(len(self))[rows])
        for row in asked.tolist():
            if row in self.broken:
                raise InputError(f"picture {row} cannot be used")
        return self.images[rows].copy()


@pytest.mark.parametrize(("transform", "workers"), [(NOISE, 2), ({"name": "medmnist"}, 0)])
def test_lazy_images_give_the_batches_of_an_array(make_run, table, transform, workers):
    lazy = replace(table, images=Shelf(table.images))
    options = {"transform": transform, "machine": {"workers": workers}}
    for epoch, start in ((0, 0), (3, 1)):
        assert_same(
            loader(make_run, lazy, **options).batches(epoch, start),
            loader(make_run, table, **options).batches(epoch, start),
        )
    runs = [make_run(of, evaluation={"batch_size": 3}, **options) for of in (lazy, table)]
    assert_same(*(build_data(run).eval_loader("test", run, device="cpu") for run in runs))


@pytest.mark.parametrize(("transform", "workers"), [("none", 0), (NOISE, 0), ("none", 2)])
def test_a_picture_that_breaks_while_training_is_told_in_its_own_words(
    make_run, table, transform, workers
):
    # Where checksums of files are known, no pixel is read before the training.
    lazy = replace(table, images=Shelf(table.images, broken={7}), hashes={"shelf": "0"})
    train = loader(make_run, lazy, transform=transform, machine={"workers": workers})
    with pytest.raises(InputError, match=r"^picture 7 cannot be used$"):
        list(train.batches(0))
    assert multiprocessing.active_children() == []


def test_lazy_images_are_read_in_worker_processes_and_never_kept(make_run, table):
    lazy = replace(table, images=Shelf(table.images))
    train = loader(make_run, lazy, machine={"workers": 2})
    batches = train.batches(0)
    next(batches)
    assert len(multiprocessing.active_children()) == 2
    batches.close()
    assert multiprocessing.active_children() == []
    pixels = build_data(make_run(lazy)).pixels
    assert pixels.host is None
    with pytest.raises(ValueError, match="not kept"):
        pixels.of_split("train", np.arange(24), torch.device("cpu"))


def test_a_mapped_array_is_read_one_batch_ahead_and_no_further(table, tmp_path):
    np.save(tmp_path / "images.npy", table.images)
    read = []

    def batches():
        for start in range(0, 12, 3):
            read.append(start)
            yield np.arange(start, start + 3)

    ahead = one_ahead(np.load(tmp_path / "images.npy", mmap_mode="r"), batches(), pin=False)
    for number, batch in enumerate(ahead):
        assert np.array_equal(batch.numpy(), table.images[3 * number : 3 * number + 3])
        assert read == [3 * n for n in range(min(number + 2, 4))]
    assert not [t for t in threading.enumerate() if "read-ahead" in t.name]
    assert list(one_ahead(table.images, [], pin=False)) == []


def test_an_early_end_leaves_no_reader_behind(make_run, table, tmp_path):
    np.save(tmp_path / "images.npy", table.images)
    mapped = replace(table, images=np.load(tmp_path / "images.npy", mmap_mode="r"))
    batches = loader(make_run, mapped).batches(0)
    next(batches)
    batches.close()
    assert not [t for t in threading.enumerate() if "read-ahead" in t.name]


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="no graphics card here")
def test_batches_on_a_graphics_card_equal_those_on_the_cpu(make_run, table):
    run = make_run(table, transform={"name": "medmnist"}, training={"batch_size": 8})
    data = build_data(run)
    for a, b in zip(
        data.train_loader(run, sampler="shuffle", device="cpu").batches(1),
        data.train_loader(run, sampler="shuffle", device="cuda").batches(1),
        strict=True,
    ):
        assert b.image.device.type == b.label.device.type == "cuda"
        assert torch.equal(a.image, b.image.cpu())
        assert torch.equal(a.index, b.index.cpu())
    images, _ = data.pixels.of_split("train", data.rows["train"], torch.device("cuda"))
    assert (images.device.type, len(images)) == ("cuda", len(data.rows["train"]))


def test_more_processes_than_rows_leave_some_without_work(make_run, table):
    run = make_run(table)
    data = build_data(run)
    parts = [list(data.eval_loader("val", run, device="cpu", rank=r, world=7)) for r in range(7)]
    assert [sum(len(b.index) for b in part) for part in parts] == [1, 1, 1, 1, 1, 0, 0]
