"""A run in words: method, data, model, recipe, provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr.reporting.read.method import is_swad, method_id, method_title, model_title, section
from medldr.reporting.read.settings import show

__all__ = [
    "dataset_name",
    "held_out",
    "is_swad",
    "method_id",
    "method_title",
    "model_text",
    "provenance_groups",
    "recipe_text",
    "section",
]

Pairs = list[tuple[str, str]]


def dataset_name(config: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    """The data set's own name, for example ``dermamnist``, without its image size.

    Example:
        >>> dataset_name({"data": {"name": "medmnist", "flag": "octmnist", "size": 28}}, {})
        'octmnist'
        >>> dataset_name({}, {"data": {"name": "fracturemnist3d_28"}})
        'fracturemnist3d'
    """
    recorded = run.get("data")
    told = recorded.get("name") if isinstance(recorded, Mapping) else None
    data = section(config, "data")
    for key in ("flag", "dataset", "set"):
        told = data.get(key) or told
    name = str(told or run.get("dataset") or data.get("name", "unknown data"))
    head, _, tail = name.rpartition("_")
    return head if head and tail.isdigit() else name


def held_out(config: Mapping[str, Any]) -> tuple[str, ...]:
    """Domains that a run never trained or validated on.

    Example:
        >>> held_out({"data": {"held_out": ["photo"]}}), held_out({"data": {"held_out": "photo"}})
        (('photo',), ('photo',))
        >>> held_out({"data": {"name": "medmnist"}})
        ()
    """
    held = section(config, "data").get("held_out") or ()
    return (held,) if isinstance(held, str) else tuple(map(str, held))


def model_text(config: Mapping[str, Any], run: Mapping[str, Any]) -> str:
    """The network with what sets it apart."""
    volumes = len(section(run, "spec").get("spatial_size") or ()) != 2
    model = section(config, "model")
    text = model_title(str(model.get("name", "unknown model")))
    parts = []
    if model.get("stem"):
        parts.append(f"{model['stem']} stem")
    if model.get("conv") and volumes:  # pictures have plain 2D convolutions whatever it says
        parts.append(f"{str(model['conv']).upper()} convolutions")
    if model.get("width") not in (None, 1, 1.0):
        parts.append(f"width × {model['width']}")
    return ", ".join([text, *parts])


def recipe_text(config: Mapping[str, Any]) -> str:
    """Length, batch, optimizer, and the learning rate that was really used."""
    training = section(config, "training")
    length = (
        f"{training['steps']} steps" if training.get("steps")
        else f"{training.get('epochs', '?')} epoch{'' if training.get('epochs') == 1 else 's'}"
    )  # fmt: skip
    rate = training.get("lr")
    scale = section(config, "algorithm").get("lr_scale", 1.0)
    each = training.get("batch_per_domain")
    batch = f"{each} per domain" if each else training.get("batch_size", "?")
    text = f"{length}, batch {batch}"
    text += f", {str(training.get('optimizer', '?')).upper().replace('ADAMW', 'AdamW')}"
    if isinstance(rate, int | float):
        text += f", learning rate {float(rate) * float(scale):g}"
        if float(scale) != 1:
            text += f" ({float(rate):g} × {float(scale):g})"
    schedule = training.get("schedule")
    return f"{text}, {schedule} schedule" if schedule else text


_ORDER = (
    "run", "times", "selections", "data", "spec", "provenance", "packages", "hardware",
)  # fmt: skip
_TITLES = {
    "provenance": "Command and code",
    "packages": "Versions",
    "hardware": "Hardware",
    "run": "Run",
    "data": "Data",
    "times": "Times",
    "spec": "Training data as used",
    "selections": "What each selection rule chose",
}
_LEFT_OUT = {"notes", "error", "selection", "path"}
_WORDS = {
    "hash": "hash of the configuration",
    "data_hash": "hash of the data",
    "split_hash": "hash of the splits",
    "memory_gib": "memory (GiB)",
    "starts": "times started",
    "seconds": "seconds spent",
}
_MOST = 12


def provenance_groups(run: Mapping[str, Any]) -> list[tuple[str, Pairs]]:
    """Everything in `run.json`, in groups with titles, also what is unknown here."""
    groups: dict[str, Pairs] = {"run": []}

    def add(group: str, key: str, value: Any) -> None:
        if key in _LEFT_OUT:
            return
        if key == "files" and isinstance(value, Mapping):
            groups.setdefault(group, []).append(("files", _files(value)))
        elif isinstance(value, Mapping):
            target = key if key in _TITLES or group == "run" else group
            for inner, item in value.items():
                name = str(inner) if target == key else f"{key}: {inner}"
                add(target, name, item)
        else:
            words = _WORDS.get(key, key.replace("_", " "))
            groups.setdefault(group, []).append((words, _text(key, value)))

    for key, value in run.items():
        add("run", str(key), value)
    order = sorted(groups, key=lambda g: _ORDER.index(g) if g in _ORDER else len(_ORDER))
    return [
        (_TITLES.get(g, g.replace("_", " ").capitalize()), groups[g]) for g in order if groups[g]
    ]


def _files(checksums: Mapping[str, Any]) -> str:
    # Names stay out: on somebody's own scans they may be those of patients.
    count = f"{len(checksums)} file{'' if len(checksums) == 1 else 's'}"
    shown = ", ".join(str(value) for value in checksums.values())
    return f"{count}, checksum {shown}" if 0 < len(checksums) <= 3 else count


def _text(key: str, value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        if key == "command":
            return " ".join(str(word) for word in value)
        texts = [show(item) for item in value[:_MOST]]
        more = len(value) - _MOST
        return (", ".join(texts) or "none") + (f" and {more} more" if more > 0 else "")
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value)
