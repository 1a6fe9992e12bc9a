"""What an analysis found: the verdict of its page, and one sentence for each question.

A difference is called by its 95% interval: one that contains 0 is "no clear difference", and is
always said. Only means over three seeds or more are said to be of methods; all else is of networks.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.centres import DISTANCE, OVERALL
from medldr.evaluation.representation.frame import RECOVERED, number, where
from medldr.evaluation.representation.geometry import ALL, MEASURES
from medldr.evaluation.representation.measured import Measured
from medldr.evaluation.representation.moved import PER_NEAREST
from medldr.evaluation.representation.neighbours import ALIKE, ROBUSTNESS, SHARES
from medldr.evaluation.representation.operators import BALANCED
from medldr.evaluation.representation.probes import CLASS, DOMAIN, LABELS, METRIC
from medldr.folders.latents_record import DEGRADED, ORIGINAL, RESTORED
from medldr.reporting.document import Verdict
from medldr.reporting.sections.analysis.frames import (
    TWO_KINDS,
    Runs,
    apart,
    called,
    minus,
    shown_number,
    way,
)
from medldr.reporting.sections.analysis.topics import (
    QUERIES,
    across,
    main_geometry,
    tested_images,
)
from medldr.reporting.sections.rows import grouped
from medldr.reporting.wording import split_name

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


def answers(runs: Runs, alike: Sequence[Sequence[str]]) -> Iterator[str]:
    """One sentence for each question that the numbers of these runs answer.

    Args:
        runs: By heading, the reference first.
        alike: As for `verdict`.
    """
    moving = [name for name, run in runs.items() if run.moves]
    for name in moving[:MOST_RUNS]:
        for sentence in (_classifier, _separable, _neighbours, _robustness, _moved):
            yield sentence(name, runs[name])
    if len(moving) > MOST_RUNS:
        yield f"For {', '.join(moving[MOST_RUNS:])}, see the tables below."
    for names in alike:
        held = {name: runs[name] for name in names[: MOST_COMPARED + 1]}
        yield _domains(held)
        yield _distances(held)


def _classifier(name: str, run: Measured) -> str:
    """What D and R do to the run's own classifier, on the images that count most."""
    frame = run.frames["operators"]
    lines = where(frame, split=frame[-1]["split"], metric=BALANCED.name, domain="")
    shares = ", ".join(
        f"{'undefined' if (one := line['held'].mean) is None else BALANCED.with_unit(one)} on "
        f"{line['latents']} latents"
        for line in where(lines, minus="")
    )  # fmt: skip
    where_ = split_name(lines[0]["split"]).lower()
    text = f"{name}, {where_}{', unseen domains' * lines[0]['unseen']}: balanced accuracy of its "
    text += f"own classifier is {shares}; guessing gives {BALANCED.with_unit(lines[0]['chance'])}"
    confused = number(lines, latents=ORIGINAL, minus=DEGRADED)
    recovered = number(lines, latents=RESTORED, minus=DEGRADED)
    if confused is not None:
        said = called(minus(confused), BALANCED, lower="D confuses the classifier",
                      higher="D does not confuse it, which does better")  # fmt: skip
        text += f". Degraded against original latents: {said}"
    if recovered is not None:
        said = called(recovered, BALANCED, higher="R recovers the class",
                      lower="R does not recover the class, as it does worse")  # fmt: skip
        text += f". Restored against degraded latents: {said}"
    return f"{text}."


def _separable(name: str, run: Measured) -> str:
    """Whether a linear probe tells the class less well from degraded latents, and from restored."""
    frame = where(run.probes.frame, target=CLASS)
    pairs = ((ORIGINAL, "original"), (RESTORED, "restored"))
    said = [
        f"from {words} compared with degraded latents "
        + called(one, METRIC, higher="better", lower="less well")
        for view, words in pairs
        if (one := number(frame, latents=view, minus=DEGRADED)) is not None
    ]  # fmt: skip
    return f"{name}, how well a linear probe tells the class: {'; '.join(said)}." if said else ""


def _neighbours(name: str, run: Measured) -> str:
    """Whether restored latents are nearer to their class than degraded ones."""
    frame = run.frames["neighbours"]
    share = across(frame)
    frame = where(frame, latents=RECOVERED, neighbours=share)
    parts = {line["queries"]: line["held"] for line in frame}
    part = next((part for part in ("unseen", "other", "training") if part in parts), "")
    if not part:
        return ""
    kind = "the same class" + (" in another domain" if share != ALIKE else "")
    said = called(parts[part], SHARES[share], higher="more", lower="fewer")
    return (
        f"{name}, {QUERIES[part].lower()}: neighbours of {kind} after restoration than after "
        f"degradation: {said}."
    )


def _robustness(name: str, run: Measured) -> str:
    """Whether restored latents follow the class more than degraded ones."""
    change = number(run.frames["robustness"], queries=ALL, latents=RECOVERED)
    if change is None:
        return ""
    said = called(change, ROBUSTNESS, higher="higher", lower="lower")
    return f"{name}: robustness index after restoration, compared with degradation: {said}."


def _moved(name: str, run: Measured) -> str:
    """How far restored latents are from the originals."""
    lines = where(run.frames["queries"], metric=PER_NEAREST.name)
    said = " and ".join(f"{line['latents']} latents {shown_number(line['held'], PER_NEAREST)}"
                        for line in lines)  # fmt: skip
    return (
        f"{name}: distance from the original latent, that of the nearest other image being 1: "
        f"{said}."
        if said
        else ""
    )


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
