"""Items of several views: each is changed and normalised as an image of its own."""

import pytest
import torch

from medldr.transforms import ImageShape, build_pipeline, scan
from medldr.transforms.medmnist import Config as Plain

SHAPE = ImageShape(6, (9, 8))


def stored(count=4):
    generator = torch.Generator().manual_seed(0)
    return torch.randint(0, 256, (count, 6, 9, 8), generator=generator).to(torch.uint8)


def test_each_view_goes_through_the_rule_with_numbers_of_its_own():
    config = scan.Config(mean=(0.1, 0.2, 0.3))
    two, one = (
        build_pipeline(config, SHAPE, views=2),
        build_pipeline(config, SHAPE._replace(channels=3)),
    )
    assert two.rule.draws == 2 * one.rule.draws
    assert two.output == SHAPE
    image, draws = stored(), torch.rand(4, two.rule.draws)
    for keys in ({"train": False}, {"train": True}):
        numbers = draws.split(one.rule.draws, dim=1) if keys["train"] else (None, None)
        made = two.rule(image, uniform=draws if keys["train"] else None, **keys)
        for place, uniform in enumerate(numbers):
            alone = one.rule(image[:, 3 * place :][:, :3], uniform=uniform, **keys)
            torch.testing.assert_close(made[:, 3 * place :][:, :3], alone)


def test_a_missing_view_stays_a_single_value_whatever_noise_is_added():
    image = stored()
    image[1, 3:] = 0
    config = scan.Config(noise=(0.1, 0.2), probability=1.0)
    pipeline = build_pipeline(config, SHAPE, views=2)
    made = pipeline.rule(image, train=True, uniform=torch.rand(4, pipeline.rule.draws))
    assert not made[1, 3:].any()
    assert made[1, :3].std() > 0
    assert (made[0].flatten(1).std(1) > 0).all()


@pytest.mark.parametrize("key", ["train", "eval"])
def test_lists_of_transforms_see_one_view_at_a_time(key):
    step = {"ScaleIntensity": {"minv": 0.0, "maxv": 1.0}}
    pipeline = build_pipeline(Plain(**{key: [step]}), SHAPE, views=2)
    image = stored(1)[0]
    image[3:] = image[3:] // 4  # the second view is darker
    made = pipeline.sample(image, train=key == "train", entropy=(0, 1))
    for view in made.split(3):
        assert (float(view.min()), float(view.max())) == (0.0, 1.0)


def test_random_transforms_draw_for_each_view():
    step = {"RandGaussianNoise": {"prob": 1.0, "std": 0.5}}
    pipeline = build_pipeline(Plain(train=[step]), SHAPE, views=2)
    image = stored(1)[0]
    image[3:] = image[:3]
    first, second = pipeline.sample(image, train=True, entropy=(0, 1)).split(3)
    assert not torch.equal(first, second)
    again = pipeline.sample(image, train=True, entropy=(0, 1))
    torch.testing.assert_close(again, torch.cat([first, second]))
