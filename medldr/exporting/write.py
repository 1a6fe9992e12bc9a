"""A trained network as files that others can run: the folder, whole or not at all."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from torch import Tensor

from medldr.exporting.agreement import Difference
from medldr.exporting.bundle import write_bundle
from medldr.exporting.bundle_reading import reading_steps
from medldr.exporting.card import Card, Kind, card_text, limits_of
from medldr.exporting.exportable import make_exportable
from medldr.exporting.onnx_file import require_onnx, write_onnx
from medldr.exporting.torch_program import write_torch
from medldr.folders.files import check_replaceable, whole_folder, write_text
from medldr.folders.preprocessing_record import Preprocessing, write_preprocessing
from medldr.models.base import FeatureModel

PREPROCESSING = "preprocessing.json"
CARD = "README.md"


@dataclass(frozen=True)
class Exported:
    """What an export wrote.

    Attributes:
        folder: The folder.
        files: All its files, relative to it, sorted.
        difference: Largest differences between what was written and the network.
        limits: What whoever uses it must keep in mind, as its card says.
        checked_on: The images that `difference` is of, in words.
    """

    folder: Path
    files: tuple[str, ...]
    difference: Difference
    limits: tuple[str, ...]
    checked_on: str = "random images"


def export(
    model: FeatureModel,
    record: Preprocessing,
    to: Path | str,
    kind: Kind,
    *,
    card: Card,
    real: Tensor | None = None,
    force: bool = False,
) -> Exported:
    """Write a network with its preprocessing and its card, checked against the network itself.

    ``onnx``: `model.onnx`; ``torch``: `model.pt2`; ``bundle``: a MONAI bundle. With each
    `preprocessing.json` and `README.md`.

    Args:
        model: In eval mode; it is not changed.
        record: What the network must be told.
        to: The folder to make. It appears under this name once everything is in it.
        kind: The format.
        card: What the model card says.
        real: Some stored images ``(N, C, *S)`` to check the answers on, besides random ones.
        force: Replace an earlier export in `to`.

    Raises:
        InputError: If `to` holds anything else, the network cannot be exported, or what was
            written answers otherwise than the network.
        StorageError: If it cannot be written.
    """
    to = Path(to)
    check_replaceable(to, "files of an export", _is_export, force=force)
    if kind == "onnx":
        require_onnx()
    steps = reading_steps(record) if kind == "bundle" else None
    limits = limits_of(record, () if steps is None else steps.limits)
    module = make_exportable(model, record)
    text = card_text(card, record, kind, limits)
    with whole_folder(to) as folder:
        if kind == "onnx":
            difference = write_onnx(module, record, folder / "model.onnx", real)
        elif steps is None:
            difference = write_torch(module, record.stored, folder / "model.pt2", real)
        else:
            difference = write_bundle(
                module, record, steps, folder, real, card=card, limits=limits, text=text
            )
        write_preprocessing(folder / PREPROCESSING, record)
        write_text(folder / CARD, text)
        files = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    return Exported(to, tuple(files), difference, limits)


def _is_export(folder: Path) -> bool:
    return (folder / PREPROCESSING).exists() and (folder / CARD).exists()
