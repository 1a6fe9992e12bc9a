"""What a page is made from: the files of one run folder, read once."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from medldr.config.yaml import read_yaml
from medldr.errors import InputError
from medldr.folders.files import RunFolder, read_json
from medldr.reporting.read.privacy import hide_ids, hide_in_command, hide_in_config, read_ids
from medldr.reporting.read.settings import Change, changes

Row = dict[str, Any]


@dataclass(frozen=True)
class RunSource:
    """The content of a run folder, with every id taken out of free text.

    Attributes:
        name: Name of the folder.
        config: The resolved configuration; empty where `config.yaml` is absent.
        run: `run.json`.
        rows: Records of `metrics.jsonl`, in order, the newest of each (epoch, step).
        evaluation: `evaluation.json`; None where the run was not evaluated.
        skipped_files: Number of files listed in `bad_files.csv`.
        problems: What could not be read, in words for the reader.
        changed: Settings that differ from their defaults.
        settings_note: Why `changed` is empty, if that is not because nothing was changed.
        further: The evaluation of each selection rule that is not reported, where it was judged.
    """

    name: str
    config: dict[str, Any]
    run: dict[str, Any]
    rows: list[Row]
    evaluation: dict[str, Any] | None
    skipped_files: int = 0
    problems: tuple[str, ...] = ()
    changed: tuple[Change, ...] = ()
    settings_note: str = ""
    further: dict[str, dict[str, Any]] = field(default_factory=dict)

    @property
    def by_rule(self) -> dict[str, tuple[dict[str, Any], dict[str, Any] | None]]:
        """What each rule chose and how that was judged (None: it was not), the reported one first.

        Empty where the run was not evaluated.
        """
        reported = (self.evaluation or {}).get("selection")
        if not reported:
            return {}
        others = self.run.get("selections") or {}
        found = {rule: (chosen, self.further.get(rule)) for rule, chosen in others.items()}
        return {reported["rule"]: (reported, self.evaluation)} | {
            rule: pair for rule, pair in found.items() if rule != reported["rule"]
        }

    @property
    def notes(self) -> list[str]:
        """What a reader of any number must be told: of the data, the run and the evaluation."""
        data = self.run.get("data")
        held = [
            data.get("notes") if isinstance(data, dict) else None,
            self.run.get("notes"),
            (self.evaluation or {}).get("notes"),
        ]
        lines = [str(note) for notes in held if notes for note in notes]
        return list(dict.fromkeys(lines))

    @property
    def protocol(self) -> str:
        """Protocol id, with `+modified` where a pinned key was overridden; may be empty."""
        for key in ("protocol_id", "protocol"):
            if self.run.get(key):
                return str(self.run[key])
        return str(self.config.get("protocol") or "")


def read_run(folder: RunFolder | Path | str) -> RunSource:
    """Read a run folder.

    Raises:
        InputError: If it is no run folder, or `config.yaml`, `run.json` or `evaluation.json` is
            there but cannot be read.
    """
    files = folder if isinstance(folder, RunFolder) else RunFolder(folder)
    if not (files.config.is_file() or files.run.is_file()):
        raise InputError(
            f"{files.path} is not a run folder: it holds neither config.yaml nor run.json"
        )
    config = read_yaml(files.config).values if files.config.is_file() else {}
    run = _mapping(read_json(files.run), files.run) if files.run.is_file() else {}
    rows, problems = read_metrics(files.metrics)
    evaluation = None
    if files.evaluation.is_file():
        evaluation = _mapping(read_json(files.evaluation), files.evaluation)
    changed, note = changes(config) if config else ([], "")
    ids = read_ids(files.predictions)
    rules = run.get("selections") or {}
    judged = {rule: files.evaluation_of(rule) for rule in rules}
    return RunSource(
        name=files.path.resolve().name,
        config=hide_in_config(config, ids),
        run=_hide_in_run(run, ids),
        rows=rows,
        evaluation=None if evaluation is None else _hide_in_notes(evaluation, ids),
        skipped_files=_count_lines(files.bad_files),
        problems=tuple(problems),
        changed=tuple(_hide_in_change(change, ids) for change in changed),
        settings_note=note,
        further={
            rule: _hide_in_notes(_mapping(read_json(path), path), ids)
            for rule, path in judged.items()
            if path.is_file()
        },
    )


def read_metrics(path: Path) -> tuple[list[Row], list[str]]:
    """Records of `metrics.jsonl` and what was wrong with it.

    A resumed run may have written an evaluation twice; the later record holds. A broken line
    (the process was killed while writing) is skipped and reported.
    """
    if not path.is_file():
        return [], []
    found: dict[tuple[Any, Any], Row] = {}
    broken = 0
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines()):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError:
            row = None
        if not isinstance(row, dict):
            broken += 1
            continue
        key = (row.get("epoch"), row.get("step"))
        key = (number, None) if key == (None, None) else key
        found.pop(key, None)
        found[key] = row
    problems = []
    if broken:
        lines = "line" if broken == 1 else "lines"
        problems.append(f"{broken} unreadable {lines} of metrics.jsonl left out of the curves.")
    return list(found.values()), problems


def series(rows: list[Row], key: str, axis: str) -> tuple[list[float], list[float]]:
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


def time_axis(rows: list[Row]) -> str:
    """``epoch``, or ``step`` where several evaluations share an epoch or epochs are not logged."""
    epochs = [row.get("epoch") for row in rows]
    distinct = len(set(epochs)) == len(epochs) and all(_is_number(epoch) for epoch in epochs)
    return "epoch" if distinct or not any("step" in row for row in rows) else "step"


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _mapping(value: Any, path: Path) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError(f"{path} should hold a mapping, but holds a {type(value).__name__}")
    return value


def _count_lines(path: Path) -> int:
    if not path.is_file():
        return 0
    lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    return max(0, sum(1 for line in lines if line.strip()) - 1)  # the first line names columns


def _hide_in_run(run: dict[str, Any], ids: frozenset[str]) -> dict[str, Any]:
    clean = hide_in_config(run, ids)
    provenance = clean.get("provenance")
    if isinstance(provenance, dict) and isinstance(provenance.get("command"), list):
        words = [str(word) for word in provenance["command"]]
        clean["provenance"] = {**provenance, "command": hide_in_command(words, ids)}
    # The text of an error may name any file, also one that predictions.csv does not know.
    if clean.get("error"):
        kind = str(clean["error"]).split(":", 1)[0].strip()
        clean["error"] = kind if kind.isidentifier() else "see run.json"
    return clean


def _hide_in_change(change: Change, ids: frozenset[str]) -> Change:
    key = change.key.rsplit(".", 1)[-1]
    return replace(change, value=hide_in_config({key: change.value}, ids)[key])


def _hide_in_notes(evaluation: dict[str, Any], ids: frozenset[str]) -> dict[str, Any]:
    notes = [hide_ids(str(note), ids) for note in evaluation.get("notes") or ()]
    return {**evaluation, "notes": notes}
