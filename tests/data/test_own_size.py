"""Crops from each picture at its own size: what training and validation see, picture by picture."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision.transforms.v2 import functional

from medldr.config import RunConfig
from medldr.data import build_data
from medldr.data.files.rules import reading_of
from medldr.data.files.scan import Source
from medldr.data.loading.samples import uniform_numbers
from medldr.data.reading.new_item import ItemReader
from medldr.errors import InputError
from medldr.transforms import Pipeline
from medldr.transforms._chain import build_chain
from medldr.transforms._resized_crop import DRAWS, crops

SIZES = ((40, 61), (57, 33), (24, 24), (90, 31), (33, 64), (48, 48))
MEAN, STD = np.array((0.485, 0.456, 0.406)), np.array((0.229, 0.224, 0.225))
EDGE = 24
CROP_ALONE = {"brightness": 0, "contrast": 0, "saturation": 0, "hue": 0, "grey": 0}


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Three domains of two classes; no picture has the size of its neighbour."""
    root, random = tmp_path_factory.mktemp("own") / "tree", np.random.default_rng(0)
    for d, domain in enumerate(("a", "b", "c")):
        for k, name in enumerate(("no", "yes")):
            (root / domain / name).mkdir(parents=True)
            for n in range(6):
                height, width = SIZES[(n + d + k) % len(SIZES)]
                y, x = np.indices((height, width)) / 12
                waves = [np.sin(x * a + d) * np.cos(y * b + k) for a, b in random.random((3, 2))]
                noise = random.normal(0, 12, (height, width, 3))
                pixels = (128 + 90 * np.stack(waves, -1) + noise).clip(0, 255).astype(np.uint8)
                Image.fromarray(pixels).save(root / domain / name / f"{n}.png")
    return root


@pytest.fixture
def config(tree):
    def make(size=None, transform=None, **data):
        return RunConfig.model_validate(
            {
                "data": {
                    "name": "domain_folders", "root": str(tree), "size": size, "held_out": ["c"],
                    "split_rule": "domainbed", "val_fraction": 0.3, **data,
                },
                "transform": {"name": "natural", "size": EDGE, **CROP_ALONE, **(transform or {})},
                "model": {"name": "resnet18", "width": 0.125},
                "algorithm": {"name": "erm"},
                "training": {"batch_size": 5, "drop_last": False},
                "evaluation": {"batch_size": 4},
                "seed": 3,
            }
        )  # fmt: skip

    return make


def by_row(batches):
    return {
        row: image.numpy()
        for batch in batches
        for row, image in zip(batch.index.tolist(), batch.image, strict=True)
    }


def training(data, run, epoch=1):
    return by_row(data.train_loader(run, sampler="shuffle", device="cpu").batches(epoch))


def validation(data, run, split="id_val"):
    return by_row(data.eval_loader(split, run, device="cpu"))


def normalised(pixels):
    """Pixels ``(H, W, 3)`` in [0, 1] as the network sees them."""
    return ((np.asarray(pixels, np.float64) - MEAN) / STD).transpose(2, 0, 1)


def cropped(path, numbers, run):
    """One picture by Pillow and torchvision: crop, resize, mirror, normalise, in float64."""
    with Image.open(path) as opened:
        picture = np.asarray(opened.convert("RGB"))
    transform = run.transform
    part = crops(
        numbers[None, :DRAWS].astype(np.float64), *picture.shape[:2],
        transform.crop_scale, transform.crop_ratio,
    )  # fmt: skip
    top, left, height, width = (int(column[0]) for column in part)
    image = torch.from_numpy(picture.transpose(2, 0, 1).astype(np.float64) / 255)
    cut = functional.resized_crop(image, top, left, height, width, [EDGE, EDGE], antialias=True)
    pixels = cut.numpy().transpose(1, 2, 0)
    return normalised(pixels[:, ::-1] if numbers[DRAWS] < transform.flip else pixels)


@pytest.mark.parametrize("workers", [2])
def test_training_crops_from_each_picture_as_it_is(tree, config, workers):
    run = config()
    run = run.model_copy(update={"machine": run.machine.model_copy(update={"workers": workers})})
    data = build_data(run)
    found = training(data, run)
    assert len(found) == len(data.rows["train"]) > 15
    rows = np.array(sorted(found))
    draws, total = data.pipeline.rule.draws, len(data.table)
    numbers = uniform_numbers(run.seed, 1, rows, total=total, draws=draws)
    for row, own in zip(rows.tolist(), numbers, strict=True):
        expected = cropped(tree / data.table.ids[row], own, run)
        np.testing.assert_allclose(found[row], expected, atol=2e-5)


@pytest.mark.parametrize("split", ["id_val", "test"])
def test_evaluation_sees_the_whole_picture_resized_as_before(tree, config, split):
    run = config()
    data = build_data(run)
    found = validation(data, run, split)
    assert len(found) > 3
    for row, image in found.items():
        with Image.open(tree / data.table.ids[row]) as opened:
            whole = opened.convert("RGB").resize((EDGE, EDGE), Image.Resampling.BILINEAR)
        np.testing.assert_allclose(image, normalised(np.asarray(whole) / 255), atol=1e-5)
    squashed = config(size=EDGE)
    before = validation(build_data(squashed), squashed, split)
    assert all(np.array_equal(image, before[row]) for row, image in found.items())


def test_augmented_validation_crops_from_each_picture_as_it_is(tree, config):
    run = config(transform={"augment_validation": True})
    data = build_data(run)
    found = validation(data, run)
    rows = np.array(sorted(found))
    draws, total = data.pipeline.rule.draws, len(data.table)
    numbers = uniform_numbers(run.seed, 0, rows, total=total, draws=draws)
    for row, own in zip(rows.tolist(), numbers, strict=True):
        expected = cropped(tree / data.table.ids[row], own, run)
        np.testing.assert_allclose(found[row], expected, atol=2e-5)
    whole = config()
    unchanged, again = (validation(build_data(one), one, "test") for one in (whole, run))
    assert all(np.array_equal(image, again[row]) for row, image in unchanged.items())


COLOURED = {"brightness": 0.3, "contrast": 0.3, "saturation": 0.3, "hue": 0.3, "grey": 0.3}


@pytest.fixture(scope="module")
def equal(tmp_path_factory):
    """As `tree`, but all pictures are of one size."""
    root, random = tmp_path_factory.mktemp("equal"), np.random.default_rng(1)
    for domain in ("a", "b", "c"):
        for name in ("no", "yes"):
            (root / domain / name).mkdir(parents=True)
            for n in range(5):
                pixels = random.integers(0, 256, (40, 40, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(root / domain / name / f"{n}.png")
    return root


def test_pictures_of_one_size_are_the_same_by_either_key(equal, config):
    runs = [config(size, transform=COLOURED, root=str(equal)) for size in (None, 40)]
    ours, stored = (training(build_data(run), run) for run in runs)
    for row, image in ours.items():
        np.testing.assert_allclose(image, stored[row], atol=1e-5)


def test_augmented_validation_follows_the_rule_alone_by_either_key(equal, config):
    """A preset that, unlike natural, allows transform.train beside augmented validation."""
    chain = build_chain([{"ScaleIntensity": {"maxv": 9.0}}], "transform.train", random_allowed=True)
    found = []
    for size in (None, 40):
        run = config(size, transform=COLOURED | {"augment_validation": True}, root=str(equal))
        data = build_data(run)
        plain = data.pipeline
        chained = replace(data, pipeline=Pipeline(plain.rule, chain, None, plain.input))
        found.append(validation(chained, run))
        without = validation(data, run)
        assert found[-1].keys() == without.keys()
        assert all(np.array_equal(image, without[row]) for row, image in found[-1].items())
        assert training(chained, run)[data.rows["train"][0]].max() == 9.0
    ours, stored = found
    assert len(ours) > 5
    for row, image in ours.items():
        np.testing.assert_allclose(image, stored[row], atol=1e-5)


def test_hashes_tell_own_sizes_from_squashed_ones(config):
    run, squashed = config(), config(size=EDGE)
    own, other = build_data(run), build_data(squashed)
    assert own.data_hash != other.data_hash
    assert own.split_hash == other.split_hash  # the same rows
    assert own.table.images.shape == other.table.images.shape == (36, 3, EDGE, EDGE)


@pytest.mark.parametrize("transform", [{"name": "scan"}, {"name": "rand_augment", "size": EDGE}])
def test_a_preset_for_images_of_one_size_is_refused(config, transform):
    run = config()
    text = {"data": run.data.model_dump(), "transform": transform}
    changed = RunConfig.model_validate(run.model_dump(mode="json") | text)
    with pytest.raises(
        InputError, match=r"data.size: null .* Set data.size, or choose one of"
    ) as e:
        build_data(changed)
    assert "natural" in str(e.value)


def test_prediction_reads_a_file_as_evaluation_does(tree, config):
    table = build_data(config()).table
    reader = ItemReader(reading_of(table), table.images.shape[2:], table.images.dtype)
    for row in (0, 7, 20):
        item = reader.read(Source(tree / table.ids[row]))
        assert np.array_equal(item.image, table.images[row])


def test_pictures_at_their_own_size_cannot_be_packed(medldr, tree):
    asked = ("data", "pack", "domain_folders", tree, "data.size=null")
    ended = medldr(*asked)
    assert ended.code == 2
    assert "a pack holds one size. Set data.size to pack them" in " ".join(ended.err.split())
    assert not (tree.parent / "packed").exists()
