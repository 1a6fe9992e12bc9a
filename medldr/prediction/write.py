"""Answers as files: a table of them, and one of what could not be read."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

from medldr.errors import InputError
from medldr.folders.files import storage_errors, write_text
from medldr.prediction.answers import Answers, Unreadable


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
    if out.resolve() in {Path(one).expanduser().resolve() for one in inputs}:
        raise InputError(f"--out: {out} is one of the inputs. Choose another name")
    if not force:
        for path in (out, unreadable_path(out)):
            if path.exists():
                raise InputError(f"{path} exists. Choose another --out, or add --force")


def write_answers(answers: Answers, out: Path) -> list[Path]:
    """Write them, whole or not at all; a list of earlier unreadable items goes.

    Columns: ``path``, ``predicted``, ``above_threshold`` (yes or no, where there is a threshold),
    one ``prob_<class>`` per class, one ``sd_<class>`` with several runs, ``warnings``.

    Returns:
        The files.
    """
    called = answers.called_positive
    header = ["path", "predicted", *(["above_threshold"] if called is not None else [])]
    header += [f"prob_{name}" for name in answers.class_names]
    if answers.spread is not None:
        header += [f"sd_{name}" for name in answers.class_names]
    rows = []
    for row, (name, predicted) in enumerate(zip(answers.names, answers.predicted, strict=True)):
        cells = [name, predicted]
        if called is not None:
            cells.append("yes" if called[row] else "no")
        cells += map(repr, answers.prob[row].tolist())
        if answers.spread is not None:
            cells += map(repr, answers.spread[row].tolist())
        rows.append([*cells, "; ".join(answers.warnings[row])])
    other = unreadable_path(out)
    if answers.unreadable:
        write_text(other, unreadable_text(answers.unreadable))
    else:
        other.unlink(missing_ok=True)
    write_text(out, _text([[*header, "warnings"], *rows]))
    return [out, *([other] if answers.unreadable else [])]


def unreadable_text(unreadable: Iterable[Unreadable]) -> str:
    """What could not be used, as a table with the columns ``path`` and ``reason``."""
    return _text([["path", "reason"], *unreadable])


def _text(rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
