"""Settings of a run as a reader wants them: first what differs from the defaults."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from medldr.config.sections import section
from medldr.errors import InputError
from medldr.reporting.read.run import RunFiles

if TYPE_CHECKING:
    from medldr.config.identity import Change

LEFT_OUT = ("config_version", "pinned")


def changes(files: RunFiles) -> tuple[list[Change], str]:
    """Settings that differ from their defaults, or why they cannot be determined.

    The configuration is validated again for it, which takes longer than the rest of a page.

    Args:
        files: The run; without `config.yaml` nothing differs.

    Returns:
        The changes, plug-in names included and without ids, and an empty text; or no changes and
        the reason, for example that an outside plug-in is not installed here.
    """
    if not files.stated:
        return [], ""
    # Only the page of a run asks; other reports start sooner without pydantic's models.
    from medldr.config import RunConfig
    from medldr.config.identity import changes as changes_of

    try:
        config = RunConfig.model_validate(files.stated)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except ImportError as error:
        reason = f"{error.name or 'a plug-in'} cannot be imported"
    except InputError as error:
        reason = str(error).splitlines()[0]
    else:
        shown = [change for change in changes_of(config) if change.key not in LEFT_OUT]
        return [_as_written(change, files.config) for change in shown], ""
    return [], f"Changed settings cannot be determined by this installation ({reason})."


def _as_written(change: Change, config: Mapping[str, Any]) -> Change:
    """With the value as `config.yaml` has it, without ids."""
    *path, name = change.key.split(".")
    return change._replace(value=reduce(section, path, config).get(name, change.value))


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
    return str(value) or "''"


def as_yaml(config: Mapping[str, Any]) -> str:
    """The whole configuration as YAML text."""
    from medldr.config.yaml_text import write_yaml

    # Numbers that were read from YAML remember how they were written; a writer needs plain ones.
    return write_yaml(json.loads(json.dumps(config, default=str)))
