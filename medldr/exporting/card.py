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
from medldr.folders.preprocessing_record import Preprocessing, Range, label_rule
from medldr.foreign_text import escape

Kind = Literal["onnx", "torch", "bundle"]

INTENDED = "intended_use"
"""Entry of a data card that the section of this name is taken from."""

_RESEARCH = (
    "Research. This network is not a medical device: no authority has examined it, and it must not "
    "decide about a patient."
)
_TAGS: Mapping[Kind, str] = {"onnx": "onnx", "torch": "pytorch", "bundle": "monai"}

_WINDOWS: Mapping[str, str] = {
    "auto": "CT in DICOM from -1000 to 1000 HU, unsigned 8 bits from 0 to 255, unsigned 16 bits by "
    "bit_depth where it is set, all else between the percentiles of each image",
    "percentile": "between the percentiles of each image",
    "file": "the window that each DICOM file recommends",
}

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
        encoder_sha256: Checksum of the encoder's weights, of a run on stored latents; else empty.
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
    encoder_sha256: str = ""
    method: str = ""
    class_counts: Mapping[str, int] = field(default_factory=dict)
    train_domains: tuple[str, ...] = ()
    results: str = ""
    data_card: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def intended_use(self) -> str:
        """What the data card says of it, after the sentence that holds for every network."""
        stated = self.data_card.get(INTENDED)
        return f"{_RESEARCH} {_text(stated)}" if stated else _RESEARCH


def limits_of(record: Preprocessing, more: Iterable[str] = ()) -> tuple[str, ...]:
    """What whoever uses an exported network must keep in mind, a sentence or two each.

    Args:
        record: What the network must be told.
        more: Limits of a format.
    """
    limits = [
        "Every image gets an answer, even one of another organ or device; `medldr predict` tells "
        "an image that is unlike those of training, these files do not."
    ]
    if not record.stored.spatial_size:
        limits.append("It takes latents as the encoder of training makes them, and no images.")
    if record.temperature is None:
        limits.append("Probabilities are not recalibrated.")
    if record.threshold is not None or record.thresholds:
        limits.append("The threshold comes from one split; its specificity may differ elsewhere.")
    return (*limits, *more)


def card_text(
    card: Card, record: Preprocessing, kind: Kind, limits: Iterable[str], agreement: str = ""
) -> str:
    """The card as `README.md`.

    Args:
        card: What the caller knows.
        record: What the network must be told.
        kind: Format of the export.
        limits: As `limits_of` gives them.
        agreement: How far its answers are from those of `medldr predict`; empty: not known.
    """
    size, of = record.stored.spatial_size, card.encoder_sha256
    image = f"float32 (B, {record.stored.channels}, {', '.join(map(str, size))})"
    language = "sh" if kind == "bundle" else "python"
    sections = {
        "Intended use": [escape(card.intended_use)],
        "Training data": _training(card, record),
        "Preprocessing": [
            "From a file to the input of the network, by the keys of `preprocessing.json`.",
            _list(reading_lines(record) + input_lines(record)),
        ],
        "Calibration": [_calibration(record)],
        "Threshold": [_threshold(record)],
        "Results": [card.results.strip() or "Not given."],
        "Agreement": [f"{agreement[:1].upper()}{agreement[1:]}." if agreement else "Not measured."],
        "Limits": [_list([*limits, *map(escape, card.notes)])],
        "How to use": [f"```{language}\n{_USE[kind].format(image=image)}\n```", _outputs(record)],
        "Identity": [
            _list(
                [
                    f"exported by medldr {record.medldr}",
                    f"SHA-256 of the weights: `{card.weights_sha256}`",
                    *([f"SHA-256 of the encoder's weights: `{of}`"] * bool(of)),
                ]
            )
        ],
    }
    axes = len(size)
    what = f"A network for {axes}D images ({', '.join(map(escape, record.class_names))})"
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
        facts.append(f"domains: {', '.join(map(escape, card.train_domains))}")
    if seen.modalities:
        facts.append(f"modalities: {', '.join(seen.modalities)}")
    if seen.sizes:
        facts.append(f"pixels along each axis: {between(seen.sizes)}")
    if seen.spacings:
        facts.append(f"mm between pixels along each axis: {between(seen.spacings)}")
    facts += [
        escape(f"{str(key).replace('_', ' ')}: {_text(value)}")
        for key, value in card.data_card.items()
        if key != INTENDED
    ]
    paragraphs = [_list(facts)] if facts else []
    if card.class_counts:
        rows = [f"| {escape(name)} | {n:,} |" for name, n in card.class_counts.items()]
        paragraphs.append("\n".join(["| class | training images |", "|---|---:|", *rows]))
    return paragraphs or ["Not described."]


def _calibration(record: Preprocessing) -> str:
    if record.temperature is None:
        return "None: probabilities are those of the trained network."
    return f"Logits are divided by the temperature {record.temperature:.4g} inside the network."


def _threshold(record: Preprocessing) -> str:
    if record.threshold is None or record.positive_class is None:
        if record.task == "multi-label":
            return f"Of its labels, {escape(label_rule(record, record.thresholds))}."
        return "None: the most probable class is the answer."
    return (
        f"An item is called {escape(record.positive_class)} where its probability is above "
        f"{record.threshold:.4g}, chosen on the split {record.threshold_from} for a specificity of "
        f"{record.specificity}."
    )


def _outputs(record: Preprocessing) -> str:
    how = "sigmoid" if record.task == "multi-label" else "softmax"
    names = ", ".join(map(escape, record.class_names))
    return f"Outputs: `logits` and `probabilities` ({how}), in the order {names}."


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_text(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(_text(one) for one in value)
    return " ".join(str(value).split())


def _list(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def reading_lines(record: Preprocessing) -> list[str]:
    """How a file becomes a stored image: the rules of `preprocessing.json`, by their keys."""
    stored = record.stored
    lines = [f"{key}: {_text(value)}" for key, value in record.reading.items() if value is not None]
    window = record.reading.get("window")
    if window is not None and not record.reading.get("eight_bit"):
        low, high = WINDOWS.get(window, ("", "")) if isinstance(window, str) else window
        ends = _WINDOWS.get(str(window), f"values from {low} to {high} become 0 to 1")
        lines.append(f"window means: {ends}; all else is cut off")
    scale = "whole numbers from 0 to 255" if stored.dtype == "uint8" else "numbers from 0 to 1"
    shape = f"{stored.channels} x {times(stored.spatial_size)}"
    names = (record.reading.get("combined") or {}).get("names", ())
    order = f", the images {', '.join(names)} one after another" if names else ""
    given = "this is what the exported network is given"
    return [*lines, f"stored image: {shape}{order}, {scale}; {given}"]


def input_lines(record: Preprocessing) -> list[str]:
    """What the exported network does itself before the first layer."""
    keys = ", ".join(f"{k} {v}" for k, v in record.transform.items() if v not in (None, [], False))
    shape = f"{record.input.channels} x {times(record.input.spatial_size)}"
    return [f"inside the network, as in evaluation: preset {keys}, which gives its layers {shape}"]


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
