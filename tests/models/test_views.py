"""Networks that see several views of an item: the mean of their latents, the missing left out."""

import pytest
import torch

from medldr import plugins
from medldr.errors import InputError
from medldr.evaluation.explain.grad_cam import grad_cam
from medldr.models import build_model
from medldr.models.base import FeatureModel
from medldr.types import DataSpec

SIZES = {"resnet18": (12, 10), "densenet121": (16, 16), "resnet18 volumes": (8, 8, 6)}


def build(case, views, channels=1):
    name = case.partition(" ")[0]
    spec = DataSpec("binary", ("a", "b"), (1, 1), channels, SIZES[case], views=views)
    config = plugins.load("models", name).Config(name=name, stem="small", width=0.125)
    return build_model(config, spec, 0).eval()


def items(case, views, count=3, channels=1):
    shape = (count, views * channels, *SIZES[case])
    return torch.rand(shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("case", SIZES)
def test_latents_are_the_mean_of_those_of_each_view_by_the_same_weights(case):
    one, several = build(case, 1, 2), build(case, 3, 2)
    assert {k: v.shape for k, v in one.state_dict().items()} == {
        k: v.shape for k, v in several.state_dict().items()
    }
    image = items(case, 3, channels=2)
    with torch.no_grad():
        each = torch.stack([one.features(view) for view in image.split(2, dim=1)])
        torch.testing.assert_close(several.features(image), each.mean(0))


def test_a_view_of_a_single_value_is_left_out_of_mean_and_statistics():
    one, two = build("resnet18", 1).train(), build("resnet18", 2).train()
    image = items("resnet18", 2)
    image[0, 0], image[1, 1] = 0.0, 0.7
    known = [image[:1, 1:], image[1:2, :1]]
    with torch.no_grad():
        z = two.features(image)
        doubled = [known[0], known[0], known[1], known[1], image[2:, :1], image[2:, 1:]]
        expected = one.features(torch.cat(doubled))
    torch.testing.assert_close(z, torch.stack([expected[0], expected[2], expected[4:].mean(0)]))
    torch.testing.assert_close(two.network.bn1.running_mean, one.network.bn1.running_mean)
    assert torch.isfinite(two.features(torch.zeros_like(image))).all()


def test_taps_see_items_and_may_change_each_view():
    model, shapes = build("resnet18", 2), {}
    dims = dict(zip(model.stages, model.stage_dims, strict=True))

    def tap(value):
        shapes["stage2"] = value.shape
        value = value.clone()
        value[:, : dims["stage2"] // 2] = 0  # the first view
        return value

    image = items("resnet18", 2)
    with torch.no_grad():
        changed = model.features(image, {"stage2": tap})
        same = model.features(image, {"stage2": lambda value: value})
        torch.testing.assert_close(same, model.features(image))
    assert shapes["stage2"][:2] == (3, dims["stage2"])
    first = build("resnet18", 1)
    with torch.no_grad():
        blank = first.features(image[:, :1], {"stage2": torch.zeros_like})
        torch.testing.assert_close(changed, (blank + first.features(image[:, 1:])) / 2)


def test_heat_maps_are_one_for_each_view():
    model = build("resnet18", 2)
    torch.nn.init.normal_(model.head.weight, generator=torch.Generator().manual_seed(0))
    image = items("resnet18", 2)
    image[0, 1] = 0.5
    heat = grad_cam(model, image, [0, 1, 0])
    assert heat.shape == (3, 2, *SIZES["resnet18"])
    assert heat.amax((1, 2, 3)).tolist() == [1.0, 1.0, 1.0]
    assert not heat[0, 1].any()


def test_a_network_with_features_of_its_own_is_refused():
    class Own(FeatureModel):
        def features(self, image, taps=None):
            return image.flatten(1)

    model = Own(stage_dims=(1,) * 5, dim=2, num_classes=2)
    model.take_views(1)
    with pytest.raises(InputError, match=r"data\.combine"):
        model.take_views(2)
