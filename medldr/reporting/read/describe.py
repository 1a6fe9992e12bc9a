"""A run in words: method, data, model, recipe, provenance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from medldr.reporting.read.settings import show

ALGORITHM_TITLES = {
    "erm": "ERM",
    "latentdr": "LatentDR",
    "mixup": "Mixup",
    "manifold_mixup": "Manifold Mixup",
    "cutmix": "CutMix",
    "mixstyle": "MixStyle",
    "batchformer": "BatchFormer",
    "fish": "Fish",
    "coral": "CORAL",
    "irm": "IRM",
    "groupdro": "GroupDRO",
    "mldg": "MLDG",
    "mmd": "MMD",
    "dann": "DANN",
    "cdann": "CDANN",
    "sagnet": "SagNet",
    "vrex": "VREx",
    "fishr": "Fishr",
    "miro": "MIRO",
}
MODEL_TITLES = {
    "resnet18": "ResNet-18",
    "resnet50": "ResNet-50",
    "resnet32": "ResNet-32",
    "densenet121": "DenseNet-121",
}
_FORMS = {"attention": "SA", "pool": "Pool", "gaussian": "Gaussian"}
_PAPER_IDS = {
    "attention": "latentdr_sa",
    "pool": "latentdr_pool",
    "gaussian": "latentdr_gaussian",
}
_ABLATION_IDS = {
    ("pool", "degraded"): "latentdr_d_only",
    ("none", "restored"): "latentdr_r_only",
    ("gaussian", "degraded"): "latentdr_gaussian_d_only",
    ("gaussian", "restored"): "latentdr_gaussian_r_only",
}
"""Forms with one of the two further terms alone: the degradation and the term."""
_VARIANT_IDS = {
    ("mmd", "bandwidths", "median"): "mmd_median",
    ("mldg", "order", "second"): "mldg_second_order",
}
"""Forms that nobody published under the plain name."""

Pairs = list[tuple[str, str]]


def section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """A section of a configuration; a bare name counts as a section, an absent one is empty."""
    value = config.get(name)
    if isinstance(value, str):
        return {"name": value}
    return value if isinstance(value, Mapping) else {}


def method_title(config: Mapping[str, Any]) -> str:
    """The method as a paper would name it.

    Example:
        >>> method_title({"algorithm": {"name": "latentdr", "degrade": "pool"}})
        'LatentDR (Pool)'
    """
    algorithm = section(config, "algorithm")
    name = str(algorithm.get("name", "unknown method"))
    title = ALGORITHM_TITLES.get(name, name)
    form = algorithm.get("degrade")
    if name == "latentdr" and form:
        title += f" ({_FORMS.get(str(form), str(form))})"
    base = section(algorithm, "base").get("name")
    title += f" on {ALGORITHM_TITLES.get(str(base), base)}" if base else ""
    return f"{title} + SWAD" if is_swad(config) else title


def method_id(config: Mapping[str, Any]) -> str:
    """The key under which published numbers name this method; `+swad` where weights are averaged.

    LatentDR has one only in the forms that its paper reports.

    Example:
        >>> method_id({"algorithm": {"name": "latentdr", "degrade": "pool"}})
        'latentdr_pool'
        >>> method_id({"algorithm": {"name": "coral"}, "training": {"averaging": {"name": "swad"}}})
        'coral+swad'
    """
    algorithm = section(config, "algorithm")
    name = str(algorithm.get("name", ""))
    found = _latentdr_id(algorithm) if name == "latentdr" else name
    for (method, key, value), own in _VARIANT_IDS.items():
        found = own if name == method and algorithm.get(key) == value else found
    return f"{found}+swad" if is_swad(config) else found


def _latentdr_id(algorithm: Mapping[str, Any]) -> str:
    form = str(algorithm.get("degrade"))
    terms = frozenset(algorithm.get("terms") or ("degraded", "restored"))
    if algorithm.get("base") or algorithm.get("norm", "post") != "post":
        return "latentdr"
    if algorithm.get("share_classifier") is False:
        alone = form == "pool" and len(terms) == 2
        return "latentdr_own_classifier" if alone else "latentdr"
    if terms != {"degraded"} and algorithm.get("restore", "attention") != "attention":
        return "latentdr"
    if len(terms) == 2:
        return _PAPER_IDS.get(form, "latentdr")
    return _ABLATION_IDS.get((form, *terms), "latentdr")


def is_swad(config: Mapping[str, Any]) -> bool:
    """Whether a run averages its weights by SWAD, which makes it another method."""
    return section(section(config, "training"), "averaging").get("name") == "swad"


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
    name = str(model.get("name", "unknown model"))
    text = MODEL_TITLES.get(name, name)
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
