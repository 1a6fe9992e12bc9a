"""Metrics, calibration, intervals and comparison.

Every number is computed from predictions: `predictions.predict` makes them,
`write_predictions` stores them, and `evaluate`, `score` and `compare` read nothing else. Only
making predictions needs torch; reading finished runs does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from medldr.lazy import lazily

if TYPE_CHECKING:
    from medldr.evaluation.comparison.compare import compare as compare
    from medldr.evaluation.comparison.runs import Run as Run
    from medldr.evaluation.comparison.runs import load_run as load_run
    from medldr.evaluation.from_predictions import check as check
    from medldr.evaluation.from_predictions import evaluate as evaluate
    from medldr.evaluation.metrics.score import accuracy as accuracy
    from medldr.evaluation.metrics.score import auc as auc
    from medldr.evaluation.metrics.score import domain_means as domain_means
    from medldr.evaluation.metrics.score import held_out_curves as held_out_curves
    from medldr.evaluation.metrics.score import score as score
    from medldr.evaluation.predictions.table import by_split as by_split
    from medldr.evaluation.predictions.table import join as join
    from medldr.evaluation.predictions.table import predictions_of as predictions_of
    from medldr.evaluation.predictions.table import read_predictions as read_predictions
    from medldr.evaluation.predictions.table import write_predictions as write_predictions

__getattr__ = lazily(
    __name__,
    {
        "comparison.compare": "compare",
        "comparison.runs": "Run load_run",
        "from_predictions": "check evaluate",
        "metrics.score": "accuracy auc domain_means held_out_curves score",
        "predictions.table": "by_split join predictions_of read_predictions write_predictions",
    },
)
