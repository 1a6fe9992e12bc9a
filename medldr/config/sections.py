"""What a resolved configuration says, read without knowing its plug-ins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

MODIFIED: Final = "+modified"
"""End of the protocol id of a run that changed a key that the protocol pins."""
SWAD_TITLES: Final = {"swad": "SWAD", "swad_once": "SWAD, each segment once"}
"""Titles of the forms that `swad_form` tells apart."""


def section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A section of a configuration; a bare name counts as a section, a missing one is empty.

    Example:
        >>> section({"model": "resnet18"}, "model"), section({}, "model")
        ({'name': 'resnet18'}, {})
    """
    value = config.get(name)
    if isinstance(value, str):
        return {"name": value}
    return value if isinstance(value, Mapping) else {}


def swad_form(config: Mapping[str, Any]) -> str:
    """Which mean of weights a run takes with SWAD; empty if it does not use SWAD.

    Published numbers are of ``swad``, whose code counts some weights more than once
    (``training.averaging.compat``); the mean that counts each once is another method.

    Example:
        >>> swad_form({"training": {"averaging": {"name": "swad", "compat": True}}})
        'swad'
        >>> swad_form({"training": {"averaging": "swad"}}), swad_form({"training": {}})
        ('swad_once', '')
    """
    averaging = section(section(config, "training"), "averaging")
    if averaging.get("name") != "swad":
        return ""
    return "swad" if averaging.get("compat") else "swad_once"


def later_stages(config: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """What follows the training of the whole network, in order; a bare name is a mapping too.

    Example:
        >>> later_stages({"training": {"stages": ["tau_norm"]}}), later_stages({})
        ([{'name': 'tau_norm'}], [])
    """
    stages = section(config, "training").get("stages") or ()
    return [{"name": stage} if isinstance(stage, str) else stage for stage in stages]


def dataset_name(config: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    """The data set's own name, for example ``dermamnist``, without its image size.

    Args:
        config: The resolved configuration.
        run: The facts of `run.json`; may be empty.

    Example:
        >>> dataset_name({"data": {"name": "medmnist", "flag": "octmnist", "size": 28}}, {})
        'octmnist'
        >>> dataset_name({}, {"data": {"name": "fracturemnist3d_28"}})
        'fracturemnist3d'
    """
    data = section(config, "data")
    stated = (data.get(key) for key in ("set", "dataset", "flag"))
    recorded = section(run, "data").get("name")
    name = str(next(filter(None, stated), recorded or data.get("name", "unknown data")))
    head, _, tail = name.rpartition("_")
    return head if head and tail.isdigit() else name


def held_out(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Domains that a run never trained or validated on.

    Example:
        >>> held_out({"data": {"held_out": ["photo"]}}), held_out({"data": {"held_out": "photo"}})
        (('photo',), ('photo',))
        >>> held_out({"data": {"name": "medmnist"}})
        ()
    """
    domains = section(config, "data").get("held_out") or ()
    return (domains,) if isinstance(domains, str) else tuple(map(str, domains))
