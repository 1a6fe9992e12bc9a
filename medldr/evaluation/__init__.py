"""Metrics, calibration, intervals and comparison.

Every number is computed from predictions: `predictions.predict` makes them,
`write_predictions` stores them, and `evaluate`, `score` and `compare` read nothing else. Only
making predictions needs torch; reading finished runs does not.
"""

from medldr.evaluation.comparison.compare import compare as compare
from medldr.evaluation.comparison.runs import Run as Run
from medldr.evaluation.comparison.runs import load_run as load_run
from medldr.evaluation.evaluate import check as check
from medldr.evaluation.evaluate import evaluate as evaluate
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
