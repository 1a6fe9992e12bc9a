"""The pixels that a pretrained network was trained with become the rule, unless one is stated.

They are written into the configuration as if it stated them, so that `config.yaml`, the run's hash,
`preprocessing.json` and an exported network have them, and nothing is looked up a second time. What
is written out in full (it names its `config_version`) states all that it means: a key that it lacks
is younger than the run, which had no such pixels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr import plugins
from medldr.config.schema import RunConfig
from medldr.config.section import PluginSection


def take_own_pixels(config: RunConfig, values: Mapping[str, Any]) -> RunConfig:
    """The configuration with what follows from the weights that its network starts from.

    Args:
        config: The checked configuration.
        values: What it was made of, which says what is stated.

    Raises:
        InputError: If the network's description must be here and is not.
    """
    module: Any = plugins.load("models", config.model.name)
    if not hasattr(module, "complete"):
        return config
    root = getattr(config.data, "root", None)
    model = module.complete(config.model, root)
    if "config_version" in values:
        return config.model_copy(update={"model": model})
    stated = values.get("transform")
    keys = dict(stated) if isinstance(stated, Mapping) else {}
    transform = _with(config.transform, keys, module.own_pixels(model, root))
    return config.model_copy(update={"model": model, "transform": transform})


def _with(section: PluginSection, stated: Mapping[str, Any], own: Mapping[str, Any]) -> Any:
    """A pixel rule, and that of its extra views, with the network's own in place of defaults."""
    fields = type(section).model_fields
    new = {key: value for key, value in own.items() if key in fields and key not in stated}
    mean, std = own.get("mean", (0.0,)), own.get("std", (1.0,))
    if len({*mean}) == len({*std}) == 1:  # grey images may stay of one channel
        new.pop("channels", None)
        if "channels" in fields:
            new |= {k: own[k][0] for k in ("mean", "std") if k in new}
    views, keys = getattr(section, "views", None), stated.get("views")
    if views is not None and isinstance(keys, Mapping):
        new["views"] = _with(views, keys, own)
    return section.model_copy(update=new)
