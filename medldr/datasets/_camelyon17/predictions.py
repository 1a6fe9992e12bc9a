"""The prediction files that WILDS scores: one per split, one label per line.

Source:
    WILDS, `examples/evaluate.py` and its submission guidelines: the name holds split and seed, the
    epoch is literally ``epoch:best``, and lines follow the rows of the data set's own table. A
    benchmark entry of Camelyon17 has ten seeds, 0 to 9, and so ten runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from medldr.errors import InputError
from medldr.types import Predictions

NAME: Final = "camelyon17"
SPLITS: Final = ("id_val", "val", "test")
"""The splits that are scored there."""


def submission(config: Any, predictions: Mapping[str, Predictions], seed: int) -> dict[str, str]:
    r"""The content of each file by its name, for the splits that were predicted.

    Args:
        config: The dataset's section; its split scheme must be the official one.
        predictions: One table per split, rows in the order of the dataset.
        seed: The run's seed.

    Raises:
        InputError: If the splits are not those that WILDS scores.

    Example:
        >>> from types import SimpleNamespace
        >>> from medldr.evaluation import predictions_of
        >>> table = predictions_of("binary", [0, 0], [[0.5, 0.5], [0.4, 0.6]])
        >>> submission(SimpleNamespace(split_scheme="official"), {"test": table}, 3)
        {'camelyon17_split:test_seed:3_epoch:best_pred.csv': '0\n1\n'}
    """
    scheme = getattr(config, "split_scheme", "official")
    if scheme != "official":
        raise InputError(f"WILDS scores the official splits, and data.split_scheme is {scheme}")
    return {
        f"{NAME}_split:{split}_seed:{seed}_epoch:best_pred.csv": _lines(predictions[split])
        for split in SPLITS
        if split in predictions
    }


def _lines(table: Predictions) -> str:
    # Equal logits are class 0, as in an argmax.
    return "".join(f"{int(tumour > 0.5)}\n" for tumour in table.prob[:, 1])
