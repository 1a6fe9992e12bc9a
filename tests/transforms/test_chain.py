"""Lists of MONAI transforms: what may be named, what is refused, and repeatable randomness."""

import pytest
import torch

from medldr.errors import InputError
from medldr.transforms import ImageShape, build_pipeline, none
from medldr.transforms._chain import build_chain, known_transforms


def chain(*entries, random_allowed=True):
    return build_chain(entries, "transform.train", random_allowed=random_allowed)


def test_an_empty_list_is_no_chain_and_needs_no_monai():
    assert chain() is None


def test_a_chain_equals_monais_own_compose():
    from monai.transforms import Compose, Flip, ScaleIntensity

    image = torch.rand(1, 8, 8)
    ours = chain({"Flip": {"spatial_axis": 0}}, "ScaleIntensity")(image)
    theirs = Compose([Flip(spatial_axis=0), ScaleIntensity()])(image)
    assert type(ours) is torch.Tensor
    assert torch.equal(ours, torch.as_tensor(theirs).as_tensor())


def test_the_same_entropy_gives_the_same_image_and_another_gives_another():
    noise = chain({"RandGaussianNoise": {"prob": 1.0, "std": 1.0}})
    image = torch.zeros(1, 4, 4)
    assert torch.equal(noise(image, (0, 1, 2)), noise(image, (0, 1, 2)))
    assert not torch.equal(noise(image, (0, 1, 2)), noise(image, (0, 1, 3)))


RANDOM_2D = [
    {"RandFlip": {"prob": 0.5, "spatial_axis": 0}},
    {"RandRotate90": {"prob": 0.5}},
    {"RandAffine": {"prob": 1.0, "rotate_range": 0.2, "scale_range": 0.1}},
    {"RandZoom": {"prob": 1.0, "min_zoom": 0.8, "max_zoom": 1.2}},
    {"RandGridDistortion": {"prob": 1.0}},
    {"RandGaussianNoise": {"prob": 1.0}},
    {"RandGaussianSmooth": {"prob": 1.0}},
    {"RandAdjustContrast": {"prob": 1.0}},
    {"RandHistogramShift": {"prob": 1.0}},
    {"RandScaleIntensity": {"factors": 0.2, "prob": 1.0}},
    {"RandCoarseDropout": {"holes": 2, "spatial_size": 3, "prob": 1.0}},
    {"RandCoarseShuffle": {"holes": 2, "spatial_size": 3, "prob": 1.0}},
    {"RandGibbsNoise": {"prob": 1.0}},
    {"RandKSpaceSpikeNoise": {"prob": 1.0}},
    {"Rand2DElastic": {"spacing": (8, 8), "magnitude_range": (1, 2), "prob": 1.0}},
    {"RandSimulateLowResolution": {"prob": 1.0, "upsample_mode": "bilinear"}},
    {"RandSmoothFieldAdjustContrast": {"spatial_size": [16, 16], "rand_size": [4, 4], "prob": 1.0}},
    {"RandSpatialCrop": {"roi_size": 12}},
]


@pytest.mark.parametrize("entry", RANDOM_2D, ids=lambda entry: next(iter(entry)))
def test_every_random_transform_obeys_the_sample_seed_alone(entry):
    """Torch's and NumPy's own generators must not matter, nor what was drawn before."""
    image = torch.rand(1, 16, 16)
    built = chain(entry)
    torch.manual_seed(1)
    first = built(image, (7, 0, 5)).clone()
    for number in range(3):
        built(image, (7, 0, number))
    torch.manual_seed(2)
    assert torch.equal(built(image, (7, 0, 5)), first)
    assert not all(torch.equal(built(image, (7, 0, n)), first) for n in range(8))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("RandFlp", r"transform\.train\[0\]: 'RandFlp' is none of .*'RandFlip'"),
        ("RandFlipd", r"'RandFlipd' is none of .*'RandFlip'"),
        *((name, f"'{name}' is none of") for name in ("RandLambda", "SaveImage", "OneOf")),
        ({"RandFlip": {"probability": 0.5}}, r"no argument 'probability'.*takes: prob"),
        ({"RandZoom": {"min_zom": 0.5}}, r"no argument 'min_zom'.* Did you mean 'min_zoom'"),
        ({"CropForeground": {"select_fn": "os.system"}}, r"no argument 'select_fn'"),
        ({"Identity": {"anything": 1}}, r"no argument 'anything'"),
        ("ScaleIntensityRange", r"ScaleIntensityRange rejects its arguments .*'a_min'"),
        ({"RandAdjustContrast": {"gamma": -1}}, r"RandAdjustContrast rejects its arguments"),
        ({"RandFlip": {"prob": 0.5}, "Flip": None}, r"names RandFlip, Flip"),
    ],
)
def test_a_wrong_line_is_named_with_its_cure(entry, message):
    with pytest.raises(InputError, match=message):
        chain(entry)


def test_nothing_that_may_be_named_takes_part_in_files_functions_or_other_packages():
    known = known_transforms()
    assert {"RandFlip", "RandAffine", "ScaleIntensity", "Resize", "RandGaussianNoise"} <= set(known)
    assert not [name for name in known if name.startswith(("Save", "Load", "Write"))]
    assert not {"Lambda", "RandLambda", "TorchVision", "RandTorchVision", "RandFlipd"} & set(known)


def test_a_random_transform_is_refused_in_evaluation():
    config = none.Config(eval=("RandFlip",))
    with pytest.raises(InputError, match=r"transform\.eval\[0\]: RandFlip is random.*train"):
        build_pipeline(config, ImageShape(1, (8, 8)))


def test_the_output_shape_is_that_after_the_chains():
    config = none.Config(
        train=({"Resize": {"spatial_size": [6, 4]}}, {"RepeatChannel": {"repeats": 3}}),
        eval=({"Resize": {"spatial_size": [6, 4]}}, {"RepeatChannel": {"repeats": 3}}),
    )
    assert build_pipeline(config, ImageShape(1, (8, 8))).output == (3, (6, 4))


def test_chains_that_give_different_shapes_are_refused():
    config = none.Config(train=({"Resize": {"spatial_size": [6, 4]}},))
    with pytest.raises(InputError, match=r"transform\.train gives 1 x 6 x 4.*eval gives 1 x 8 x 8"):
        build_pipeline(config, ImageShape(1, (8, 8)))


def test_a_step_that_cannot_run_is_found_before_training_even_if_it_is_rarely_drawn():
    config = none.Config(train=({"RandFlip": {"prob": 0.001, "spatial_axis": 2}},))
    with pytest.raises(InputError, match=r"transform\.train\[0\]: RandFlip fails on an image of"):
        build_pipeline(config, ImageShape(1, (8, 8)))


def test_a_step_that_does_not_give_one_image_is_named():
    config = none.Config(eval=({"SqueezeDim": {"dim": 0}},))
    with pytest.raises(InputError, match=r"transform\.eval\[0\]: SqueezeDim gives .*must give one"):
        build_pipeline(config, ImageShape(1, (8, 8)))


def test_evaluation_of_a_batch_applies_rule_and_chain_to_each_sample():
    from monai.transforms import ScaleIntensity

    images = torch.randint(0, 256, (3, 1, 8, 8), dtype=torch.uint8)
    pipeline = build_pipeline(none.Config(eval=("ScaleIntensity",)), ImageShape(1, (8, 8)))
    wanted = torch.stack([torch.as_tensor(ScaleIntensity()(i.float())) for i in images])
    assert torch.equal(pipeline.evaluate(images), wanted)
