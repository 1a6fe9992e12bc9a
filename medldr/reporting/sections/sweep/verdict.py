"""What a sweep shows, in plain sentences that claim no more than its intervals allow.

Two questions: does each LatentDR row differ from the reference, and does the learning rate alone
explain it? A difference counts as found only if its p, corrected for the comparisons of its
column, is below 0.05; everything else is no clear difference, which does not mean equal. A single
seed says nothing about other seeds, so a method with a single seed is not compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from medldr.config.sections import section
from medldr.evaluation.comparison.records import Difference
from medldr.evaluation.estimate import Estimate
from medldr.metrics import metric_facts
from medldr.reporting.prose import sentence
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.training import rate_of
from medldr.reporting.sections.comparison.tables import show_p
from medldr.reporting.sections.domain_gap import points_text, seen_title, spoken
from medldr.reporting.sections.rows import grouped
from medldr.reporting.sections.sweep.caveats import ALPHA, caveats
from medldr.reporting.table import interval
from medldr.reporting.wording import split_name

Finding = Literal["better", "worse", "no clear difference", "not compared"]
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
        'no clear difference'
    """
    if found is None or found.estimate.mean is None or found.corrected is None:
        return None
    better = metric_facts(metric).better
    if found.corrected >= ALPHA or found.estimate.mean == 0 or not better:
        return "no clear difference"
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
        self.reference, self.controls = study.reference, study.layout.controls
        self.words = {"reference": study.reference, "metric": spoken(metric)}
        self.columns = [column for column in columns if column.comparison is not None]

    def sentences(self) -> list[str]:
        """The sentences, or one that says that there is nothing to compare."""
        rows = [row for row in self._asked() if self._against_reference(row)]
        if not rows:
            return [sentence("nothing_to_compare")]
        controls = [row for row in self.controls if row != self.reference]
        return [
            *map(self._row_text, rows),
            *(f"Control: {self._row_text(r)}" for r in controls if self._against_reference(r)),
            *(text for row in rows for text in self._explained(row)),
            *self._unexplained(rows),
            *self._loss(),
            *caveats(self.study, self.columns, self.metric, self.split),
        ]

    def _asked(self) -> list[str]:
        """LatentDR's rows; every competing row where there is none of them."""
        rows = [row for row in self.study.rows if row not in (self.reference, *self.controls)]
        files = {row: self.study.files(row) for row in rows}
        configs = {row: {} if found is None else found.config for row, found in files.items()}
        return [
            r for r in rows if section(configs[r], "algorithm").get("name") == "latentdr"
        ] or rows

    def _found(self, one: str, other: str, differences: Sequence[Difference | None]) -> Findings:
        found: dict[str, tuple[Finding, Difference]] = {}
        for column, difference in zip(self.columns, differences, strict=True):
            if difference is None or difference.estimate.mean is None:
                continue
            several = column.fewest_seeds(one, other) > 1
            shown = finding(self.metric, difference) if several else "not compared"
            if shown is not None:
                found[column.name] = (shown, difference)
        return found

    def _against_reference(self, row: str) -> Findings:
        there = [column.difference(self.split, self.metric, row) for column in self.columns]
        return self._found(row, self.reference, there)

    def _against(self, pair: tuple[str, str]) -> Findings:
        there = [column.contrast(self.split, self.metric, pair) for column in self.columns]
        return self._found(*pair, there)

    def _row_text(self, row: str) -> str:
        what = f"{spoken(self.metric)} ({split_name(self.split).lower()})"
        found = self._text(self._against_reference(row))
        return f"{row} vs {self.reference}, {what}: {found}."

    def _text(self, found: Findings) -> str:
        parts = []
        for kind in ("better", "worse", "no clear difference", "not compared"):
            each = [f"{name} {self._number(*of)}" for name, of in found.items() if of[0] == kind]
            if each:
                parts.append(f"{kind} in {len(each)} of {len(found)} ({'; '.join(each)})")
        return ", ".join(parts)

    def _number(self, kind: Finding, found: Difference) -> str:
        if kind == "not compared":
            return f"{points_text(found.estimate.mean or 0.0, self.metric)}, a single seed"
        return f"{self._interval(found.estimate)}, p {show_p(found.corrected or 0.0)}"

    def _interval(self, found: Estimate) -> str:
        points = points_text(found.mean or 0.0, self.metric)
        ends = interval(found, metric_facts(self.metric), signed=True)
        return f"{points}, 95% CI {ends}" if ends else points

    def _explained(self, row: str) -> Iterator[str]:
        """What each comparison of a row with a control says of its gain over the reference."""
        gains = self._against_reference(row)
        for pair in self.study.layout.contrasts:
            if pair[0] != row or pair[1] not in self.controls:
                continue
            found = self._against(pair)
            if not found:
                yield f"{row} cannot be compared with {pair[1]}: they have no results in common."
                continue
            cause, how = self._cause(pair)
            better = [name for name in found if name in gains and gains[name][0] == "better"]
            settled = ", ".join(name for name in better if found[name][0] == "better")
            unsettled = ", ".join(name for name in better if found[name][0] != "better")
            text = f"{row} vs the control {pair[1]}{how}: {self._text(found)}."
            if settled:
                text += f" In {settled} {cause} alone does not explain the gain."
            if unsettled:
                text += f" In {unsettled} the gain may come from {cause} alone."
            if not better:
                text += f" {sentence('no_gain', **self.words, cause=cause)}"
            yield text

    def _unexplained(self, rows: Sequence[str]) -> list[str]:
        """Rows at another rate than the reference without a control row at their rate."""
        found = []
        for row in rows:
            paired = [two for one, two in self.study.layout.contrasts if one == row]
            controls = [self._rates(row, two) for two in paired if two in self.controls]
            rates = self._rates(row, self.reference)
            if len(set(rates)) == 2 and not any(len(set(both)) == 1 for both in controls):
                found.append(((rates[0], rates[1]), row))
        return [
            sentence("no_control", rows=" and ".join(names), rate=rate, base=base, **self.words)
            for (rate, base), names in grouped(found).items()
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
        rates = self._rates(*pair, self.reference)
        if rates and rates[0] == rates[1] != rates[2]:
            return "the learning rate", f" (both at learning rate {rates[0]:g})"
        return "what it shares with the control", ""

    def _loss(self) -> list[str]:
        """What the reference loses on unseen domains, column by column; none where unmeasured."""
        gaps = {
            column.name: gap
            for column in self.columns
            if column.comparison is not None
            and (gap := column.comparison.gap(self.metric, self.reference)) is not None
            and gap.estimate.mean is not None
        }
        if not gaps:
            return []
        seen = seen_title([gap.seen for gap in gaps.values()][-1])
        losses = "; ".join(f"{name} {self._interval(g.estimate)}" for name, g in gaps.items())
        text = sentence("lost", seen=seen, losses=losses, **self.words)
        return [" ".join(dict.fromkeys((text, *(gap.note for gap in gaps.values() if gap.note))))]


def verdict(study: Study, columns: Sequence[Column], metric: str, split: str = "test") -> list[str]:
    """What a sweep shows, in sentences; one that says so where there is nothing to compare.

    Args:
        study: The sweep.
        columns: Its columns.
        metric: The metric that is compared.
        split: The split.
    """
    return Verdict(study, columns, metric, split).sentences()
