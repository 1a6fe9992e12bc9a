"""A finished run as `medldr.train` returns it, and as a terminal or a notebook shows it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from medldr.evaluation.checked import checked_evaluation
from medldr.folders.evaluation_record import EvaluationRecord, read_evaluation
from medldr.folders.files import RunFolder
from medldr.folders.run_record import read_run_record


@dataclass(frozen=True, repr=False)
class RunResult:
    """A finished run.

    Attributes:
        folder: Where its files are.
        metrics: Its numbers by slash-separated key, such as ``test/auc``; None where undefined.
        fresh: Whether anything had to be done; false for a run that was finished before.
        skipped: Whether files were left out; `bad_files.csv` lists them.
        seed: The number that its randomness follows from; None where unknown.
        scored: Its numbers with their 95% CIs, as `evaluation.json` holds them; None where unknown.
    """

    folder: Path
    metrics: Mapping[str, float | None]
    fresh: bool = True
    skipped: bool = False
    seed: int | None = None
    scored: EvaluationRecord | None = field(default=None, compare=False)

    @classmethod
    def read(cls, folder: RunFolder, *, fresh: bool = True) -> RunResult:
        """The result that a run folder holds; of an earlier run, only if nobody changed it."""
        scored = read_evaluation(folder) if fresh else checked_evaluation(folder)
        skipped = folder.bad_files.is_file()
        seed = read_run_record(folder).seed
        return cls(folder.path, scored.scores.flat(), fresh, skipped, seed, scored)

    def __repr__(self) -> str:
        from medldr.reporting.notebook import run_line

        facts = "" if self.scored is None else run_line(self.scored)
        seed = "" if self.seed is None else f"seed {self.seed}"
        return f"RunResult({', '.join(filter(None, (str(self.folder), facts, seed)))})"

    def _repr_html_(self) -> str | None:
        """Its headline numbers as a table; None, which shows `repr`, where it has none."""
        from medldr.reporting.notebook import run_html

        return None if self.scored is None else run_html(self.scored, repr(self))
