"""The JSON Schema of configuration files, for editors: names, types, ranges and descriptions.

It describes a *file*, not a resolved configuration: nothing is required, because a file may leave
out what its parts set; it may have ``extends`` and ``pins``, and a bare word for a section.
After a change of a key, ``python -m medldr.config.editor_schema`` writes `configs/schema.json`
anew.
"""

from __future__ import annotations

import json
from typing import Any, Final, get_args

from medldr import plugins
from medldr.config.packaged import packaged_names, packaged_schema
from medldr.config.schema import RunConfig
from medldr.config.section import PLUGIN_MARK, PLUGIN_SECTIONS, load_plugin_config
from medldr.folders.files import write_text

DRAFT: Final = "https://json-schema.org/draft/2020-12/schema"

_NAMES: Final = {"type": "array", "items": {"type": "string"}}


def json_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of all plug-ins in this installation."""
    definitions: dict[str, Any] = {}
    whole = _adopt(RunConfig.model_json_schema(mode="validation"), "", definitions)
    for kind in get_args(plugins.Kind):
        definitions[kind] = {"anyOf": _plugin_choices(kind, definitions)}
    for section, kind in PLUGIN_SECTIONS.items():
        words = [*packaged_names(section), *plugins.names(kind)]
        whole["properties"][section] = {
            "anyOf": [
                {"$ref": f"#/$defs/{kind}"},
                {"enum": sorted(set(words)), "description": "a part, or a plug-in's defaults"},
            ]
        }
    extends = {"anyOf": [{"type": "string"}, _NAMES], "description": "parts, merged in order"}
    pins = {**_NAMES, "description": "keys that this file's protocol fixes"}
    whole["properties"] = {"extends": extends, "pins": pins, **whole["properties"]}
    whole.update(title="medldr configuration", description="A run, or a part of one.")
    return {"$schema": DRAFT, **whole, "$defs": definitions}


def _plugin_choices(kind: plugins.Kind, definitions: dict[str, Any]) -> list[dict[str, Any]]:
    choices: list[dict[str, Any]] = []
    for name in plugins.names(kind):
        schema = load_plugin_config(kind, name).model_json_schema(mode="validation")
        key = f"{kind}.{name}"
        definitions[key] = _adopt(schema, f"{key}.", definitions)
        definitions[key]["properties"]["name"] = {"const": name}
        definitions[key]["title"] = name
        choices.append({"$ref": f"#/$defs/{key}"})
    outside = {"name": {"type": "string", "pattern": r"\."}}
    choices.append(
        {
            "type": "object",
            "properties": outside,
            "required": ["name"],
            "description": "a plug-in of another package, by its dotted name",
        }
    )
    return choices


def _adopt(schema: dict[str, Any], prefix: str, definitions: dict[str, Any]) -> dict[str, Any]:
    """Move a model's own definitions to the common ones, under a prefix; require nothing."""
    inner = schema.pop("$defs", {})
    for name, definition in inner.items():
        definitions[prefix + name] = _rewritten(definition, prefix)
    adopted: dict[str, Any] = _rewritten(schema, prefix)
    return adopted


def _rewritten(value: Any, prefix: str) -> Any:
    if isinstance(value, list):
        return [_rewritten(item, prefix) for item in value]
    if not isinstance(value, dict):
        return value
    if PLUGIN_MARK in value:
        rest = {k: _rewritten(v, prefix) for k, v in value.items() if k != PLUGIN_MARK}
        kind = value[PLUGIN_MARK]
        words = {"enum": plugins.names(kind), "description": "a plug-in with its defaults"}
        return {**rest, "anyOf": [{"$ref": f"#/$defs/{kind}"}, words]}
    if "$ref" in value:
        return {**value, "$ref": f"#/$defs/{prefix}{value['$ref'].rsplit('/', 1)[-1]}"}
    is_model = isinstance(value.get("properties"), dict)
    return {
        k: _rewritten(v, prefix) for k, v in value.items() if not (is_model and k == "required")
    }


if __name__ == "__main__":
    write_text(packaged_schema(), json.dumps(json_schema(), indent=1) + "\n")
