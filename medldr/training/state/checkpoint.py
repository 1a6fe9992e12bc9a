"""Checkpoints: everything a run needs to resume bit for bit, in tensors and plain values."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from medldr.errors import InputError
from medldr.folders.files import RunFolder, atomic, load_checkpoint, save_checkpoint
from medldr.training.machine.processes import Processes

VERSION: Final = 1

WHAT: Final = {
    "config": ("the configuration", "start a new run, or restore config.yaml"),
    "seed": ("the seed", "start a new run"),
    "precision": ("the resolved precision", "set training.precision, or start over with --restart"),
    "device": ("the kind of device", "set machine.device, or start over with --restart"),
    "threads": ("the number of CPU threads", "set machine.threads, or start over with --restart"),
    "processes": ("the number of processes", "set machine.devices, or start over with --restart"),
    "compile": ("machine.compile", "set machine.compile, or start over with --restart"),
}
"""What must match for a resumed run to equal an uninterrupted one, and the cure if it does not.

Its data is compared column by column, so that a run may go on from a pack of what it began with.
"""


@dataclass(frozen=True)
class Checkpoints:
    """The checkpoints of one run.

    Attributes:
        folder: The run folder.
        identity: Values of the keys of `WHAT`; a checkpoint with others is refused.
        shared: Parts that are equal on all processes, by name.
        own: Parts that each process has for itself, by name.
        processes: The first one writes, all read.
    """

    folder: RunFolder
    identity: Mapping[str, Any]
    shared: Mapping[str, Any]
    own: Mapping[str, Any]
    processes: Processes

    def save(self, position: Mapping[str, Any]) -> None:
        """Write `last.ckpt`, whole or not at all; every process calls this.

        The one until now becomes `before.ckpt`, from which a run goes on if the newest is damaged.

        Args:
            position: Where the loop is, in plain values.

        Raises:
            StorageError: If the disk is full; the previous checkpoint is intact.
        """
        own = {name: dict(part.state_dict()) for name, part in self.own.items()}
        ranks = self.processes.gather(own)
        if self.processes.first:
            state = {
                "version": VERSION,
                "identity": dict(self.identity),
                "position": dict(position),
                "shared": {name: dict(part.state_dict()) for name, part in self.shared.items()},
                "ranks": ranks,
            }
            if self.folder.last.exists():
                twin(self.folder.last, self.folder.before, share=True)
            save_checkpoint(self.folder.last, state)

    def keep_best(self) -> None:
        """Make `best.ckpt` what `last.ckpt` is now."""
        if self.processes.first:
            twin(self.folder.last, self.folder.best, share=True)

    def load(self, saved: Mapping[str, Any]) -> dict[str, Any]:
        """Restore a checkpoint's state.

        Returns:
            The position that was saved with it.

        Raises:
            InputError: If it was written under other conditions, naming each difference and cure.
        """
        identity = saved.get("identity", {})
        differences = [
            f"{what} was {identity.get(key)} and is now {self.identity[key]} ({cure})"
            for key, (what, cure) in WHAT.items()
            if identity.get(key) != self.identity[key]
        ]
        # One of an earlier version names all data, which a run's record was compared with.
        now, then = self.identity.get("data", {}), identity.get("data")
        known = now.keys() & then.keys() if isinstance(then, Mapping) else ()
        if other := sorted(name for name in known if now[name] != then[name]):
            differences.append(
                f"the training data has changed: {', '.join(other)} (restore the data, or start "
                "over with --restart)"
            )
        if differences:
            raise InputError(f"cannot resume {self.folder.path}: {'; '.join(differences)}")
        try:
            own = saved["ranks"][self.processes.rank]
            for parts, states in ((self.shared, saved["shared"]), (self.own, own)):
                for name, part in parts.items():
                    part.load_state_dict(states[name])
            return dict(saved["position"])
        except (KeyError, IndexError, TypeError, ValueError, RuntimeError) as error:
            reason = " ".join(str(error).split())
            raise InputError(
                f"cannot resume {self.folder.path}: its checkpoint does not fit this run "
                f"({type(error).__name__}: {reason}). Start over with --restart"
            ) from error


def newest(folder: RunFolder) -> tuple[dict[str, Any] | None, list[str]]:
    """The newest checkpoint that can be read, and a note on each that cannot.

    Returns:
        The checkpoint, or None where the run has none yet.

    Raises:
        InputError: If there are checkpoints and none can be read.
    """
    notes = []
    for path in (folder.last, folder.before, folder.best):
        if not path.exists():
            continue
        try:
            saved = load_checkpoint(path)
        except InputError as error:
            notes.append(str(error))
            continue
        if saved.get("version") != VERSION:
            notes.append(f"{path} is not of version {VERSION}, which this medldr reads")
            continue
        if notes:
            notes.append(f"resuming from {path} instead")
        return saved, notes
    if notes:
        raise InputError(f"no checkpoint is readable: {'; '.join(notes)}. Start over: --restart")
    return None, []


def twin(source: Path, target: Path, *, share: bool = False) -> None:
    """Give a finished file a second name, atomically.

    Args:
        source: Written before, and never changed in place.
        target: The second name.
        share: Share the content on disk where the file system can; copy it otherwise.
    """
    with atomic(target, needed=source.stat().st_size) as temporary:
        if share:
            temporary.unlink()
            try:
                os.link(source, temporary)
            except OSError:
                shutil.copyfile(source, temporary)
        else:
            shutil.copyfile(source, temporary)
