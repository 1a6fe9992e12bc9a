"""The verdict of a comparison: which method is better, by how much, and how sure that is.

It goes by `findings` alone: a method is better or worse where its difference from the reference is
clear, and everything else is no clear difference, which does not mean equal. Methods with one or
two seeds are not compared: their difference is one of these networks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from medldr.evaluation.comparison.comparison import Difference
from medldr.evaluation.comparison.findings import Finding
from medldr.evaluation.intervals.estimate import TESTED
from medldr.evaluation.intervals.planning import detectable
from medldr.metrics import metric_facts, other_half
from medldr.reporting.document import Verdict
from medldr.reporting.sections.rows import grouped, listed, p_text
from medldr.reporting.table import interval
from medldr.reporting.wording import points_text, spoken

CLEAR: tuple[Finding, ...] = ("better", "worse")
Tone: TypeAlias = Literal["good", "bad", "open"]
TONES: Mapping[str, Tone] = {"better": "good", "worse": "bad"}


MOST_SIZES = 3
"""Of more methods a sentence has the names and the range; the figure and the tables have each."""


@dataclass(frozen=True)
class Asked:
    """What a verdict is asked for.

    Attributes:
        reference: What every method is compared with.
        methods: Those that the verdict is about: one, or all that compete.
        metrics: The primary one, which speaks, and others that may disagree with it.
        differences: By metric and method, each minus the reference; one that is absent cannot be
            told.
        places: By method, what its difference is of, such as ``on average over 3 data sets``.
        absent: By method, why it has no difference.
    """

    reference: str
    methods: Sequence[str]
    metrics: Sequence[str]
    differences: Mapping[str, Mapping[str, Difference]]
    places: Mapping[str, str]
    absent: Mapping[str, str]

    def found(self, method: str, metric: str | None = None) -> Difference | None:
        """A defined difference of a method, in the primary metric; None where there is none."""
        metric = self.metrics[0] if metric is None else metric
        found = self.differences.get(metric, {}).get(method)
        return None if found is None or found.estimate.mean is None else found

    def size(self, method: str, metric: str | None = None, *, named: bool = True) -> str:
        """Its difference in words, both halves of what is measured at one threshold."""
        first = self.found(method, metric)
        half = self.found(method, other_half(first.metric)) if first else None
        each = [(first, named), (half, True)]
        return " and ".join(size_text(of, named=name) for of, name in each if of is not None)

    def finding(self, method: str, metric: str | None = None) -> Finding:
        """What it shows; of two halves at one threshold, what one does and the other permits."""
        first = self.found(method, metric)
        half = self.found(method, other_half(first.metric)) if first else None
        kinds = {of.finding or "not compared" for of in (first, half) if of is not None}
        if "not compared" in (kinds or {"not compared"}):
            return "not compared"
        clear = kinds.intersection(CLEAR)
        return clear.pop() if len(clear) == 1 else "no clear difference"


def verdict(asked: Asked, missing: Sequence[str], more: Sequence[str] = ()) -> Verdict:
    """The verdict on one method, or on all that compete.

    Beside it stands what must not be missed, the most important first, as a terminal shows few.

    Args:
        asked: What is asked.
        missing: What is not there.
        more: What else is to be known.
    """
    kinds = {method: asked.finding(method) for method in asked.methods}
    if len(asked.methods) == 1:
        (method,) = asked.methods
        word: str = kinds[method]
        tone, texts = TONES.get(word, "open"), [_text(asked, method)]
        texts = [" ".join((*texts, *_disagreements(asked)))]
    else:
        word, tone = _word(list(kinds.values()))
        first, *others = _of_many(asked, kinds)
        texts = [first, *filter(None, [" ".join(_disagreements(asked))])]
        more = [*others, *more]
    word = "not clear" if word == "no clear difference" else word
    return Verdict(word, texts[0], tone, (*texts[1:], *missing, *more))


def size_text(found: Difference, *, named: bool = True) -> str:
    """A difference with its interval and p, as a sentence has it; `named`: with its metric.

    Example:
        >>> from medldr.evaluation.intervals.estimate import Estimate
        >>> estimate = Estimate(0.024, low=0.01, high=0.038, p=0.004)
        >>> size_text(Difference("test", None, "accuracy", "a", "b", estimate, 0.008, 3))
        'accuracy +2.4 percentage points (95% CI +1.0 to +3.8, p = 0.008)'
    """
    ends = interval(found.estimate, metric_facts(found.metric), signed=True)
    facts = [f"95% CI {ends}"] if ends else []
    facts += ["of these networks"] if ends and found.seeds == 1 else []
    facts += [] if found.corrected is None else [p_text(found.corrected)]
    points = points_text(found.estimate.mean or 0.0, found.metric)
    points = f"{spoken(found.metric)} {points}" if named else points
    return points + (f" ({', '.join(facts)})" if facts else "")


def _text(asked: Asked, method: str) -> str:
    found, reference, why = asked.found(method), asked.reference, _why(asked, method)
    if found is None:
        return f"{method} and {reference} cannot be compared: {why}."
    kind, place, size = asked.finding(method), asked.places[method], asked.size(method)
    if kind in CLEAR:
        return f"{method} is {kind} than {reference} {place}: {size}."
    if kind == "no clear difference":
        text = f"No clear difference between {method} and {reference} {place}: {size}."
        return text + _power([found])
    if found.untested and not found.barred:
        return (
            f"{method} and {reference} cannot be compared as methods with {found.untested}. These "
            f"networks of {method} minus those of {reference}, {place}: {size}. A test needs at "
            f"least {TESTED} seeds of each."
        )
    text = f"{method} and {reference} are not compared ({why})."
    return f"{text} {method} minus {reference}, {place}: {size}."


def _word(kinds: Sequence[Finding]) -> tuple[str, Tone]:
    """The word for several methods, and its tone."""
    better, worse = (kinds.count(kind) for kind in CLEAR)
    if better or worse:
        many, word = (better, "better") if better else (worse, "worse")
        return f"{many} of {len(kinds)} {word}", "open" if better and worse else TONES[word]
    return ("not compared" if set(kinds) == {"not compared"} else "no clear difference"), "open"


def _of_many(asked: Asked, kinds: Mapping[str, Finding]) -> list[str]:
    """Which methods are clearly better or worse, each with its numbers, and which are neither.

    The first text is the answer; each further one is of methods for which it is another.
    """
    of: dict[Finding, list[str]] = {}
    for method, kind in kinds.items():
        of.setdefault(kind, []).append(method)
    places = set(asked.places.values())
    place = f" {next(iter(places))}" if len(places) == 1 else ""

    def each(methods: Sequence[str]) -> str:
        if len(methods) > MOST_SIZES:
            return f"{listed(methods)}{_span(asked, methods)}"
        where = {method: "" if place else f" {asked.places[method]}" for method in methods}
        return "; ".join(f"{method}{where[method]}, {asked.size(method)}" for method in methods)

    clear = [
        f"{len(of[kind])} of {len(kinds)} methods {'is' if len(of[kind]) == 1 else 'are'} clearly "
        f"{kind} than {asked.reference}{place}: {each(of[kind])}."
        for kind in CLEAR
        if kind in of
    ]
    texts = [" ".join(clear)] if clear else []
    if unclear := of.get("no clear difference"):
        texts.append(
            f"No clear difference from {asked.reference}{place}: {each(unclear)}."
            + _power([found for method in unclear if (found := asked.found(method)) is not None])
        )
    untested = of.get("not compared", [])
    if few := [
        m for m in untested if (found := asked.found(m)) and found.untested and not found.barred
    ]:
        texts.append(
            f"Not tested against {asked.reference}, because a test needs at least {TESTED} seeds "
            f"of each. Their networks minus those of {asked.reference}{place}: {each(few)}."
        )
    if others := [method for method in untested if method not in few]:
        causes = grouped((_why(asked, method), method) for method in others)
        why = "; ".join(f"{listed(names)} ({cause})" for cause, names in causes.items())
        texts.append(f"Cannot be compared with {asked.reference}: {why}.")
    return texts


def _span(asked: Asked, methods: Sequence[str]) -> str:
    """From the lowest to the highest difference; empty for one half of what a threshold gives."""
    metric = metric_facts(asked.metrics[0])
    if other_half(metric.name):
        return ""
    found = [of.estimate.mean or 0.0 for of in map(asked.found, methods) if of is not None]
    low, high = metric.show_difference(min(found)), points_text(max(found), metric.name)
    return f" ({spoken(metric.name)} {low} to {high})"


def _why(asked: Asked, method: str) -> str:
    found = asked.found(method)
    if found is None:
        return asked.absent.get(method) or "no number in common"
    return found.untested or found.estimate.reason or "no test is possible"


def could_see(found: Difference) -> float | None:
    """The true difference that would have been found with 80% power; None where it is not known.

    Nor is it where it is printed as 0: methods that give the same answers have no spread.
    """
    variance, metric = found.estimate.variance, metric_facts(found.metric)
    if variance is None or not variance.tested or not variance.total:
        return None
    least = detectable(variance)
    return None if metric.show(least) == metric.show(0.0) else least


def _power(found: Sequence[Difference]) -> str:
    """The true differences that a study could have seen; empty where that is not known."""
    metric = metric_facts(found[0].metric)
    seen = [least for of in found if (least := could_see(of)) is not None]
    if not seen:
        return ""
    ends = dict.fromkeys(metric.show(end) for end in (min(seen), max(seen)))
    unit = " percentage points" if metric.percent else ""
    return f" The study could have seen a difference of {' to '.join(ends)}{unit} (80% power)."


def _disagreements(asked: Asked) -> list[str]:
    """Other metrics by which a method is clearly what the primary metric does not say."""
    said = []
    for metric in asked.metrics[1:]:
        each = [
            f"{method} is {kind} than {asked.reference}, {asked.size(method, metric, named=False)}"
            for method in asked.methods
            if not other_half(metric)  # which is one of two, and has no direction by itself
            and asked.finding(method) != "not compared"
            and (kind := asked.finding(method, metric)) in CLEAR
            and kind != asked.finding(method)
        ]
        if each:
            said.append(f"By {spoken(metric)}, however, {'; '.join(each)}.")
    return said
