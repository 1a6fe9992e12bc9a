"""Files that a benchmark asks for, where the dataset offers them and the predictions are whole."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr import plugins
from medldr.config import RunConfig
from medldr.datasets.base import ImageTable
from medldr.errors import InputError
from medldr.types import Predictions


def submission_files(
    config: RunConfig, table: ImageTable, predictions: Mapping[str, Predictions]
) -> tuple[dict[str, str], list[str]]:
    """What a benchmark asks for, from the predictions of the reported weights.

    Args:
        config: The run.
        table: Its images; which files were left out of it.
        predictions: One table per split.

    Returns:
        Content by file name, and notes: why there are no files although the dataset offers them.
    """
    data: Any = config.data
    submission = getattr(plugins.load("datasets", data.name), "submission", None)
    if submission is None:
        return {}, []
    reason = _incomplete(data, table)
    if reason is None:
        try:
            return dict(submission(data, predictions, config.seed)), []
        except InputError as error:
            reason = str(error)
    return {}, [f"No submission files were written: {reason}."]


def _incomplete(data: Any, table: ImageTable) -> str | None:
    """Why the predictions are not of all rows of the benchmark's own splits; None if they are."""
    if data.exclude:
        return "the benchmark wants every row, and data.exclude leaves some out"
    if data.held_out:
        return "the benchmark has its own splits, and data.held_out makes others"
    if table.bad_files:
        return f"the benchmark wants every row, and {len(table.bad_files)} files were left out"
    return None
