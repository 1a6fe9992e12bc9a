"""`medldr doctor`: is this machine ready, and what will a run use here?"""

from __future__ import annotations

import os
from pathlib import Path

from rich.console import Console
from rich.table import Column, Table

from medldr.config import MachineConfig, TrainingConfig, packaged_configs
from medldr.errors import InputError
from medldr.folders import provenance

Check = tuple[str, bool, str]


def checks() -> list[Check]:
    """Each check as (what, whether it passed, what was found)."""
    from medldr.data.reading.roots import data_roots
    from medldr.training.machine.fabric import resolve_device, resolve_precision

    packages = [
        (package, version is not None, version or "not installed")
        for package, version in provenance.versions().items()
        if package != "medldr" or version is not None  # used from a source folder: no version
    ]
    facts = provenance.hardware()
    device = resolve_device(MachineConfig().device)
    precision = resolve_precision(TrainingConfig().precision, device)
    places = ", ".join(f"{p}{'' if p.is_dir() else ' (missing)'}" for p in data_roots(None))
    here = Path.cwd()
    writable = os.access(here, os.W_OK)
    runs = len(list((packaged_configs() / "run").glob("*.yaml")))
    return [
        *packages,
        ("processor", True, f"{facts['cpu']}, {facts['cores']} cores"),
        ("memory", True, f"{facts['memory_gib']} GiB"),
        ("accelerators", True, ", ".join(facts["gpus"]) or "none"),
        ("precision: auto", True, f"{precision} on {device}"),
        ("data folders", True, places),
        ("working folder", writable, f"{here}{'' if writable else ' is not writable: use --out'}"),
        ("packaged runs", runs > 0, str(runs)),
    ]


def print_checkup() -> int:
    """Print the checks; return 0 if all pass, else 2."""
    heads = ("mark", Column("what", style="bold"), "found")
    table = Table(*heads, box=None, pad_edge=False, show_header=False)
    try:
        rows = checks()
    except InputError as error:
        rows = [("check", False, str(error))]
    for what, fine, text in rows:
        table.add_row("ok" if fine else "[red]no[/red]", what, text)
    Console().print(table)
    return 0 if all(fine for _, fine, _ in rows) else 2
