"""What a sweep shows, in plain sentences that claim no more than its intervals allow.

Two questions: does each competing row differ from the reference, and does the learning rate alone
explain it? A difference counts as found only if its p, corrected for the comparisons of its
column, is below 0.05; everything else is no clear difference, which does not mean equal. Methods
with one or two seeds are not compared: one says nothing about other seeds, two next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from medldr.config.sections import section
from medldr.evaluation.comparison.comparison import Difference
from medldr.evaluation.comparison.findings import FINDINGS, Finding
from medldr.evaluation.intervals.estimate import Estimate
from medldr.metrics import metric_facts
from medldr.reporting.prose import sentence
from medldr.reporting.read.study import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.training import RATE, rate_of
from medldr.reporting.sections.comparison.tables import show_p
from medldr.reporting.sections.domain_gap import points_text, seen_title, spoken
from medldr.reporting.sections.rows import count, grouped
from medldr.reporting.sections.sweep.caveats import caveats
from medldr.reporting.table import interval
from medldr.reporting.wording import split_name

MOST_ROWS = 6
"""Rows that have a sentence; LatentDR's come first, and the tables have them all."""

Findings = Mapping[str, tuple[Finding, Difference]]
"""By column, what a comparison shows there."""


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
        more = len(rows) - MOST_ROWS
        return [
            *map(self._row_text, rows[:MOST_ROWS]),
            *([sentence("more_rows", rows=count(more, "more method"))] if more > 0 else []),
            *(f"Control: {self._row_text(r)}" for r in controls if self._against_reference(r)),
            *(text for row in rows for text in self._explained(row)),
            *self._unexplained(rows),
            *self._loss(),
            *caveats(self.study, self.columns, self.metric, self.split),
        ]

    def _asked(self) -> list[str]:
        """Every competing row, of whatever algorithm, LatentDR's first."""
        rows = [row for row in self.study.rows if row not in (self.reference, *self.controls)]
        return sorted(rows, key=lambda row: self._algorithm(row) != "latentdr")

    def _algorithm(self, row: str) -> str:
        """The name of a row's algorithm; a row has the same one in all of its columns."""
        files = self.study.files(row)
        return "" if files is None else str(section(files.config, "algorithm").get("name", ""))

    def _found(self, differences: Sequence[Difference | None]) -> Findings:
        found: dict[str, tuple[Finding, Difference]] = {}
        for column, difference in zip(self.columns, differences, strict=True):
            if difference is None or difference.estimate.mean is None:
                continue
            if difference.finding is not None:
                found[column.name] = (difference.finding, difference)
        return found

    def _against_reference(self, row: str) -> Findings:
        there = [column.difference(self.split, self.metric, row) for column in self.columns]
        return self._found(there)

    def _against(self, pair: tuple[str, str]) -> Findings:
        there = [column.contrast(self.split, self.metric, pair) for column in self.columns]
        return self._found(there)

    def _row_text(self, row: str) -> str:
        what = f"{spoken(self.metric)} ({split_name(self.split).lower()})"
        found = self._text(self._against_reference(row))
        return f"{row} vs {self.reference}{self._at_rates(row)}, {what}: {found}."

    def _at_rates(self, row: str) -> str:
        """Learning rates of a control and the reference, where they differ."""
        if row not in self.controls:
            return ""
        pairs = {
            (own, base)
            for column in self.columns
            if (own := self._rate(row, column)) is not None
            and (base := self._rate(self.reference, column)) not in (None, own)
        }
        return "".join(f" (learning rate {own:g} against {base:g})" for own, base in sorted(pairs))

    def _text(self, found: Findings) -> str:
        parts = []
        for kind in FINDINGS:
            each = [f"{name} {self._number(*of)}" for name, of in found.items() if of[0] == kind]
            if each:
                parts.append(f"{kind} in {len(each)} of {len(found)} ({'; '.join(each)})")
        return ", ".join(parts)

    def _number(self, kind: Finding, found: Difference) -> str:
        if kind == "not compared":
            points = points_text(found.estimate.mean or 0.0, self.metric)
            shown = points if found.seeds == 1 else self._interval(found.estimate)
            return f"{shown}, {found.untested}"
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
        """Rows at another rate than the reference, where no control row has their rate."""
        tuned = [row for row in rows if RATE in self.study.drawn(row)]
        tuned = tuned if RATE in self.study.drawn(self.reference) else []
        places: dict[tuple[str, float, float], list[str]] = {}
        apart: dict[tuple[str, str], None] = {}
        for row in (row for row in rows if row not in tuned):
            for column in self.columns:
                own, base = (self._rate(each, column) for each in (row, self.reference))
                if own is None or base is None or own == base:
                    continue
                there = [c for c in self.controls if self._isolates(c, column, own)]
                if not there:
                    places.setdefault((row, own, base), []).append(column.name)
                elif not any((row, c) in self.study.layout.contrasts for c in there):
                    apart[there[0], row] = None
        alike = grouped(((*rates, *names), row) for (row, *rates), names in places.items())
        texts = [
            sentence("no_control", rows=self._where(names, columns), rate=rate, base=base,
                     **self.words)
            for (rate, base, *columns), names in alike.items()
        ]  # fmt: skip
        if tuned:
            texts.append(sentence("tuned_rates", rows=", ".join(tuned), **self.words))
        return texts + [
            sentence("not_contrasted", rows=" and ".join(names), control=control)
            for control, names in grouped(apart).items()
        ]

    def _where(self, rows: Sequence[str], columns: Sequence[object]) -> str:
        every = len(columns) == len(self.columns)
        return " and ".join(rows) + ("" if every else f" in {', '.join(map(str, columns))}")

    def _isolates(self, control: str, column: Column, rate: float) -> bool:
        """Whether a row is the reference's algorithm at a rate, in a column."""
        same = self._algorithm(control) == self._algorithm(self.reference)
        return same and self._rate(control, column) == rate

    def _rate(self, row: str, column: Column) -> float | None:
        return rate_of(self.study.files(row, column.name))

    def _cause(self, pair: tuple[str, str]) -> tuple[str, str]:
        """What a control isolates, and how it relates to the row: as configurations show."""
        rates: dict[float, None] = {}
        for column in self.columns:
            own, base = (self._rate(each, column) for each in (pair[0], self.reference))
            if self._rate(pair[1], column) is None or own is None or base is None:
                continue
            if own == base or not self._isolates(pair[1], column, own):
                return "what it shares with the control", ""
            rates[own] = None
        if not rates:
            return "what it shares with the control", ""
        which = f"learning rate {next(iter(rates)):g}" if len(rates) == 1 else "one learning rate"
        return "the learning rate", f" (both at {which})"

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
        said = grouped((gap.note, name) for name, gap in gaps.items() if gap.note)
        whole = {note: len(of) == len(gaps) for note, of in said.items()}
        each = {note: "" if whole[note] else f"{', '.join(of)}: " for note, of in said.items()}
        return [" ".join((text, *(f"{where}{note}" for note, where in each.items())))]


def verdict(study: Study, columns: Sequence[Column], metric: str, split: str = "test") -> list[str]:
    """What a sweep shows, in sentences; one that says so where there is nothing to compare.

    Args:
        study: The sweep.
        columns: Its columns.
        metric: The metric that is compared.
        split: The split.
    """
    return Verdict(study, columns, metric, split).sentences()
