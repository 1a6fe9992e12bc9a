"""Plug-ins: the file name is the name.

`names("algorithms")` lists the files of `medldr/algorithms` without importing any of them;
`load("algorithms", "latentdr")` imports `medldr.algorithms.latentdr`. A dotted name
(`mylab.methods.foo`) is a module of an outside package. `base.py` and `_x.py` are no plug-ins.

What a plug-in module offers, by kind:

================  =========================================================
kind              module-level names
================  =========================================================
``datasets``      ``Config``, ``load(config) -> ImageTable``,
                  ``present(config) -> str`` (where its files are, for people);
                  where there are files: ``require(config)`` (they are there);
                  where looking at every file takes long:
                  ``load_again(config, bad_files)`` (as ``load``, without looking);
                  where something was published: ``examine(config, seen)``, ``submission``
``transforms``    ``Config``, ``build(config, shape) -> PixelRule``
``losses``        ``Config``, ``LOSS``, a ``Loss`` class
``models``        ``Config``, ``build(config, spec) -> FeatureModel``; where not both axes
                  are served: ``SPATIAL_DIMS``; where published weights load in a way of
                  their own: ``load_published(model, path)``
``algorithms``    ``Config``, ``ALGORITHM``, an ``Algorithm`` class
================  =========================================================
"""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType
from typing import Literal

from medldr.errors import InputError, did_you_mean

Kind = Literal["algorithms", "datasets", "losses", "models", "transforms"]

SINGULAR: dict[Kind, str] = {
    "algorithms": "algorithm",
    "datasets": "dataset",
    "losses": "loss",
    "models": "model",
    "transforms": "transform",
}


def names(kind: Kind) -> list[str]:
    """Names offered by a kind of plug-in, sorted, found by reading the folder.

    Example:
        >>> "latentdr" in names("algorithms"), "base" in names("algorithms")
        (True, False)
    """
    folder = Path(__file__).parent / kind
    files = (p.stem for p in folder.glob("*.py"))
    return sorted(n for n in files if n != "base" and not n.startswith("_"))


def load(kind: Kind, name: str) -> ModuleType:
    """Import the module behind a plug-in name.

    Raises:
        InputError: If the name is unknown (with the nearest known one), or if an outside
            module cannot be imported.
    """
    if "." in name:
        try:
            return importlib.import_module(name)
        except ModuleNotFoundError as error:
            raise InputError(
                f"{SINGULAR[kind]} {name!r} is an outside plug-in, but it cannot be imported: "
                f"{error}. Install the package it comes from, or put its folder on PYTHONPATH."
            ) from error
    known = names(kind)
    if name not in known:
        raise InputError(
            f"there is no {SINGULAR[kind]} named {name!r}.{did_you_mean(name, known)} "
            f"Known: {', '.join(known)}"
        )
    return importlib.import_module(f"medldr.{kind}.{name}")
