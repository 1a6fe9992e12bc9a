"""The data of runs, checked before any of them starts.

The files that they will read must exist, and the data of finished ones must be what they were
trained on.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import cast

from medldr import plugins
from medldr.config import RunConfig
from medldr.data.config import DatasetConfig
from medldr.data.same_data import CURE, DIVIDE, JUDGED, RESCORE, TRAINING, DataComparer
from medldr.data.splits.manifest import held_out_domains
from medldr.data.store import find_pack
from medldr.errors import InputError
from medldr.folders.standing import standing_of
from medldr.folders.sweep_record import SweepFolder
from medldr.models import require_weights
from medldr.models.base import ModelConfig
from medldr.sweeps.plan.combinations import in_some
from medldr.sweeps.plan.expand import Planned


def absent_files(folder: SweepFolder, planned: Sequence[Planned]) -> list[str]:
    """What is missing, each item once, with the runs that need it.

    Finished runs need nothing more. What only reading a file can reveal, the run itself reports.

    Args:
        folder: The sweep's folder.
        planned: The runs that will be started.
    """
    needed: dict[str, list[str]] = {}
    absent: dict[tuple[str, str], list[str]] = {}
    for entry in planned:
        if standing_of(folder, entry.member.run).state in ("done", "unreadable"):
            continue
        sections = entry.config.data.model_dump_json(), entry.config.model.model_dump_json()
        if sections not in absent:
            absent[sections] = _absences(entry.config)
        for problem in absent[sections]:
            if entry.member.label not in needed.setdefault(problem, []):
                needed[problem].append(entry.member.label)
    return [in_some(problem, labels) for problem, labels in needed.items()]


def _absences(config: RunConfig) -> list[str]:
    """What a run would miss: its data or splits, and published weights."""
    data, model = cast(DatasetConfig, config.data), config.model
    problems: list[str] = []
    with _collected(problems):
        held_out_domains(data)  # reads the manifest and finds the fold in it
        require = getattr(plugins.load("datasets", data.name), "require", None)
        if find_pack(data) is None and require is not None:
            require(data)
    with _collected(problems):
        if isinstance(model, ModelConfig) and model.pretrained is not None:
            require_weights(model, data.root)
    return problems


@contextlib.contextmanager
def _collected(problems: list[str]) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        problems.append(str(error))


def changed_data(folder: SweepFolder, planned: Sequence[Planned]) -> tuple[list[str], list[str]]:
    """What has changed of the data of finished runs, each item once, with the runs that it is of.

    Args:
        folder: The sweep's folder.
        planned: The runs that belong to the sweep.

    Returns:
        What has changed, and notes on what could not be compared.
    """
    changes: dict[tuple[str, str], list[Planned]] = {}
    notes: list[str] = []
    comparer = DataComparer()
    for entry in planned:
        if standing_of(folder, entry.member.run).state != "done":
            continue
        with contextlib.suppress(InputError):  # a damaged record is reported with its state
            compared = comparer.compare(entry.config, folder.run(entry.member.run))
            for change in compared.changed.items():
                changes.setdefault(change, []).append(entry)
            if compared.not_compared:
                reason = compared.not_compared
                notes.append(f"finished runs were not compared with their data: {reason}")
    changed = [
        in_some(f"its data has changed since: {text}", [entry.member.label for entry in entries])
        + f". {_cure(folder, part, entries[0].member.run)}"
        for (part, text), entries in changes.items()
    ]
    return changed, list(dict.fromkeys(notes))


def _cure(folder: SweepFolder, part: str, run: str) -> str:
    if part != TRAINING:
        return (RESCORE if part == JUDGED else DIVIDE).format(folder.run(run).path)
    return f"{CURE}: `medldr train {folder.config(run)} --out {folder.path} --restart`"
