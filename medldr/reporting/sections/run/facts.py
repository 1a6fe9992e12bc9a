"""What was trained, on what, how, and which weights are reported."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr.config.method import augmentation_id, augmentation_title, method_title, model_title
from medldr.config.sections import dataset_name, held_out, section
from medldr.folders.run_record import RunRecord, Selection
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.rows import count
from medldr.reporting.sections.run.rules import value_text
from medldr.reporting.wording import rule_text


def facts(files: RunFiles) -> list[tuple[str, str]]:
    """Names and what is said of each; what a run has nothing of is left out."""
    config, scored = files.config, files.evaluation
    chosen = scored and scored.selection
    pairs = {
        "Method": method_title(config),
        "Data": _data_text(files),
        "Network": model_text(config, files.record),
        "Augmentation": augmentation_title(augmentation_id(config)),
        "Training": recipe_text(config),
        "Selection": _selection_text(chosen) if chosen else "",
        "Held out": ", ".join(held_out(config)),
        "Protocol": files.protocol or "none",
        "Positive class": f"{scored.positive_class}" if scored and scored.task == "binary" else "",
    }
    return [pair for pair in pairs.items() if pair[1]]


def _data_text(files: RunFiles) -> str:
    scored, data = files.evaluation, dataset_name(files.config, files.facts)
    if scored is None:
        return data
    kinds = "labels" if scored.task == "multi-label" else "classes"
    return f"{data}: {scored.task}, {len(scored.class_names)} {kinds}"


def _selection_text(chosen: Selection) -> str:
    value = value_text(chosen)
    text = f"epoch {chosen.epoch}, {rule_text(chosen.rule, chosen.split or '')}"
    return f"{text}{f' ({value})' if value else ''}; rule {chosen.rule}"


def model_text(config: Mapping[str, Any], record: RunRecord | None) -> str:
    """The network with what sets it apart."""
    spec, model = None if record is None else record.spec, section(config, "model")
    pictures = spec is not None and len(spec.spatial_size) == 2
    parts = [model_title(str(model.get("name", "unknown model")))]
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
    each, rate = training.get("batch_per_domain"), training.get("lr")
    batch = f"{each} per domain" if each else training.get("batch_size", "?")
    epochs = training.get("epochs", "?")
    parts = [
        f"{training['steps']} steps" if training.get("steps") else count(epochs, "epoch"),
        f"batch {batch}",
        str(training.get("optimizer", "?")).upper().replace("ADAMW", "AdamW"),
    ]
    if isinstance(rate, int | float):
        scale = float(section(config, "algorithm").get("lr_scale", 1.0))
        scaled = f" ({float(rate):g} × {scale:g})" if scale != 1 else ""
        parts.append(f"learning rate {float(rate) * scale:g}{scaled}")
    if training.get("schedule"):
        parts.append(f"{training['schedule']} schedule")
    return ", ".join(parts)
