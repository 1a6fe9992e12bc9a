"""One row per group (patient, slide) in place of its images, scored as images are.

Clinics decide per patient. A group's probabilities are made of those of its images by
``evaluation.aggregate``, and what is made of them, metrics, thresholds, intervals, is made as for
images: the units are groups, so none are left that belong together. An image without a group is a
group of its own, as for intervals.

Source:
    Our choice. ``mean``: mean of the probabilities. ``max``: binary, the image with the highest
    probability of the positive class speaks for its group; several labels, each label by itself;
    ordered classes, the highest probability of exceeding each grade, as the worst image decides the
    grade; other classes have no such order, so the highest probability of each class, divided by
    their sum. ``share``, of a binary task alone: the share of images above the threshold that
    validation images gave, scored as if it were a probability. Means rank by the log-odds of the
    mean and maxima by those of the image or label, where log-odds are known. Sums are of sorted
    numbers, so groups of the same probabilities are equal, and ties stay ties.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_expit

from medldr.data.checks.group_labels import Labels, mixed_groups, mixed_text
from medldr.errors import InputError
from medldr.evaluation.intervals import bootstrap
from medldr.evaluation.metrics.sums import Array
from medldr.evaluation.predictions.log_odds import DECIMALS
from medldr.folders.evaluation_parts import OperatingPoint
from medldr.types import Predictions, Task

if TYPE_CHECKING:
    from medldr.config import EvaluationConfig

Rows: TypeAlias = NDArray[np.int64]
ANY: Final[Mapping[str, str]] = {
    "binary": "positive if any image is",
    "multi-label": "positive for a label if any image is",
    "ordinal": "of the highest grade of any image",
}
"""What ``evaluation.group_label: any`` means, by task; unordered classes have no such rule."""


def check(
    config: EvaluationConfig, task: Task, held: Sequence[tuple[Labels, NDArray[np.str_]]]
) -> None:
    """Check that groups can be scored, if this is asked for.

    Args:
        config: What to score.
        task: Kind of labels.
        held: Labels ``(N,)`` or ``(N, L)`` and groups ``(N,)``, of each split.

    Raises:
        InputError: If the task has no such rule, no image has a group, or groups have images of
            different labels, which `evaluation.group_label` refuses.
    """
    if config.aggregate == "none":
        return
    key, none = f"evaluation.aggregate is {config.aggregate}", "evaluation.aggregate=none"
    if config.aggregate == "share" and task != "binary":
        raise InputError(
            f"{key}, the share of images above their threshold, which a {task} task does not have. "
            f"Set evaluation.aggregate=mean, or {none}"
        )
    if config.group_label == "any" and task not in ANY:
        raise InputError(
            f"evaluation.group_label is any, but classes of a {task} task have no order by which "
            "one image could decide for its group. Remove the key"
        )
    if not any((groups != "").any() for _, groups in held):
        raise InputError(
            f"{key}, but no image has a group. Name the column of patients or slides with "
            f"data.group (of folders: data.group_pattern), or set {none}"
        )
    mixed = mixed_text(mixed_groups(labels, groups) for labels, groups in held)
    if mixed and config.group_label == "refuse":
        rule = f"evaluation.group_label=any ({ANY[task]}), or " if task in ANY else ""
        raise InputError(
            f"{key}, but {mixed}, so they have no label of their own. Correct the labels, or set "
            f"{rule}{none}"
        )


def notes(
    config: EvaluationConfig, tables: Mapping[str, Predictions], point: OperatingPoint
) -> list[str]:
    """What readers of the scores of groups should know.

    Args:
        config: What was scored.
        tables: Images by split.
        point: Their threshold.
    """
    if config.aggregate == "none":
        return []
    said = []
    undecided = any(table.decision is None for table in tables.values())
    if config.aggregate == "share" and point.threshold is None and undecided:
        said.append(f"by group: nothing can be measured, as there is {point.reason}.")
    task, every = next(iter(tables.values())).task, tables.values()
    if mixed := mixed_text(mixed_groups(table.label, table.group) for table in every):
        said.append(f"{mixed}; such a group counts as {ANY[task]}.")
    return said


def grouped_splits(
    tables: Mapping[str, Predictions], how: str, positive: int, point: OperatingPoint
) -> dict[str, Predictions]:
    """A row per group in every split; see `grouped`."""
    return {s: grouped(table, how, positive, point.threshold) for s, table in tables.items()}


def grouped(
    table: Predictions, how: str, positive: int = 1, threshold: float | None = None
) -> Predictions:
    """A row per group: its label, probabilities, and its domain if its images are of one.

    Args:
        table: Images; of one split.
        how: ``mean``, ``max`` or ``share``.
        positive: Column of the positive class; binary only.
        threshold: Above which an image counts for ``share``, unless the table decides; None: the
            probabilities are NaN.

    Returns:
        A table without groups, parts and further columns, named by group; in the order of
        `bootstrap.units`. Where images of a group differ in their label it has that of any
        (`ANY`), which `check` refuses unless it is asked for.

    Example:
        >>> from medldr.evaluation.predictions.table import predictions_of
        >>> prob = [[0.9, 0.1], [0.4, 0.6], [0.8, 0.2]]
        >>> images = predictions_of("binary", [1, 1, 0], prob, group=["p2", "p2", "p1"])
        >>> found = grouped(images, "max")
        >>> found.id.tolist(), found.label.tolist(), found.prob[:, 1].tolist()
        (['p1', 'p2'], [0, 1], [0.2, 0.6])
    """
    number = bootstrap.units(table).number
    order, starts = _sorted(number, number)
    first = order[starts]
    lowest = table.task == "binary" and positive == 0
    # A missing label of an image is not that of the group.
    label = (np.fmin if lowest else np.fmax).reduceat(table.label[order], starts)
    same = table.domain == table.domain[first][number]
    one = np.logical_and.reduceat(same[order], starts)
    nothing = np.full(len(first), "", np.str_)
    prob, odds = _combined(table, how, number, positive, threshold)
    return replace(
        table.select(first),
        id=np.where(table.group != "", table.group, table.id)[first],
        domain=np.where(one, table.domain[first], ""),
        group=nothing,
        label=label,
        prob=prob,
        log_odds=odds,
        part=nothing,
        columns={},
        decision=None,
    )


def _combined(
    table: Predictions, how: str, number: Rows, positive: int, threshold: float | None
) -> tuple[Array, Array | None]:
    """Probabilities ``(G, K)``, NaN where those of an image are, and their log-odds if known."""
    prob, odds = table.prob, table.log_odds
    if how == "mean":
        means = np.stack([_means(column, number) for column in prob.T], axis=1)
        if odds is None:
            return means, None
        each = [_log_means(log_expit(of), number) - _log_means(log_expit(-of), number)
                for of in odds.T]  # fmt: skip
        return means, np.stack(each, axis=1).round(DECIMALS) + 0.0  # no minus zero
    if how == "share":
        above: NDArray[np.bool_] | Array = np.full(len(prob), np.nan)
        if table.decision is not None:
            above = table.decision
        elif threshold is not None:
            above = prob[:, positive] > threshold
        share = _means(np.where(np.isnan(prob).any(axis=1), np.nan, above), number)
        return np.stack([share if k == positive else 1 - share for k in range(2)], axis=1), None
    if table.task == "binary":
        order, starts = _sorted(table.ranks_by[:, positive], number)
        highest = order[np.append(starts[1:], len(order)) - 1]
        return prob[highest], None if odds is None else odds[highest]
    order, starts = _sorted(number, number)
    if table.task == "ordinal":
        # Of each image P(grade >= k) falls with k, and so does the highest of a group.
        reached = np.cumsum(prob[:, ::-1], axis=1)[:, ::-1]
        return -np.diff(np.maximum.reduceat(reached[order], starts), axis=1, append=0), None
    most = np.maximum.reduceat(prob[order], starts)
    if table.task == "multi-label":
        return most, None if odds is None else np.maximum.reduceat(odds[order], starts)
    return most / most.sum(axis=1, keepdims=True), None


def _sorted(values: Array | Rows, number: Rows) -> tuple[Rows, Rows]:
    """Rows by group and value, and where each group starts."""
    order = np.lexsort((values, number))
    return order, np.flatnonzero(np.diff(number[order], prepend=-1))


def _means(values: Array, number: Rows) -> Array:
    """Mean of each group: of equal values exactly that value, whatever their order and number."""
    order, starts = _sorted(values, number)
    held, sizes = values[order], np.diff(np.append(starts, len(values)))
    lowest = held[starts]
    above = np.add.reduceat(held - np.repeat(lowest, sizes), starts)
    return np.asarray(lowest + above / sizes)


def _log_means(logs: Array, number: Rows) -> Array:
    """Logarithm of the mean of each group, from logarithms."""
    order, starts = _sorted(logs, number)
    sizes = np.diff(np.append(starts, len(logs)))
    return np.asarray(np.logaddexp.reduceat(logs[order], starts) - np.log(sizes))
