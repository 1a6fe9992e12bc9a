"""medldr: image classifiers that must hold up in a hospital they have never seen.

The public names are loaded when they are first used, so ``import medldr`` is quick and
opens nothing.
"""
# mypy: implicit-reexport
# ruff: noqa: F401

from __future__ import annotations

from typing import TYPE_CHECKING

from medldr.lazy import lazily

if TYPE_CHECKING:
    from medldr.api import analyze, compare, evaluate, report, train
    from medldr.checking.data_check import data_check
    from medldr.config.catalogue import list_algorithms, list_datasets, list_models
    from medldr.config.load import load_config
    from medldr.encoding.encode import features
    from medldr.errors import InputError
    from medldr.evaluation.comparison.study_plan import plan
    from medldr.evaluation.score_table import results
    from medldr.latent import LatentDR
    from medldr.prediction.explain import explain
    from medldr.prediction.export import export
    from medldr.prediction.predict import predict
    from medldr.prediction.validate import validate
    from medldr.repetition import verify
    from medldr.run import load_model
    from medldr.run_result import RunResult
    from medldr.sharing.share import share
    from medldr.sweeps.command import sweep
    from medldr.version import __version__

_NAMES = {
    "api": "analyze compare evaluate report train",
    "checking.data_check": "data_check",
    "config.catalogue": "list_algorithms list_datasets list_models",
    "config.load": "load_config",
    "encoding.encode": "features",
    "errors": "InputError",
    "evaluation.comparison.study_plan": "plan",
    "evaluation.score_table": "results",
    "latent": "LatentDR",
    "prediction.explain": "explain",
    "prediction.export": "export",
    "prediction.predict": "predict",
    "prediction.validate": "validate",
    "repetition": "verify",
    "run": "load_model",
    "run_result": "RunResult",
    "sharing.share": "share",
    "sweeps.command": "sweep",
    "version": "__version__",
}

__all__ = [name for names in _NAMES.values() for name in names.split()]
__getattr__ = lazily(__name__, _NAMES)


def __dir__() -> list[str]:
    return sorted(__all__)
