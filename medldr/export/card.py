"""The model card: what whoever receives a network must know, in Hugging Face's format.

It is made of what the caller hands over and of `preprocessing.json`; nothing is looked up. It holds
no file name and no patient.

Source:
    Hugging Face's model cards (YAML between two lines of three dashes, then Markdown), and Mitchell
    et al. 2019, "Model Cards for Model Reporting", for the sections.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from medldr.data.files.intensity import WINDOWS
from medldr.data.files.rules import OWN_PICTURE, SCAN
from medldr.folders.preprocessing_record import Preprocessing, Range

Kind = Literal["onnx", "torch", "bundle"]

INTENDED = "intended_use"
"""Entry of a data card that the section of this name is taken from."""

_RESEARCH = (
    "Research. This network is not a medical device: no authority has examined it, and it must not "
    "decide about a patient."
)
_TAGS: Mapping[Kind, str] = {"onnx": "onnx", "torch": "pytorch", "bundle": "monai"}

_USE: Mapping[Kind, str] = {
    "onnx": """import numpy as np, onnxruntime
session = onnxruntime.InferenceSession("model.onnx")
logits, probabilities = session.run(None, {{"image": image}})  # image: {image}""",
    "torch": """import torch
network = torch.export.load("model.pt2").module()
with torch.no_grad():
    logits, probabilities = network(image)  # image: {image}""",
    "bundle": """pip install monai pytorch-ignite fire nibabel pillow
python -m monai.bundle run --config_file configs/inference.json --bundle_root . \\
    --dataset_dir IMAGES --output_dir ANSWERS   # writes ANSWERS/probabilities.csv""",
}


@dataclass(frozen=True)
class Card:
    """What a card says besides `preprocessing.json`.

    Attributes:
        label: Name of the run.
        weights_sha256: Checksum of `model.safetensors`, from which the network was exported.
        network: Its name in print; empty: not said.
        method: Name in print of what it was trained with.
        class_counts: Training images of each class (multi-label: with each label).
        train_domains: Domains that training images come from.
        results: Markdown, with 95 % intervals; empty: none are known.
        data_card: Filled entries of the data card.
        notes: What readers of the run are told, a sentence each.
    """

    label: str
    weights_sha256: str
    network: str = ""
    method: str = ""
    class_counts: Mapping[str, int] = field(default_factory=dict)
    train_domains: tuple[str, ...] = ()
    results: str = ""
    data_card: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def intended_use(self) -> str:
        """What the data card says of it, after the sentence that holds for every network."""
        said = self.data_card.get(INTENDED)
        return f"{_RESEARCH} {_text(said)}" if said else _RESEARCH


def limits_of(record: Preprocessing, more: Iterable[str] = ()) -> tuple[str, ...]:
    """What whoever uses an exported network must keep in mind, a sentence or two each.

    Args:
        record: What the network must be told.
        more: Limits of a format.
    """
    found = [
        "Every image gets an answer, even one of another organ or device. Whether an image is "
        "unlike those of training is told by `medldr predict`, not by these files."
    ]
    if record.temperature is None:
        found.append("Probabilities are not recalibrated.")
    if record.threshold is not None:
        source = f" ({record.threshold_from})" if record.threshold_from else ""
        found.append(
            f"The threshold comes from one split{source}; its specificity may be another elsewhere."
        )
    return (*found, *more)


def card_text(card: Card, record: Preprocessing, kind: Kind, limits: Iterable[str]) -> str:
    """The card as `README.md`.

    Args:
        card: What the caller knows.
        record: What the network must be told.
        kind: Format of the export.
        limits: As `limits_of` gives them.
    """
    axes = len(record.stored.spatial_size)
    image = f"float32 (B, {record.stored.channels}, {', '.join(map(str, _size(record)))})"
    language = "sh" if kind == "bundle" else "python"
    sections = {
        "Intended use": [card.intended_use],
        "Training data": _training(card, record),
        "Preprocessing": [
            "From a file to the input of the network; `preprocessing.json` says the same in full.",
            _list(reading_lines(record) + input_lines(record)),
        ],
        "Calibration": [_calibration(record)],
        "Threshold": [_threshold(record)],
        "Results": [card.results.strip() or "Not given."],
        "Limits": [_list([*limits, *card.notes])],
        "How to use": [f"```{language}\n{_USE[kind].format(image=image)}\n```", _outputs(record)],
        "Identity": [
            _list(
                [
                    f"exported by medldr {record.medldr}",
                    f"SHA-256 of the weights: `{card.weights_sha256}`",
                ]
            )
        ],
    }
    what = f"A network for {axes}D images ({', '.join(record.class_names)})"
    made = f"{what}: {card.network}" if card.network else what
    trained = f", trained with {card.method}" if card.method else ""
    parts = [_front(card, axes, kind), f"# {card.label}", f"{made}{trained}."]
    for title, paragraphs in sections.items():
        parts += [f"## {title}", *paragraphs]
    return "\n\n".join(parts) + "\n"


def _front(card: Card, axes: int, kind: Kind) -> str:
    tags = ["medical", "domain-generalization", f"{axes}d", _TAGS[kind]]
    lines = [
        "---",
        "# license: fill in, for example apache-2.0",
        "library_name: medldr",
        "pipeline_tag: image-classification",
        f"model_name: {json.dumps(card.label, ensure_ascii=False)}",
        "tags:",
        *(f"- {tag}" for tag in tags),
        "---",
    ]
    return "\n".join(lines)


def _training(card: Card, record: Preprocessing) -> list[str]:
    seen = record.training
    facts = [f"images: {seen.images:,}"] if seen.images else []
    if card.train_domains:
        facts.append(f"domains: {', '.join(card.train_domains)}")
    if seen.modalities:
        facts.append(f"modalities: {', '.join(seen.modalities)}")
    if seen.sizes:
        facts.append(f"pixels along each axis: {between(seen.sizes)}")
    if seen.spacings:
        facts.append(f"mm between pixels along each axis: {between(seen.spacings)}")
    facts += [
        f"{str(key).replace('_', ' ')}: {_text(value)}"
        for key, value in card.data_card.items()
        if key != INTENDED
    ]
    found = [_list(facts)] if facts else []
    if card.class_counts:
        rows = [f"| {_cell(name)} | {n:,} |" for name, n in card.class_counts.items()]
        found.append("\n".join(["| class | training images |", "|---|---:|", *rows]))
    return found or ["Not described."]


def _calibration(record: Preprocessing) -> str:
    if record.temperature is None:
        return "None: probabilities are those of the trained network."
    return f"Logits are divided by the temperature {record.temperature:.4g} inside the network."


def _threshold(record: Preprocessing) -> str:
    if record.threshold is None or record.positive_class is None:
        if record.task == "multi-label":
            return "None is stored; each label has its own probability."
        return "None: the most probable class is the answer."
    chosen = ""
    if record.specificity is not None and record.threshold_from:
        chosen = (
            f", chosen for a specificity of {record.specificity:.3g} on the split "
            f"{record.threshold_from}"
        )
    return (
        f"An item is called {record.positive_class} where its probability is above "
        f"{record.threshold:.4g}{chosen}."
    )


def _outputs(record: Preprocessing) -> str:
    how = "sigmoid" if record.task == "multi-label" else "softmax"
    names = ", ".join(record.class_names)
    return f"Outputs: `logits` and `probabilities` ({how}), in the order {names}."


def _size(record: Preprocessing) -> tuple[int, ...]:
    return record.stored.spatial_size


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_text(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_text(one) for one in value)
    return " ".join(str(value).split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def reading_lines(record: Preprocessing) -> list[str]:
    """How a file becomes a stored image."""
    values = record.reading
    stored = record.stored
    scale = "whole numbers from 0 to 255" if stored.dtype == "uint8" else "numbers from 0 to 1"
    shape = f"{stored.channels} x {times(stored.spatial_size)}"
    last = f"stored image: {shape}, {scale}; this is what the exported network is given"
    if values.get("kind") == SCAN:
        return [*_scan_lines(values), last]
    lines = ["pictures, in colour, resized by Pillow's bilinear filter whatever their aspect ratio"]
    if values.get("kind") == OWN_PICTURE:
        lines.append(f"transparent pixels on {values['ground']}")
        if values["exif"]:
            lines.append("photographs are turned upright, as their camera noted")
    return [*lines, last]


def input_lines(record: Preprocessing) -> list[str]:
    """What the exported network does itself before the first layer."""
    keys = ", ".join(
        f"{key} {value}"
        for key, value in record.transform.items()
        if key in ("size", "channels", "mean", "std", "shape_transform") and value is not None
    )
    name = record.transform.get("name", "none")
    said = f"preset {name} ({keys})" if keys else f"preset {name}"
    shape = f"{record.input.channels} x {times(record.input.spatial_size)}"
    return [f"inside the network: {said}, which gives its layers {shape}"]


def _scan_lines(values: Mapping[str, Any]) -> list[str]:
    volumes = values["dims"] == 3
    axes = "volumes (X, Y, Z), turned to RAS+" if volumes else "pictures (rows, columns)"
    lines = [axes, *_value_lines(values)]
    if values["crop"] is not None:
        lines.append("each scan is cut to a part of it (reading.crop in preprocessing.json)")
    if values["spacing"] is not None:
        lines.append(f"resampled to {times(values['spacing'])} mm")
    if values["size"] is not None:
        how = "borders added or cut evenly" if values["pad"] else "stretched"
        lines.append(f"{how} to {times(values['size'])} pixels")
    return lines


def _value_lines(values: Mapping[str, Any]) -> list[str]:
    grey = "grey" if values["channels"] == 1 else f"{values['channels']} channels"
    if values["eight_bit"]:
        return [f"8 bits, {grey}, transparent pixels on {values['ground']}"]
    window, (low, high) = values["window"], values["percentiles"]
    by_percentiles = f"the percentiles {low:g} and {high:g} of each image"
    if isinstance(window, str) and window in WINDOWS:
        window = WINDOWS[window]
    if not isinstance(window, str):
        said = f"{window[0]:g} and {window[1]:g}"
    elif window == "file":
        said = "the ends of the window that each DICOM file recommends"
    elif window == "percentile":
        said = by_percentiles
    else:
        depth = values["bit_depth"]
        deep = f", of unsigned 16 bits 0 and {2**depth - 1:,}" if depth else ""
        said = (
            f"by what a file declares: of CT in DICOM -1000 and 1000 HU, of unsigned 8 bits 0 and "
            f"255{deep}, else {by_percentiles}"
        )
    return [f"values that become 0 and 1, all else cut off: {said}", grey]


def times(numbers: Iterable[float]) -> str:
    """Numbers along each axis.

    Example:
        >>> times((64, 64, 2.5))
        '64 x 64 x 2.5'
    """
    return " x ".join(f"{n:g}" for n in numbers)


def between(ranges: Iterable[Range]) -> str:
    """Ranges along each axis.

    Example:
        >>> between([(256, 512), (0.5, 0.5)])
        '256 to 512 x 0.5'
    """
    return " x ".join(f"{a:g}" if a == b else f"{a:g} to {b:g}" for a, b in ranges)
