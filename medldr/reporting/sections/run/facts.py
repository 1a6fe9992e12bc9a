"""What was trained, on what, how, and which weights are reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr.config.method import (
    augmentation_id,
    augmentation_title,
    method_title,
    model_title,
)
from medldr.config.sections import dataset_name, held_out, section
from medldr.folders.run_record import RunRecord, Selection
from medldr.metrics import PERCENT, measure, rule_text
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.run.rules import metric_of


def facts(files: RunFiles) -> list[tuple[str, str]]:
    """Names and what is said of each."""
    config, judged = files.config, files.evaluation
    data = dataset_name(config, files.facts)
    if judged is not None:
        kinds = "labels" if judged.task == "multi-label" else "classes"
        data += f": {judged.task}, {len(judged.class_names)} {kinds}"
    pairs = [
        ("Method", method_title(config)),
        ("Data", data),
        ("Network", model_text(config, files.record)),
    ]
    augmentation = augmentation_id(config)
    if augmentation:
        pairs.append(("Augmentation", augmentation_title(augmentation)))
    pairs.append(("Training", recipe_text(config)))
    if judged is not None and judged.selection is not None:
        pairs.append(("Selection", _selection_text(judged.selection)))
    if held_out(config):
        pairs.append(("Held out", ", ".join(held_out(config))))
    pairs.append(("Protocol", files.protocol or "none"))
    if judged is not None and judged.task == "binary":
        pairs.append(("Positive class", str(judged.positive_class)))
    return pairs


def _selection_text(chosen: Selection) -> str:
    text = f"epoch {chosen.epoch}, {rule_text(chosen.rule, chosen.split or '')}"
    if chosen.value is not None:
        known = measure(metric_of(chosen.rule))
        text += f" ({known.show(chosen.value)}{PERCENT if known.percent else ''})"
    return f"{text}; rule {chosen.rule}"


def model_text(config: Mapping[str, Any], record: RunRecord | None) -> str:
    """The network with what sets it apart."""
    spec = None if record is None else record.spec
    pictures = spec is not None and len(spec.spatial_size) == 2
    model = section(config, "model")
    name = str(model.get("name", "unknown model"))
    parts = [model_title(name)]
    if model.get("stem"):
        parts.append(f"{model['stem']} stem")
    if model.get("conv") and not pictures:  # they have plain 2D convolutions whatever it says
        parts.append(f"{str(model['conv']).upper()} convolutions")
    if model.get("width") not in (None, 1, 1.0):
        parts.append(f"width × {model['width']}")
    return ", ".join(parts)


def recipe_text(config: Mapping[str, Any]) -> str:
    """Length, batch, optimizer, and the learning rate that was really used."""
    training = section(config, "training")
    epochs = training.get("epochs", "?")
    length = f"{epochs} epoch{'' if epochs == 1 else 's'}"
    each = training.get("batch_per_domain")
    parts = [
        f"{training['steps']} steps" if training.get("steps") else length,
        f"batch {f'{each} per domain' if each else training.get('batch_size', '?')}",
        str(training.get("optimizer", "?")).upper().replace("ADAMW", "AdamW"),
    ]
    rate = training.get("lr")
    scale = float(section(config, "algorithm").get("lr_scale", 1.0))
    if isinstance(rate, int | float):
        scaled = f" ({float(rate):g} × {scale:g})" if scale != 1 else ""
        parts.append(f"learning rate {float(rate) * scale:g}{scaled}")
    if training.get("schedule"):
        parts.append(f"{training['schedule']} schedule")
    return ", ".join(parts)
