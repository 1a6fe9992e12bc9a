"""A trained network as files that others can run: the folder, whole or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from medldr.exporting.agreement import Agreement, Reference, check
from medldr.exporting.bundle import PROGRAM, refuse_executed, write_bundle
from medldr.exporting.bundle_reading import reading_steps
from medldr.exporting.card import Card, Kind, card_text, limits_of
from medldr.exporting.exportable import make_exportable
from medldr.exporting.joined import Joined
from medldr.exporting.onnx_file import require_onnx, write_onnx
from medldr.exporting.torch_program import write_torch
from medldr.folders.files import check_replaceable, whole_folder, write_text
from medldr.folders.preprocessing_record import Preprocessing, write_preprocessing
from medldr.models.base import FeatureModel

PREPROCESSING = "preprocessing.json"
CARD = "README.md"
FILES: Mapping[Kind, str] = {"onnx": "model.onnx", "torch": "model.pt2", "bundle": PROGRAM}


@dataclass(frozen=True)
class Exported:
    """What an export wrote.

    Attributes:
        folder: The folder.
        files: All its files, relative to it, sorted.
        limits: What whoever uses it must keep in mind, as its card says.
        agreement: How far it is from the network and from `medldr predict`.
    """

    folder: Path
    files: tuple[str, ...]
    limits: tuple[str, ...]
    agreement: Agreement


def export(
    model: FeatureModel | Joined,
    record: Preprocessing,
    to: Path | str,
    kind: Kind,
    *,
    card: Card,
    reference: Reference | None = None,
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
        reference: What the answers are compared with, besides the network's on random images.
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
    if kind == "bundle":
        refuse_executed(record)
    steps = reading_steps(record) if kind == "bundle" else None
    limits = limits_of(record, () if steps is None else steps.limits)
    module = make_exportable(model, record)
    with whole_folder(to) as folder:
        path = folder / FILES[kind]
        if kind == "onnx":
            run = write_onnx(module, record, path)
        else:
            run = write_torch(module, record.stored, path)
        agreement = check(run, module, record.stored, reference or Reference(), path.name)
        text = card_text(card, record, kind, limits, agreement.text)
        if steps is not None:
            write_bundle(
                record, steps, folder, card=card, limits=limits, agreement=agreement, text=text
            )
        write_text(folder / CARD, text)
        read = [*path.parent.glob(f"{path.name}*"), *folder.glob("configs/*")]
        beside = [one.relative_to(folder).as_posix() for one in read]
        write_preprocessing(folder / PREPROCESSING, record, beside)
        files = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    return Exported(to, tuple(files), limits, agreement)


def _is_export(folder: Path) -> bool:
    return (folder / PREPROCESSING).exists() and (folder / CARD).exists()
