"""The top of the page: whether D confuses and R recovers, and what sets runs apart, in sentences.

A difference is called by its 95% interval: one that contains 0 is "no clear difference", and is
always said.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from medldr.evaluation.comparison.findings import Direction, direction
from medldr.evaluation.intervals.estimate import TESTED, Estimate
from medldr.evaluation.representation.judged import BALANCED, Classified, Part
from medldr.evaluation.representation.probes import LABELS, METRIC, Probed, Probes
from medldr.folders.latents_record import DEGRADED, ORIGINAL, RESTORED
from medldr.metrics import metric_facts
from medldr.reporting.document import Bullets
from medldr.reporting.sections.analysis.operators import part_title
from medldr.reporting.sections.analysis.signs import (
    TWO_KINDS,
    apart,
    of_two_kinds,
    turned,
)
from medldr.reporting.sections.domain_gap import points_text
from medldr.reporting.sections.rows import grouped
from medldr.reporting.wording import bracketed

Pair: TypeAlias = tuple[Estimate, Estimate]
MOST_RUNS: Final = 2
"""Runs with D and R that have sentences of their own; the tables have all."""
MOST_COMPARED: Final = 4
"""Runs that are compared with the reference in a sentence."""
MOST_SETS: Final = 4
"""Data sets, or domains held out, whose runs are compared in sentences."""
THREE_DECIMALS: Final = metric_facts("auc")
"""How alignment and uniformity are printed."""


def verdict(
    probes: Mapping[str, Probes],
    operators: Mapping[str, Classified],
    geometry: Mapping[str, Pair] | None = None,
    alike: Sequence[Sequence[str]] = (),
) -> Bullets:
    """What the latents of runs show, in a few sentences.

    Args:
        probes: By heading; the first is the reference.
        operators: By heading.
        geometry: Alignment and uniformity of the latents of each run, by heading.
        alike: Headings of runs on the same data set with the same domains held out, which alone
            are compared, with the first of them; unset: all are.
    """
    geometry = geometry or {}
    sets = alike or [list(dict.fromkeys([*probes, *geometry]))]
    moved = [h for h, judged in operators.items() if RESTORED in judged.last.views]
    moved += [h for h, judged in operators.items() if DEGRADED in judged.last.views]
    moved = list(dict.fromkeys(moved))
    said: list[str] = []
    for heading in moved[:MOST_RUNS]:
        said += _classified(heading, operators[heading])
        if heading in probes:
            said.append(_separable(heading, probes[heading].of_class))
    if len(moved) > MOST_RUNS:
        said.append(f"For {', '.join(moved[MOST_RUNS:])}, see the tables below.")
    for headings in sets[:MOST_SETS]:
        said.append(_domains({h: probes[h].of_domain for h in headings if h in probes}))
        said.append(_geometry({h: geometry[h] for h in headings if h in geometry}))
    if len(sets) > MOST_SETS:
        rest = ", ".join(heading for headings in sets[MOST_SETS:] for heading in headings)
        said.append(f"Comparisons of {rest} are in the tables below alone.")
    return Bullets([text for text in said if text], "verdict")


def _points(difference: Estimate) -> str:
    """A difference of balanced accuracy that is defined, with its interval or why it has none."""
    text = points_text(difference.mean or 0.0, METRIC.name)
    ends = bracketed(difference, METRIC, signed=True)
    return text + (ends or (f" ({difference.reason})" if difference.reason else ""))


def _share(held: Estimate) -> str:
    return "n/a" if held.mean is None else METRIC.with_unit(held.mean)


def _called(difference: Estimate, words: Mapping[Direction, str]) -> str:
    """A difference that is defined, in words and in points."""
    return f"{words[direction(difference)]}: {_points(difference)}"


def _said(difference: Estimate, words: Mapping[Direction, str], what: str) -> str:
    """The same of one that may be undefined, which says why and is not called."""
    if difference.mean is None:
        return f"{what} are not compared: {difference.reason}"
    return _called(difference, words)


def _not_compared(pairs: Iterable[tuple[str, str]]) -> str:
    """Runs that cannot be compared with the reference, by the reason."""
    return "".join(f" Not compared: {', '.join(h)} ({why})." for why, h in grouped(pairs).items())


def _classified(heading: str, judged: Classified) -> list[str]:
    """What D and R do to the run's own classifier, in images that training has not used."""
    parts = [part for part in judged.parts if part.split != "train"] or [judged.last]
    return [_on_part(heading, part) for part in parts]


def _on_part(heading: str, part: Part) -> str:
    names = {ORIGINAL: "original", DEGRADED: "degraded", RESTORED: "restored"}
    numbers = ", ".join(
        f"{_share(part.views[view].balanced)} on {name} latents"
        for view, name in names.items()
        if view in part.views
    )
    text = f"{heading}, {part_title(part).lower()}: balanced accuracy of its own classifier is "
    text += f"{numbers}; guessing gives {BALANCED.with_unit(part.chance)}."
    degraded = part.differences.get((ORIGINAL, DEGRADED))
    if degraded is not None:
        words: dict[Direction, str] = {
            "lower": "D confuses the classifier",
            "unclear": "It is not shown that D confuses the classifier: no clear difference "
            "between degraded and original latents",
            "higher": "D does not confuse the classifier, which does better on degraded latents",
        }
        text += f" {_said(turned(degraded), words, 'Degraded and original latents')}."
    restored = part.differences.get((RESTORED, DEGRADED))
    if restored is not None:
        words = {
            "higher": "R recovers the class",
            "unclear": "It is not shown that R recovers the class: no clear difference "
            "between restored and degraded latents",
            "lower": "R does not recover the class, as the classifier does worse on restored than "
            "on degraded latents",
        }
        text += f" {_said(restored, words, 'Restored and degraded latents')}."
    return text


def _separable(heading: str, probed: Probed) -> str:
    """Whether degraded latents are less class-separable, and restored ones more."""
    original = probed.differences.get((ORIGINAL, DEGRADED))
    restored = probed.differences.get((RESTORED, DEGRADED))
    accuracy = probed.accuracy
    parts = []
    if original is not None:
        words: dict[Direction, str] = {
            "lower": "degraded latents are less class-separable than original ones",
            "unclear": "no clear difference in how class-separable degraded and original latents "
            "are",
            "higher": "degraded latents are more class-separable than original ones",
        }
        shares = f"{_share(accuracy[DEGRADED])} against {_share(accuracy[ORIGINAL])}"
        text = _said(turned(original), words, "degraded and original latents")
        parts.append(f"{text}, {shares}")
    if restored is not None:
        words = {
            "higher": "restored latents are more class-separable than degraded ones",
            "unclear": "no clear difference in how class-separable restored and degraded latents "
            "are",
            "lower": "restored latents are less class-separable than degraded ones",
        }
        shares = f"{_share(accuracy[RESTORED])} against {_share(accuracy[DEGRADED])}"
        text = _said(restored, words, "restored and degraded latents")
        parts.append(f"{text}, {shares}")
    return f"{heading}, by a linear probe: {'; '.join(parts)}." if parts else ""


def _domains(found: Mapping[str, Probed]) -> str:
    """Whether the domain is predicted less well than from the latents of the reference."""
    held = {heading: probed for heading, probed in found.items() if not probed.reason}
    if not held:
        return ""
    reference, base = next(iter(held.items()))
    number = base.accuracy[ORIGINAL]
    text = f"A linear probe tells the domain from the latents of {reference} with a balanced "
    text += f"accuracy of {_share(number)}{bracketed(number, METRIC)}; guessing gives "
    text += METRIC.with_unit(base.chance or 0.0)
    alone = base.accuracy.get(LABELS)
    text += "" if alone is None else f", the class of an image alone at most {_share(alone)}"
    words: dict[Direction, str] = {
        "lower": "less easily", "unclear": "no clear difference", "higher": "more easily",
    }  # fmt: skip
    others = list(held.items())[1:]
    differences = {h: probed.minus(base) for h, probed in others[:MOST_COMPARED]}
    compared = "; ".join(
        f"{heading} {_called(each, words)}"
        for heading, each in differences.items()
        if each.mean is not None
    )
    text += f". Compared with {reference}: {compared}." if compared else "."
    return text + _not_compared((e.reason, h) for h, e in differences.items() if e.mean is None)


def _geometry(found: Mapping[str, Pair]) -> str:
    """Whether latents are closer within classes and more spread than those of the reference."""
    held = {h: pair for h, pair in found.items() if all(each.mean is not None for each in pair)}
    if len(held) < 2 or next(iter(found)) not in held:
        return ""
    reference, base = next(iter(held.items()))
    kinds: tuple[tuple[str, dict[Direction, str]], ...] = (
        ("alignment", {"lower": "better", "higher": "worse", "unclear": "no clear difference"}),
        ("uniformity", {"lower": "better", "higher": "worse", "unclear": "no clear difference"}),
    )
    others = dict(list(held.items())[1 : 1 + MOST_COMPARED])
    mixed = [h for h, pair in others.items() if any(map(of_two_kinds, pair, base))]
    parts = [
        f"{heading} {name} {THREE_DECIMALS.show(pair[place].mean or 0.0)} ({words[sign]}{ends})"
        for heading, pair in others.items()
        if heading not in mixed
        for place, (name, words) in enumerate(kinds)
        for sign, ends in [_judged(pair[place], base[place])]
    ]
    left = _not_compared((TWO_KINDS, heading) for heading in mixed)
    if not parts:
        return f"Alignment and uniformity, with {reference}:{left}"
    start = f"Alignment and uniformity (lower is better in both) against {reference}’s "
    start += " and ".join(THREE_DECIMALS.show(each.mean or 0.0) for each in base)
    return f"{start}: {'; '.join(parts)}.{left}"


def _judged(one: Estimate, other: Estimate) -> tuple[Direction, str]:
    difference = apart(one, other)
    few = any(each.n is not None and each.n < TESTED for each in (one, other))
    ends = bracketed(difference, THREE_DECIMALS, signed=True).strip(" ()")
    shown = THREE_DECIMALS.show_difference(difference.mean or 0.0)
    return "unclear" if few else direction(difference), f", {shown}, {ends or 'no CI'}"
