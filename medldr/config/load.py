"""From a name, a file or a mapping, and overrides, to one checked `RunConfig`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from medldr.config.changes import Changes, change_texts
from medldr.config.layers import COMMAND_LINE, Layers, Merged
from medldr.config.messages import LISTED, explain
from medldr.config.own_pixels import take_own_pixels
from medldr.config.packaged import packaged_configs, packaged_names
from medldr.config.protocol import settle
from medldr.config.schema import RunConfig
from medldr.config.section import PLUGIN_SECTIONS, Section, excerpts
from medldr.config.yaml import Document, KeyPath, plain, read_yaml
from medldr.errors import InputError, did_you_mean, did_you_mean_beside
from medldr.plugins import takes_plugins

_OF_SWEEPS: Final = {"common", "runs", "axes"}
"""Keys of which every sweep file has one, and a run none."""


@takes_plugins
def load_config(
    source: str | Path | Mapping[str, Any], overrides: Changes = (), *, plugins: Sequence[str] = ()
) -> RunConfig:
    """Load, merge and check the configuration of a run.

    Args:
        source: A packaged name (``fracturemnist3d_erm``), a YAML file, a run folder, or a mapping
            with the content of such a file. A file that sets no label is labelled by its name and
            by the parts that overrides substitute for its sections.
        overrides: ``KEY=VALUE`` texts as on the command line, for example ``training.lr=0.01`` or
            ``algorithm=latentdr_pool``, whose values are YAML; or a dictionary of values by key.
        plugins: Packages of your own whose plug-ins may be imported.

    Returns:
        The configuration; `medldr.config.dump_config` gives it in a form that loads again.

    Raises:
        InputError: Naming every problem at once: the key, its value, its file and line (or the
            command line), what is allowed and the nearest known key.

    Example:
        >>> config = load_config("retinamnist_erm", {"algorithm": "latentdr_pool", "seed": 3})
        >>> config.label, config.algorithm.name, config.seed
        ('retinamnist_erm+latentdr_pool', 'latentdr', 3)
    """
    overrides = change_texts(overrides)
    layers, here, label = Layers(), Path.cwd(), None
    if isinstance(source, Mapping):
        layers.add_document(Document("the given mapping", dict(source)), here)
    else:
        path = find_config(source)
        layers.add_file(path)
        if "label" not in layers.in_order[-1].values:
            label = "+".join([path.stem, *_replaced_sections(overrides)])
    layers.add_overrides(overrides, here)
    merged = merge(layers)
    if label is not None and merged.where(("label",)) != COMMAND_LINE:
        merged.values["label"] = re.sub(r"[^A-Za-z0-9_.+-]+", "_", label).strip("._+-") or "run"
    config, problems = check(merged, layers)
    if config is None:
        name = "the given mapping" if isinstance(source, Mapping) else source
        raise refusal(f"the configuration {name}", problems)
    return config


def merge(layers: Layers) -> Merged:
    """The merged layers; of `training.epochs` and `training.steps`, the stronger one wins.

    Run files and members of a sweep both go through here, and then through `check`.
    """
    merged = Merged(layers.in_order)
    training = merged.values.get("training")
    if isinstance(training, dict) and None not in (training.get("epochs"), training.get("steps")):
        order = [id(layer) for layer in layers.in_order]
        epochs, steps = (
            order.index(id(merged.origin(("training", key)))) for key in ("epochs", "steps")
        )
        if epochs != steps:
            training["epochs" if epochs < steps else "steps"] = None
    return merged


def check(merged: Merged, layers: Layers) -> tuple[RunConfig | None, list[str]]:
    """The checked configuration, or what is wrong with it.

    Args:
        merged: The merged layers; the caller may have set further values in it.
        layers: The layers, with the problems found while they were read.

    Returns:
        The configuration with its protocol settled, its paths absolute and the pixels that its
        network was trained with, and no problems; or None and the problems, one line each.
    """
    if "torch" not in sys.modules:  # report a mistake before spending seconds on the import
        with excerpts():
            _, problems = _validated(merged)
        if problems:
            return None, [*layers.problems, *problems]
    config, problems = _validated(merged)
    if config is None:
        return None, [*layers.problems, *problems]
    if layers.problems:
        return None, list(layers.problems)
    settled = settle(config, layers.in_order, merged.values)
    finished = _finished(settled, merged.values, (), merged)
    return take_own_pixels(finished, merged.values), []


def _validated(merged: Merged) -> tuple[RunConfig | None, list[str]]:
    try:
        return RunConfig.model_validate(merged.values), []
    except ValidationError as error:
        return None, explain(error, merged)


def refusal(what: str, problems: Sequence[str]) -> InputError:
    """One error that lists all problems.

    Example:
        >>> print(refusal("the sweep mine", ["seeds: is empty"]))
        1 problem in the sweep mine:
          seeds: is empty
    """
    count = f"{len(problems)} problems" if len(problems) > 1 else "1 problem"
    more = [f"and {len(problems) - LISTED:,} more"] if len(problems) > LISTED else []
    return InputError("\n  ".join([f"{count} in {what}:", *problems[:LISTED], *more]))


def load_part(section: str, name: str) -> dict[str, Any]:
    """The values of a packaged part, for example ``load_part("data", "octmnist")``.

    Raises:
        InputError: If there is no such part.
    """
    if name not in packaged_names(section):
        near = did_you_mean(name, packaged_names(section))
        raise InputError(f"there is no part {section}/{name}.{near} `medldr list` lists them")
    layers = Layers()
    layers.add_file(packaged_configs() / section / f"{name}.yaml", f"{section}/{name}")
    return Merged(layers.in_order).values


def find_config(source: str | Path) -> Path:
    """The file that a packaged name, a path or a run folder refers to.

    Raises:
        InputError: If the file does not exist, with the nearest packaged name.
    """
    runs = packaged_names("run")
    if isinstance(source, str) and source in runs:
        return packaged_configs() / "run" / f"{source}.yaml"
    if is_sweep(source):
        raise InputError(
            f"{source} is a sweep of several runs, not one: `medldr sweep {source}` starts them, "
            f"and `medldr train {source} --run NAME` one of them"
        )
    path = Path(source).expanduser()
    if path.is_dir() and (path / "config.yaml").is_file():
        return path / "config.yaml"
    if path.suffix in (".csv", ".tsv", ".xlsx") and path.is_file():
        raise InputError(
            f"{source} is a table, not a configuration: `medldr new {source}` writes a study of it"
        )
    if path.is_file():
        return path
    if path.is_dir():
        raise InputError(
            f"{source} is a folder, and no run folder with a config.yaml: name a run's, or a "
            "configuration"
        )
    raise InputError(
        f"there is no file {source}, no run folder with a config.yaml and no packaged "
        f"configuration of that name.{did_you_mean_beside(path, runs)} `medldr list` lists them"
    )


def is_sweep(source: str | Path) -> bool:
    """Whether this is a packaged sweep, or the file of one, such as `medldr new` writes."""
    path = Path(source).expanduser()
    if path.suffix in (".yaml", ".yml") and path.is_file():
        return bool(_OF_SWEEPS & set(read_yaml(path).values))
    return source in packaged_names("sweep")


def _replaced_sections(overrides: Sequence[str]) -> list[str]:
    """Bare words that replace whole sections, making it another method, data set or network."""
    pairs = [map(str.strip, text.partition("=")[::2]) for text in overrides]
    return [
        word
        for section, word in pairs
        if section in PLUGIN_SECTIONS and re.fullmatch(r"[\w.]+", word)
    ]


def _finished(value: Any, raw: Any, path: KeyPath, merged: Merged) -> Any:
    """A checked value with its relative paths made absolute and its numbers plain."""
    if isinstance(value, Section):
        changed = {}
        for key in type(value).model_fields:
            old = getattr(value, key)
            new = _finished(old, _item(raw, key), (*path, key), merged)
            if new is not old:
                changed[key] = new
        return value.model_copy(update=changed) if changed else value
    if isinstance(value, Path):
        origin = merged.origin(path)
        if raw is None or origin is None:
            return value
        return Path(os.path.abspath(origin.folder / value.expanduser()))
    if isinstance(value, (tuple, list)):
        items = enumerate(value)
        return type(value)([_finished(v, _item(raw, i), (*path, i), merged) for i, v in items])
    return plain(value)


def _item(raw: Any, key: str | int) -> Any:
    """What was written for a key, or at a position of a list."""
    if isinstance(raw, Mapping):
        return raw.get(key)
    return raw[key] if isinstance(raw, list) and isinstance(key, int) and key < len(raw) else None
