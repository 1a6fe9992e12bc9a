"""Trained runs with their latents, from their folders alone where these hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from medldr.config import RunConfig
from medldr.config.method import method_title
from medldr.config.sections import dataset_name
from medldr.data import Data
from medldr.errors import InputError
from medldr.evaluation.checked import refuse_changed
from medldr.evaluation.explain.mistakes import shown
from medldr.evaluation.latents.collect import MOST, collect_latents
from medldr.evaluation.latents.operators import Operators, find_operators, with_operators
from medldr.evaluation.latents.training_batches import TOO_FEW, can_mix
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

    @property
    def own_classifier(self) -> bool:
        """Whether degraded and restored latents are judged by a classifier of their own."""
        return getattr(self.config.algorithm, "share_classifier", True) is False


class RunReader:
    """Reads trained runs one after the other, and the data of those that share it only once.

    Args:
        seed: Of the batches in which latents are degraded and restored, where they are made again.
        device: Device on which latents are made; unset: each run's own.
    """

    def __init__(self, seed: int = 0, device: str | None = None) -> None:
        self._seed = seed
        self._device = device
        self._data: tuple[str, Data] | None = None

    def read(self, folder: Path | str, heading: str = "") -> AnalysedRun:
        """A run with its latents, which are made again where the folder does not hold them.

        Args:
            folder: A run folder.
            heading: What to call it; unset: by its method.

        Raises:
            InputError: If the folder holds no trained run, or its latents are needed and its data
                is not there or has changed.
        """
        config, record, model = trained_network(folder)
        files = RunFolder(folder)
        spec = recorded_spec(files, record)
        operators, note = find_operators(config, files, record, spec, model)
        stored = files.latents.is_file()
        if stored:
            refuse_changed(files, record, files.latents)
            latents = read_latents(files, spec)
        else:
            data = self._data_of(config, files, record)
            made = _collected(config, record, data, model, self._device)
            latents = with_operators(made, operators, self._seed)
        notes = [note] if note else []
        if operators is not None and not can_mix(latents):
            notes.append(f"D and R cannot be applied again: {TOO_FEW}")
        for split, number in latents.left_out.items():
            if number:
                notes.append(
                    f"{number:,} images of {split} are left out: at most {MOST:,} are kept"
                )
        heading = heading or method_title(config.model_dump(mode="json"))
        return AnalysedRun(files, config, record, heading, latents, operators, stored, tuple(notes))

    def images(self, run: AnalysedRun, rows: Sequence[int]) -> tuple[dict[int, Image] | None, str]:
        """Some of a run's images by their row; None and why, in words, if none may be shown."""
        if not run.config.machine.thumbnails:
            return None, "pictures are left out, because machine.thumbnails is false"
        try:
            data = self._data_of(run.config, run.files, run.record)
        except InputError:  # its message may name an image, and latents were kept to do without it
            return None, "pictures are left out, because the images cannot be read"
        if data.table.latents:
            return None, "pictures are left out, because there are none of stored latents"
        return {row: shown(data.table, row) for row in rows}, ""

    def _data_of(self, config: RunConfig, files: RunFolder, record: RunRecord) -> Data:
        name = f"{record.data_hash} {record.split_hash} {config.data!r} {config.transform!r}"
        if self._data is None or self._data[0] != name:
            self._data = (name, unchanged_data(config, files, record))
        return self._data[1]


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
