"""Every packaged configuration, found by its file: it loads, and it says what it is."""

import re

import pytest

from medldr.config import (
    dump_config,
    load_config,
    load_part,
    packaged_configs,
    packaged_names,
    run_hash,
)
from medldr.config.section import PLUGIN_SECTIONS, load_plugin_config
from medldr.config.yaml import plain, read_yaml

FILES = packaged_names()
PHANTOM = [f"phantom_fracture_{a}" for a in ("erm", "latentdr_sa", "latentdr_pool")]


@pytest.mark.parametrize("name", packaged_names("run"))
def test_a_run_loads_is_labelled_by_its_file_and_survives_being_written(name, tmp_path):
    config = load_config(name)
    assert config.label == name
    assert config.seed == 0
    path = tmp_path / "config.yaml"
    path.write_text(dump_config(config))
    again = load_config(path)
    assert again == config
    assert run_hash(again) == run_hash(config)
    assert again.protocol == config.protocol


def test_no_two_runs_are_the_same():
    hashes = {}
    for name in packaged_names("run"):
        hashes.setdefault(run_hash(load_config(name)), []).append(name)
    assert [names for names in hashes.values() if len(names) > 1] == []


def test_every_file_begins_with_what_it_is_and_names_its_source():
    for name in FILES:
        text = (packaged_configs() / f"{name}.yaml").read_text()
        first, comments = text.splitlines()[0], " ".join(re.findall("^#.*", text, re.MULTILINE))
        assert re.fullmatch(r"# [A-Z].{10,96}[.:]", first), name
        assert re.search("Source:|Published|Stated by the LatentDR paper", comments), name
        assert max(map(len, text.splitlines())) <= 100, name


def texts(value):
    """All texts of nested dictionaries and lists."""
    if isinstance(value, str):
        return [value]
    nested = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [text for one in nested for text in texts(one)]


def test_no_file_holds_a_path():
    for name in FILES:
        values = dict(read_yaml(packaged_configs() / f"{name}.yaml").values)
        extends = values.pop("extends", [])
        assert {*([extends] if isinstance(extends, str) else extends)} <= {*FILES}, name
        assert "root" not in values.get("data", {}), name
        named = [text for text in texts(values) if not text.startswith("timm/")]  # weights by id
        assert not [text for text in named if re.search(r"[/\\~]", text)], name


@pytest.mark.parametrize("section", ["data", "transform", "model", "algorithm"])
def test_a_part_fills_its_section_by_itself(section):
    kind = PLUGIN_SECTIONS[section]
    for name in packaged_names(section):
        values = plain(load_part(section, name)[section])
        load_plugin_config(kind, values["name"]).model_validate(values)


PROTOCOLS = [
    name
    for name in packaged_names("recipe")
    if "protocol" in read_yaml(packaged_configs() / "recipe" / f"{name}.yaml").values
]


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_fixes_the_training_whatever_it_is_built_from(name, tmp_path):
    data = plain(load_part("recipe", name)).get("data", {})
    set_ = {"medmnist": "data/retinamnist", None: "data/table"}.get(data.get("name"))
    file = tmp_path / "run.yaml"
    file.write_text(f"extends: [recipe/{name}, {f'{set_}, ' if set_ else ''}algorithm/erm]\n")
    keys = ["data.file=scans.csv", "data.path=scan"] if set_ == "data/table" else []
    config = load_config(file, keys)
    changed = load_config(file, [*keys, f"training.lr={config.training.lr / 2}"])
    assert not config.protocol.endswith("+modified")
    assert changed.protocol == f"{config.protocol}+modified"


@pytest.mark.parametrize("name", PHANTOM)
def test_the_phantom_is_run_with_a_scanner_held_out(name):
    config = load_config(name)
    assert config.data.name == "phantom_fracture"
    assert len(config.data.held_out) == 1


@pytest.mark.parametrize(
    ("name", "shape"), [("dermamnist", (3, 28, 28)), ("fracturemnist3d", (1, 28, 28, 28))]
)
def test_augmentations_are_monai_transforms_that_keep_the_shape(name, shape):
    from medldr.transforms import ImageShape, build_pipeline

    config = load_config(f"{name}_augment_erm")
    assert config.transform.train
    pipeline = build_pipeline(config.transform, ImageShape(shape[0], shape[1:]))
    assert (pipeline.output.channels, *pipeline.output.spatial_size) == shape
