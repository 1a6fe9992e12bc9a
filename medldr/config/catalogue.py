"""The names a configuration can use: plug-ins, packaged runs and sweeps, with one line each."""

from __future__ import annotations

from medldr import plugins
from medldr.config.packaged import packaged_configs, packaged_names
from medldr.config.section import PLUGIN_SECTIONS


def settings(section: str) -> dict[str, str]:
    """Packaged files of a folder, such as ``run``, and the first comment line of each."""
    found = {}
    for path in sorted((packaged_configs() / section).glob("*.yaml")):
        first = path.read_text(encoding="utf-8").splitlines()[0]
        found[path.stem] = first.lstrip("# ").strip() if first.startswith("#") else ""
    return found


def entries(kind: str) -> dict[str, str]:
    """Packaged runs, sweeps or parts; or what ``section=NAME`` takes: plug-ins and settings.

    Example:
        >>> {"latentdr", "latentdr_sa"} <= set(entries("algorithms"))
        True
    """
    if kind in ("runs", "sweeps"):
        return settings(kind.removesuffix("s"))
    if kind == "parts":
        folders = dict.fromkeys(name.partition("/")[0] for name in packaged_names())
        return {f"{f}/{name}": text for f in folders for name, text in settings(f).items()}
    found = {}
    for section, plugin in PLUGIN_SECTIONS.items():
        if plugin == kind:
            found = settings(section)
    known: plugins.Kind = kind  # type: ignore[assignment]
    own = {name: plugins.summary(known, name) for name in plugins.names(known)}
    return dict(sorted({**own, **found}.items()))


def list_algorithms() -> dict[str, str]:
    """What ``algorithm`` can be, with a line on each: methods, and settings of them.

    Example:
        >>> list_algorithms()["erm"]
        'ERM: plain training, the baseline of every table.'
    """
    return entries("algorithms")


def list_models() -> dict[str, str]:
    """What ``model`` can be, with a line on each: networks, and settings of them."""
    return entries("models")


def list_datasets() -> dict[str, str]:
    """What ``data`` can be, with a line on each: kinds of data sets, and data sets by name."""
    return entries("datasets")
