"""Title and id of what a section ``algorithm`` asks for: a method, its loss and its base."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from medldr import plugins
from medldr.config.sections import section

Config = Mapping[str, Any]

_PLAIN_LOSSES: Final = ("cross_entropy", "binary_cross_entropy")


def algorithm_title(name: str) -> str:
    """Title of an algorithm.

    Example:
        >>> algorithm_title("coral"), algorithm_title("mylab.methods.foo")
        ('CORAL', 'mylab.methods.foo')
    """
    return str(plugins.facts("algorithms", name).get("TITLE", name))


def loss_title(name: str) -> str:
    """Title of a classification loss.

    Example:
        >>> loss_title("balanced_softmax"), loss_title("mylab.losses.foo")
        ('Balanced Softmax', 'mylab.losses.foo')
    """
    return str(plugins.facts("losses", name).get("TITLE", name))


def title_of(algorithm: Config) -> str:
    """Title of a section ``algorithm``; see `medldr.config.method.method_title`.

    Example:
        >>> title_of({"name": "bcl", "loss": {"name": "logit_adjusted", "tau": 2.0}})
        'BCL on Logit adjustment (tau 2)'
    """
    name = str(algorithm.get("name", "unknown method"))
    loss, base = _own_loss(algorithm), section(algorithm, "base")
    if name == "erm" and loss:
        return _loss_title(loss)
    title = algorithm_title(name)
    for key, words in plugins.facts("algorithms", name).get("TITLE_BY", {}).items():
        value = algorithm.get(key)
        title += f" ({words.get(value, value)})" if value else ""
    below = title_of(base) if base else _loss_title(loss) if loss else ""
    return f"{title} on {below}" if below else title


def id_of(algorithm: Config) -> str:
    """Id of a section ``algorithm``; see `medldr.config.method.method_id`.

    Example:
        >>> id_of({"name": "bcl", "loss": {"name": "logit_adjusted", "tau": 2.0}})
        'bcl+logit_adjusted_tau_2'
    """
    name = str(algorithm.get("name", ""))
    loss, base = _own_loss(algorithm), section(algorithm, "base")
    if name == "erm" and loss:
        return _loss_id(loss)
    known = plugins.facts("algorithms", name)
    plain = known.get("PLAIN", {})
    found = name
    for form in known.get("FORMS", ()):
        wanted = {**plain, **form["when"]}
        if all(_same(algorithm.get(key), wanted[key], plain.get(key)) for key in wanted):
            found = form["id"]
    below = id_of(base) if base else _loss_id(loss) if loss else ""
    return f"{found}+{below}" if below and below != "erm" else found


def erm_with_loss_of(algorithm: Config) -> Config:
    """ERM with the classification loss that a method, or what it stands on, uses.

    Example:
        >>> erm_with_loss_of({"name": "latentdr", "base": {"name": "bcl"}})
        {'name': 'erm', 'loss': {'name': 'logit_adjusted'}}
    """
    base = section(algorithm, "base")
    if base:
        return erm_with_loss_of(base)
    plain = plugins.facts("algorithms", str(algorithm.get("name", ""))).get("PLAIN", {})
    usual = {"name": plain["loss"]} if "loss" in plain else {}
    return {"name": "erm", "loss": section(algorithm, "loss") or usual}


def _own_loss(algorithm: Config) -> Config:
    """The loss that names a method; empty for those of the task and of the method itself."""
    loss = section(algorithm, "loss")
    plain = plugins.facts("algorithms", str(algorithm.get("name", ""))).get("PLAIN", {})
    usual = loss.get("name", "") in ("", *_PLAIN_LOSSES, plain.get("loss"))
    return {} if usual and not _changed(loss) else loss


def _changed(loss: Config) -> dict[str, Any]:
    """Keys of a loss that have other values than the published ones."""
    published = plugins.facts("losses", str(loss.get("name", ""))).get("PUBLISHED", {})
    return {key: loss[key] for key, said in published.items() if loss.get(key, said) != said}


def _loss_title(loss: Config) -> str:
    changed = ", ".join(f"{key} {value:.12g}" for key, value in _changed(loss).items())
    return loss_title(str(loss["name"])) + (f" ({changed})" if changed else "")


def _loss_id(loss: Config) -> str:
    changed = (f"{key}_{value:.12g}" for key, value in _changed(loss).items())
    return "_".join([str(loss["name"]), *changed])


def _same(value: Any, wanted: Any, default: Any) -> bool:
    """Whether a setting is the wanted one; the order of a list does not matter."""
    if value is None or value in ([], ()):
        value = default
    if isinstance(value, list | tuple) and isinstance(wanted, list | tuple):
        return set(value) == set(wanted)
    return bool(value == wanted)
