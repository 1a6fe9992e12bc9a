"""The JSON Schema describes configuration files: it accepts every shipped one and sees typos."""

import json
import re

import jsonschema
import pytest

from medldr import plugins
from medldr.config import json_schema, load_config, packaged_configs, packaged_names
from medldr.config.packaged import packaged_schema
from medldr.config.yaml import plain, read_yaml


@pytest.fixture(scope="module")
def schema():
    return json_schema()


@pytest.fixture(scope="module")
def validator(schema):
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_the_packaged_schema_is_that_of_the_code(schema):
    stored = json.loads(packaged_schema().read_text())
    assert stored == schema, "write it anew: python -m medldr.config.editor_schema"


def test_every_reference_leads_somewhere(schema):
    text = json.dumps(schema)
    assert set(re.findall(r'"\$ref": "#/\$defs/([^"]+)"', text)) <= set(schema["$defs"])
    assert "x-medldr-plugin" not in text


@pytest.mark.parametrize("kind", ["algorithms", "datasets", "losses", "models", "transforms"])
def test_every_plug_in_is_a_choice(schema, kind):
    choices = {option.get("$ref") for option in schema["$defs"][kind]["anyOf"]}
    for name in plugins.names(kind):
        assert f"#/$defs/{kind}.{name}" in choices
        assert schema["$defs"][f"{kind}.{name}"]["properties"]["name"] == {"const": name}


def test_every_packaged_file_and_a_resolved_configuration_are_valid(validator):
    for name in packaged_names():
        values = plain(read_yaml(packaged_configs() / f"{name}.yaml").values)
        assert next(validator.iter_errors(values), None) is None, name
    validator.validate(load_config("fracturemnist3d_latentdr_sa").model_dump(mode="json"))


@pytest.mark.parametrize(
    "values",
    [
        {"train": {}},
        {"training": {"lr": "fast"}},
        {"training": {"learning_rate": 1}},
        {"algorithm": {"name": "latentdr", "kep": 1}},
        {"algorithm": "latentdr_pol"},
        {"algorithm": {"name": "erm", "loss": {"name": "cross_entropy", "x": 1}}},
    ],
)
def test_a_typo_is_seen(validator, values):
    assert not validator.is_valid(values)


@pytest.mark.parametrize(
    "values",
    [
        {"algorithm": {"name": "mylab.methods.foo", "anything": 1}},
        {"algorithm": "latentdr_pool"},
        {"extends": "run/octmnist_erm", "pins": ["training.lr"]},
        {"training": {"steps": 5, "epochs": None}},
    ],
)
def test_what_a_file_may_say_is_accepted(validator, values):
    validator.validate(values)
