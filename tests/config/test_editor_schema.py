"""The JSON Schema describes configuration files: it accepts every shipped one and sees typos."""

import copy
import json
import re

import pytest

from medldr import plugins
from medldr.config import json_schema, load_config, packaged_configs, packaged_names
from medldr.config.yaml import plain, read_yaml

TYPES = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "integer": int,
    "number": (int, float),
}


@pytest.fixture(scope="module")
def schema():
    return json_schema()


def errors(value, schema, root, at="$"):
    """A small validator of the keywords used, written from the specification."""
    if "$ref" in schema:
        target = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        return errors(value, target, root, at)
    found = []
    if "anyOf" in schema:
        branches = [errors(value, option, root, at) for option in schema["anyOf"]]
        if all(branches):
            found += min(branches, key=len)
    if "const" in schema and value != schema["const"]:
        found.append(f"{at}: not {schema['const']}")
    if "enum" in schema and value not in schema["enum"]:
        found.append(f"{at}: not one of {schema['enum']}")
    kind = schema.get("type")
    if kind:
        fits = isinstance(value, TYPES[kind])
        if kind in ("integer", "number") and isinstance(value, bool):
            fits = False
        if not fits:
            return [*found, f"{at}: not {kind}"]
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        for word, holds in (
            ("minimum", lambda bound: value >= bound),
            ("maximum", lambda bound: value <= bound),
            ("exclusiveMinimum", lambda bound: value > bound),
            ("exclusiveMaximum", lambda bound: value < bound),
        ):
            if word in schema and not holds(schema[word]):
                found.append(f"{at}: {word}")
    if isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        found.append(f"{at}: pattern")
    if isinstance(value, list):
        fixed = schema.get("prefixItems", [])
        for i, item in enumerate(value):
            inner = fixed[i] if i < len(fixed) else schema.get("items", {})
            found += errors(item, inner, root, f"{at}[{i}]")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        missing = [key for key in schema.get("required", []) if key not in value]
        found += [f"{at}: {key} missing" for key in missing]
        for key, item in value.items():
            extra = schema.get("additionalProperties", {})
            if key not in known and extra is False:
                found.append(f"{at}.{key}: unknown")
            else:
                inner = known.get(key, extra if isinstance(extra, dict) else {})
                found += errors(item, inner, root, f"{at}.{key}")
    return found


def test_every_reference_leads_somewhere(schema):
    text = json.dumps(schema)
    for reference in set(re.findall(r'"\$ref": "#/\$defs/([^"]+)"', text)):
        assert reference in schema["$defs"], reference
    assert "x-medldr-plugin" not in text


def test_it_says_which_draft_it_is(schema):
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.parametrize("kind", ["algorithms", "datasets", "losses", "models", "transforms"])
def test_every_plug_in_is_a_choice(schema, kind):
    choices = {option.get("$ref") for option in schema["$defs"][kind]["anyOf"]}
    for name in plugins.names(kind):
        assert f"#/$defs/{kind}.{name}" in choices
        assert schema["$defs"][f"{kind}.{name}"]["properties"]["name"] == {"const": name}


def test_every_packaged_file_is_valid(schema):
    for name in packaged_names():
        path = packaged_configs() / f"{name}.yaml"
        assert errors(plain(read_yaml(path).values), schema, schema) == [], path


def test_a_resolved_configuration_is_valid(schema):
    values = load_config("fracturemnist3d_latentdr_sa").model_dump(mode="json")
    assert errors(values, schema, schema) == []


@pytest.mark.parametrize(
    "values",
    [
        {"train": {}},
        {"training": {"lr": "fast"}},
        {"training": {"lr": 0}},
        {"training": {"learning_rate": 1}},
        {"algorithm": {"name": "latentdr", "kep": 1}},
        {"algorithm": "latentdr_pol"},
        {"model": {"stem": "smal"}},
        {"algorithm": {"name": "erm", "loss": {"name": "cross_entropy", "x": 1}}},
        {"seed": -1},
        {"extends": 3},
    ],
)
def test_a_typo_is_seen(schema, values):
    assert errors(values, schema, schema)


@pytest.mark.parametrize(
    "values",
    [
        {"algorithm": {"name": "mylab.methods.foo", "anything": 1}},
        {"algorithm": "latentdr_pool"},
        {"model": "resnet50"},
        {"algorithm": {"keep": 0.5}},
        {"extends": "run/octmnist_erm", "pins": ["training.lr"]},
        {"training": {"steps": 5, "epochs": None}},
    ],
)
def test_what_a_file_may_say_is_accepted(schema, values):
    assert errors(values, schema, schema) == []


def test_making_it_changes_nothing(schema):
    before = copy.deepcopy(schema)
    assert json_schema() == before
