"""The configurations that come with medldr, in a wheel as well as in a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

_OF_SWEEPS: Final = ("search", "sweep")


def packaged_configs() -> Path:
    """Folder of the packaged configurations: ``medldr/_configs``, else the checkout's ``configs``.

    A wheel has them inside the package; an editable install and a checkout have them next to it.

    Raises:
        FileNotFoundError: If neither exists, which means a broken installation.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_configs", package.parent / "configs"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the packaged configurations are missing: {package / '_configs'}")


def packaged_schema() -> Path:
    """The JSON Schema of all configurations, written by `medldr.config.editor_schema`.

    Building it takes seconds, because every plug-in has to be imported.
    """
    return packaged_configs() / "schema.json"


def packaged_names(section: str | None = None) -> list[str]:
    """Names of the packaged files: ``recipe/medmnist`` ..., or those of one section only.

    A sweep is not part of a run, nor is what it draws from (`search`): these are listed only when
    their section is asked for.

    Example:
        >>> "erm" in packaged_names("algorithm"), "algorithm/erm" in packaged_names()
        (True, True)
    """
    return list(_listed(packaged_configs(), section))


@cache
def _listed(root: Path, section: str | None) -> tuple[str, ...]:
    if section is not None:
        return tuple(sorted(path.stem for path in (root / section).glob("*.yaml")))
    paths = (path for path in root.glob("*/*.yaml") if path.parent.name not in _OF_SWEEPS)
    return tuple(sorted(f"{path.parent.name}/{path.stem}" for path in paths))
