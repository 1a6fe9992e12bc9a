"""`medldr export`: a trained network as files that run without medldr."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final, get_args

import typer
from rich.console import Console

from medldr.commands.common_options import Force, Run
from medldr.errors import InputError, did_you_mean
from medldr.folders.files import RunFolder, checksum

if TYPE_CHECKING:
    from torch import Tensor

    from medldr.export import Card
    from medldr.prediction.trained import Trained

CHECKED: Final = 8
"""Real images that an export is checked on."""


def export(
    run: Run,
    kind: Annotated[
        str, typer.Option("--format", help="onnx, torch (torch.export) or bundle (MONAI).")
    ],
    out: Annotated[
        Path | None, typer.Option("--out", help="The folder to write; unset: RUN-FORMAT.")
    ] = None,
    check: Annotated[
        list[str] | None,
        typer.Option(
            "--check",
            help="A scan, or a folder of them, to check the export on; unset: some that the run "
            "was tested on, if they are where they were.",
        ),
    ] = None,
    force: Force = False,
) -> None:
    """Write a trained network as ONNX, torch.export or MONAI bundle, with its model card.

    What is written is compared with the network on random and on real images before it gets its
    name. Preprocessing, class names, calibration and threshold travel with it.
    """
    from medldr.export import Kind
    from medldr.export import export as write
    from medldr.prediction.predict import load_runs
    from medldr.run import load_model

    if kind not in get_args(Kind):
        kinds = get_args(Kind)
        raise InputError(
            f"--format: {kind!r} is unknown.{did_you_mean(kind, kinds)} Known: {', '.join(kinds)}"
        )
    (trained,) = load_runs(run, "cpu")
    place = out or run.resolve().with_name(f"{run.resolve().name}-{kind}")
    real, origin = _real(trained, check or ())
    made = write(
        load_model(run),  # as it was saved: kernels laid out for speed are saved with a warning
        trained.record,
        place,
        kind,  # type: ignore[arg-type]
        card=_card(trained),
        real=real,
        force=force,
    )
    console = Console(highlight=False)
    for name in made.files:
        console.print(str(made.folder / name), soft_wrap=True, markup=False)
    console.print(
        f"checked on random images and {origin}: probabilities differ by at most "
        f"{made.difference.probability:.1e}",
        soft_wrap=True,
        markup=False,
    )
    for limit in made.limits:
        console.print(f"note: {limit}", markup=False)


def _real(trained: Trained, paths: Any) -> tuple[Tensor | None, str]:
    """Stored images to check with, and what they are."""
    import numpy as np
    import torch

    from medldr.data import build_data
    from medldr.data.files.scan import ScanError
    from medldr.prediction.items import find_items

    if paths:
        scans = []
        for item in find_items(paths, len(trained.shape) - 1)[:CHECKED]:
            if item.source is None:
                raise InputError(f"--check: {item.name}: {item.reason}")
            try:
                scans.append(trained.reader.read(item.source).image)
            except ScanError as error:
                raise InputError(f"--check: {item.name}: {error}") from error
        return torch.from_numpy(np.stack(scans)), f"{len(scans)} of --check"
    try:
        data = build_data(trained.config)
    except InputError:
        return None, "no real ones, because the run's data is not where it was (see --check)"
    split = next(
        name for name in ("test", "id_test", "val", "train") if len(data.rows.get(name, ()))
    )
    rows = data.rows[split][:CHECKED]
    images = np.stack([np.asarray(data.table.images[int(row)]) for row in rows])
    return torch.from_numpy(images), f"{len(rows)} of the split {split}"


def _card(trained: Trained) -> Card:
    from medldr.config.method import method_title, model_title
    from medldr.export import Card
    from medldr.reporting.read.run import read_run
    from medldr.reporting.sections.run.tables import split_table
    from medldr.reporting.writers.markdown import markdown_table

    files = RunFolder(trained.folder)
    read = read_run(files)
    config = trained.config.model_dump(mode="json")
    spec = None if read.record is None else read.record.spec
    results = "" if read.evaluation is None else markdown_table(split_table(read.evaluation))
    counts = {} if spec is None else dict(zip(spec.class_names, spec.class_counts, strict=False))
    return Card(
        label=trained.config.label,
        weights_sha256=checksum(files.model),
        network=model_title(trained.config.model.name),
        method=method_title(config),
        class_counts=counts,
        train_domains=() if spec is None else spec.train_domains,
        results=results,
        data_card=(read.record.data.card or {}) if read.record is not None else {},
        notes=read.notes,
    )
