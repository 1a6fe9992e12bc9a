"""What a sweep shows, in plain sentences that claim no more than its intervals allow.

Two questions: does each LatentDR row differ from the reference, and does the learning rate alone
explain it? A difference counts as found only if its p, corrected for the comparisons of its
column, is below 0.05; everything else is undecided, which is not the same as equal. A single seed
tells nothing of how another would do, so that no difference of such a row is judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from medldr.config.sections import section
from medldr.evaluation.comparison.records import Difference
from medldr.evaluation.estimate import Estimate
from medldr.metrics import SPLIT_TITLES, measure
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.training import rate_of
from medldr.reporting.sections.comparison.tables import show_p
from medldr.reporting.sections.domain_gap import seen_title
from medldr.reporting.sections.sweep.caveats import ALPHA, caveats, spoken

Finding = Literal["better", "worse", "undecided", "not judged"]
Findings = Mapping[str, tuple[Finding, Difference]]
"""By column, what a comparison shows there."""


def finding(metric: str, found: Difference | None) -> Finding | None:
    """What a paired difference shows; None where it is undefined.

    Example:
        >>> finding("accuracy", Difference(Estimate(0.1), p_holm=0.01))
        'better'
        >>> finding("ece", Difference(Estimate(0.1), p_holm=0.01))
        'worse'
        >>> finding("accuracy", Difference(Estimate(0.1), p_holm=0.05))
        'undecided'
    """
    if found is None or found.estimate.mean is None or found.p_holm is None:
        return None
    better = measure(metric).better
    if found.p_holm >= ALPHA or found.estimate.mean == 0 or not better:
        return "undecided"
    return "better" if (found.estimate.mean > 0) == (better == "higher") else "worse"


class Verdict:
    """The sentences on one metric of one split.

    Args:
        study: The sweep.
        columns: Its columns.
        metric: The metric.
        split: The split.
    """

    def __init__(self, study: Study, columns: Sequence[Column], metric: str, split: str) -> None:
        self.study, self.metric, self.split = study, metric, split
        self.columns = [column for column in columns if column.comparison is not None]

    def sentences(self) -> list[str]:
        """The sentences, or one that says that there is nothing to judge."""
        rows = [row for row in self._asked() if self._against_reference(row)]
        if not rows:
            return [
                "There is no second row with results beside the reference, so nothing to judge."
            ]
        controls = [r for r in self.study.layout.controls if r != self.study.reference]
        return [
            *(self._row_text(row) for row in rows),
            *(f"Control: {self._row_text(r)}" for r in controls if self._against_reference(r)),
            *(text for row in rows for text in self._explained(row)),
            *self._unexplained(rows),
            *self._loss(),
            *caveats(self.study, self.columns, self.metric, self.split),
        ]

    def _asked(self) -> list[str]:
        """LatentDR's rows; every competing row where there is none of them."""
        study = self.study
        competing = [
            r for r in study.rows if r != study.reference and r not in study.layout.controls
        ]
        found = {row: study.files(row) for row in competing}
        ours = [
            row
            for row, files in found.items()
            if files is not None and section(files.config, "algorithm").get("name") == "latentdr"
        ]
        return ours or competing

    def _found(
        self, pair: tuple[str, str], differences: Mapping[str, Difference | None]
    ) -> Findings:
        found: dict[str, tuple[Finding, Difference]] = {}
        for column in self.columns:
            difference = differences[column.name]
            said = finding(self.metric, difference)
            if said is not None and difference is not None:
                judged = column.fewest_seeds(*pair) > 1
                found[column.name] = (said if judged else "not judged", difference)
        return found

    def _against_reference(self, row: str) -> Findings:
        there = {c.name: c.difference(self.split, self.metric, row) for c in self.columns}
        return self._found((row, self.study.reference), there)

    def _against(self, pair: tuple[str, str]) -> Findings:
        there = {c.name: c.contrast(self.split, self.metric, pair) for c in self.columns}
        return self._found(pair, there)

    def _row_text(self, row: str) -> str:
        where = SPLIT_TITLES.get(self.split, self.split).lower()
        what = f"{spoken(self.metric)} ({where})"
        found = self._text(self._against_reference(row))
        return f"{row} against {self.study.reference}, {what}: {found}."

    def _text(self, found: Findings) -> str:
        parts = []
        for kind in ("better", "worse", "undecided", "not judged"):
            names = [name for name, (said, _) in found.items() if said == kind]
            if names:
                each = "; ".join(
                    f"{name} {self._number(found[name][1], judged=kind != 'not judged')}"
                    for name in names
                )
                parts.append(f"{kind} in {len(names)} of {len(found)} ({each})")
        return ", ".join(parts)

    def _number(self, found: Difference, *, judged: bool) -> str:
        if not judged:
            return f"{self._points(found.estimate)}, a single seed"
        return f"{self._interval(found.estimate)}, p {show_p(found.p_holm or 0.0)}"

    def _points(self, found: Estimate) -> str:
        known = measure(self.metric)
        return known.show_difference(found.mean or 0.0) + (" points" if known.percent else "")

    def _interval(self, found: Estimate) -> str:
        if found.low is None or found.high is None:
            return self._points(found)
        low, high = map(measure(self.metric).show_difference, (found.low, found.high))
        return f"{self._points(found)}, {low} to {high}"

    def _explained(self, row: str) -> Iterator[str]:
        """What each comparison of a row with a control says of its gain over the reference."""
        gains = self._against_reference(row)
        for pair in self.study.layout.contrasts:
            if pair[0] != row or pair[1] not in self.study.layout.controls:
                continue
            found = self._against(pair)
            if not found:
                yield f"{row} cannot be compared with {pair[1]}: no result in common."
                continue
            cause, how = self._cause(pair)
            better = [name for name in found if name in gains and gains[name][0] == "better"]
            settled = [name for name in better if found[name][0] == "better"]
            unsettled = [name for name in better if found[name][0] != "better"]
            text = f"{row} against the control {pair[1]}{how}: {self._text(found)}."
            if settled:
                text += f" In {', '.join(settled)} {cause} alone does not explain the gain."
            if unsettled:
                text += f" In {', '.join(unsettled)} the gain may come from {cause} alone."
            if not better:
                text += (
                    f" There is no shown gain over {self.study.reference} that {cause} could "
                    "explain."
                )
            yield text

    def _unexplained(self, rows: Sequence[str]) -> list[str]:
        """Rows at another rate than the reference without a control row at their rate."""
        found: dict[tuple[float, float], list[str]] = {}
        for row in rows:
            paired = (two for one, two in self.study.layout.contrasts if one == row)
            controls = [two for two in paired if two in self.study.layout.controls]
            rates = self._rates(row, self.study.reference)
            controlled = any(len(set(self._rates(row, two))) == 1 for two in controls)
            if len(set(rates)) == 2 and not controlled:
                found.setdefault((rates[0], rates[1]), []).append(row)
        return [
            f"{' and '.join(names)}: trained at learning rate {rate:g}, {self.study.reference} at "
            f"{base:g}. No control row shows what the rate alone does, so that no difference can "
            "be put down to the method."
            for (rate, base), names in found.items()
        ]

    def _rates(self, *rows: str) -> list[float]:
        """Learning rates of rows in the first column where all of them have one; else empty."""
        for column in self.study.columns:
            found = [rate_of(self.study.files(row, column)) for row in rows]
            known = [rate for rate in found if rate is not None]
            if len(known) == len(rows):
                return known
        return []

    def _cause(self, pair: tuple[str, str]) -> tuple[str, str]:
        """What a control isolates, and how it relates to the row: as configurations show."""
        rates = self._rates(*pair, self.study.reference)
        if rates and rates[0] == rates[1] != rates[2]:
            return "the learning rate", f" (both at learning rate {rates[0]:g})"
        return "what the control shares with it", ""

    def _loss(self) -> list[str]:
        """What the reference loses on unseen domains, column by column; none where unmeasured."""
        found, seen, notes = [], "", dict[str, None]()
        for column in self.columns:
            gap = column.comparison and column.comparison.gap(self.metric, self.study.reference)
            if gap and gap.estimate.mean is not None:
                found.append(f"{column.name} {self._interval(gap.estimate)}")
                seen = seen_title(gap.seen)
                notes |= {gap.note: None} if gap.note else {}
        if not found:
            return []
        text = (
            f"What {self.study.reference} loses on unseen domains, {spoken(self.metric)}, measured "
            f"from {seen}: {'; '.join(found)}."
        )
        return [" ".join((text, *notes))]


def verdict(study: Study, columns: Sequence[Column], metric: str, split: str = "test") -> list[str]:
    """What a sweep shows, in sentences; one that says so where there is nothing to judge.

    Args:
        study: The sweep.
        columns: Its columns.
        metric: The metric that is judged.
        split: The split.
    """
    return Verdict(study, columns, metric, split).sentences()
