"""A trained run as files that others can run: its network, its card, and images to check it on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, get_args

import numpy as np
import torch
from torch import Tensor

from medldr.config.method import method_title, model_title
from medldr.data import build_data
from medldr.data.files.scan import ScanError
from medldr.encoding.reader import EncodingReader
from medldr.errors import InputError, did_you_mean
from medldr.exporting import Card, Exported, Joined, Kind, Reference, joined_record
from medldr.exporting import export as write
from medldr.folders.files import RunFolder, checksum
from medldr.models.base import FeatureModel
from medldr.plugins import takes_plugins
from medldr.prediction.items import find_items
from medldr.prediction.predict import load_runs
from medldr.prediction.trained import Trained
from medldr.reporting.read.run import read_run
from medldr.reporting.sections.run.tables import split_table
from medldr.reporting.writers.markdown import markdown_table
from medldr.run import load_model

CHECKED: Final = 32
"""Images of the run's own that an export is checked on."""


@takes_plugins
def export(
    run: str | Path,
    format: Kind,  # noqa: A002  # as the option is called
    out: str | Path | None = None,
    *,
    check: Sequence[str | Path] = (),
    encoder: str | Path | None = None,
    force: bool = False,
    plugins: Sequence[str] = (),
) -> Exported:
    """Write a trained network as ONNX, torch.export or MONAI bundle, with its model card.

    What is written is compared with the network on random and on real images before it gets its
    name. Preprocessing, class names, calibration and threshold travel with it. A run on stored
    latents becomes one network of images with the encoder that made them, where it is at hand;
    else what is written takes latents, and says so.

    Args:
        run: The run folder.
        format: ``onnx``, ``torch`` (torch.export) or ``bundle`` (MONAI).
        out: The folder to write; unset: beside the run, ``RUN-FORMAT``.
        check: Scans, or folders of them, to check the export on; empty: some that the run was
            tested on, if they are where they were.
        encoder: As `medldr.predict` takes it.
        force: Replace an earlier export in `out`.
        plugins: Packages of your own whose plug-ins may be imported.

    Raises:
        InputError: If the format is unknown, the run is not finished, a scan of `check` cannot be
            read, the network cannot be exported or answers otherwise once it is, or `out` holds
            anything else.
    """
    kinds = get_args(Kind)
    if format not in kinds:
        raise InputError(
            f"--format: {format!r} is unknown.{did_you_mean(format, kinds)} "
            f"Known: {', '.join(kinds)}"
        )
    (trained,) = load_runs(run, precision="float32", encoder=encoder)
    if trained.takes_bags:
        raise InputError(
            f"{run} takes bags of any number of latents (data.bag: attention), which is not "
            "exported. medldr.load_model gives its network, (B, N, D) with NaN in rows of padding; "
            "data.bag: mean or max makes a run that is exported"
        )
    place = Path(run).resolve()
    # As it was saved: kernels laid out for speed are saved with a warning.
    network: FeatureModel | Joined = load_model(run)
    record = trained.record
    joined = False
    if trained.encoding is not None:
        model, of_images = trained.encoding.load()
        if joined := isinstance(model, FeatureModel):
            network = Joined(model, load_model(run), record)
            record = joined_record(record, of_images)
    return write(
        network,
        record,
        out or place.with_name(f"{place.name}-{format}"),
        format,
        card=_card(trained),
        reference=_reference(trained, check, encoder, joined=joined),
        force=force,
    )


def _reference(
    trained: Trained,
    paths: Sequence[str | Path],
    encoder: str | Path | None,
    *,
    joined: bool,
) -> Reference:
    """What `medldr predict` answers, in the precision of training and in float32."""
    real, words = _real(trained, paths, trained.encoding if joined else None)
    device, own = trained.fabric.device.type, trained.trained_in
    runs = {"float32": trained}
    if own != "float32" and (own != "float16" or device == "cuda"):
        runs = {own: load_runs(trained.folder, encoder=encoder)[0], **runs}
    predict = {name: one.probabilities for name, one in runs.items()}
    where = "" if device == "cpu" else f" (medldr predict on {device})"
    return Reference(real, words + where, own, predict)


def _real(
    trained: Trained, paths: Sequence[str | Path], encoding: EncodingReader | None
) -> tuple[Tensor | None, str]:
    """Stored images to check with, and what they are."""
    reads = trained.reader if encoding is None else encoding.encoder.reader
    if paths:
        scans = []
        axes, names = trained.axes, reads.images
        for item in find_items(paths, axes, images=names, slices=trained.takes_slices):
            if item.source is None:
                raise InputError(f"--check: {item.name}: {item.reason}")
            try:
                scans.append(reads.read(item.source).image)
            except ScanError as error:
                raise InputError(f"--check: {item.name}: {error}") from error
        return torch.from_numpy(np.stack(scans)), f"{len(scans)} of --check"
    if encoding is not None:
        return None, "random images (the run's own data are latents; see --check)"
    try:
        data = build_data(trained.config)
    except InputError:
        return None, "random images (the run's data is not where it was; see --check)"
    split = next(
        name for name in ("test", "id_test", "val", "train") if len(data.rows.get(name, ()))
    )
    rows = data.rows[split][:CHECKED]
    images = np.stack([np.asarray(data.table.images[int(row)]) for row in rows])
    return torch.from_numpy(images), f"{len(rows)} of the split {split}"


def _card(trained: Trained) -> Card:
    files = RunFolder(trained.folder)
    read = read_run(files)
    config = trained.config.model_dump(mode="json")
    spec = None if read.record is None else read.record.spec
    results = "" if read.evaluation is None else markdown_table(split_table(read.evaluation))
    encoder = trained.record.reading.get("encoder") or {}
    network = model_title(trained.config.model.name)
    if encoder:
        of = encoder["model"]
        network = f"a frozen {of.get('network') or of['name']}, and a head on its latents"
    counts = {} if spec is None else dict(zip(spec.class_names, spec.class_counts, strict=False))
    return Card(
        label=trained.config.label,
        weights_sha256=checksum(files.model),
        network=network,
        encoder_sha256=encoder.get("weights", ""),
        method=method_title(config),
        class_counts=counts,
        train_domains=() if spec is None else spec.train_domains,
        results=results,
        data_card=(read.record.data.card or {}) if read.record is not None else {},
        notes=read.notes,
    )
