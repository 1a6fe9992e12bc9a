"""medldr: image classifiers that must hold up in a hospital they have never seen.

The public names are loaded when they are first used, so ``import medldr`` is quick and
opens nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from medldr.api import RunResult as RunResult
    from medldr.api import analyze as analyze
    from medldr.api import compare as compare
    from medldr.api import evaluate as evaluate
    from medldr.api import load_model as load_model
    from medldr.api import predict as predict
    from medldr.api import report as report
    from medldr.api import sweep as sweep
    from medldr.api import train as train
    from medldr.config import load_config as load_config
    from medldr.errors import InputError as InputError
    from medldr.latent import LatentDR as LatentDR
    from medldr.version import __version__ as __version__

_HOME = {
    "InputError": "errors",
    "LatentDR": "latent",
    "RunResult": "api",
    "analyze": "api",
    "compare": "api",
    "evaluate": "api",
    "load_config": "config",
    "load_model": "api",
    "predict": "api",
    "report": "api",
    "sweep": "api",
    "train": "api",
    "__version__": "version",
}

__all__ = [*_HOME]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'medldr' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"medldr.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
