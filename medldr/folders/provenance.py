"""What ran: versions, code state, hardware, command and times, for `run.json`.

Environment variables are not recorded.
"""

from __future__ import annotations

import datetime
import functools
import importlib.metadata
import os
import platform
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PACKAGES = (
    "medldr",
    "torch",
    "torchvision",
    "monai",
    "ACSConv",
    "medmnist",
    "nibabel",
    "pydicom",
    "SimpleITK",
    "tifffile",
    "Pillow",
    "lightning-fabric",
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "safetensors",
)
NUMERIC = ("medldr", "numpy", "scipy", "scikit-learn")
"""Those with which scores beyond the point values may change."""


def collect() -> dict[str, Any]:
    """Everything about this process and machine that readers of a result may ask about."""
    return {
        "command": [Path(sys.argv[0]).name, *sys.argv[1:]] if sys.argv else [],
        "python": platform.python_version(),
        "platform": platform.platform(),
        "packages": versions(),
        "git": git_state(Path(__file__).parents[1]),
        "hardware": hardware(),
    }


def versions() -> dict[str, str | None]:
    """Installed version of each package that can affect the results."""
    return {name: installed_version(name) for name in PACKAGES}


@functools.cache
def scoring() -> Mapping[str, str | None]:
    """What computes scores here: versions and ``git``, as `scored_with` of `run.json` has them.

    Example:
        >>> list(scoring())
        ['medldr', 'numpy', 'scipy', 'scikit-learn', 'git']
    """
    packages, git = versions(), git_state(Path(__file__).parents[1])
    commit = None if git is None else git.get("commit")
    state = f"{commit}, changed" if git is not None and git.get("changed") else commit
    return {**{name: packages.get(name) for name in NUMERIC}, "git": state}


@functools.cache  # finding one searches every folder of sys.path
def installed_version(package: str) -> str | None:
    """Version of a package; None where it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


@functools.cache  # the code of a process stays as it was loaded
def git_state(folder: Path) -> dict[str, Any] | None:
    """Commit of the code and whether it has changed since; None outside a checkout."""

    def git(*words: str) -> str | None:
        try:
            done = subprocess.run(  # fixed words, no shell
                ["git", "-C", str(folder), *words],
                capture_output=True,
                text=True,
                timeout=10,
                check=False,
                env={**os.environ, "GIT_OPTIONAL_LOCKS": "0"},  # writes nothing
            )
        except (OSError, subprocess.TimeoutExpired):
            return None
        return done.stdout.strip() if done.returncode == 0 else None

    # An installed copy may be inside someone else's checkout, which says nothing about our code.
    if git("ls-files", "--error-unmatch", "folders/provenance.py") is None:
        return None
    commit = git("rev-parse", "HEAD")
    return {"commit": commit, "changed": bool(git("status", "--porcelain", "--", "."))}


def hardware() -> dict[str, Any]:
    """Processor, cores, memory and accelerators."""
    import torch

    gpus = [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())]
    return {**processor(), "gpus": gpus, "cuda": torch.version.cuda if gpus else None}


def processor() -> dict[str, Any]:
    """Processor, cores and memory."""
    return {"cpu": _cpu_name(), "cores": os.cpu_count(), "memory_gib": _memory_gib()}


def _cpu_name() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _memory_gib() -> float | None:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return None
    return round(total / 2**30, 1)


def cores() -> int:
    """Number of processor cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def now() -> str:
    """The current time in UTC, to the second, in ISO format."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
