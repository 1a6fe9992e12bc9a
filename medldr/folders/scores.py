"""The frame of scores: every number of an evaluation as one row that says what it is of.

Evaluation writes `evaluation.json`, which nests its numbers by split, domain, class and so on.
Whatever reads numbers back (agreement with the predictions, comparison, gaps, folds, reports) asks
the frame, `EvaluationRecord.scores`, and walks no nested keys itself. Curves, counts and settings
are typed records beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from medldr.folders.records import Record


class Number(Record):
    """A number with its interval, as `evaluation.json` holds it.

    Attributes:
        value: None if it is undefined.
        low: Lower end of the interval; None if there is none.
        high: Upper end of the interval.
        reason: Why it is undefined, or a remark on a number that is defined.
        undefined_draws: Bootstrap draws missing from the interval; None if it uses all.
        noise: What a calibration error would be without miscalibration: on average, and at most in
            95% of samples; None for other numbers.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    undefined_draws: int | None = None
    noise: tuple[float, float] | None = None


class ScoreRow(NamedTuple):
    """One number of an evaluation.

    A row without part, domain, class, group and subgroup is of the whole split.

    Attributes:
        split: The split.
        metric: Its key, such as ``auc``, ``coverage/90/error`` or ``worst_domain/accuracy``;
            ``by_group/auc`` where groups were scored in place of images, which `n` counts too.
        value: None where it is undefined.
        low: Lower end of its interval; None where it has none.
        high: Upper end.
        reason: Why it is undefined, or why it has no interval.
        n: Items of the part, domain, class, group or subgroup, or of the split; None where unknown.
        part: ``target_in`` or ``target_out`` of the held-out domains.
        domain: The domain.
        class_: The class or label.
        group: The group (patient, slide).
        subgroup: A column of the metadata and its value: ``sex/F``.
        rule: The selection rule whose weights were scored; empty where unknown.
        undefined_draws: Bootstrap draws that its interval leaves out; None where it uses all.
        noise: Of a calibration error: what it would be without miscalibration, on average and at
            most in 95% of samples.
    """

    split: str
    metric: str
    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str | None = None
    n: int | None = None
    part: str = ""
    domain: str = ""
    class_: str = ""
    group: str = ""
    subgroup: str = ""
    rule: str = ""
    undefined_draws: int | None = None
    noise: tuple[float, float] | None = None

    @property
    def place(self) -> str:
        """What the number is of, as one slash-separated text.

        Example:
            >>> ScoreRow("test", "auc", 0.9, domain="hospital_2").place
            'test/domain/hospital_2'
        """
        place = f"{self.split}/{self.part}" if self.part else self.split
        if self.class_:
            place += f"/class/{self.class_}"
        if self.domain:
            place += f"/domain/{self.domain}"
        if self.group:
            place += f"/group/{self.group}"
        return f"{place}/subgroup/{self.subgroup}" if self.subgroup else place

    @property
    def key(self) -> str:
        """The name of the number, as `flat` and messages have it.

        Example:
            >>> ScoreRow("test", "auc", 0.9, part="target_out").key
            'test/target_out/auc'
        """
        return f"{self.place}/{self.metric}"


@dataclass(frozen=True)
class ScoreFrame:
    """Every number of an evaluation.

    Attributes:
        rows: In the order of the file: whole split, parts, domains, classes, subgroups, groups.
    """

    rows: tuple[ScoreRow, ...] = ()

    @cached_property
    def _by_place(self) -> dict[tuple[str, ...], ScoreRow]:
        return {
            (r.split, r.metric, r.part, r.domain, r.class_, r.group, r.subgroup): r
            for r in self.rows
        }

    def row(
        self,
        split: str,
        metric: str,
        *,
        part: str = "",
        domain: str = "",
        class_: str = "",
        group: str = "",
        subgroup: str = "",
    ) -> ScoreRow | None:
        """One number, of the whole split unless a place in it is named; None where there is none.

        Example:
            >>> frame = ScoreFrame((ScoreRow("test", "auc", 0.9, domain="b"),))
            >>> frame.row("test", "auc", domain="b").value, frame.row("test", "auc")
            (0.9, None)
        """
        return self._by_place.get((split, metric, part, domain, class_, group, subgroup))

    def value(self, split: str, metric: str, **place: str) -> float | None:
        """The value of that row; None also where it is undefined."""
        row = self.row(split, metric, **place)
        return None if row is None else row.value

    def flat(self) -> dict[str, float | None]:
        """Every value by its key, None where undefined."""
        return {row.key: row.value for row in self.rows}
