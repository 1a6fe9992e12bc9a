"""What an analysis found: the verdict of its page, and one sentence for each question.

A difference is called by its 95% interval: one that contains 0 is "no clear difference", and is
always said. Only means over three seeds or more are said to be of methods; all else is of networks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal, NamedTuple

from medldr.evaluation.comparison.findings import TWO_KINDS, apart
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.centres import DISTANCE, OVERALL
from medldr.evaluation.representation.frame import RECOVERED, Line, number, where
from medldr.evaluation.representation.geometry import ALL, MEASURES
from medldr.evaluation.representation.measured import Measured
from medldr.evaluation.representation.neighbours import ALIKE, ROBUSTNESS, SAME_CLASS, SHARES
from medldr.evaluation.representation.operators import BALANCED
from medldr.evaluation.representation.probes import CLASS, DOMAIN, LABELS, METRIC
from medldr.folders.latents_record import DEGRADED, ORIGINAL, RESTORED
from medldr.metric import Metric
from medldr.reporting.document import Verdict
from medldr.reporting.sections.analysis.topics import (
    QUERIES,
    Runs,
    main_geometry,
    tested_images,
)
from medldr.reporting.sections.rows import grouped
from medldr.reporting.wording import called, shown_number, split_name, way

MOST_RUNS: Final = 2
"""Runs with D and R that have sentences of their own; the tables have all."""
MOST_COMPARED: Final = 4
"""Runs that are compared with the reference in a sentence."""
WORDS: Final = {
    "alignment": ("images of a class lie further apart", "images of a class lie closer together"),
    "uniformity": ("latents are spread less evenly", "latents are spread more evenly"),
}
"""What a higher and a lower number means."""
Found = Literal["better", "worse", "mixed", "not clear"]
KINDS: Final[Mapping[Found, str]] = {
    "better": "lower, which is better, in one or both",
    "worse": "higher, which is worse, in one or both",
    "mixed": "lower in one at the cost of the other",
    "not clear": "no clear difference",
}


def verdict(runs: Runs, alike: Sequence[Sequence[str]], more: Sequence[str] = ()) -> Verdict:
    """What the methods do to alignment and uniformity, against the reference.

    Args:
        runs: By heading, the reference first.
        alike: Headings of runs on the same data set with the same domains held out, which alone
            are compared, with the first of them.
        more: What else must not be missed.
    """
    said = [_compared({name: runs[name] for name in names}) for names in alike if len(names) > 1]
    if not said:
        text = " ".join(_described(name, run) for name, run in runs.items())
        return Verdict("described", text, "open", more)
    (word, text), *others = said
    tone: Literal["good", "bad", "open"] = "open"
    tone = "good" if word == "better" else "bad" if word == "worse" else tone
    return Verdict(word, text, tone, [*(other for _, other in others), *more])


def _described(name: str, run: Measured) -> str:
    held = {measure: number(main_geometry(run), measure=measure, latents=ORIGINAL)
            for measure in WORDS}  # fmt: skip
    shown = " and ".join(
        f"{measure} {shown_number(one, MEASURES[measure])}"
        for measure, one in held.items() if one is not None
    )  # fmt: skip
    return f"{name}, {tested_images(run)}: {shown}." if shown else ""


def _compared(runs: Runs) -> tuple[str, str]:
    """A word and a sentence on methods against the first of them."""
    (reference, base), *others = runs.items()
    each = {name: _differences(run, base) for name, run in others}
    found = {name: _found(of) for name, of in each.items()}
    of = tested_images(base)
    if len(each) == 1:
        ((name, differences),) = each.items()
        text = f"{name} against {reference}, {of}: {_in_words(differences)}."
        text += " One was had at the cost of the other." * (found[name] == "mixed")
    else:
        by = grouped((one, name) for name, one in found.items())
        kinds = "; ".join(f"{KINDS[kind]}: {', '.join(names)}" for kind, names in by.items())
        text = f"Alignment and uniformity against {reference}, {of}: {kinds}."
    known = [one for of_one in each.values() for one in of_one.values() if one.mean is not None]
    if known and all(one.n is None for one in known):
        return "not clear", f"{text} That is of one network each: it says little of the methods."
    better = sum(one == "better" for one in found.values())
    if len(set(found.values())) > 1 and better:
        return f"{better} of {len(found)} better", text
    word: str = next(iter(found.values())) if len(set(found.values())) == 1 else "not clear"
    return "not clear" if word == "mixed" else word, text


def _differences(run: Measured, base: Measured) -> dict[str, Estimate]:
    frames = main_geometry(run), main_geometry(base)
    found = {}
    for measure in WORDS:
        one, other = (number(f, measure=measure, latents=ORIGINAL) for f in frames)
        if one is not None and other is not None:
            found[measure] = apart(one, other)
    return found


def _found(differences: Mapping[str, Estimate]) -> Found:
    """Better: lower in one of the two and higher in none."""
    ways = {way(one) for one in differences.values() if one.mean is not None}
    if {"higher", "lower"} <= ways:
        return "mixed"
    return "better" if "lower" in ways else "worse" if "higher" in ways else "not clear"


def _in_words(differences: Mapping[str, Estimate]) -> str:
    if {one.reason for one in differences.values()} == {TWO_KINDS}:
        return f"not compared, because {TWO_KINDS}"
    words = {
        name: {"higher": WORDS[name][0], "lower": WORDS[name][1], "unclear": "no clear difference"}
        for name in differences
    }
    return "; ".join(
        f"{name} {shown_number(one, MEASURES[name], signed=True)} ({words[name][way(one)]})"
        for name, one in differences.items()
    )


class Contrast(NamedTuple):
    """A question about two kinds of latents of one run.

    Attributes:
        topic: Whose frame has the numbers.
        lead: What is compared.
        metric: What the numbers are.
        one: The latents that the sentence is about.
        other: Those they are compared with.
        higher: Said where their number is clearly higher.
        lower: Said where it is clearly lower.
    """

    topic: str
    lead: str
    metric: Metric
    one: str
    other: str
    higher: str
    lower: str


CONTRASTS: Final = (
    Contrast("operators", "balanced accuracy of its own classifier", BALANCED, DEGRADED, ORIGINAL,
             "D does not confuse the classifier, which does better", "D confuses the classifier"),
    Contrast("operators", "balanced accuracy of its own classifier", BALANCED, RESTORED, DEGRADED,
             "R recovers the class", "R does not recover the class, which is told less well"),
    Contrast("probes", "how well a linear probe tells the class", METRIC, DEGRADED, ORIGINAL,
             "better", "less well"),
    Contrast("probes", "how well a linear probe tells the class", METRIC, RESTORED, DEGRADED,
             "better", "less well"),
    Contrast("neighbours", "neighbours of the same class in another domain", SHARES[SAME_CLASS],
             RESTORED, DEGRADED, "more", "fewer"),
    Contrast("neighbours", "neighbours of the same class", SHARES[ALIKE], RESTORED, DEGRADED,
             "more", "fewer"),
    Contrast("robustness", "robustness index", ROBUSTNESS, RESTORED, DEGRADED, "higher", "lower"),
)  # fmt: skip
"""Whether D confuses and R recovers, as it is seen by each topic."""


def answers(runs: Runs, alike: Sequence[Sequence[str]]) -> Iterator[str]:
    """One sentence for each question that the numbers of these runs answer.

    Args:
        runs: By heading, the reference first.
        alike: As for `verdict`.
    """
    moving = [name for name, run in runs.items() if run.moves]
    for name in moving[:MOST_RUNS]:
        yield from (_contrasted(name, runs[name], each) for each in CONTRASTS)
    if len(moving) > MOST_RUNS:
        yield f"For {', '.join(moving[MOST_RUNS:])}, see the tables below."
    for names in alike:
        held = {name: runs[name] for name in names[: MOST_COMPARED + 1]}
        yield _domains(held)
        yield _distances(held)


def _contrasted(name: str, run: Measured, asked: Contrast) -> str:
    frame, images = _main(run, asked)
    difference = number(frame, latents=RECOVERED)
    if difference is None:
        difference = number(frame, latents=asked.one, minus=asked.other)
    if difference is None and (turned := number(frame, latents=asked.other, minus=asked.one)):
        difference = turned.turned
    if difference is None:
        return ""
    both = {view: number(frame, latents=view, minus="") for view in (asked.one, asked.other)}
    shown = (f"{asked.metric.with_unit(held.mean)} on {view}" for view, held in both.items()
             if held is not None and held.mean is not None)  # fmt: skip
    words = called(difference, asked.metric, higher=asked.higher, lower=asked.lower)
    against = ", ".join(shown) or f"on {asked.one} against {asked.other}"
    return f"{name}, {images}: {asked.lead} {against} latents: {words}."


def _main(run: Measured, asked: Contrast) -> tuple[list[Line], str]:
    """The lines of a topic on the images that count most, and which these are."""
    frame = [{"minus": "", **line} for line in run.frames[asked.topic]]
    if asked.topic == "operators" and frame:
        last = frame[-1]
        images = f"{split_name(last['split']).lower()}{', unseen domains' * last['unseen']}"
        return where(frame, split=last["split"], metric=BALANCED.name, domain=""), images
    if asked.topic == "probes":
        return where(frame, target=CLASS), "images that the probe was not fitted on"
    if asked.topic == "neighbours":
        frame = where(frame, neighbours=asked.metric.name)
    parts = ("unseen", "other", "training") if asked.topic == "neighbours" else (ALL,)
    part = next((part for part in parts if where(frame, queries=part)), "")
    return where(frame, queries=part), QUERIES.get(part, "all images").lower()


def _domains(runs: Runs) -> str:
    """Whether the domain is told less well than from the latents of the reference."""
    told = {name: run.probes for name, run in runs.items() if DOMAIN in run.probes.keys}
    if not told:
        return ""
    (reference, base), *others = told.items()
    frame = where(base.frame, target=DOMAIN, minus="")
    held = number(frame, latents=ORIGINAL)
    alone = number(frame, latents=LABELS)
    text = f"A linear probe tells the domain from the latents of {reference} with a balanced "
    text += f"accuracy of {shown_number(held or Estimate(), METRIC)}; guessing gives "
    text += METRIC.with_unit(frame[0]["chance"])
    if alone is not None and alone.mean is not None:
        text += f", the class of an image alone at most {METRIC.with_unit(alone.mean)}"
    differences = {name: probes.minus(base, DOMAIN) for name, probes in others}
    return text + _against(reference, {
        name: called(one, METRIC, higher="more easily", lower="less easily")
        for name, one in differences.items()
    })  # fmt: skip


def _distances(runs: Runs) -> str:
    """Whether domains lie further apart than in the reference."""
    held = {name: number(run.frames["centres"], of=OVERALL) for name, run in runs.items()}
    (reference, base), *others = held.items()
    if base is None or base.mean is None:
        return ""
    text = f"Domains are {shown_number(base, DISTANCE)} apart within a class for {reference}"
    return text + _against(reference, {
        name: called(apart(one, base), DISTANCE, higher="further", lower="less far")
        for name, one in others if one is not None
    })  # fmt: skip


def _against(reference: str, said: Mapping[str, str]) -> str:
    each = "; ".join(f"{name} {text}" for name, text in said.items())
    return f". Compared with {reference}: {each}." if each else "."
