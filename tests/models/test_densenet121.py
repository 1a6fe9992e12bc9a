"""DenseNet-121 against MONAI's own forward and its published parameter count."""

import pytest
import torch
from monai.networks.nets.densenet import DenseNet121 as MonaiDenseNet121

from medldr.errors import InputError


def test_has_the_published_number_of_parameters_and_latents(build):
    model = build("densenet121", 3, 2, (96, 96))
    assert sum(p.numel() for p in model.parameters()) == 6_955_906
    assert model.dim == 1024
    assert model.stage_dims == (64, 256, 512, 1024, 1024)


@pytest.mark.parametrize("axes", [2, 3])
def test_equals_monai_with_the_same_weights(build, axes):
    model = build("densenet121", 1, 2, (32,) * axes).eval()
    theirs = MonaiDenseNet121(spatial_dims=axes, in_channels=1, out_channels=2).eval()
    theirs.load_state_dict(
        {
            key.replace("network.", "features.").replace("head.", "class_layers.out."): value
            for key, value in model.state_dict().items()
        }
    )
    image = torch.randn(2, 1, *(32,) * axes)
    with torch.inference_mode():
        torch.testing.assert_close(model(image), theirs(image), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("stem", ["imagenet", "small"])
def test_images_too_small_for_the_stem_are_an_error_before_the_first_step(build, stem):
    smallest = {"imagenet": 29, "small": 8}[stem]
    with pytest.raises(InputError, match=f"stem {stem} needs at least {smallest} pixels"):
        build("densenet121", 1, 2, (64, smallest - 1), width=0.125, stem=stem)
    model = build("densenet121", 1, 2, (smallest, smallest), width=0.125, stem=stem)
    assert model(torch.rand(2, 1, smallest, smallest)).shape == (2, 2)
