"""`preprocessing.json`: what a trained network must be told of its inputs, and how to read it.

A run writes it, prediction follows it, and an exported network carries it along unchanged. It holds
no file name, id or image.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, Final, Literal

from pydantic import Field

from medldr.errors import InputError
from medldr.folders.checksums import CHECKSUMS, checksum_of_content, is_inside
from medldr.folders.files import checksum, write_json
from medldr.folders.records import Record, check_record, read_content
from medldr.types import Task

SCHEMA: Final = 1
METADATA: Final = "metadata.json"
TO_FILL_IN: Final = ("authors", "copyright")
"""Of a bundle: its description, and keys of it that are left to whoever passes it on."""
CURE: Final = "Write it again with `medldr evaluate` on the run, which needs the run's data"

Range = tuple[float, float]


class Shape(Record):
    """Shape of one image, without the batch.

    Attributes:
        channels: Number of channels ``C``.
        spatial_size: ``(H, W)``, or ``(X, Y, Z)``; empty for stored latents.
    """

    channels: int = Field(ge=1)
    spatial_size: tuple[int, ...] = Field(max_length=3)


class Stored(Shape):
    """An image as it is kept after reading, before the pixel rule.

    Attributes:
        dtype: ``uint8`` from 0 to 255, or ``float32`` from 0 to 1.
        views: Images that share the network, one after another in `channels`; 1: it is one image.
    """

    dtype: Literal["uint8", "float32"]
    views: int = Field(1, ge=1)


class Training(Record):
    """The range of each property of the training images, from all their files.

    Attributes:
        images: How many there were.
        channels: Numbers of channels, as recorded.
        sizes: Pixels along each axis, as recorded.
        spacings: mm between pixels along each axis, where known.
        modalities: As DICOM names them; empty where no file says so.
        mean: Mean of an image as the network receives it.
        sd: Standard deviation of its pixels.
    """

    images: int = 0
    channels: tuple[int, ...] = ()
    sizes: tuple[Range, ...] | None = None
    spacings: tuple[Range, ...] | None = None
    modalities: tuple[str, ...] = ()
    mean: Range | None = None
    sd: Range | None = None


class Latents(Record):
    """The distance beyond which an image counts as unlike those of training.

    Attributes:
        threshold: The distance, in the model of `unlike.safetensors`.
        share: Share of the split that lies within it.
        split: The split that it comes from.
        n: Its images that were measured.
        stages: Stages whose averages are the features, in their order.
    """

    threshold: float
    share: float
    split: str
    n: int
    stages: tuple[str, ...]


class Preprocessing(Record):
    """How a file becomes the input of a network, and its output an answer.

    Attributes:
        schema_version: Of this file.
        medldr: The version that wrote it.
        task: Kind of labels.
        class_names: Of the outputs, in their order.
        positive_class: Of a binary task; None otherwise.
        reading: How a file becomes a stored image: its ``kind``, and that kind's rules.
        stored: The stored image.
        transform: The section ``transform`` of the configuration, without what acts in training.
        input: What the network receives.
        temperature: Divides the logits before softmax or sigmoid; None: 1.
        threshold: Probability of the positive class above which an item is called positive; None:
            the most probable class counts.
        thresholds: By label of a multi-label task: the probability above which it is called
            present. A label that is not in it is called present above 0.5.
        threshold_from: The split that the threshold, or those of the labels, come from.
        specificity: The specificity there that it was chosen for.
        training: What the training images were.
        latents: The distance beyond which an image is unlike them; None: not measured.
    """

    schema_version: int = Field(SCHEMA, alias="schema")
    medldr: str
    task: Task
    class_names: tuple[str, ...] = Field(min_length=1)
    positive_class: str | None = None
    reading: dict[str, Any]
    stored: Stored
    transform: dict[str, Any]
    input: Shape
    temperature: float | None = Field(None, gt=0)
    threshold: float | None = None
    thresholds: dict[str, float] = Field(default_factory=dict)
    threshold_from: str | None = None
    specificity: float | None = None
    training: Training = Training()
    latents: Latents | None = None


def label_rule(record: Preprocessing, thresholds: Mapping[str, float]) -> str:
    """How the labels of a multi-label task are decided, in words.

    Args:
        record: The network's.
        thresholds: By label; for one that is not in it 0.5 decides.
    """
    own = ", ".join(f"{name} {value:.3g}" for name, value in thresholds.items())
    other = ", ".join(name for name in record.class_names if name not in thresholds)
    chosen = f"chosen on {record.threshold_from} for a specificity of {record.specificity}: {own}"
    said = {
        f"each label is present above its own probability, {chosen}": own,
        f"present above 0.5, for want of a threshold from validation images: {other}": other,
    }
    return "; ".join(text for text, there in said.items() if there)


def read_preprocessing(
    path: Path, cure: str = "Export the run again with `medldr export`"
) -> Preprocessing:
    """Read `preprocessing.json`.

    Args:
        path: `preprocessing.json` of a run, of an exported network or of an encoder.
        cure: What to do where a file beside it was changed.

    Raises:
        InputError: If it is missing or damaged, names file, key and cure; or if it, or a file of
            the export that it lies beside, does not have its checksum.
    """
    content = read_content(path, CURE)
    record = check_record(content, path, Preprocessing, CURE, schemas=(SCHEMA,))
    for name, recorded in (content.get(CHECKSUMS) or {}).items():
        place, own = path.parent / name, name == path.name
        if not is_inside(name) or not place.is_file():
            fault = "is missing"
        elif recorded != (checksum_of_content(content, name) if own else _checksum(place)):
            fault = f"was changed: it does not have the checksum in {path.name}"
        else:
            continue
        raise InputError(f"{place} {fault}. {cure}")
    return record


def _checksum(path: Path) -> str:
    """The checksum of a file of an export; of `METADATA` without what others fill in."""
    if path.name != METADATA:
        return checksum(path)
    content = read_content(path, CURE)
    return checksum_of_content({key: v for key, v in content.items() if key not in TO_FILL_IN})


def write_preprocessing(path: Path, record: Preprocessing, beside: Collection[str] = ()) -> None:
    """Write the record with every key, for people and for other programs.

    Args:
        path: The file.
        record: Its content.
        beside: Files of an export, whose checksums it then holds, and one of its own content.
    """
    content = record.model_dump(mode="json", by_alias=True)
    if beside:
        sums = {name: _checksum(path.parent / name) for name in sorted(beside)}
        content[CHECKSUMS] = sums
        content[CHECKSUMS] = {**sums, path.name: checksum_of_content(content)}
    write_json(path, content)
