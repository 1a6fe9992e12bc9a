"""The configurations that come with medldr, from a wheel and from a checkout alike."""

from __future__ import annotations

from pathlib import Path


def packaged_configs() -> Path:
    """Folder of the packaged configurations: ``medldr/_configs``, else the checkout's ``configs``.

    A wheel holds them inside the package; an editable install and a checkout have them beside it.

    Raises:
        FileNotFoundError: If neither is there, which means a broken installation.
    """
    package = Path(__file__).resolve().parents[1]
    for folder in (package / "_configs", package.parent / "configs"):
        if folder.is_dir():
            return folder
    raise FileNotFoundError(f"the packaged configurations are absent: {package / '_configs'}")


def packaged_names(section: str | None = None) -> list[str]:
    """Names of the packaged files: ``recipe/medmnist`` ..., or those of one section alone.

    A sweep is no part of a run: sweeps are named only when their section is asked for.

    Example:
        >>> "erm" in packaged_names("algorithm"), "algorithm/erm" in packaged_names()
        (True, True)
    """
    root = packaged_configs()
    if section is not None:
        return sorted(path.stem for path in (root / section).glob("*.yaml"))
    paths = (path for path in root.glob("*/*.yaml") if path.parent.name != "sweep")
    return sorted(f"{path.parent.name}/{path.stem}" for path in paths)
