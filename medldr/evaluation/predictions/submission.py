"""Files that a benchmark asks for, where the dataset defines them and the predictions qualify."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr import plugins
from medldr.config import RunConfig
from medldr.data.image_table import ImageTable
from medldr.errors import InputError
from medldr.types import Predictions


def submission_files(
    config: RunConfig,
    table: ImageTable,
    predictions: Mapping[str, Predictions],
    *,
    oracle: bool = False,
) -> tuple[dict[str, str], list[str]]:
    """The files a benchmark asks for, from the predictions of the reported weights.

    Args:
        config: The run.
        table: Its images; which files were left out of it.
        predictions: One table per split.
        oracle: Whether the test split chose these weights.

    Returns:
        Content by file name, and notes: why there are no files although the dataset defines them.
    """
    data: Any = config.data
    submission = getattr(plugins.load("datasets", data.name), "submission", None)
    if submission is None:
        return {}, []
    reason = _unfit(data, table, oracle)
    if reason is None:
        try:
            return dict(submission(data, predictions, config.seed)), []
        except InputError as error:
            reason = str(error)
    return {}, [f"No submission files were written: {reason}."]


def _unfit(data: Any, table: ImageTable, oracle: bool) -> str | None:
    """Why the predictions do not qualify for a benchmark; None if they do.

    They must cover all rows of its own splits, with weights not chosen on the test split.
    """
    if oracle:
        return "the weights were chosen on the test split, which the benchmark forbids"
    if data.exclude:
        return "the benchmark requires every row, but data.exclude leaves some out"
    if data.manifest is not None:
        return "the benchmark defines its own splits, but data.manifest makes others"
    if data.held_out:
        return "the benchmark defines its own splits, but data.held_out makes others"
    if table.bad_files:
        return f"the benchmark requires every row, but {len(table.bad_files)} files were left out"
    return None
