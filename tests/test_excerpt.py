"""Keys of plug-ins that are read without importing the plug-ins."""

import contextlib
from typing import get_args

import pytest

from medldr import plugins
from medldr.config import load_config, load_part, packaged_names
from medldr.config.section import PLUGIN_SECTIONS, excerpts, load_plugin_config
from medldr.errors import InputError
from medldr.excerpt import excerpt

PLUGINS = [(kind, name) for kind in get_args(plugins.Kind) for name in plugins.names(kind)]


@pytest.mark.parametrize(("kind", "name"), PLUGINS)
def test_keys_are_those_of_the_plugin(kind, name):
    with excerpts():
        read = load_plugin_config(kind, name)
    whole = load_plugin_config(kind, name)
    assert read is not whole
    assert read.model_json_schema() == whole.model_json_schema()


@pytest.mark.parametrize("section", PLUGIN_SECTIONS)
def test_values_are_checked_as_by_the_plugin(section):
    for part in packaged_names(section):
        values = load_part(section, part)[section]
        results = []
        for within in (excerpts(), contextlib.nullcontext()):
            with within:
                config = load_plugin_config(PLUGIN_SECTIONS[section], values["name"])
                results.append(config.model_validate(values).model_dump(mode="json"))
        assert results[0] == results[1], part


@pytest.mark.parametrize(
    "wrong",
    [
        ["algorithm.kepe=3", "training.epochs=five", "data.size=x"],
        ["algorithm.terms=[degraded]", "algorithm.degrade=none"],
        ["algorithm.keep=2"],
        ["data.flag=retinamnst"],
        ["algorithm.loss=focl"],
        ["model.width=-1", "transform.name=medmnst"],
    ],
)
def test_mistakes_are_told_in_the_same_words(wrong, monkeypatch):
    told = []
    for within in (excerpts(), contextlib.nullcontext()):
        with within, pytest.raises(InputError) as refused:
            load_config("retinamnist_latentdr_pool", wrong)
        told.append(str(refused.value))
    assert told[0] == told[1]


def test_a_dataset_says_where_its_files_are(tmp_path):
    config = excerpt("medldr.datasets.medmnist", "Config")(flag="retinamnist", root=tmp_path)
    assert excerpt("medldr.datasets.medmnist", "present")(config) == "missing (retinamnist.npz)"


def test_a_name_that_is_not_there_is_an_error():
    with pytest.raises(AttributeError, match="nothing_here"):
        excerpt("medldr.algorithms.erm", "nothing_here")
