"""Whether the data of a sweep's finished runs is still what they were trained on."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from medldr.data.same_data import CURE, DataComparer
from medldr.errors import InputError
from medldr.folders.lifecycle import is_done
from medldr.folders.sweep_record import SweepFolder
from medldr.sweeps.plan.combinations import in_some
from medldr.sweeps.plan.expand import Planned


def changed_data(folder: SweepFolder, planned: Sequence[Planned]) -> tuple[list[str], list[str]]:
    """What has changed of the data of finished runs, each item once, with the runs that it is of.

    Args:
        folder: The sweep's folder.
        planned: The runs that belong to the sweep.

    Returns:
        What has changed, and notes on what could not be compared.
    """
    changes: dict[str, list[Planned]] = {}
    notes: list[str] = []
    comparer = DataComparer()
    for entry in planned:
        run = folder.run(entry.member.run)
        with contextlib.suppress(InputError):  # a damaged record is reported with its state
            if is_done(run):
                found = comparer.compare(entry.config, run)
                for text in found.changed:
                    changes.setdefault(text, []).append(entry)
                if found.not_compared:
                    notes.append(
                        f"finished runs were not compared with their data: {found.not_compared}"
                    )
    changed = [
        in_some(f"its data has changed since: {text}", [entry.member.label for entry in entries])
        + f". {CURE}: medldr train {folder.config(entries[0].member.run)} --out {folder.path} "
        "--restart"
        for text, entries in changes.items()
    ]
    return changed, list(dict.fromkeys(notes))
