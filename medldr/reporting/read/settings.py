"""Settings of a run as a reader wants them: first what differs from the defaults."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import BaseModel, ValidationError

from medldr.config import RunConfig
from medldr.config.yaml import write_yaml
from medldr.errors import InputError
from medldr.folders.privacy import hide_in_config
from medldr.reporting.read.run import RunFiles

NO_DEFAULT = "–"
"""Shown for keys that every configuration must state."""

LEFT_OUT = ("config_version", "pinned")


@dataclass(frozen=True)
class Change:
    """A setting that differs from its default."""

    key: str
    value: Any
    default: Any


def changes(files: RunFiles) -> tuple[list[Change], str]:
    """Settings that differ from their defaults, and why that cannot be told, if it cannot.

    The configuration is validated again for it, which takes longer than the rest of a page.

    Args:
        files: The run; without `config.yaml` nothing differs.

    Returns:
        The changes, plug-in names included and without ids, and an empty text; or no changes and
        the reason, for example that an outside plug-in is not installed here.
    """
    if not files.stated:
        return [], ""
    try:
        run = RunConfig.model_validate(files.stated)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except ImportError as error:
        reason = f"{error.name or 'a plug-in'} cannot be imported"
    except InputError as error:
        reason = str(error).splitlines()[0]
    else:
        return [_hidden(change, files) for change in _walk(run, files.stated, "")], ""
    return [], f"What differs from the defaults cannot be told by this installation ({reason})."


def _hidden(change: Change, files: RunFiles) -> Change:
    key = change.key.rsplit(".", 1)[-1]
    return replace(change, value=hide_in_config({key: change.value}, files.ids)[key])


def _walk(section: BaseModel, stated: Mapping[str, Any], prefix: str) -> Iterator[Change]:
    for name, info in type(section).model_fields.items():
        key, value = f"{prefix}{name}", getattr(section, name)
        text = stated.get(name, value)
        if name in LEFT_OUT:
            continue
        if isinstance(value, BaseModel):
            yield from _walk(value, text if isinstance(text, Mapping) else {}, f"{key}.")
            continue
        if info.is_required():
            yield Change(key, text, NO_DEFAULT)
            continue
        default = info.get_default(call_default_factory=True)
        if isinstance(default, BaseModel):
            default = default.model_dump(mode="json")
        if name == "name" or value != default:
            yield Change(key, text, NO_DEFAULT if name == "name" else default)


def show(value: Any) -> str:
    """A setting as text.

    Example:
        >>> show(True), show(None), show((50, 75)), show(1e-3)
        ('true', 'unset', '[50, 75]', '0.001')
    """
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {show(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(show(v) for v in value) + "]"
    return str(value) if str(value) else "''"


def as_yaml(config: Mapping[str, Any]) -> str:
    """The whole configuration as YAML text."""
    return write_yaml({key: _plain(value) for key, value in config.items()})


def _plain(value: Any) -> Any:
    # Numbers that were read from YAML remember how they were written; a writer needs plain ones.
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    for kind in (int, float):
        if isinstance(value, kind):
            return kind(value)
    return str(value)
