"""Titles of methods, networks and augmentations, and the ids of their published numbers.

Each plug-in states its own title and ids (see `medldr.plugins`), and a packaged part of a
configuration its title, in a comment ``# Title: ...``; all of it is read without importing a
plug-in. Whatever has no title is printed by name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from medldr import plugins
from medldr.config.packaged import packaged_configs
from medldr.config.sections import MODIFIED, SWAD_TITLES, later_stages, section, swad_form

Config = Mapping[str, Any]

ADDED: Final = {
    **SWAD_TITLES,
    "crt": "cRT",
    "balms_stage": "BALMS' second stage",
    "tau_norm": "tau-normalised",
    "retrain_all": "retrained on all images",
}
"""Titles of what changes the weights after the method, by its part of an id."""
_RETRAINED: Final = {"erm": "crt", "balms": "balms_stage"}
_BATCHES: Final = {
    "shuffle": "plain batches",
    "weighted": "class-balanced batches",
    "domains": "batches by domain",
}
_PLAIN_LOSSES: Final = ("cross_entropy", "binary_cross_entropy")
_TITLE_LINE: Final = re.compile(r"^# Title: (.+)$", re.MULTILINE)


def model_title(name: str) -> str:
    """Title of a network.

    Example:
        >>> model_title("resnet18"), model_title("timm")
        ('ResNet-18', 'timm')
    """
    return _title("models", name)


def _title(kind: plugins.Kind, name: str) -> str:
    return str(plugins.facts(kind, name).get("TITLE", name))


def method_title(config: Config) -> str:
    """Title of the method, as a paper would name it.

    ERM with a loss of its own goes by the loss, and methods on top of it are "on" that loss.

    Example:
        >>> method_title({"algorithm": {"name": "latentdr", "degrade": "pool"}})
        'LatentDR (Pool)'
        >>> method_title({"algorithm": {"name": "mixup", "loss": "balanced_softmax"}})
        'Mixup on Balanced Softmax'
    """
    title = _algorithm_title(section(config, "algorithm")) + ("-DRW" if _deferred(config) else "")
    return " + ".join([title, *(words for _, words in _added(config))])


def _deferred(config: Config) -> bool:
    """Whether class weights come in late (deferred re-weighting), which makes another method."""
    training = section(config, "training")
    start = section(training, "class_weights").get("start")
    length = training.get("steps") or training.get("epochs")
    return bool(start) and (length is None or start < length)


def _added(config: Config) -> list[tuple[str, str]]:
    """What changes the weights that the method has trained: parts of its id and of its title."""
    averaged = swad_form(config)
    averaging = [(averaged, ADDED[averaged])] if averaged else []
    first = section(config, "algorithm")
    return averaging + [_stage(stage, first) for stage in later_stages(config)]


def _stage(stage: Config, first: Config) -> tuple[str, str]:
    """A later stage's part of the id and of the title.

    cRT and BALMS' second stage train a new classifier on class-balanced batches, cRT with plain
    cross-entropy; any other way to train the classifier is named by what it does.

    Args:
        stage: The stage.
        first: The method of the whole network, whose loss the stage has unless it says otherwise.
    """
    name = str(stage.get("name"))
    if name != "retrain_head":
        return name, ADDED.get(name, name)
    algorithm = section(stage, "algorithm") or _erm_with_loss_of(first)
    by, sampler = _algorithm_id(algorithm), str(stage.get("sampler") or "weighted")
    new = bool(stage.get("restart", True))
    part = _RETRAINED.get(by) if new and sampler == "weighted" else None
    if part is not None:
        return part, ADDED[part]
    words, title = ["head", sampler], "classifier retrained"
    if not new:
        words, title = [*words, "further"], "classifier trained further"
    if by != "erm":
        words, title = [*words, by.replace("+", "_")], f"{title} by {_algorithm_title(algorithm)}"
    return "_".join(words), f"{title} ({_BATCHES.get(sampler, sampler)})"


def method_id(config: Config) -> str:
    """The id of this method in published numbers.

    ERM with a loss of its own has the loss's name as id, and ``_drw`` at its end if class weights
    come in late. The id of a method on a base or on such a loss names both, as in
    ``latentdr_sa+balanced_softmax``; a loss whose keys differ from the published ones names these
    too, as in ``logit_adjusted_tau_2``. It ends in ``+swad`` if weights are averaged as SWAD's code
    does, in ``+swad_once``, which has no published numbers, if each segment counts once; and in
    what later stages do: ``+crt``, ``+balms_stage``, ``+tau_norm``, ``+retrain_all``, or such as
    ``+head_shuffle_further``, which has no published numbers.

    A form without its own published numbers has the name of its algorithm as id, unless that is the
    id of another form: then its module lists it under ``FORMS``.

    Example:
        >>> method_id({"algorithm": {"name": "latentdr", "degrade": "pool"}})
        'latentdr_pool'
        >>> averaged = {"averaging": {"name": "swad", "compat": True}}
        >>> method_id({"algorithm": {"name": "coral"}, "training": averaged})
        'coral+swad'
    """
    method = _algorithm_id(section(config, "algorithm")) + ("_drw" if _deferred(config) else "")
    return "+".join([method, *(part for part, _ in _added(config))])


def _algorithm_title(algorithm: Config) -> str:
    """Title of a section ``algorithm``: a method on its base, or on a loss of its own.

    Example:
        >>> _algorithm_title({"name": "bcl", "loss": {"name": "logit_adjusted", "tau": 2.0}})
        'BCL on Logit adjustment (tau 2)'
    """
    name = str(algorithm.get("name", "unknown method"))
    loss, base = _own_loss(algorithm), section(algorithm, "base")
    if name == "erm" and loss:
        return _loss_title(loss)
    title = _title("algorithms", name)
    for key, words in plugins.facts("algorithms", name).get("TITLE_BY", {}).items():
        value = algorithm.get(key)
        title += f" ({words.get(value, value)})" if value else ""
    below = _algorithm_title(base) if base else _loss_title(loss) if loss else ""
    return f"{title} on {below}" if below else title


def _algorithm_id(algorithm: Config) -> str:
    """Id of a section ``algorithm``, likewise.

    Example:
        >>> _algorithm_id({"name": "bcl", "loss": {"name": "logit_adjusted", "tau": 2.0}})
        'bcl+logit_adjusted_tau_2'
    """
    name = str(algorithm.get("name", ""))
    loss, base = _own_loss(algorithm), section(algorithm, "base")
    if name == "erm" and loss:
        return _loss_id(loss)
    facts = plugins.facts("algorithms", name)
    plain = facts.get("PLAIN", {})
    for form in facts.get("FORMS", ()):
        when = {**plain, **form["when"]}
        if all(_same(algorithm.get(key), when[key], plain.get(key)) for key in when):
            name = form["id"]
    below = _algorithm_id(base) if base else _loss_id(loss) if loss else ""
    return f"{name}+{below}" if below and below != "erm" else name


def _own_loss(algorithm: Config) -> Config:
    """The loss that names a method; empty for those of the task and of the method itself."""
    loss = section(algorithm, "loss")
    usual = ("", *_PLAIN_LOSSES, _usual_loss(algorithm))
    return {} if loss.get("name", "") in usual and not _changed(loss) else loss


def _usual_loss(algorithm: Config) -> Any:
    """Name of the loss that a method has unless its section says otherwise; None: the task's."""
    return plugins.facts("algorithms", str(algorithm.get("name", ""))).get("PLAIN", {}).get("loss")


def _erm_with_loss_of(algorithm: Config) -> Config:
    """ERM with the classification loss that a method, or what it stands on, uses.

    Example:
        >>> _erm_with_loss_of({"name": "latentdr", "base": {"name": "bcl"}})
        {'name': 'erm', 'loss': {'name': 'logit_adjusted'}}
    """
    base = section(algorithm, "base")
    if base:
        return _erm_with_loss_of(base)
    usual = _usual_loss(algorithm)
    return {"name": "erm", "loss": section(algorithm, "loss") or ({"name": usual} if usual else {})}


def _changed(loss: Config) -> dict[str, Any]:
    """Keys of a loss that have other values than the published ones."""
    published = plugins.facts("losses", str(loss.get("name", ""))).get("PUBLISHED", {})
    return {key: loss[key] for key, value in published.items() if loss.get(key, value) != value}


def _loss_title(loss: Config) -> str:
    changed = ", ".join(f"{key} {value:.12g}" for key, value in _changed(loss).items())
    return _title("losses", str(loss["name"])) + (f" ({changed})" if changed else "")


def _loss_id(loss: Config) -> str:
    changed = (f"{key}_{value:.12g}" for key, value in _changed(loss).items())
    return "_".join([str(loss["name"]), *changed])


def _same(value: Any, wanted: Any, default: Any) -> bool:
    """Whether a setting is the wanted one; the order of a list does not matter."""
    value = default if value is None or value in ([], ()) else value
    if isinstance(value, list | tuple) and isinstance(wanted, list | tuple):
        return set(value) == set(wanted)
    return bool(value == wanted)


@cache
def row_titles() -> Mapping[str, str]:
    """Titles of possible rows of a sweep: algorithms and their packaged parts.

    The id of a published method is the name of the matching part, so these are the titles of
    published methods too.

    Example:
        >>> row_titles()["erm"], row_titles()["erm_half_lr"]
        ('ERM', 'ERM, half the rate')
    """
    facts = {name: plugins.facts("algorithms", name) for name in plugins.names("algorithms")}
    titles = {name: str(stated["TITLE"]) for name, stated in facts.items() if "TITLE" in stated}
    for path in sorted((packaged_configs() / "algorithm").glob("*.yaml")):
        line = _TITLE_LINE.search(path.read_text(encoding="utf-8"))
        if line is not None:
            titles[path.stem] = line[1].strip()
    return titles


def id_title(method: str) -> str:
    """Title of a method's id; of an unknown one the id itself.

    Example:
        >>> id_title("latentdr_sa+balanced_softmax"), id_title("coral+swad")
        ('LatentDR (SA) on Balanced Softmax', 'CORAL + SWAD')
    """
    first, *parts = method.split("+")
    algorithms = [first, *(part for part in parts if part not in ADDED)]
    title = " on ".join(row_titles().get(name, name) for name in algorithms)
    return " + ".join([title, *(ADDED[part] for part in parts if part in ADDED)])


def augmentation_id(config: Config) -> str:
    """The augmentation, which tables must distinguish; empty if a preset has no such notion.

    Settings other than the published ones make a different augmentation without any published
    result: its id ends in ``+modified``. Protocols pin none of these settings, because each applies
    to one kind of augmentation only.

    Args:
        config: A run's, as plain values; a missing key has its published value.

    Example:
        >>> augmentation_id({"transform": {"name": "camelyon17", "targeted": True}})
        'targeted'
        >>> augmentation_id({"transform": {"name": "stain_jitter", "sigma": 0.2}})
        'targeted+modified'
        >>> [augmentation_id({"transform": t}) for t in ("camelyon17", "rand_augment", "medmnist")]
        ['none', 'generic', '']
    """
    transform = section(config, "transform")
    published = _augmentation(str(transform.get("name")))
    if not published:
        return ""
    if "same_as" in published:
        if not transform.get(published["where"]):
            return "none"
        published = _augmentation(published["same_as"])
    stated = {key: transform.get(key, value) for key, value in published["published"].items()}
    plain = {k: list(value) if isinstance(value, tuple) else value for k, value in stated.items()}
    changed = plain != published["published"]
    return f"{published['id']}{MODIFIED}" if changed else str(published["id"])


def augmentation_title(augmentation: str) -> str:
    """Title of an augmentation id.

    Example:
        >>> augmentation_title("targeted+modified")
        'targeted (stain jitter), settings differ from the published ones'
    """
    kind = augmentation.removesuffix(MODIFIED)
    changed = ", settings differ from the published ones" if kind != augmentation else ""
    published = map(_augmentation, plugins.names("transforms"))
    return next((str(one["title"]) for one in published if one.get("id") == kind), kind) + changed


def _augmentation(transform: str) -> Mapping[str, Any]:
    """What a preset states about the published augmentation that it implements."""
    stated: Mapping[str, Any] = plugins.facts("transforms", transform).get("AUGMENTATION", {})
    return stated
