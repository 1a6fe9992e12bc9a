"""What follows from the weights that a network of timm starts from: its name, and its pixels."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medldr.folders.files import read_json
from medldr.models._published import (
    CONFIG,
    HUB,
    TIMM,
    data_folders,
    naming_the_key,
    of_hub,
    present,
)
from medldr.models._timm import check_network, library, usual_weights

if TYPE_CHECKING:
    from medldr.models.timm import Config


def complete(config: Config, root: Path | None) -> Config:
    """The keys that follow from ``pretrained``: the id of ``true``; of a hub's network its name.

    Args:
        config: The section.
        root: ``data.root``, as of `medldr.models.build_model`.

    Raises:
        InputError: If the hub's files are not here and may not be downloaded.
    """
    if config.pretrained is True:
        return config.model_copy(update={"pretrained": usual_weights(str(config.network))})
    if config.network is not None:
        return config
    stated = _hub_facts(config, root)
    made = {k: v for k, v in (stated.get("model_args") or {}).items() if k != "num_classes"}
    if pooling := stated.get("global_pool"):
        made["global_pool"] = pooling
    update = {"network": stated.get("architecture"), "arguments": {**made, **config.arguments}}
    return config.model_copy(update=update)


def own_pixels(config: Config, root: Path | None) -> dict[str, Any]:
    """The pixels that a pretrained network was trained with, as keys of a pixel rule.

    Args:
        config: The section, complete.
        root: ``data.root``.

    Returns:
        ``size``, ``interpolation``, ``mean``, ``std`` and ``channels``; empty without
        ``pretrained``.

    Raises:
        InputError: As `complete`.
    """
    start = str(config.pretrained)
    if config.pretrained is None:
        return {}
    if start.startswith(HUB):
        facts: Mapping[str, Any] = _hub_facts(config, root).get("pretrained_cfg") or {}
    else:
        check_network(str(config.network))
        tagged = start.removeprefix(TIMM) if start.startswith(TIMM) else config.network
        known = library().get_pretrained_cfg(tagged) or library().get_pretrained_cfg(config.network)
        facts = {} if known is None else known.to_dict()
    channels, *sizes = facts.get("input_size") or (3, None)
    size = config.arguments.get("img_size", sizes[-1])
    found = {
        "size": size if isinstance(size, int) and config.slices is None else None,
        "interpolation": "bilinear" if facts.get("interpolation") == "bilinear" else "bicubic",
        "channels": channels if channels == 3 else None,
        "mean": tuple(facts["mean"]) if facts.get("mean") else None,
        "std": tuple(facts["std"]) if facts.get("std") else None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _hub_facts(config: Config, root: Path | None) -> dict[str, Any]:
    """What a network's owner states of it in `config.json`."""
    with naming_the_key():
        stated = of_hub(str(config.pretrained), CONFIG)
        path, _ = present(stated, data_folders(root), download=config.allow_download)
    return dict(read_json(path))
