"""Trained runs with their latents, from their folders alone where these hold them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from medldr.config import RunConfig
from medldr.config.method import method_title
from medldr.config.sections import dataset_name, held_out
from medldr.data import Data
from medldr.errors import InputError
from medldr.evaluation.checked import refuse_other_latents
from medldr.evaluation.latents.collect import MOST, collect_latents
from medldr.evaluation.latents.operators import Operators, find_operators, with_operators
from medldr.folders.files import RunFolder
from medldr.folders.latents_record import Latents, read_latents
from medldr.folders.run_record import RunRecord
from medldr.models.base import FeatureModel
from medldr.run import recorded_spec, trained_network, unchanged_data
from medldr.training import make_single_fabric

Image = NDArray[Any]


@dataclass(frozen=True)
class AnalysedRun:
    """A trained run, ready to be analysed.

    Attributes:
        files: Its folder.
        config: Its configuration.
        record: Its `run.json`.
        heading: What tables and figures call it; unique among the runs of a page.
        latents: Of its images, with degraded and restored ones where the method makes them.
        operators: D and R; None where there are none.
        stored: Whether the latents were read from the folder.
        notes: What to know about it.
    """

    files: RunFolder
    config: RunConfig
    record: RunRecord
    heading: str
    latents: Latents
    operators: Operators | None
    stored: bool
    notes: tuple[str, ...]

    @property
    def dataset(self) -> str:
        """The name of its data set."""
        return dataset_name(self.config.model_dump(mode="json"), self.record.content)


def read_runs(
    folders: Sequence[Path], titles: Sequence[str] = (), *, seed: int = 0,
    device: str | None = None, done: Callable[[str], None] = lambda _: None,
) -> list[AnalysedRun]:  # fmt: skip
    """Read trained runs; their latents are made again where the folder does not hold them.

    Args:
        folders: Run folders.
        titles: What to call them; empty, or unset: by their method.
        seed: Of the batches in which latents are degraded and restored again.
        device: Device on which latents are made; unset: the run's own.
        done: Told what is being done.

    Raises:
        InputError: If a folder holds no trained run, or latents are needed and its data is not
            there or has changed.
    """
    found = []
    sources = Sources()
    for folder in folders:
        done(f"latents of {Path(folder).name}")
        found.append(_read(Path(folder), sources, seed, device))
    headings = unique_headings([(run.config, run.files.path) for run in found], titles)
    return [replace(run, heading=name) for run, name in zip(found, headings, strict=True)]


class Sources:
    """The data of runs, read once for all runs that share it."""

    def __init__(self) -> None:
        self._read: dict[str, Data] = {}

    def of(self, config: RunConfig, files: RunFolder, record: RunRecord) -> Data:
        """The data of a run.

        Raises:
            InputError: If it is not there or has changed.
        """
        name = f"{record.data_hash} {record.split_hash} {config.data!r} {config.transform!r}"
        if name not in self._read:
            self._read = {name: unchanged_data(config, files, record)}  # the last one alone
        return self._read[name]


def _read(folder: Path, sources: Sources, seed: int, device: str | None) -> AnalysedRun:
    config, record, model = trained_network(folder)
    files = RunFolder(folder)
    spec = recorded_spec(files, record)
    operators, note = find_operators(config, files, record, spec, model)
    stored = files.latents.is_file()
    if stored:
        refuse_other_latents(files, record)
        latents = read_latents(files, spec)
    else:
        data = sources.of(config, files, record)
        latents = with_operators(_collected(config, record, data, model, device), operators, seed)
    notes = [note] if note else []
    for split, number in latents.left_out.items():
        if number:
            notes.append(f"{number:,} images of {split} are left out: at most {MOST:,} are kept")
    return AnalysedRun(files, config, record, "", latents, operators, stored, tuple(notes))


def _collected(
    config: RunConfig, record: RunRecord, data: Data, model: FeatureModel, device: str | None
) -> Latents:
    threads = torch.get_num_threads()
    fabric = make_single_fabric(config, precision=record.precision, device=device)
    try:
        on_device = model.to(fabric.device).to_fast_memory()
        return collect_latents(config, data, on_device, fabric)
    finally:
        model.to("cpu")
        torch.set_num_threads(threads)


def unique_headings(
    runs: Sequence[tuple[RunConfig, Path]], titles: Sequence[str] = ()
) -> list[str]:
    """What to call runs: by title or method, and by what tells runs that share it apart.

    Args:
        runs: Configuration and folder of each.
        titles: One per run, empty for those to be called by their method; unset: all are.

    Returns:
        One heading per run, all different.
    """
    plain = [config.model_dump(mode="json") for config, _ in runs]
    given = titles or [""] * len(plain)
    parts = [[title or method_title(config)] for title, config in zip(given, plain, strict=True)]
    more = (
        [f"{', '.join(held_out(config))} held out" if held_out(config) else "" for config in plain],
        [dataset_name(config, {}) for config in plain],
        [config.label for config, _ in runs],
        [f"seed {config.seed}" for config, _ in runs],
        [path.name for _, path in runs],
    )
    for words in more:
        names = [", ".join(part) for part in parts]
        for name in {name for name in names if names.count(name) > 1}:
            same = [i for i, other in enumerate(names) if other == name]
            if len({words[i] for i in same}) > 1:
                for i in same:
                    parts[i] += [words[i]] if words[i] else []
    names = [", ".join(part) for part in parts]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise InputError(f"the same run was given twice: {', '.join(sorted(twice))}")
    return names


def images_of(run: AnalysedRun, sources: Sources) -> tuple[Callable[[int], Image] | None, str]:
    """How to read a run's images by their row, or why there are none to show, in words."""
    if not run.config.machine.thumbnails:
        return None, "pictures are left out, because machine.thumbnails is false"
    try:
        data = sources.of(run.config, run.files, run.record)
    except InputError:  # its message may name an image; latents were kept so as not to need them
        return None, "pictures are left out, because the images cannot be read"

    def image(row: int) -> Image:
        return np.asarray(data.table.images[row])

    return image, ""
