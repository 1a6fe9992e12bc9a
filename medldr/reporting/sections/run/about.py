"""What was trained on what: facts, settings, data card, mistakes, and what `run.json` has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr.config.method import augmentation_id, augmentation_title, method_title, model_title
from medldr.config.sections import dataset_name, held_out
from medldr.config.sections import section as keys_of
from medldr.evaluation.primary import changed
from medldr.folders.mistakes_record import Mistake
from medldr.folders.privacy import hide_ids
from medldr.folders.run_record import RunRecord, Selection
from medldr.metrics import metric_facts
from medldr.reporting.document import (
    Block,
    Bullets,
    Folded,
    Pairs,
    Paragraph,
    Picture,
    Pictures,
    Section,
)
from medldr.reporting.prose import section, sentence
from medldr.reporting.read.run import RunFiles, as_yaml, changes, show
from medldr.reporting.sections.rows import count
from medldr.reporting.sections.run.tables import value_text
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.wording import rule_text, split_name

LEFT_OUT = {"notes", "error"}


def notes(files: RunFiles) -> Section | None:
    """What a reader of any number must know of the data."""
    said = [*files.notes, *filter(None, [changed(files.record, files.evaluation)])]
    return section("run", "notes", Bullets(said), count=count(len(said), "note"))


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
    spec, model = None if record is None else record.spec, keys_of(config, "model")
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
    training = keys_of(config, "training")
    each, rate = training.get("batch_per_domain"), training.get("lr")
    batch = f"{each} per domain" if each else training.get("batch_size", "?")
    epochs = training.get("epochs", "?")
    parts = [
        f"{training['steps']} steps" if training.get("steps") else count(epochs, "epoch"),
        f"batch {batch}",
        str(training.get("optimizer", "?")).upper().replace("ADAMW", "AdamW"),
    ]
    if isinstance(rate, int | float):
        scale = float(keys_of(config, "algorithm").get("lr_scale", 1.0))
        scaled = f" ({float(rate):g} × {scale:g})" if scale != 1 else ""
        parts.append(f"learning rate {float(rate) * scale:g}{scaled}")
    if training.get("schedule"):
        parts.append(f"{training['schedule']} schedule")
    return ", ".join(parts)


def settings(files: RunFiles) -> Section | None:
    """How it was trained in words, then the settings that differ from the defaults."""
    changed_keys, problem = changes(files)
    table = Table(
        "Settings that differ from their defaults", ["Setting", "Here", "Default"], code=True
    )
    for change in changed_keys:
        table.rows.append(Row(change.key, [Cell(show(change.value)), Cell(show(change.default))]))
    none = Paragraph(problem or "All settings have their default values.")
    text = as_yaml(files.config) if files.config else "config.yaml is missing."
    whole = Folded("All settings, as resolved", text)
    return section("run", "settings", Pairs(facts(files)), table if changed_keys else none, whole)


def card(files: RunFiles) -> Section | None:
    """The entries of the data card; without one, how to add it to a run that was evaluated."""
    entries = card_entries(files)
    how = None if files.evaluation is None else Paragraph(sentence("no_card"), "small")
    return section("run", "card", Pairs(list(entries.items())) if entries else how)


def card_entries(files: RunFiles) -> dict[str, str]:
    """Each filled entry as text, by its name in words; without ids."""
    data = files.facts.get("data")
    found = data.get("card") if isinstance(data, Mapping) else None
    filled = found if isinstance(found, Mapping) else {}
    return {spoken_key(str(key)): _card_text(value) for key, value in filled.items()}


def spoken_key(key: str) -> str:
    """The name of an entry in words.

    Example:
        >>> spoken_key("reference_standard")
        'Reference standard'
    """
    said = key.replace("_", " ").strip()
    return said[:1].upper() + said[1:]


def _card_text(value: Any) -> str:
    if isinstance(value, Mapping):
        return "; ".join(f"{key}: {_card_text(item)}" for key, item in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_card_text, value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    return "" if value is None else " ".join(str(value).split())


def mistakes(files: RunFiles) -> Section | None:
    """The most confident mistakes as small pictures without anything that names a patient."""
    found = files.mistakes
    if found is None:
        off = keys_of(files.config, "machine").get("thumbnails") is False
        return section("run", "mistakes_off", Paragraph(sentence("no_thumbnails")) if off else None)
    if not found.items:
        return section("run", "mistakes_off", Paragraph(sentence("no_mistakes")))
    counts = sentence(
        "mistakes", split=split_name(found.split), wrong=f"{found.wrong:,}", n=f"{found.n:,}",
        shown=len(found.items),
    )  # fmt: skip
    blocks: list[Block] = [Paragraph(counts), Paragraph(sentence("slices") if found.slices else "")]
    pictures = Pictures([_picture(mistake, files.ids) for mistake in found.items])
    return section("run", "mistakes", *blocks, pictures, count=len(found.items))


def _picture(mistake: Mistake, ids: frozenset[str]) -> Picture:
    confidence = metric_facts("accuracy").with_unit(mistake.confidence)
    lines = [
        f"true: {mistake.truth}",
        f"predicted: {mistake.predicted}",
        f"confidence: {confidence}",
        *([f"domain: {mistake.domain}"] if mistake.domain else []),
    ]
    alt = f"An image of class {mistake.truth}, predicted as {mistake.predicted} ({confidence})"
    return Picture(mistake.png, [hide_ids(line, ids) for line in lines], hide_ids(alt, ids))


def provenance(files: RunFiles) -> Section | None:
    """Everything in `run.json` but what the page says elsewhere."""
    found = {key: _nameless(value) for key, value in files.facts.items() if key not in LEFT_OUT}
    return section("run", "provenance", Folded("run.json", as_yaml(found)) if found else None)


def _nameless(value: Any) -> Any:
    """A value without the data card and names of files, which may be those of patients."""
    if not isinstance(value, Mapping):
        return value
    held = {
        key: _nameless(of) for key, of in value.items() if key not in ("card", "files", "notes")
    }
    sums = value.get("files")
    return held | ({"files": list(sums.values())} if isinstance(sums, Mapping) else {})
