"""One run folder as reports need it: each file read once, every id taken out of free text."""

from __future__ import annotations

import functools
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from pydantic import ValidationError

from medldr.config.sections import held_out, section
from medldr.config.yaml import read_yaml
from medldr.errors import InputError
from medldr.evaluation.checked import read_results
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.folders.files import RunFolder, read_text
from medldr.folders.metrics_log import LogRow, read_log
from medldr.folders.mistakes_record import Mistakes, read_mistakes
from medldr.folders.privacy import (
    hide_ids,
    hide_in_command,
    hide_in_config,
    ids_of,
    read_ids,
    read_split_ids,
)
from medldr.folders.run_record import RunRecord, Selection, read_run_record
from medldr.types import Predictions

if TYPE_CHECKING:
    from medldr.config.identity import Change


RATE: Final = "training.lr"
"""The key of the learning rate."""
Config: TypeAlias = Mapping[str, Any]
"""A resolved configuration."""


@dataclass(frozen=True)
class RunFiles:
    """The content of a run folder.

    Attributes:
        name: Name of the folder.
        config: The resolved configuration without ids; empty where `config.yaml` is absent.
        record: `run.json`; None where it is absent.
        facts: `run.json` as it was written, in its own order, without ids.
        log: Records of `metrics.jsonl`, in order, the newest of each (epoch, step).
        evaluation: `evaluation.json`; None where the run was not evaluated.
        further: The evaluation of each selection rule that is not reported, where there is one.
        predictions: `predictions.csv`, where it was asked for and is there.
        mistakes: `mistakes.json`, where it was asked for and is there.
        skipped_files: Number of files listed in `bad_files.csv`.
        problems: What could not be read, in words for the reader.
        ids: Ids and groups of its items, which no page may show.
        stated: The resolved configuration as it was written, which may hold ids.
        notes: What a reader of any number must know: of the data, the run, the evaluation.
    """

    name: str
    config: Mapping[str, Any]
    record: RunRecord | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)
    log: tuple[LogRow, ...] = ()
    evaluation: EvaluationRecord | None = None
    further: Mapping[str, EvaluationRecord] = field(default_factory=dict)
    predictions: Predictions | None = None
    mistakes: Mistakes | None = None
    skipped_files: int = 0
    problems: tuple[str, ...] = ()
    ids: frozenset[str] = frozenset()
    stated: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @functools.cached_property
    def by_rule(self) -> dict[str, tuple[Selection, EvaluationRecord | None]]:
        """What each rule chose and its evaluation (None: there is none), the reported one first.

        Empty where the run was not evaluated.
        """
        reported = None if self.evaluation is None else self.evaluation.selection
        if reported is None:
            return {}
        others = {} if self.record is None else self.record.selections
        further = {
            rule: (chosen, self.further.get(rule))
            for rule, chosen in others.items()
            if rule != reported.rule
        }
        return {reported.rule: (reported, self.evaluation), **further}

    @property
    def protocol(self) -> str:
        """Protocol id, with ``+modified`` where a pinned key was overridden; may be empty."""
        said = None if self.record is None else self.record.protocol
        return str(said or self.config.get("protocol") or "")


def read_run(
    files: RunFolder,
    record: RunRecord | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    predictions: bool = False,
    mistakes: bool = False,
) -> RunFiles:
    """Read a run folder.

    Args:
        files: The folder.
        record: Its `run.json`, where the caller has read it.
        config: Its `config.yaml`, likewise.
        predictions: Whether the predictions are to be kept, and not only the ids in them.
        mistakes: Whether the pictures of mistakes are needed.

    Raises:
        InputError: If it is not a run folder, or one of its files is there but cannot be read or
            is not as the run wrote it.
    """
    if record is None and os.path.lexists(files.run):
        record = read_run_record(files)
    if record is None and not os.path.lexists(files.config):
        raise InputError(
            f"{files.path} is not a run folder: it holds neither config.yaml nor run.json"
        )
    if config is None:
        config = read_yaml(files.config).values if os.path.lexists(files.config) else {}
    stated, config = config, with_held_out(config, record)
    log, problems = read_log(files.metrics)
    evaluation, table = read_results(files, record)
    rules = () if record is None else record.selections
    found = {rule: read_results(files, record, rule)[0] for rule in rules}
    # Notes may name images that were not predicted, such as equal ones in the training split.
    ids = read_ids(files.predictions) if table is None else ids_of(table)
    ids |= read_split_ids(files.splits)
    said = [
        () if record is None else (*record.data.notes, *record.notes),
        () if evaluation is None else evaluation.notes,
    ]
    return RunFiles(
        name=files.path.resolve().name,
        config=hide_in_config(config, ids),
        record=record,
        facts={} if record is None else _hidden(record.content, ids),
        log=tuple(log),
        evaluation=evaluation,
        further={rule: each for rule, each in found.items() if each is not None},
        predictions=table if predictions else None,
        mistakes=read_mistakes(files) if mistakes else None,
        skipped_files=_count_lines(files),
        problems=tuple(problems),
        ids=ids,
        stated=stated,
        notes=tuple(dict.fromkeys(hide_ids(note, ids) for notes in said for note in notes)),
    )


def _hidden(record: Mapping[str, Any], ids: frozenset[str]) -> dict[str, Any]:
    clean = hide_in_config(record, ids)
    provenance = clean.get("provenance")
    if isinstance(provenance, dict) and isinstance(provenance.get("command"), list):
        words = [str(word) for word in provenance["command"]]
        clean["provenance"] = {**provenance, "command": hide_in_command(words, ids)}
    # The text of an error may name any file, also one that predictions.csv does not know.
    if clean.get("error"):
        kind = str(clean["error"]).split(":", 1)[0].strip()
        clean["error"] = kind if kind.isidentifier() else "see run.json"
    return clean


def _count_lines(files: RunFolder) -> int:
    if not os.path.lexists(files.bad_files):
        return 0
    lines = read_text(files.bad_files, "replace").splitlines()
    return max(0, sum(1 for line in lines if line.strip()) - 1)  # the first line names columns


def with_held_out(config: Config, record: RunRecord | None) -> Config:
    """The configuration of a run with the domain of its fold as `data.held_out`, where it left one.

    To a report, a run of a fold that leaves a domain out is one that held that domain out. Its
    configuration names a manifest, which a report need not have; the run recorded a fold that has
    the name of a domain which no training image came from.

    Args:
        config: The resolved configuration.
        record: Its `run.json`; None where it is absent.

    Example:
        >>> from medldr.types import DataSpec
        >>> spec = DataSpec("binary", (), (), 1, (28, 28), ("east", "west"), ("east",))
        >>> record = RunRecord(status="done", spec=spec)
        >>> config = {"data": {"name": "x", "manifest": "splits.json", "fold": "west"}}
        >>> with_held_out(config, record)["data"]["held_out"]
        ['west']
    """
    fold, spec = _fold(config), None if record is None else record.spec
    if fold is None or spec is None or held_out(config):
        return config
    left_out = fold in spec.domains and fold not in spec.train_domains
    return _holding_out(config, fold) if left_out else config


def also_planned(finished: Iterable[Config], planned: Config) -> Config:
    """The configuration of a run without a result, which others of its manifest explain.

    Args:
        finished: Configurations of runs with a result, from `with_held_out`.
        planned: The one to explain.
    """
    fold, manifest = _fold(planned), section(planned, "data").get("manifest")
    leaving = fold is not None and any(
        section(config, "data").get("manifest") == manifest and held_out(config) == (_fold(config),)
        for config in finished
    )
    return _holding_out(planned, fold) if fold is not None and leaving else planned


def _fold(config: Config) -> str | None:
    data = section(config, "data")
    fold = data.get("fold")
    return None if fold is None or not data.get("manifest") else str(fold)


def _holding_out(config: Config, domain: str) -> dict[str, Any]:
    return {**config, "data": {**section(config, "data"), "held_out": [domain]}}


def rate_of(files: RunFiles | None) -> float | None:
    """The learning rate used by a run; None where its configuration does not say.

    Example:
        >>> config = {"training": {"lr": 0.002}, "algorithm": {"name": "x", "lr_scale": 0.5}}
        >>> rate_of(RunFiles("a", config))
        0.001
    """
    config = {} if files is None else files.config
    rate = section(config, "training").get("lr")
    scale = section(config, "algorithm").get("lr_scale", 1.0)
    if not isinstance(rate, int | float) or not isinstance(scale, int | float):
        return None
    return float(rate) * float(scale)


LEFT_OUT = ("config_version", "pinned")


def changes(files: RunFiles) -> tuple[list[Change], str]:
    """Settings that differ from their defaults, or why they cannot be determined.

    The configuration is validated again for it, which takes longer than the rest of a page.

    Args:
        files: The run; without `config.yaml` nothing differs.

    Returns:
        The changes, plug-in names included and without ids, and an empty text; or no changes and
        the reason, for example that an outside plug-in is not installed here.
    """
    if not files.stated:
        return [], ""
    # Only the page of a run asks; other reports start sooner without pydantic's models.
    from medldr.config import RunConfig
    from medldr.config.identity import changes as changes_of

    try:
        config = RunConfig.model_validate(files.stated)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        reason = f"{'.'.join(map(str, first['loc']))}: {first['msg']}"
    except ImportError as error:
        reason = f"{error.name or 'a plug-in'} cannot be imported"
    except InputError as error:
        reason = str(error).splitlines()[0]
    else:
        shown = [change for change in changes_of(config) if change.key not in LEFT_OUT]
        return [_as_written(change, files.config) for change in shown], ""
    return [], f"Changed settings cannot be determined by this installation ({reason})."


def _as_written(change: Change, config: Mapping[str, Any]) -> Change:
    """With the value as `config.yaml` has it, without ids."""
    *path, name = change.key.split(".")
    return change._replace(value=reduce(section, path, config).get(name, change.value))


def show(value: Any) -> str:
    """A setting as text.

    Example:
        >>> show(True), show(None), show((50, 75)), show(1e-3)
        ('true', 'unset', '[50, 75]', '0.001')
    """
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{k}: {show(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(show(v) for v in value) + "]"
    return str(value) or "''"


def as_yaml(config: Mapping[str, Any]) -> str:
    """The whole configuration as YAML text."""
    from medldr.config.yaml_text import write_yaml

    # Numbers that were read from YAML remember how they were written; a writer needs plain ones.
    return write_yaml(json.loads(json.dumps(config, default=str)))
