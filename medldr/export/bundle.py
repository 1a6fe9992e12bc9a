"""A network as a MONAI bundle, which runs where medldr is not installed.

``python -m monai.bundle run --config_file OUT/configs/inference.json --bundle_root OUT
--dataset_dir IMAGES --output_dir ANSWERS`` reads every image of a folder and writes
`probabilities.csv`.
"""

from __future__ import annotations

from pathlib import Path

from torch import Tensor

from medldr.export.agreement import Difference
from medldr.export.bundle_config import PROGRAM, inference, metadata
from medldr.export.bundle_reading import Steps
from medldr.export.exportable import Exportable
from medldr.export.torch_program import write_torch
from medldr.folders.files import write_json, write_text
from medldr.folders.preprocessing_record import Preprocessing


def write_bundle(
    module: Exportable,
    record: Preprocessing,
    steps: Steps,
    folder: Path,
    real: Tensor | None,
    *,
    label: str,
    intended_use: str,
    limits: tuple[str, ...],
    card: str,
) -> Difference:
    """Write `configs/`, `models/` and `docs/` of a bundle.

    Args:
        module: What is exported.
        record: What the network must be told.
        steps: How a file becomes a stored image.
        folder: The bundle's; other files of it are kept.
        real: Stored images to check the program on, besides random ones.
        label: Name of the run.
        intended_use: A sentence or more.
        limits: What a user must know, those of `steps` among them.
        card: The model card.

    Returns:
        The largest differences between the program and the network.

    Raises:
        InputError: If torch cannot follow the network, or the program answers otherwise.
        StorageError: If a file cannot be written.
    """
    found = write_torch(module, record.stored, folder / PROGRAM, real)
    said = metadata(record, steps, label=label, intended_use=intended_use, limits=limits)
    write_json(folder / "configs" / "metadata.json", said)
    write_json(folder / "configs" / "inference.json", inference(record, steps))
    write_text(folder / "docs" / "README.md", card)
    return found
