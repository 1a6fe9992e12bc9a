"""Whether the files that runs will read exist, checked before any of them starts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

from medldr import plugins
from medldr.config import PluginSection
from medldr.data.config import DatasetConfig
from medldr.data.packs.pack import find_pack
from medldr.data.splits.from_manifest import held_out_domains
from medldr.errors import InputError
from medldr.folders.lifecycle import is_done
from medldr.folders.sweep_record import SweepFolder
from medldr.models import require_weights
from medldr.models.base import ModelConfig
from medldr.sweeps.plan.cases import in_some
from medldr.sweeps.plan.expand import Planned


def absent_files(folder: SweepFolder, planned: Sequence[Planned]) -> list[str]:
    """What is missing, each item once, with the runs that need it.

    Finished runs need nothing more. What only reading a file can reveal, the run itself reports.

    Args:
        folder: The sweep's folder.
        planned: The runs that will be started.
    """
    needed: dict[str, list[str]] = {}
    known: dict[str, str | None] = {}
    for entry in planned:
        if _finished(folder, entry.member.run):
            continue
        data = cast(DatasetConfig, entry.config.data)
        key = data.model_dump_json()
        if key not in known:
            known[key] = _absence(data)
        model = entry.config.model
        weights = f"{model.name}: {getattr(model, 'pretrained', None)} under {data.root}"
        if weights not in known:
            known[weights] = _absent_weights(model, data.root)
        for problem in (known[key], known[weights]):
            if problem is not None and entry.member.label not in needed.setdefault(problem, []):
                needed[problem].append(entry.member.label)
    return [in_some(problem, labels) for problem, labels in needed.items()]


def _absence(data: PluginSection) -> str | None:
    require = getattr(plugins.load("datasets", data.name), "require", None)
    try:
        held_out_domains(cast(DatasetConfig, data))  # reads the manifest and finds the fold in it
        if find_pack(cast(DatasetConfig, data)) is None and require is not None:
            require(data)
    except InputError as error:
        return str(error)
    return None


def _absent_weights(model: PluginSection, root: Path | None) -> str | None:
    if not isinstance(model, ModelConfig) or model.pretrained is None:
        return None
    try:
        require_weights(model, root)
    except InputError as error:
        return str(error)
    return None


def _finished(folder: SweepFolder, name: str) -> bool:
    try:
        return is_done(folder.run(name))
    except InputError:  # its record is damaged, which is reported with its state
        return True
