"""`medldr doctor`: is this machine ready, and what will a run use here?"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rich.table import Column, Table

from medldr.config import packaged_configs
from medldr.config.automatic import resolve_device, resolve_precision
from medldr.console import Console
from medldr.errors import InputError
from medldr.folders import provenance

Check = tuple[str, bool, str]

_DRIVERS: Final = ("/dev/nvidiactl", "/dev/kfd", "/dev/dxg")
"""What a driver of NVIDIA or AMD makes on Linux, and under WSL."""
_EXTRA: Final = re.compile(r"""^([\w.-]+).*extra == ['"](\w+)['"]""")
_LOW_GB: Final = 5


def checks() -> Iterator[Check]:
    """Each check as (what, whether it passed, what was found)."""
    from medldr.data.files.memory import cache_folder
    from medldr.data.reading.roots import data_roots

    for package, version in provenance.versions().items():
        if package != "medldr" or version is not None:  # used from a source folder: no version
            yield package, version is not None, version or "not installed"
    yield "extras not installed", True, ", ".join(missing_extras()) or "none"
    facts = provenance.processor()
    yield "processor", True, f"{facts['cpu']}, {facts['cores']} cores"
    yield "memory", True, f"{facts['memory_gib']} GiB"
    device = "cpu"
    if sys.platform != "linux" or any(Path(driver).exists() for driver in _DRIVERS):
        device, gpus = resolve_device("auto"), provenance.hardware()["gpus"]
        unseen = "a driver is there, but torch sees no device: is it built for this driver?"
        idle = sys.platform == "linux" and device == "cpu"
        yield "accelerators", not idle, unseen if idle else ", ".join(gpus) or device
    else:
        yield "accelerators", True, "none"
    yield "precision: auto", True, f"{resolve_precision('auto', device)} on {device}"
    places = ", ".join(f"{p}{'' if p.is_dir() else ' (missing)'}" for p in data_roots(None))
    yield "data folders", True, places
    here, cache = Path.cwd(), cache_folder("scans")
    writable = os.access(here, os.W_OK)
    yield "working folder", writable, f"{here}{'' if writable else ' is not writable: use --out'}"
    yield _space("disk", here)
    if cache is None:
        yield "cache", True, "nowhere to keep scans read before: name a folder in MEDLDR_CACHE"
    else:
        used = sum(path.stat().st_size for path in cache.parent.rglob("*") if path.is_file())
        what, fine, free = _space("cache", cache.parent)
        yield what, fine, f"{cache.parent}, {used / 1e9:.1f} GB used; {free}"
    runs = len(list((packaged_configs() / "run").glob("*.yaml")))
    yield "packaged runs", runs > 0, str(runs)


def missing_extras() -> list[str]:
    """Extras of which a package is absent, with the command that installs them.

    Those for developers are left out.
    """
    try:
        needs = importlib.metadata.requires("medldr") or ()
    except importlib.metadata.PackageNotFoundError:  # used from a source folder
        return []
    extras = [match.groups() for match in map(_EXTRA.match, needs) if match]
    lacking = {extra for package, extra in extras if not provenance.installed_version(package)}
    return [f"pip install 'medldr[{extra}]'" for extra in sorted(lacking - {"test", "docs"})]


def _space(what: str, folder: Path) -> Check:
    free = shutil.disk_usage(folder).free / 1e9
    low = "" if free >= _LOW_GB else ": too little for checkpoints and stored scans"
    return what, not low, f"{free:.0f} GB free{low}"


def print_checkup() -> int:
    """Print the checks; return 0 if all pass, else 2."""
    heads = ("mark", Column("what", style="bold"), "found")
    table = Table(*heads, box=None, pad_edge=False, show_header=False)
    try:
        rows = list(checks())
    except InputError as error:
        rows = [("check", False, str(error))]
    for what, fine, text in rows:
        table.add_row("ok" if fine else "[red]no[/red]", what, text)
    Console().print(table)
    return 0 if all(fine for _, fine, _ in rows) else 2
