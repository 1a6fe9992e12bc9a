"""What prediction returns, item by item."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.types import Task


class Unreadable(NamedTuple):
    """An item that could not be used.

    Attributes:
        name: As the user knows it.
        reason: Why, and what helps.
    """

    name: str
    reason: str


@dataclass(frozen=True)
class Answers:
    """Probabilities of new items; as an array it is `prob`.

    Attributes:
        task: Kind of labels.
        class_names: Of the columns of `prob`.
        names: ``(N,)`` items that were answered, in the order of the inputs.
        prob: ``(N, K)`` probabilities, recalibrated if the runs were: the mean over runs and views.
        spread: ``(N, K)`` standard deviation over runs (ddof 1); None for a single run.
        positive_class: Of a binary task; None otherwise.
        threshold: Probability of the positive class above which an item is called positive, chosen
            on validation images; the mean of the runs' own. None: the most probable class counts.
        warnings: ``(N,)`` what is unusual about each item, a sentence each.
        unreadable: Items that could not be used.
        notes: What readers of the answers should know.
    """

    task: Task
    class_names: tuple[str, ...]
    names: tuple[str, ...]
    prob: NDArray[np.float64]
    spread: NDArray[np.float64] | None = None
    positive_class: str | None = None
    threshold: float | None = None
    warnings: tuple[tuple[str, ...], ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    notes: tuple[str, ...] = field(default=())

    def __len__(self) -> int:
        return len(self.names)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """`prob`, for NumPy."""
        return np.array(self.prob, dtype=dtype, copy=True if copy is None else copy)

    @property
    def predicted(self) -> list[str]:
        """``(N,)`` name of the most probable class.

        Of several labels per item those that are more probable than not, joined by ``|``.
        """
        names = self.class_names
        if self.task != "multi-label":
            return [names[k] for k in self.prob.argmax(axis=1).tolist()]
        return [
            "|".join(name for name, there in zip(names, row, strict=True) if there)
            for row in (self.prob > 0.5).tolist()
        ]

    @property
    def called_positive(self) -> list[bool] | None:
        """``(N,)`` whether each item is above the threshold; None where there is none."""
        if self.threshold is None or self.positive_class is None:
            return None
        column = self.class_names.index(self.positive_class)
        called: list[bool] = (self.prob[:, column] > self.threshold).tolist()
        return called
