"""What a sweep shows, in plain sentences that claim no more than its intervals allow.

Two questions: does each LatentDR row differ from the reference, and does the learning rate alone
explain it? A difference counts as found only if its p, corrected for the comparisons of its
column, is below 0.05; everything else is undecided, which is not the same as equal. A single seed
tells nothing of how another would do, so that no difference of such a row is judged.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from medldr.metrics import SPLIT_TITLES, is_defined, measure
from medldr.reporting.read.describe import section
from medldr.reporting.read.run import RunSource
from medldr.reporting.read.sweep import Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.training import rate_of
from medldr.reporting.sections.caveats import ALPHA, caveats, spoken
from medldr.reporting.sections.comparison_tables import show_p
from medldr.reporting.sections.domain_gap import seen_title

Finding = Literal["better", "worse", "undecided", "not judged"]


def finding(metric: str, number: Mapping[str, Any] | None) -> Finding | None:
    """What a paired difference shows; None where it is undefined.

    Example:
        >>> finding("accuracy", {"value": 0.1, "p_holm": 0.01})
        'better'
        >>> finding("ece", {"value": 0.1, "p_holm": 0.01})
        'worse'
        >>> finding("accuracy", {"value": 0.1, "p_holm": 0.05})
        'undecided'
    """
    if number is None or number["value"] is None or number["p_holm"] is None:
        return None
    if number["p_holm"] >= ALPHA or number["value"] == 0 or not measure(metric).better:
        return "undecided"
    up = number["value"] > 0
    return "better" if up == (measure(metric).better == "higher") else "worse"


def verdict(study: Study, columns: Sequence[Column], metric: str, split: str = "test") -> list[str]:
    """The sentences, or one that says that there is nothing to judge."""
    shown = [column for column in columns if column.result is not None]
    rows = [row for row in _asked(study) if _findings(study, shown, metric, split, row)]
    if not rows:
        return ["There is no second row with results beside the reference, so nothing to judge."]
    sentences = [_against_reference(study, shown, metric, split, row) for row in rows]
    sentences += [
        f"Control: {_against_reference(study, shown, metric, split, row)}"
        for row in study.layout.controls
        if row != study.reference and _findings(study, shown, metric, split, row)
    ]
    sentences += [text for row in rows for text in _explained(study, shown, metric, split, row)]
    sentences += _unexplained(study, rows)
    sentences += _lost(study, shown, metric)
    return [*sentences, *caveats(study, shown, metric, split)]


def _lost(study: Study, columns: Sequence[Column], metric: str) -> list[str]:
    """What the reference loses on unseen domains, column by column; nothing where unmeasured."""
    told, seen, notes = [], "", dict[str, None]()
    for column in columns:
        for gap in (column.result or {}).get("gaps") or ():
            if (gap["metric"], gap["method"]) == (metric, study.reference) and is_defined(gap):
                told.append(f"{column.name} {_interval(metric, gap)}")
                seen = seen_title(gap.get("seen", "id_test"))
                notes |= {gap["note"]: None} if gap.get("note") else {}
    if not told:
        return []
    text = (
        f"What {study.reference} loses on unseen domains, {spoken(metric)}, measured from {seen}: "
        f"{'; '.join(told)}."
    )
    return [" ".join((text, *notes))]


def _asked(study: Study) -> list[str]:
    """LatentDR's rows; every competing row where there is none of them."""
    competing = [r for r in study.rows if r != study.reference and r not in study.layout.controls]
    ours = [row for row in competing if _algorithm(study.source(row)).get("name") == "latentdr"]
    return ours or competing


def _findings(
    study: Study, columns: Sequence[Column], metric: str, split: str, row: str
) -> dict[str, tuple[Finding, Mapping[str, Any]]]:
    found = {}
    for column in columns:
        numbers = column.row(split, metric, row)
        said = finding(metric, numbers and numbers["difference"])
        if said is not None and numbers is not None:
            judged = column.fewest_seeds(row, study.reference) > 1
            found[column.name] = (said if judged else "not judged", numbers["difference"])
    return found


def _against_reference(
    study: Study, columns: Sequence[Column], metric: str, split: str, row: str
) -> str:
    found = _findings(study, columns, metric, split, row)
    where = SPLIT_TITLES.get(split, split).lower()
    what = f"{spoken(metric)} ({where})"
    return f"{row} against {study.reference}, {what}: {_told(metric, found)}."


def _told(metric: str, found: Mapping[str, tuple[Finding, Mapping[str, Any]]]) -> str:
    parts = []
    for kind in ("better", "worse", "undecided", "not judged"):
        names = [name for name, (said, _) in found.items() if said == kind]
        if names:
            told = "; ".join(
                f"{name} {_number(metric, found[name][1], judged=kind != 'not judged')}"
                for name in names
            )
            parts.append(f"{kind} in {len(names)} of {len(found)} ({told})")
    return ", ".join(parts)


def _number(metric: str, number: Mapping[str, Any], *, judged: bool) -> str:
    if not judged:
        return f"{_points(metric, number)}, a single seed"
    return f"{_interval(metric, number)}, p {show_p(number['p_holm'])}"


def _points(metric: str, number: Mapping[str, Any]) -> str:
    known = measure(metric)
    return known.show_difference(number["value"]) + (" points" if known.percent else "")


def _interval(metric: str, number: Mapping[str, Any]) -> str:
    known = measure(metric)
    if number["low"] is None or number["high"] is None:
        return _points(metric, number)
    low, high = (known.show_difference(number[end]) for end in ("low", "high"))
    return f"{_points(metric, number)}, {low} to {high}"


def _explained(
    study: Study, columns: Sequence[Column], metric: str, split: str, row: str
) -> list[str]:
    """What each comparison of a row with a control says of the row's gain over the reference."""
    gains = _findings(study, columns, metric, split, row)
    sentences = []
    for pair in study.layout.contrasts:
        if pair[0] != row or pair[1] not in study.layout.controls:
            continue
        found: dict[str, tuple[Finding, Mapping[str, Any]]] = {}
        for column in columns:
            number = column.contrast(split, metric, pair)
            said = finding(metric, number)
            if said is not None and number is not None:
                judged = column.fewest_seeds(*pair) > 1
                found[column.name] = (said if judged else "not judged", number)
        if not found:
            sentences.append(f"{row} cannot be compared with {pair[1]}: no result in common.")
            continue
        cause = _cause(study, pair)
        better = [name for name in found if gains.get(name, ("",))[0] == "better"]
        settled = [name for name in better if found[name][0] == "better"]
        open_ = [name for name in better if found[name][0] != "better"]
        text = f"{row} against the control {pair[1]}{cause[1]}: {_told(metric, found)}."
        if settled:
            text += f" In {', '.join(settled)} {cause[0]} alone does not explain the gain."
        if open_:
            text += f" In {', '.join(open_)} the gain may come from {cause[0]} alone."
        if not better:
            text += f" There is no shown gain over {study.reference} that {cause[0]} could explain."
        sentences.append(text)
    return sentences


def _unexplained(study: Study, rows: Sequence[str]) -> list[str]:
    """Rows at another rate than the reference that no control row at their rate stands beside."""
    told: dict[tuple[float, float], list[str]] = {}
    for row in rows:
        paired = (two for one, two in study.layout.contrasts if one == row)
        controls = [two for two in paired if two in study.layout.controls]
        rates = _rates(study, row, study.reference)
        alike = any(len(set(_rates(study, row, two))) == 1 for two in controls)
        if len(set(rates)) == 2 and not alike:
            told.setdefault((rates[0], rates[1]), []).append(row)
    return [
        f"{' and '.join(names)}: trained at learning rate {rate:g}, {study.reference} at {base:g}. "
        "No control row shows what the rate alone does, so that no difference can be put down to "
        "the method."
        for (rate, base), names in told.items()
    ]


def _rates(study: Study, *rows: str) -> list[float]:
    """Learning rates of rows in the first column where all of them have one; else empty."""
    for column in study.columns:
        found = [rate_of(study.source(row, column)) for row in rows]
        known = [rate for rate in found if rate is not None]
        if len(known) == len(rows):
            return known
    return []


def _cause(study: Study, pair: tuple[str, str]) -> tuple[str, str]:
    """What a control tells apart, and how it stands to the row: only what configurations show."""
    rates = _rates(study, *pair, study.reference)
    if rates and rates[0] == rates[1] != rates[2]:
        return "the learning rate", f" (both at learning rate {rates[0]:g})"
    return "what the control shares with it", ""


def _algorithm(source: RunSource | None) -> Mapping[str, Any]:
    return section(source.config, "algorithm") if source is not None else {}
