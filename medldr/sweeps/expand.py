"""From a sweep file to its runs; nothing here reads a run folder or starts anything."""

from __future__ import annotations

from dataclasses import dataclass

from medldr.config import RunConfig
from medldr.members import Member


@dataclass(frozen=True)
class Planned:
    """A member and what it is to run.

    Attributes:
        member: Its name and its place in the table.
        config: Its configuration, checked.
    """

    member: Member
    config: RunConfig
