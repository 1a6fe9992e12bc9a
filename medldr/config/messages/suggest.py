"""All keys that exist, and the one that was probably meant."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, get_args, get_origin

from pydantic import BaseModel

from medldr.config.schema import RunConfig
from medldr.config.section import Plugin, Section, load_plugin_config
from medldr.config.yaml import KeyPath
from medldr.errors import InputError

# Names of the same thing in other tools; they serve suggestions only and are never accepted.
_ELSEWHERE: Final = {
    "amp": "training.precision",
    "architecture": "model.name",
    "backbone": "model.name",
    "bs": "training.batch_size",
    "checkpoint": "training.init_from",
    "data_dir": "data.root",
    "data_path": "data.root",
    "dataset": "data.name",
    "decay": "training.weight_decay",
    "epoch": "training.epochs",
    "exclude_patients": "data.exclude",
    "gpus": "machine.devices",
    "image_size": "data.size",
    "learning_rate": "training.lr",
    "learningrate": "training.lr",
    "lr_scheduler": "training.schedule",
    "max_epochs": "training.epochs",
    "max_steps": "training.steps",
    "method": "algorithm.name",
    "num_epochs": "training.epochs",
    "num_workers": "machine.workers",
    "optim": "training.optimizer",
    "patience": "training.early_stopping",
    "pretrained": "model.pretrained",
    "random_state": "seed",
    "scheduler": "training.schedule",
    "test_domains": "data.held_out",
    "test_envs": "data.held_out",
    "train_size": "data.train_fraction",
    "wd": "training.weight_decay",
}


def known_keys(values: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Every dotted key that exists with these plug-ins, with its part of the JSON Schema."""
    return dict(_keys_of(RunConfig, values, ""))


def item_keys(values: Mapping[str, Any], path: KeyPath) -> dict[str, dict[str, Any]]:
    """As `known_keys`, of the list's item that a key is inside of; empty outside of lists.

    Example:
        >>> values = {"training": {"stages": [{"name": "tau_norm", "ta": 1}]}}
        >>> list(item_keys(values, ("training", "stages", 0, "ta")))
        ['training.stages[0]', 'training.stages[0].name', 'training.stages[0].tau']
    """
    places = [place for place, step in enumerate(path[:-1]) if isinstance(step, int)]
    if not places:
        return {}
    inside = path[: places[-1] + 1]
    annotation: Any = RunConfig
    metadata: Iterable[Any] = ()
    value: Any = values
    for step in inside:
        if isinstance(step, int):
            annotation, metadata = _of_items(annotation), ()
        else:
            section = _inner_section(annotation, metadata, value)
            info = None if section is None else section.model_fields.get(step)
            if info is None:
                return {}
            annotation, metadata = info.annotation, info.metadata
        value = value[step]
    section, prefix = _inner_section(annotation, metadata, value), dotted(inside)
    if section is None:
        return {}
    stated = value if isinstance(value, dict) else {}
    return {prefix: {}, **dict(_keys_of(section, stated, f"{prefix}."))}


def dotted(path: KeyPath) -> str:
    """A key as a person writes it.

    Example:
        >>> dotted(("training", "milestones", 1))
        'training.milestones[1]'
    """
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(steps).removeprefix(".")


def nearest_key(key: str, keys: Iterable[str]) -> str | None:
    """The key that was probably meant.

    Example:
        >>> nearest_key("train.learning_rte", ["training.lr", "training.batch_size"])
        'training.lr'
        >>> nearest_key("training.opt", ["training.optimizer", "training.lr"])
        'training.optimizer'
    """
    item, inside, own = key.rpartition("].")
    if inside:  # in a list's item; what leads there is right
        item += inside
        found = nearest_key(own, [name[len(item) :] for name in keys if name.startswith(item)])
        return found and item + found
    known = list(keys)
    *sections, leaf = re.sub(r"[-\s]", "_", key.lower()).split(".")
    by_leaf: dict[str, list[str]] = {}
    for name in known:
        by_leaf.setdefault(name.rsplit(".", 1)[-1], []).append(name)
    for alias, target in _ELSEWHERE.items():
        # Items of training.stages have some keys of training.
        for name in dict.fromkeys((target, target.removeprefix("training."))):
            if name in known:
                by_leaf.setdefault(alias, []).append(name)
    near = [leaf] if leaf in by_leaf else difflib.get_close_matches(leaf, by_leaf, 1, 0.7)
    if not near:
        whole = difflib.get_close_matches(".".join([*sections, leaf]), known, 1, 0.88)
        longer = [name for name in by_leaf if len(leaf) > 2 and name.startswith(leaf)]
        if whole or len(longer) != 1:
            return whole[0] if whole else None
        near = longer
    section = ".".join(sections)

    def likeness(name: str) -> tuple[float, bool]:
        ratio = difflib.SequenceMatcher(None, section, name.rpartition(".")[0]).ratio()
        # At equal similarity prefer training, because most keys are about training.
        return ratio, name.startswith("training.")

    return max(by_leaf[near[0]], key=likeness)


def _keys_of(
    section: type[BaseModel], values: Mapping[str, Any], prefix: str
) -> Iterator[tuple[str, dict[str, Any]]]:
    schemas = section.model_json_schema(mode="validation")["properties"]
    for key, info in section.model_fields.items():
        yield prefix + key, schemas[key]
        value = values.get(key)
        inner = _inner_section(info.annotation, info.metadata, value)
        if inner is not None:
            stated = value if isinstance(value, dict) else {}
            yield from _keys_of(inner, stated, f"{prefix}{key}.")


def _inner_section(annotation: Any, metadata: Iterable[Any], value: Any) -> type[BaseModel] | None:
    """The class of a field that is a section; for a plug-in, the class of the one named."""
    for mark in [*metadata, *getattr(annotation, "__metadata__", ())]:
        if isinstance(mark, Plugin):
            name = value.get("name") if isinstance(value, dict) else value
            try:
                return load_plugin_config(mark.kind, name) if isinstance(name, str) else None
            except InputError:
                return None
    if isinstance(annotation, type) and issubclass(annotation, Section):
        return annotation
    if get_origin(annotation) is tuple:  # keys inside a list are those of `item_keys`
        return None
    options = [_inner_section(o, (), value) for o in getattr(annotation, "__args__", ())]
    sections = [found for found in options if found is not None]
    name = value.get("name") if isinstance(value, dict) else value
    return next((s for s in sections if _is_named(s, name)), next(iter(sections), None))


def _of_items(annotation: Any) -> Any:
    """What a list holds, where a field may be a list of one kind; else None."""
    for option in (annotation, *getattr(annotation, "__args__", ())):
        if get_origin(option) is tuple:
            return get_args(option)[0]
    return None


def _is_named(section: type[BaseModel], name: Any) -> bool:
    """Whether this is the section with the given name."""
    field = section.model_fields.get("name")
    return field is not None and name in get_args(field.annotation)
