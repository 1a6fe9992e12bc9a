"""The pixels of a pretrained network are those of the run, unless others are stated."""

import pytest

from medldr.config import dump_config, load_config, run_hash
from medldr.errors import InputError
from medldr.models import pixel_notes

FILE = "/weights/anything.pth"
LITE = {"name": "timm", "network": "tf_efficientnet_lite0", "pretrained": FILE}  # 0.5 and 0.5
RESNET = {**LITE, "network": "resnet18"}  # ImageNet's
OWN = ("size", "interpolation", "channels", "mean", "std")


def load(model, transform="scan", overrides=(), **more):
    given = {
        "extends": ["recipe/own_2d", "data/phantom_histology"],
        "model": model,
        "transform": transform,
        "algorithm": "erm",
        **more,
    }
    return load_config(given, overrides)


def pixels(config):
    return {key: getattr(config.transform, key, None) for key in OWN}


def test_they_are_taken_over_and_a_grey_image_stays_one_channel_where_it_can():
    assert list(pixels(load(LITE)).values()) == [224, "bicubic", None, 0.5, 0.5]
    imagenet = [224, "bicubic", 3, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)]
    assert list(pixels(load(RESNET)).values()) == imagenet


def test_what_the_configuration_states_stays():
    stated = {"name": "scan", "size": 64, "mean": 0.1, "channels": None}
    found = load(RESNET, stated)
    assert (found.transform.size, found.transform.mean) == (64, 0.1)
    assert (found.transform.channels, found.transform.std[0]) == (None, 0.229)
    assert load(LITE, overrides=["transform.size=null"]).transform.size is None


def test_a_preset_for_colour_takes_them_with_its_own_size():
    found = load(LITE, "natural").transform
    assert (found.size, found.mean, found.interpolation) == (224, (0.5, 0.5, 0.5), "bicubic")


def test_without_pretrained_weights_nothing_changes():
    plain = load({**LITE, "pretrained": None})
    assert list(pixels(plain).values()) == [None, "bilinear", None, 0.5, 0.5]
    stated = {"name": "scan", "size": None, "mean": 0.5, "std": 0.5, "interpolation": "bilinear"}
    assert run_hash(load({**LITE, "pretrained": None}, stated)) == run_hash(plain)


def test_the_written_configuration_holds_them_and_is_the_same_run(tmp_path):
    config = load(RESNET)
    (tmp_path / "config.yaml").write_text(dump_config(config))
    again = load_config(tmp_path / "config.yaml")
    assert again == config
    assert run_hash(again) == run_hash(config) != run_hash(load(RESNET, {"name": "none"}))


def test_a_run_that_was_written_before_these_keys_existed_keeps_its_pixels(tmp_path):
    lines = dump_config(load(RESNET, {"name": "scan", "mean": 0.5, "std": 0.5})).splitlines()
    old = [line for line in lines if "interpolation" not in line]
    assert len(old) == len(lines) - 1
    (tmp_path / "config.yaml").write_text("\n".join(old))
    assert load_config(tmp_path / "config.yaml").transform.interpolation == "bilinear"


def test_a_network_of_the_hub_is_written_out_in_full(tmp_path):
    folder = tmp_path / "weights" / "hf-hub" / "group" / "encoder"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(
        '{"architecture": "test_vit", "model_args": {"init_values": 1e-5, "num_classes": 0}, '
        '"pretrained_cfg": {"mean": [0.7, 0.6, 0.5], "std": [0.2, 0.2, 0.2], '
        '"input_size": [3, 96, 96], "interpolation": "bilinear"}}'
    )
    model = {"name": "timm", "pretrained": "hf-hub:group/encoder"}
    root = {"data": {"name": "domain_folders", "root": str(tmp_path)}}
    config = load(model, **root)
    assert (config.model.network, config.model.arguments) == ("test_vit", {"init_values": 1e-5})
    assert pixels(config)["mean"] == (0.7, 0.6, 0.5)
    assert pixels(config)["size"] == 96
    (tmp_path / "config.yaml").write_text(dump_config(config))
    (folder / "config.json").unlink()  # a run's own file needs it no more
    assert load_config(tmp_path / "config.yaml") == config
    with pytest.raises(InputError, match=r"hf-hub:group/encoder is missing"):
        load(model, **root)


def test_readers_are_told_whether_the_network_sees_its_own_pixels():
    own, other = load(LITE), load(LITE, {"name": "scan", "size": 64, "mean": 0.1})
    (note,) = pixel_notes(own.model, own.transform, None)
    assert note.endswith("sees such pixels here")
    (note,) = pixel_notes(other.model, other.transform, None)
    assert note.endswith("transform (scan) gives size 64, mean 0.1")
    plain = load({**LITE, "pretrained": None})
    assert pixel_notes(plain.model, plain.transform, None) == []


def test_a_network_must_be_named_unless_the_hub_says_it():
    with pytest.raises(InputError, match=r"network is missing"):
        load({"name": "timm"})
