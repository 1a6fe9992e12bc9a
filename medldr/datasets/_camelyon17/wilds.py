"""The `wilds` package, imported without its version check and only where it is needed.

Importing `wilds` starts a thread that asks the network for the newest version, through the package
`outdated`. Here that package is hidden while `wilds` is imported, a case `wilds` handles.
Neither torch_scatter nor torch_geometric is needed for what is used of it.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from medldr.errors import InputError


def installed() -> bool:
    """Whether `wilds` can be found, without importing it."""
    try:
        return importlib.util.find_spec("wilds") is not None
    except ValueError:  # sys.modules says that it is not to be found
        return False


def require_wilds() -> None:
    """Refuse to continue without the package.

    Raises:
        InputError: Naming it and how to install it.
    """
    if not installed():
        raise InputError(
            "the dataset camelyon17 needs the package 'wilds', which is not installed. Install "
            "it with: pip install wilds. Every other dataset works without it"
        )


def wilds_class(module: str, name: str) -> Any:
    """A class of `wilds`, for example ``("datasets.camelyon17_dataset", "Camelyon17Dataset")``.

    Raises:
        InputError: If `wilds`, or a package that it needs, is not installed.
    """
    require_wilds()
    try:
        with _without_version_check():
            return getattr(importlib.import_module(f"wilds.{module}"), name)
    except ImportError as error:
        raise InputError(
            f"the package 'wilds' cannot be imported: {error}. Install what it needs with: "
            "pip install wilds"
        ) from error


def open_camelyon17(folder: Path, split_scheme: str) -> Any:
    """`wilds`' own reading of a Camelyon17 folder: labels, splits, metadata and paths.

    The folder is used as it is, whatever its name and with or without its RELEASE file; `wilds`
    neither downloads nor prints anything.
    """
    original = wilds_class("datasets.camelyon17_dataset", "Camelyon17Dataset")
    here = {"initialize_data_dir": lambda self, root_dir, download: str(folder)}
    placed = type(original.__name__, (original,), here)
    with warnings.catch_warnings():
        # pandas hands out read-only columns, of which torch warns; nobody writes to them.
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        return placed(root_dir=str(folder.parent), split_scheme=split_scheme)


def published_archive() -> tuple[str, int]:
    """Address and size in bytes of the newest archive that `wilds` knows of Camelyon17."""
    versions = wilds_class("datasets.camelyon17_dataset", "Camelyon17Dataset")._versions_dict
    newest = versions[max(versions, key=lambda text: [int(n) for n in text.split(".")])]
    return str(newest["download_url"]), int(newest["compressed_size"])


@contextlib.contextmanager
def _without_version_check() -> Iterator[None]:
    absent = object()
    before = sys.modules.get("outdated", absent)
    setting = os.environ.get("OUTDATED_IGNORE")  # which wilds sets when it is imported
    sys.modules["outdated"] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        if before is absent:
            del sys.modules["outdated"]
        else:
            sys.modules["outdated"] = before  # type: ignore[assignment]
        if setting is None:
            os.environ.pop("OUTDATED_IGNORE", None)
