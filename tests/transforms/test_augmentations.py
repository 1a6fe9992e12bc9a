"""The packaged augmentation lists run, change images and keep their size."""

import pytest
import torch
from ruamel.yaml import YAML

from medldr import plugins
from medldr.config import packaged_configs
from medldr.transforms import ImageShape, build_pipeline


@pytest.mark.parametrize(
    ("part", "shapes"),
    [
        ("augment2d", [ImageShape(1, (28, 28)), ImageShape(3, (64, 64))]),
        ("augment3d", [ImageShape(1, (28, 28, 28))]),
    ],
)
def test_packaged_augmentations_run_on_every_shape_they_are_for(part, shapes):
    path = packaged_configs() / "transform" / f"{part}.yaml"
    section = YAML(typ="safe").load(path.read_text())["transform"]
    config = plugins.load("transforms", section["name"]).Config(**section)
    for shape in shapes:
        pipeline = build_pipeline(config, shape)
        assert pipeline.output == shape
        image = torch.randint(0, 256, (shape.channels, *shape.spatial_size), dtype=torch.uint8)
        views = [pipeline.sample(image, train=True, entropy=(0, 0, n)) for n in range(4)]
        assert all(view.shape == image.shape and torch.isfinite(view).all() for view in views)
        assert len(torch.unique(torch.stack(views).flatten(1), dim=0)) >= 3


@pytest.mark.parametrize("part", ["cifar", "cifar_auto_augment", "cifar_rand_augment", "cifar_bcl"])
def test_packaged_augmentations_of_cifar_build_and_have_random_views(part):
    path = packaged_configs() / "transform" / f"{part}.yaml"
    section = YAML(typ="safe").load(path.read_text())["transform"]
    config = plugins.load("transforms", section["name"]).Config(**section)
    pipeline = build_pipeline(config, ImageShape(3, (32, 32)))
    assert pipeline.views.random
    assert pipeline.has_own_views == (part == "cifar_bcl")
    assert pipeline.views.output == pipeline.output == ImageShape(3, (32, 32))
