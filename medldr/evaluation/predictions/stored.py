"""Whether a run that is evaluated again gives the answers that it gave before."""

from __future__ import annotations

import numpy as np

from medldr.errors import InputError
from medldr.evaluation.predictions.table import read_predictions
from medldr.folders.files import RunFolder
from medldr.types import Predictions


def stored_answers(files: RunFolder) -> Predictions | str:
    """The predictions that a run holds; or why they cannot be read, empty where it has none."""
    if not files.predictions.is_file():
        return ""
    try:
        return read_predictions(files.predictions)
    except InputError as error:
        return str(error)


def other_answers(stored: Predictions | str, now: Predictions) -> str:
    """How many answers are not those that were stored, and by how much; empty where none is.

    Items that only one of the two has are not compared.

    Example:
        >>> from medldr.evaluation import predictions_of
        >>> before = predictions_of("binary", [0, 1], [[0.9, 0.1], [0.2, 0.8]])
        >>> other_answers(before, predictions_of("binary", [0, 1], [[0.9, 0.1], [0.25, 0.75]]))
        '1 of 2 answers are not those of before: probabilities differ by up to 0.05'
    """
    if isinstance(stored, str):
        return stored and f"not compared with the answers of before: {stored}"
    if stored.class_names != now.class_names:
        return "not compared with the answers of before: the classes have other names"
    row_of = {item: row for row, item in enumerate(_items(stored))}
    pairs = [(row_of[item], row) for row, item in enumerate(_items(now)) if item in row_of]
    if not pairs:
        return ""
    before, after = np.array(pairs).T
    apart = np.abs(stored.prob[before] - now.prob[after]).max(axis=1)
    if not apart.any():
        return ""
    return (
        f"{np.count_nonzero(apart):,} of {len(pairs):,} answers are not those of before: "
        f"probabilities differ by up to {apart.max():.2g}"
    )


def _items(predictions: Predictions) -> list[tuple[str, str]]:
    return list(zip(predictions.split.tolist(), predictions.id.tolist(), strict=True))
