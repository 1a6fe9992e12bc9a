"""Identity of a run: all values that differ from the defaults, but not how and where it runs."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from medldr.config.schema import RunConfig
from medldr.config.section import PluginSection, Section
from medldr.config.yaml_text import write_yaml
from medldr.errors import InputError
from medldr.folders.files import last_changed, read_json
from medldr.folders.run_record import RunIdentity

NOT_HASHED: Final = (
    "seed", "label", "machine", "config_version",
    "pinned",  # what a protocol fixes, not what a run does
    # Where files are and whether they may be fetched, not what is in them.
    "data.root", "data.download", "data.packed", "data.cache", "model.allow_download",
    # What describes the data, or adds to results that stay as they are.
    "data.metadata", "data.card", "evaluation.subgroups", "evaluation.bands",
    "evaluation.prevalence", "evaluation.primary",
    "evaluation.aggregate", "evaluation.group_label", "evaluation.leaks",
    "training.allow_seen",  # lets a run begin, and marks its numbers
)  # fmt: skip
"""Keys outside the hash."""

_RUN_NAME: Final = re.compile(r".+-[0-9a-f]{8}-s\d+")


def run_hash(config: RunConfig) -> str:
    """Eight hexadecimal digits, equal for runs that differ at most in their seed.

    They come from the SHA-256 of the canonical JSON (sorted keys, no spaces) of `config_version`
    and of all values that differ from their defaults, without `NOT_HASHED`. The protocol id is
    included; the values it pins are included anyway. For `training.init_from`, only the folder's
    name counts if it has the form of `run_name`: it identifies the run, wherever the folder is. For
    `data.manifest`, only which ids each split holds counts, and for `data.file` only its name,
    wherever they are.

    Raises:
        InputError: If `data.manifest` names a file that is missing or no manifest.
    """
    payload = {"config_version": config.config_version, "values": _hashed(config)}
    return _digest(payload)


def hashed_settings(config: RunConfig) -> dict[str, str]:
    """A digest of each value that `run_hash` is made of, by dotted key.

    A run keeps them, so that a key that was edited after training can be named.
    """
    return {key: _digest(value) for key, value in flatten(_hashed(config)).items()}


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _hashed(config: RunConfig) -> dict[str, Any]:
    """The values that decide a run's numbers, but not its seed."""
    values = differing(config)
    for dotted in NOT_HASHED:
        section, _, key = dotted.rpartition(".")
        (values.get(section, {}) if section else values).pop(key, None)
    for name in ("evaluation", "training"):
        if not values.get(name):
            values.pop(name, None)
    data = values["data"]
    # What is in a table is part of the data's own hash, which a resumed run is held to.
    if "file" in data:
        data["file"] = Path(data["file"]).name
    if data.get("manifest") is not None:
        data["manifest"] = _manifest_ids(Path(data["manifest"]))
    start = config.training.init_from
    if start is not None and _RUN_NAME.fullmatch(start.name):
        values["training"]["init_from"] = start.name
    return values


def _manifest_ids(path: Path) -> str:
    """The hash of its splits that a manifest states; a run that reads the file checks it."""
    facts = path.stat() if path.exists() else None
    return _stated_ids(path, facts and (last_changed(facts), facts.st_size))


@functools.lru_cache(maxsize=16)  # all runs of a sweep name the same file
def _stated_ids(path: Path, state: tuple[int, int] | None) -> str:
    """The hash that a file states; its time and size are those of the answer that is remembered."""
    del state
    try:
        return str(read_json(path)["ids_sha256"])
    except (InputError, LookupError, TypeError) as error:
        raise InputError(
            f"data.manifest: {path} is missing or no manifest of splits, which is part of what "
            "identifies the run. Set it to a file that `medldr data split` wrote"
        ) from error


def identify(config: RunConfig) -> RunIdentity:
    """The run that a configuration describes, as its folder records it."""
    return RunIdentity(
        config.label,
        config.seed,
        run_hash(config),
        config.protocol,
        dump_config(config),
        hashed_settings(config),
    )


def run_name(config: RunConfig) -> str:
    """Name of the run's folder: ``<label>-<hash8>-s<seed>``."""
    return f"{config.label}-{run_hash(config)}-s{config.seed}"


def differing(section: Section) -> dict[str, Any]:
    """The values that differ from their defaults, and all names of plug-ins, as nested JSON."""
    plain = section.model_dump(mode="json")
    values: dict[str, Any] = {}
    for key, info in type(section).model_fields.items():
        value = getattr(section, key)
        is_name = key == "name" and isinstance(section, PluginSection)
        # Copying the default, as `get_default` does, would take most of the time of a large sweep.
        made = info.default_factory is not None
        default = info.get_default(call_default_factory=True) if made else info.default
        if not (is_name or info.is_required()) and value == default:
            continue
        values[key] = differing(value) if isinstance(value, Section) else plain[key]
    return values


class Change(NamedTuple):
    """A setting next to its default, which is `NO_DEFAULT` for what every file must state."""

    key: str
    value: Any
    default: Any


NO_DEFAULT: Final = "–"


def changes(section: Section, prefix: str = "") -> Iterator[Change]:
    """Every setting that differs from its default, and all names of plug-ins, for a page."""
    plain = section.model_dump(mode="json")
    for name, info in type(section).model_fields.items():
        key, value = prefix + name, getattr(section, name)
        if isinstance(value, Section):
            yield from changes(value, f"{key}.")
            continue
        if name == "name" or info.is_required():
            yield Change(key, plain[name], NO_DEFAULT)
            continue
        default = info.get_default(call_default_factory=True)
        if value != default:
            nested = isinstance(default, Section)
            yield Change(key, plain[name], default.model_dump(mode="json") if nested else default)


def flatten(values: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested mappings as a single one, by dotted key.

    Example:
        >>> flatten({"a": {"b": 1, "c": {}}, "d": [2]})
        {'a.b': 1, 'd': [2]}
    """
    flat: dict[str, Any] = {}
    for key, value in values.items():
        if isinstance(value, dict):
            flat.update(flatten(value, f"{prefix}{key}."))
        else:
            flat[prefix + key] = value
    return flat


def dump_config(config: RunConfig) -> str:
    """The resolved configuration as YAML; loading it returns an equal configuration."""
    return write_yaml(
        config.model_dump(mode="json"),
        comment="A resolved configuration: every value, including the defaults.\n"
        "`medldr train` on this file repeats the run.",
    )
