"""Scores of each domain while training: the means that select, and curves of held-out domains.

Source:
    DomainBed (Gulrajani and Lopez-Paz 2021) selects by the unweighted mean over the seen domains
    of the accuracy on held-back rows ("training-domain validation"): a large domain counts no more
    than a small one. Our choice: the mean of the loss as well; rows without a domain, where others
    have one, count in neither.
"""

from __future__ import annotations

import numpy as np

from medldr.evaluation.metrics import calibration, counts
from medldr.evaluation.metrics import score as metrics
from medldr.evaluation.metrics.items import Items
from medldr.types import Predictions


def domain_means(predictions: Predictions) -> dict[str, float | None]:
    """Unweighted means over the domains of accuracy and loss.

    Args:
        predictions: Of one split.

    Returns:
        ``domain_accuracy`` and ``domain_loss``, None where that of any domain is undefined; empty
        where no row has a domain.

    Example:
        >>> from medldr.evaluation.predictions.table import predictions_of
        >>> prob = [[0.9, 0.1], [0.2, 0.8], [0.4, 0.6]]
        >>> p = predictions_of("binary", [0, 1, 0], prob, domain=["a", "a", "b"])
        >>> domain_means(p)["domain_accuracy"]
        0.5
    """
    names = [name for name in np.unique(predictions.domain).tolist() if name]
    if not names:
        return {}
    found = [_scores(predictions.select(predictions.domain == name)) for name in names]
    accuracy, loss = np.mean(found, axis=0).tolist()
    means = {"domain_accuracy": accuracy, "domain_loss": loss}
    return {name: None if np.isnan(value) else value for name, value in means.items()}


def held_out_curves(predictions: Predictions) -> dict[str, float | None]:
    """Accuracy of each held-out domain and of its two parts, None where undefined.

    Args:
        predictions: Of the split ``test``, with the part of each row.

    Returns:
        Keys ``held_out/<domain>/accuracy`` and ``held_out/<domain>/<part>/accuracy``.
    """
    row = {}
    for domain in np.unique(predictions.domain).tolist():
        of_domain = predictions.select(predictions.domain == domain)
        tables = {f"held_out/{domain}": of_domain}
        for part in np.unique(of_domain.part).tolist():
            tables[f"held_out/{domain}/{part}"] = of_domain.select(of_domain.part == part)
        for key, table in tables.items():
            row[f"{key}/accuracy"] = metrics.accuracy(table.label, table.prob, table.task)
    return row


def _scores(table: Predictions) -> tuple[float, float]:
    """Accuracy and loss, as `medldr.evaluation.score` defines them; NaN where undefined."""
    label, prob, task = table.label, table.prob, table.task
    if metrics.unusable(label, prob):
        return np.nan, np.nan
    items = Items(label, prob, task)
    accuracy = counts.decisions(items).value()["accuracy"]
    return accuracy, calibration.likelihoods(items).value()["nll"]
