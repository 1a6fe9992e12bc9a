"""Metrics, calibration, intervals and comparison.

Every number is computed from predictions: `predictions.predict` makes them,
`write_predictions` stores them, and `evaluate`, `score` and `compare` read nothing else. Only
making predictions needs torch; reading finished runs does not.
"""

from medldr.evaluation.comparison.compare import compare
from medldr.evaluation.comparison.runs import Run, load_run
from medldr.evaluation.evaluate import check, evaluate
from medldr.evaluation.metrics.score import accuracy, auc, domain_means, held_out_curves, score
from medldr.evaluation.predictions.table import (
    by_split,
    join,
    predictions_of,
    read_predictions,
    write_predictions,
)

__all__ = [
    "Run",
    "accuracy",
    "auc",
    "by_split",
    "check",
    "compare",
    "domain_means",
    "evaluate",
    "held_out_curves",
    "join",
    "load_run",
    "predictions_of",
    "read_predictions",
    "score",
    "write_predictions",
]
