"""Which run a folder belongs to, according to its configuration, before anything has run."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from medldr.folders.files import RunFolder


@dataclass(frozen=True)
class RunIdentity:
    """One run, as its folder knows it; `medldr.config.identify` makes it from a configuration.

    Attributes:
        label: The configuration's label.
        seed: Its seed.
        hash: Eight hexadecimal digits, equal for runs that differ at most in their seed.
        protocol: The protocol it follows; empty if it follows none.
        config: The whole resolved configuration as YAML.
    """

    label: str
    seed: int
    hash: str
    protocol: str | None
    config: str

    @property
    def name(self) -> str:
        """Name of the run's folder.

        Example:
            >>> RunIdentity("octmnist_erm", 0, "0a1b2c3d", "", "").name
            'octmnist_erm-0a1b2c3d-s0'
        """
        return f"{self.label}-{self.hash}-s{self.seed}"

    def folder(self, out: Path | str) -> RunFolder:
        """Where this run is kept below `out`."""
        return RunFolder(Path(out) / self.name)
