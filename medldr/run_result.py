"""What `medldr.train`, `evaluate` and `compare` return, and how a notebook shows it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from medldr.evaluation.checked import checked_evaluation
from medldr.evaluation.comparison.comparison import Comparison
from medldr.evaluation.comparison.plain_values import plain_values
from medldr.evaluation.score_table import results
from medldr.folders.evaluation_record import (
    EvaluationRecord,
    read_evaluation,
    read_evaluation_content,
)
from medldr.folders.files import RunFolder
from medldr.folders.run_record import read_run_record

if TYPE_CHECKING:
    from pandas import DataFrame


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

    def to_frame(self) -> DataFrame:
        """Every number of the run, a row each; see `medldr.results`."""
        return results(self.folder)

    def _repr_html_(self) -> str | None:
        """Its headline numbers as a table; None, which shows `repr`, where it has none."""
        from medldr.reporting.notebook import run_html

        return None if self.scored is None else run_html(self.scored, repr(self))


class Evaluated(dict[str, Any]):
    """`evaluation.json` of a run as plain values.

    Attributes:
        run: The run.
    """

    def __init__(self, run: RunResult) -> None:
        super().__init__(read_evaluation_content(RunFolder(run.folder)))
        self.run = run

    def __repr__(self) -> str:
        return f"Evaluated({self.run!r})"

    def to_frame(self) -> DataFrame:
        """Every number of the run, a row each; see `medldr.results`."""
        return self.run.to_frame()

    def _repr_html_(self) -> str | None:
        return self.run._repr_html_()


class Compared(dict[str, Any]):
    """A comparison as plain values, which `medldr.evaluation.comparison.compare` describes.

    Attributes:
        comparison: The comparison.
        folders: The run folders.
    """

    def __init__(self, comparison: Comparison, folders: Sequence[str | Path]) -> None:
        super().__init__(plain_values(comparison))
        self.comparison = comparison
        self.folders = tuple(folders)

    def __repr__(self) -> str:
        others = [name for name in self.comparison.names if name != self.comparison.reference]
        return f"Compared({', '.join(others) or 'nothing'} with {self.comparison.reference})"

    def to_frame(self) -> DataFrame:
        """Every mean over seeds, a row each, with its difference from the reference.

        Columns: ``split``, ``domain``, ``metric``, ``method``, ``runs``, ``mean``, ``sd``, ``low``,
        ``high``; ``difference``, ``difference_low``, ``difference_high``, ``p``, ``p_holm``. Whole
        splits have an empty ``domain``, as in `medldr.results`.
        """
        from pandas import DataFrame

        places, ends = ("split", "domain", "metric", "method", "runs"), ("low", "high")
        numbers = ("mean", "sd", *ends)
        of_difference = {"difference": "value"} | {f"difference_{end}": end for end in ends}
        of_difference |= {"p": "p", "p_holm": "p_holm"}
        lines = [
            {key: row[key] for key in (*places, *numbers)}
            | {"domain": row["domain"] or ""}
            | {name: (row["difference"] or {}).get(key) for name, key in of_difference.items()}
            for row in self["rows"]
        ]
        return DataFrame(lines).astype(dict.fromkeys((*numbers, *of_difference), float))

    def _repr_html_(self) -> str:
        """What a comparison prints on the terminal, as a table for a notebook."""
        from medldr.reporting.notebook import comparison_html

        return comparison_html(self.comparison, self.folders)
