"""`metrics.jsonl`: what a run logged while it trained."""

from __future__ import annotations

import json
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

from medldr.errors import InputError
from medldr.folders.files import read_text

LogRow: TypeAlias = dict[str, Any]
"""One evaluation: ``epoch``, ``step``, and numbers by slash-separated key; ``stage``, from 1, where
the run has several."""


def read_log(path: Path) -> tuple[list[LogRow], list[str]]:
    """Records of `metrics.jsonl`, and the problems found in it.

    A resumed run may have written an evaluation twice; the later record counts. A broken line
    (the process was killed while writing) is skipped and reported.
    """
    if not os.path.lexists(path):
        return [], []
    try:
        text = read_text(path, "replace")
    except InputError as error:
        return [], [f"{error}."]
    newest: dict[tuple[Any, ...], LogRow] = {}
    broken = 0
    for number, line in enumerate(text.splitlines()):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            row = None
        place = [row.get(key) for key in ("epoch", "step")] if isinstance(row, dict) else [""]
        if not all(value is None or _is_number(value) for value in place):
            broken += 1
            continue
        key: tuple[Any, ...] = tuple(place)
        # Normalised weights are of the step at which they were trained in an earlier stage.
        key = (number,) if key == (None, None) else (*key, stage_of(row))
        newest.pop(key, None)
        newest[key] = row
    problems = [f"Unreadable lines of metrics.jsonl left out of the curves: {broken}."]
    return list(newest.values()), problems if broken else []


def stage_of(row: LogRow) -> int:
    """Number of the stage of training that a record belongs to; 1 where there is only one."""
    stage = row.get("stage")
    return stage if isinstance(stage, int) else 1


def last_stage(rows: Sequence[LogRow]) -> list[LogRow]:
    """Records of the last stage with validation, whose choices alone a run reports.

    A stage on all images has none; where no stage has, they are those of the last one.

    Example:
        >>> last_stage([{"step": 1, "stage": 1}, {"step": 2, "stage": 2}, {"step": 3, "stage": 2}])
        [{'step': 2, 'stage': 2}, {'step': 3, 'stage': 2}]
        >>> last_stage([{"step": 1}, {"step": 2}])
        [{'step': 1}, {'step': 2}]
    """
    scored = [row for row in rows if any(key.startswith("val/") for key in row)]
    last = max(map(stage_of, scored or rows), default=1)
    return [row for row in rows if stage_of(row) == last]


def while_training(rows: Sequence[LogRow]) -> list[LogRow]:
    """Records of the stages that train, whose steps go on from stage to stage.

    A stage that only normalises weights has a record too, at the step where they were trained.

    Example:
        >>> while_training([{"step": 1, "stage": 1}, {"step": 2, "stage": 1},
        ...                 {"step": 1, "stage": 2}, {"step": 3, "stage": 3}])
        [{'step': 1, 'stage': 1}, {'step': 2, 'stage': 1}, {'step': 3, 'stage': 3}]
    """
    trained: list[LogRow] = []
    reached = -math.inf
    for row in rows:
        has_step = _is_number(row.get("step"))
        if not has_step or row["step"] > reached or stage_of(row) == stage_of(trained[-1]):
            trained.append(row)
            reached = row["step"] if has_step else reached
    return trained


def series(rows: Sequence[LogRow], key: str, axis: str) -> tuple[list[float], list[float]]:
    """Defined, finite points (x, y) of one logged number.

    Example:
        >>> rows = [{"epoch": 1, "a": 1}, {"epoch": 2, "a": None}, {"epoch": 3, "a": 3}]
        >>> series(rows, "a", "epoch")
        ([1.0, 3.0], [1.0, 3.0])
    """
    points = [
        (float(row[axis]), float(row[key]))
        for row in rows
        if _is_number(row.get(axis)) and _is_number(row.get(key))
    ]
    return [x for x, _ in points], [y for _, y in points]


def time_axis(rows: Sequence[LogRow]) -> str:
    """``epoch``, or ``step`` if several evaluations share an epoch or epochs are not logged."""
    epochs = [row.get("epoch") for row in rows]
    distinct = len(set(epochs)) == len(epochs) and all(_is_number(epoch) for epoch in epochs)
    return "epoch" if distinct or not any("step" in row for row in rows) else "step"


def _is_number(value: Any) -> bool:
    plain = isinstance(value, int | float) and not isinstance(value, bool)
    return plain and abs(value) <= sys.float_info.max
