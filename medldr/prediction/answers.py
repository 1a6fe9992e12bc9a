"""What prediction returns, item by item, and how it is written to a table."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.data.counting import counted
from medldr.errors import InputError
from medldr.folders.files import storage_errors, write_text
from medldr.foreign_text import cell
from medldr.types import Task

if TYPE_CHECKING:
    from pandas import DataFrame


class Unreadable(NamedTuple):
    """An item that could not be used.

    Attributes:
        name: As the user knows it.
        reason: Why, and what helps.
    """

    name: str
    reason: str


@dataclass(frozen=True, repr=False)
class Answers:
    """Probabilities of new items; as an array it is `prob`.

    Attributes:
        task: Kind of labels.
        class_names: Of the columns of `prob`.
        names: ``(N,)`` items that were answered, in the order of the inputs.
        prob: ``(N, K)`` probabilities, recalibrated if the runs were: the mean over runs and views.
        log_odds: ``(N, K)`` their log-odds, which still rank items whose probability rounds to 1.
        spread: ``(N, K)`` standard deviation over runs (ddof 1); None for a single run.
        positive_class: Of a binary task; None otherwise.
        threshold: Probability of the positive class above which an item is called positive, chosen
            on validation images; the mean of the runs' own. None: the most probable class counts.
        thresholds: The same by label of a multi-label task; one that is not in it is called present
            above 0.5.
        warnings: ``(N,)`` what is unusual about each item, a sentence each.
        unreadable: Items that could not be used.
        notes: What readers of the answers should know.
        groups: ``(N,)`` group (patient, slide) of each item; empty texts where none is known.
        images: ``(N,)`` images behind each, where groups were answered in place of items.
        by_group: The answers to groups, where they were asked for.
        precision: What they were computed in; of runs in several, joined by ``+``.
    """

    task: Task
    class_names: tuple[str, ...]
    names: tuple[str, ...]
    prob: NDArray[np.float64]
    log_odds: NDArray[np.float64]
    spread: NDArray[np.float64] | None = None
    positive_class: str | None = None
    threshold: float | None = None
    thresholds: Mapping[str, float] = field(default_factory=dict)
    warnings: tuple[tuple[str, ...], ...] = ()
    unreadable: tuple[Unreadable, ...] = ()
    notes: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    images: tuple[int, ...] = ()
    by_group: Answers | None = None
    precision: str = ""

    def __len__(self) -> int:
        return len(self.names)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """`prob`, for NumPy."""
        return np.array(self.prob, dtype=dtype, copy=True if copy is None else copy)

    def __repr__(self) -> str:
        bad = f", {len(self.unreadable)} unreadable" if self.unreadable else ""
        return f"Answers({counted(len(self), 'item', 'items')}{bad})"

    def _repr_html_(self) -> str:
        """Their table, what could not be used, and the notes, for a notebook."""
        unused = [f"not used: {one.name}: {one.reason}" for one in self.unreadable]
        said = "".join(f"<p>{escape(text)}</p>" for text in (*unused, *self.notes))
        return f"<p>{self!r}</p>{self.to_frame().to_html(max_rows=60)}{said}"

    def to_frame(self) -> DataFrame:
        """The table that `medldr predict` writes, a row for each item that was answered."""
        from pandas import DataFrame

        return DataFrame(self.columns)

    @property
    def columns(self) -> dict[str, Sequence[Any]]:
        """The columns of their table.

        ``path``, ``predicted`` (the decision), one ``prob_<class>`` per class, one ``sd_<class>``
        with several runs, ``warnings``, ``precision``; where groups were answered, ``group`` and
        ``images`` in place of ``path``.
        """
        numbers = {"prob": self.prob} | ({} if self.spread is None else {"sd": self.spread})
        return {
            **(
                {"group": self.names, "images": self.images}
                if self.images
                else {"path": self.names}
            ),
            "predicted": self.predicted,
            **{
                f"{what}_{name}": of[:, k].tolist()
                for what, of in numbers.items()
                for k, name in enumerate(self.class_names)
            },
            "warnings": ["; ".join(said) for said in self.warnings],
            "precision": [self.precision] * len(self),
        }

    @property
    def predicted(self) -> list[str]:
        """``(N,)`` the decision on each item: the name of one class.

        Of two classes the positive one above the threshold, where there is one; else the most
        probable class. Of several labels per item those above their thresholds, joined by ``|``.
        """
        names = self.class_names
        if self.task != "multi-label":
            positive = None if self.positive_class is None else names.index(self.positive_class)
            return [names[k] for k in decided(self.prob, positive, self.threshold).tolist()]
        cuts = [self.thresholds.get(name, 0.5) for name in names]
        return [
            "|".join(name for name, there in zip(names, row, strict=True) if there)
            for row in (self.prob > cuts).tolist()
        ]


def decided(
    prob: NDArray[np.float64], positive: int | None, threshold: float | None
) -> NDArray[np.int64]:
    """``(N,)`` the class that is decided for: a single rule for tables, pages and heat maps.

    Args:
        prob: ``(N, K)`` probabilities.
        positive: Column of the positive class of two; None where there is none.
        threshold: Its probability above which it is decided for; None: the most probable class is.

    Example:
        >>> decided(np.array([[0.6, 0.4], [0.8, 0.2]]), 1, 0.3).tolist()
        [1, 0]
        >>> decided(np.array([[0.6, 0.4], [0.8, 0.2]]), 1, None).tolist()
        [0, 0]
    """
    if threshold is None or positive is None:
        most: NDArray[np.int64] = prob.argmax(axis=1)
        return most
    return np.where(prob[:, positive] > threshold, positive, 1 - positive)


def mean_threshold(of_runs: Iterable[float | None]) -> float | None:
    """The mean of the thresholds of several runs; None where any has none.

    Example:
        >>> mean_threshold([0.2, 0.4]), mean_threshold([0.2, None])
        (0.30000000000000004, None)
    """
    each = list(of_runs)
    return None if None in each else float(np.mean(np.array(each, np.float64)))


def unreadable_path(out: Path) -> Path:
    """Where the items that could not be used are listed.

    Example:
        >>> unreadable_path(Path("predictions.csv")).name
        'predictions_unreadable.csv'
    """
    return out.with_name(f"{out.stem}_unreadable.csv")


def check_free(out: Path, inputs: Iterable[str], *, force: bool) -> None:
    """Refuse to write over inputs and over earlier answers; make the folder.

    Raises:
        InputError: If there is such a file, and `force` is not set, or it is one of the inputs.
        StorageError: If its folder cannot be made or written to.
    """
    if out.is_dir():
        raise InputError(
            f"--out: {out} is a folder. Name a file, such as {out / 'predictions.csv'}"
        )
    with storage_errors(out):
        out.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out.parent):
            pass
    if os.path.realpath(out) in {os.path.realpath(Path(one).expanduser()) for one in inputs}:
        raise InputError(f"--out: {out} is one of the inputs. Choose another name")
    if not force:
        for path in (out, unreadable_path(out)):
            if path.exists():
                raise InputError(f"{path} exists. Choose another --out, or add --force")


def refuse_no_answer(answers: Answers) -> None:
    """Refuse inputs of which nothing could be used.

    Raises:
        InputError: With the first item and its reason.
    """
    if not len(answers):
        first = answers.unreadable[0]
        raise InputError(
            f"none of {len(answers.unreadable):,} items can be predicted, such as {first.name}: "
            f"{first.reason}"
        )


def write_answers(answers: Answers, out: Path) -> list[Path]:
    """Write their table, whole or not at all; a list of earlier unreadable items goes.

    Returns:
        The files.
    """
    other = unreadable_path(out)
    if answers.unreadable:
        write_text(other, unreadable_text(answers.unreadable))
    else:
        other.unlink(missing_ok=True)
    columns = answers.columns
    write_text(out, _text([list(columns), *zip(*columns.values(), strict=True)]))
    return [out, *([other] if answers.unreadable else [])]


def unreadable_text(unreadable: Iterable[Unreadable]) -> str:
    """What could not be used, as a table with the columns ``path`` and ``reason``."""
    return _text([["path", "reason"], *unreadable])


def _text(rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for name, *others in rows:  # a name stays as it is: it leads to the file
        writer.writerow([name, *(cell(one) if isinstance(one, str) else one for one in others)])
    return text.getvalue()
