"""`medldr doctor`: is this machine ready, and what will a run use here?"""

from __future__ import annotations

import os
from pathlib import Path

from rich.console import Console
from rich.table import Table

from medldr.config import MachineConfig, TrainingConfig, packaged_configs
from medldr.errors import InputError
from medldr.folders import provenance

Check = tuple[str, bool, str]


def checks() -> list[Check]:
    """Each check as (what, whether it passed, what was found)."""
    found: list[Check] = []
    for package, version in provenance.versions().items():
        if package == "medldr" and version is None:
            continue  # used from a source folder without installation
        found.append((package, version is not None, version or "not installed"))
    facts = provenance.hardware()
    found.append(("processor", True, f"{facts['cpu']}, {facts['cores']} cores"))
    found.append(("memory", True, f"{facts['memory_gib']} GiB"))
    found.append(("accelerators", True, ", ".join(facts["gpus"]) or "none"))
    found.append(_precision())
    found.append(_data_root())
    found.append(_writable())
    count = len(list((packaged_configs() / "run").glob("*.yaml")))
    found.append(("packaged runs", count > 0, str(count)))
    return found


def _precision() -> Check:
    from medldr.training.machine.fabric import resolve_device, resolve_precision

    device = resolve_device(MachineConfig().device)
    precision = resolve_precision(TrainingConfig().precision, device)
    return ("precision: auto", True, f"{precision} on {device}")


def _data_root() -> Check:
    from medldr.data.reading.roots import data_roots

    places = ", ".join(f"{p}{'' if p.is_dir() else ' (missing)'}" for p in data_roots(None))
    return ("data folders", True, places)


def _writable() -> Check:
    here = Path.cwd()
    fine = os.access(here, os.W_OK)
    return ("working folder", fine, f"{here}{'' if fine else ' is not writable: use --out'}")


def print_checkup() -> int:
    """Print the checks; return 0 if all pass, else 2."""
    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column("mark")
    table.add_column("what", style="bold")
    table.add_column("found")
    try:
        rows = checks()
    except InputError as error:
        rows = [("check", False, str(error))]
    for what, fine, text in rows:
        table.add_row("ok" if fine else "[red]no[/red]", what, text)
    Console().print(table)
    return 0 if all(fine for _, fine, _ in rows) else 2
