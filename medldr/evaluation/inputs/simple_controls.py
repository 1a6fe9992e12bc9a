"""What a few plain numbers of each image tell about its class: controls for any network.

A network that cannot beat them has learnt brightness or size; a data set in which they do well in a
hospital that was held out has a shortcut, or a finding that is a matter of size. Three sets of
numbers are tried, each by logistic regression on the training split of a run and scored on its test
split:

* ``brightness``: mean and standard deviation of the pixels of each channel;
* ``size``: share of the pixels above half of the scale, as an edge length, and over how many rows,
  columns and slices such pixels extend;
* ``recording``: pixels and spacing of the file along each axis, where these differ at all.

Source:
    Our choice, after the control that was published for nodules (size alone). Numbers are
    standardised on the training rows; classes weigh alike, so that balanced accuracy is fair.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.config import EvaluationConfig
from medldr.data.checks.table_checks import each_part
from medldr.data.image_table import ImageTable
from medldr.data.spec import task_of
from medldr.evaluation.from_predictions import evaluate
from medldr.evaluation.predictions.table import predictions_of
from medldr.folders.scores import Number

ControlName = Literal["brightness", "size", "recording"]

METRICS: Final = ("auc", "balanced_accuracy")
_FEWEST: Final = 5  # training rows of each class
_DRAWS: Final = 500


class Control(NamedTuple):
    """How well one set of numbers does.

    Attributes:
        name: Which numbers.
        plan: How the data were divided, such as `` with a held out``.
        n: Test rows.
        numbers: `METRICS` on the test split.
    """

    name: ControlName
    plan: str
    n: int
    numbers: Mapping[str, Number]


def simple_controls(
    table: ImageTable,
    plans: Mapping[str, Mapping[str, NDArray[np.int64]]],
    positive_class: str | None = None,
) -> list[Control]:
    """Train and score the controls.

    Args:
        table: The data set; nothing is done for several labels or stored latents.
        plans: Rows of each split, for each way a run divides them.
        positive_class: Value of `evaluation.positive_class`.

    Returns:
        One for each set of numbers and plan that has a test split and five training rows of each
        class in it.
    """
    if table.labels.ndim == 2 or table.latents:
        return []
    sets: dict[ControlName, NDArray[np.float64]] = {}
    rows = np.arange(len(table))
    parts = list(each_part(table.images, rows, _numbers, title=f"measuring {table.name}"))
    sets["brightness"] = np.concatenate([part[0] for part in parts])
    sets["size"] = np.concatenate([part[1] for part in parts])
    recording = _recording(table)
    if recording is not None:
        sets["recording"] = recording
    return [
        control
        for plan, of_plan in plans.items()
        for name, numbers in sets.items()
        if (control := _control(name, plan, numbers, table, of_plan, positive_class)) is not None
    ]


def _numbers(block: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Brightness and size of each image of a block."""
    scaled = block.astype(np.float32) / (255 if block.dtype == np.uint8 else 1)
    axes = tuple(range(2, scaled.ndim))
    brightness = np.concatenate([scaled.mean(axes), scaled.std(axes)], axis=1)
    bright = scaled.mean(1) > 0.5
    space = tuple(range(1, bright.ndim))
    edge = bright.mean(space) ** (1 / len(space))
    extents = [
        bright.any(axis=tuple(other for other in space if other != axis)).sum(1) for axis in space
    ]
    return brightness.astype(np.float64), np.column_stack([edge, *extents]).astype(np.float64)


def _recording(table: ImageTable) -> NDArray[np.float64] | None:
    """Pixels and spacing of each file; None where all are alike, or not known."""
    axes = {len(one.spatial) for one in table.facts}
    if len(axes) != 1:
        return None
    width = axes.pop()
    numbers = np.array(
        [(*one.spatial, *(one.spacing or (0.0,) * width)) for one in table.facts], np.float64
    )
    return numbers if np.ptp(numbers, axis=0).any() else None


def _control(
    name: ControlName,
    plan: str,
    numbers: NDArray[np.float64],
    table: ImageTable,
    rows: Mapping[str, NDArray[np.int64]],
    positive_class: str | None,
) -> Control | None:
    train, test = rows.get("train"), rows.get("test")
    if train is None or test is None:
        return None
    counts = np.bincount(table.labels[train].astype(np.int64), minlength=len(table.class_names))
    if counts.min() < _FEWEST:
        return None
    predicted = predictions_of(
        task_of(table),
        table.labels[test],
        _probabilities(numbers[train], table.labels[train], numbers[test]),
        class_names=table.class_names,
        ids=table.ids[test].tolist(),
        group=table.groups[test].tolist(),
    )
    config = EvaluationConfig(draws=_DRAWS, splits=("test",), positive_class=positive_class)
    found = evaluate({"test": predicted}, config)["splits"]["test"]["metrics"]
    return Control(name, plan, len(test), {key: Number(**found[key]) for key in METRICS})


def _probabilities(
    train: NDArray[np.float64], labels: NDArray[Any], test: NDArray[np.float64]
) -> NDArray[np.float64]:
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    regression = LogisticRegression(class_weight="balanced", max_iter=2000)
    fitted = make_pipeline(StandardScaler(), regression).fit(train, labels)
    found: NDArray[np.float64] = fitted.predict_proba(test)
    return found


def shortcuts(controls: Sequence[Control]) -> list[str]:
    """Brightness and recording that clearly predict the class, each in a sentence.

    A control is a shortcut if the interval of its AUC lies above 0.5, the AUC of a constant answer.
    Size is no shortcut: what is larger may be so because of the disease.

    Example:
        >>> auc = Number(value=0.93, low=0.81, high=0.98)
        >>> print(*shortcuts([Control("recording", "", 9, {"auc": auc})]))  # doctest: +ELLIPSIS
        Recording alone predicts the class: AUC 0.930 (95% CI 0.810 to 0.980) on the test split; ...
        >>> shortcuts([Control("size", "", 9, {"auc": auc})])
        []
    """
    found = []
    for name in ("recording", "brightness"):
        clear = [
            one for one in controls if one.name == name and (one.numbers["auc"].low or 0) > 0.5
        ]
        if clear:
            best = max(clear, key=lambda one: one.numbers["auc"].value or 0)
            auc = best.numbers["auc"]
            found.append(
                f"{name.capitalize()} alone predicts the class: AUC {auc.value:.3f} (95% CI "
                f"{auc.low:.3f} to {auc.high:.3f}) on the test split{best.plan}; the most frequent "
                "class alone has 0.5. A network may learn that, not the disease"
            )
    return found
