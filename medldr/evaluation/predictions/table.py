"""The predictions table on disk: `predictions.csv`, exact to the last bit.

Columns: ``id, split, domain, group``, then ``part`` (of a held-out domain: ``target_in``,
``target_out`` or empty) where any item has one, then one ``meta_<column>`` per column of
``data.metadata`` that results are divided by (text, empty when missing), then ``label`` (class
number) or, for multi-label, one ``label_<name>`` per label (0, 1, or empty when missing), then one
``prob_<name>`` and one ``logodds_<name>`` per class. A table without log-odds, as earlier versions
wrote it and `predictions_of` makes it of bare probabilities, ranks by probability. Domains and
metadata are cells as `medldr.foreign_text` writes them; ids and groups are as they are.
"""

from __future__ import annotations

import csv
import io
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit  # scipy.stats takes a second to load

from medldr.errors import InputError
from medldr.folders import files
from medldr.folders.evaluation_record import read_evaluation
from medldr.foreign_text import cell, plain
from medldr.types import Predictions, Task

TEXTS = ("id", "split", "domain", "group")
PART = "part"
SUM_ERROR = 1e-3
"""How far the probabilities of a row may be from summing to one, and from those of its log-odds:
rounding of half precision."""
_CURE = "Run `medldr evaluate` on the run to predict again"
META, PROB, ODDS = "meta_", "prob_", "logodds_"


def predictions_of(
    task: Task,
    label: ArrayLike,
    prob: ArrayLike,
    *,
    class_names: Sequence[str] | None = None,
    ids: Sequence[str] | None = None,
    split: str = "test",
    domain: Sequence[str] | None = None,
    group: Sequence[str] | None = None,
    part: Sequence[str] | None = None,
    columns: Mapping[str, Sequence[str]] | None = None,
    log_odds: ArrayLike | None = None,
) -> Predictions:
    """Predictions from plain arrays, with the texts filled in.

    Without log-odds, probabilities rank.

    Raises:
        InputError: If rows are no probabilities, or log-odds those of others.

    Example:
        >>> predictions_of("binary", [0, 1], [[0.9, 0.1], [0.2, 0.8]]).id.tolist()
        ['0', '1']
    """
    probs = np.asarray(prob, dtype=np.float64)
    odds = None if log_odds is None else np.asarray(log_odds, dtype=np.float64)
    if wrong := _not_probabilities(probs, odds, sums=task != "multi-label"):
        row, why = wrong
        raise InputError(f"predictions: row {row} {why}. Give softmax or sigmoid outputs")
    labels: NDArray[np.int64] | NDArray[np.float64]
    labels = np.asarray(label, np.float64) if task == "multi-label" else np.asarray(label, np.int64)
    n, k = probs.shape
    return Predictions(
        task=task,
        class_names=tuple(class_names or (str(c) for c in range(k))),
        id=_texts(ids if ids is not None else [str(i) for i in range(n)]),
        split=_texts([split] * n),
        domain=_texts(domain if domain is not None else [""] * n),
        group=_texts(group if group is not None else [""] * n),
        label=labels,
        prob=probs,
        part=_texts(part if part is not None else [""] * n),
        columns={name: _texts(column) for name, column in (columns or {}).items()},
        log_odds=odds,
    )


def _texts(values: Sequence[str]) -> NDArray[np.str_]:
    return np.array(values, dtype=np.str_) if len(values) else np.empty(0, dtype=np.str_)


def join(parts: Sequence[Predictions]) -> Predictions:
    """One table of several, in their order; all of one task and the same classes.

    A further column that one of them lacks is empty there; decisions and log-odds are kept if all
    have them.
    """
    first = parts[0]
    names = dict.fromkeys(name for part in parts for name in part.columns)
    columns = {
        name: np.concatenate([p.columns.get(name, _texts([""] * len(p))) for p in parts])
        for name in names
    }
    decisions = [part.decision for part in parts if part.decision is not None]
    odds = [part.log_odds for part in parts if part.log_odds is not None]
    return Predictions(
        task=first.task,
        class_names=first.class_names,
        **{
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in (*TEXTS, PART, "label", "prob")
        },
        columns=columns,
        decision=np.concatenate(decisions) if len(decisions) == len(parts) else None,
        log_odds=np.concatenate(odds) if len(odds) == len(parts) else None,
    )


def by_split(predictions: Predictions) -> dict[str, Predictions]:
    """One table per split, in order of first appearance."""
    names = dict.fromkeys(predictions.split.tolist())
    return {name: predictions.select(predictions.split == name) for name in names}


def write_predictions(path: Path | str, predictions: Predictions) -> None:
    """Write the table atomically; floats are read back bit for bit."""
    names = predictions.class_names
    label_columns = [f"label_{n}" for n in names] if predictions.label.ndim == 2 else ["label"]
    text = io.StringIO(newline="")
    # Only quotes keep a carriage return in a text from ending its line.
    plain, quoted = (
        csv.writer(text, lineterminator="\n", quoting=quoting)
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
    )

    def write(cells: Sequence[str]) -> None:
        (quoted if any("\r" in cell for cell in cells) else plain).writerow(cells)

    text_columns = [*TEXTS, PART] if (predictions.part != "").any() else [*TEXTS]
    metas = [column.tolist() for column in predictions.columns.values()]
    heads = [*text_columns, *(f"{META}{name}" for name in predictions.columns)]
    numbers, kinds = predictions.prob, [PROB]
    if predictions.log_odds is not None:
        numbers, kinds = np.hstack([predictions.prob, predictions.log_odds]), [PROB, ODDS]
    write([*heads, *label_columns, *(f"{kind}{name}" for kind in kinds for name in names)])
    labels = predictions.label.tolist()
    for row, (label, cells) in enumerate(zip(labels, numbers.tolist(), strict=True)):
        known = [_label_text(v) for v in label] if isinstance(label, list) else [str(label)]
        texts = [str(getattr(predictions, name)[row]) for name in text_columns]
        texts[2] = cell(texts[2])
        texts += [cell(column[row]) for column in metas]
        write([*texts, *known, *map(repr, cells)])
    files.write_text(Path(path), text.getvalue())


def _label_text(value: float) -> str:
    return "" if np.isnan(value) else str(int(value))


def read_predictions(path: Path | str, task: Task | None = None) -> Predictions:
    """Read a table that `write_predictions` wrote.

    Args:
        path: The CSV file.
        task: Kind of labels. Unset: the one in ``evaluation.json`` next to it; without that file
            multi-label, binary (two classes) or multi-class, by the columns, since the table
            alone does not show whether classes are ordered.

    Raises:
        InputError: If the file is absent or is not such a table; names the line and column.
    """
    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: the predictions table is missing. A finished run writes it.")
    with (
        files.reading(path, "a predictions table"),
        path.open(newline="", encoding="utf-8") as stream,
    ):
        lines = list(csv.reader(stream))
    header, body = (lines[0], lines[1:]) if lines else ([], [])
    names = tuple(name.removeprefix(PROB) for name in header if name.startswith(PROB))
    # Tables of runs without held-out domains have no parts.
    texts = [*TEXTS, PART] if header[len(TEXTS) : len(TEXTS) + 1] == [PART] else [*TEXTS]
    first = len(texts)
    texts += itertools.takewhile(lambda name: name.startswith(META), header[first:])
    has_odds = bool(names) and header[-1] == f"{ODDS}{names[-1]}"
    given = [f"{kind}{n}" for kind in ([PROB, ODDS] if has_odds else [PROB]) for n in names]
    single, multi = [*texts, "label", *given], [*texts, *(f"label_{n}" for n in names), *given]
    if not names or header not in (single, multi):
        raise InputError(
            f"{path}: not a predictions table: its columns are {', '.join(header) or '(none)'}; "
            "expected id, split, domain, group, part (optional), meta_<column> ... (optional), "
            "label (or label_<name> ...), prob_<class> ..., logodds_<class> ... (optional)"
        )
    multi_label = header == multi and header != single
    columns = _columns(path, header, body)
    width = len(names) if multi_label else 1
    labels = np.array([_numbers(path, header, columns, len(texts) + c) for c in range(width)]).T
    places = range(len(header) - len(given), len(header))
    found = np.stack([_numbers(path, header, columns, c) for c in places], axis=1)
    prob, odds = found[:, : len(names)], found[:, len(names) :] if has_odds else None
    if not multi_label:
        _check_classes(path, labels[:, 0], len(names))
    if wrong := _not_probabilities(prob, odds, sums=not multi_label):
        row, why = wrong
        raise InputError(f"{path}: row {row + 2} {why}. {_CURE}")
    guessed: Task = "multi-label" if multi_label else "binary" if len(names) == 2 else "multi-class"
    return Predictions(
        task=task or _task_beside(path) or guessed,
        class_names=names,
        id=_texts(columns[0]),
        split=_texts(columns[1]),
        domain=_texts([*map(plain, columns[2])]),
        group=_texts(columns[3]),
        label=labels if multi_label else labels[:, 0].astype(np.int64),
        prob=prob,
        part=_texts(columns[4] if PART in texts else [""] * len(body)),
        columns={
            texts[place].removeprefix(META): _texts([*map(plain, columns[place])])
            for place in range(first, len(texts))
        },
        log_odds=odds,
    )


def _columns(path: Path, header: list[str], body: list[list[str]]) -> list[list[str]]:
    for line, row in enumerate(body, start=2):
        if len(row) != len(header):
            raise InputError(
                f"{path}: row {line} has {len(row)} columns, the header has {len(header)}. "
                "The file may be truncated; run `medldr evaluate` on the run again."
            )
    return [list(column) for column in zip(*body, strict=True)] or [[] for _ in header]


def _numbers(
    path: Path, header: list[str], columns: list[list[str]], c: int
) -> NDArray[np.float64]:
    label = header[c].startswith("label_")
    try:
        return np.array([float("nan") if label and not t else float(t) for t in columns[c]])
    except ValueError as error:
        raise InputError(
            f"{path}: column {header[c]!r} holds a value that is not a number: {error}"
        ) from error


def _check_classes(path: Path, label: NDArray[np.float64], classes: int) -> None:
    wrong = np.flatnonzero(~np.isin(label, np.arange(classes)))
    if len(wrong):
        raise InputError(
            f"{path}: row {wrong[0] + 2} has label {label[wrong[0]]:g}; "
            f"allowed are the class numbers 0 to {classes - 1}."
        )


def _not_probabilities(
    prob: NDArray[np.float64], odds: NDArray[np.float64] | None, *, sums: bool
) -> tuple[int, str] | None:
    """The first row that holds no probabilities, or log-odds of others, and why; None if all do.

    A row with a number that is not finite is what a diverged network gives, and is reported as
    undefined instead.

    Args:
        prob: ``(N, K)``.
        odds: ``(N, K)``, if known.
        sums: Whether each row must sum to one.
    """
    finite = np.isfinite(prob).all(axis=1)
    outside = finite & ((prob < 0) | (prob > 1)).any(axis=1)
    if outside.any():
        row = int(np.flatnonzero(outside)[0])
        return row, "holds a probability that is not between 0 and 1"
    total = prob.sum(axis=1)
    off = finite & (np.abs(total - 1) > SUM_ERROR)
    if sums and off.any():
        row = int(np.flatnonzero(off)[0])
        return row, f"has probabilities that sum to {total[row]:.4g} instead of 1"
    if odds is not None:
        other = finite & ~(np.abs(expit(odds) - prob) <= SUM_ERROR).all(axis=1)
        if other.any():
            return int(np.flatnonzero(other)[0]), "has log-odds that are not of its probabilities"
    return None


def _task_beside(path: Path) -> Task | None:
    folder = files.RunFolder(path.parent)
    return read_evaluation(folder).task if folder.evaluation.is_file() else None
