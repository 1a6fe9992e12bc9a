"""Which published protocol a run follows, and whether anything that it fixes was overridden.

A part lists the keys that it pins (``pins: [training.lr, ...]``); it, or what it extends, sets
their values. A run that changes one of them follows ``<protocol>+modified``. The pinned values
are kept in the run's ``config.yaml`` (key ``pinned``), so loading that file again, with or without
overrides, gives the same result. Changing a pinned key back restores the protocol. A file that
names another protocol than the parts it extends starts over: only its own pins apply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from medldr.config.layers import Layer, Merged, lookup, nested
from medldr.config.schema import RunConfig
from medldr.config.sections import MODIFIED
from medldr.config.yaml import plain


def pinned_values(layers: Iterable[Layer]) -> dict[str, Any]:
    """All pinned values by dotted key, from ``pins`` or from a loaded ``config.yaml``."""
    pinned: dict[str, Any] = {}
    protocol = ""
    for layer in layers:
        stated = str(layer.values.get("protocol") or protocol).removesuffix(MODIFIED)
        if protocol and stated != protocol:
            pinned.clear()
        protocol = stated
        written = layer.values.get("pinned")
        pinned.update(written if isinstance(written, dict) else {})
        pinned.update(layer.pinned)
    return pinned


def settle(config: RunConfig, layers: Iterable[Layer], values: Mapping[str, Any]) -> RunConfig:
    """The configuration with its final `protocol` and with what that protocol pins.

    Args:
        config: The validated `values`.
        layers: The layers that `values` were merged from.
        values: The merged values.
    """
    pinned = pinned_values(layers)
    protocol = config.protocol.removesuffix(MODIFIED)
    if protocol and _overridden(config, values, pinned):
        protocol += MODIFIED
    return config.model_copy(update={"protocol": protocol, "pinned": plain(pinned)})


def _overridden(config: RunConfig, values: Mapping[str, Any], pinned: Mapping[str, Any]) -> bool:
    """Whether restoring the pinned values would change the configuration.

    Validated configurations are compared, so ``1e-3`` and ``0.001`` are the same.
    """
    changed = {key: value for key, value in pinned.items() if _stated(values, key) != value}
    if not changed:
        return False
    # None first, so that a pinned mapping replaces what is there.
    pins = [nested(key, v) for key, pin in changed.items() for v in (None, pin)]
    restored = Merged(Layer("", Path(), layer) for layer in (dict(values), *pins)).values
    try:
        as_pinned = RunConfig.model_validate(restored)
    except ValidationError:
        return True  # a pinned key does not even exist with the chosen plug-ins
    return _content(as_pinned) != _content(config)


def _stated(values: Mapping[str, Any], key: str) -> Any:
    """The value of a dotted key; where it is not set, an object that equals nothing else."""
    try:
        return lookup(values, key)
    except KeyError:
        return object()


def _content(config: RunConfig) -> dict[str, Any]:
    return config.model_dump(exclude={"pinned", "protocol"})
