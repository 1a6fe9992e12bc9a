"""Where a method helps: its gain over the reference by domain, and of all data sets together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from medldr.evaluation.comparison.findings import FINDINGS
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.frame import Line
from medldr.metrics import metric_facts
from medldr.reporting.document import Bullets, Drawing, Figures, Section
from medldr.reporting.figures.drawing import BLUE, MUTED, ORANGE
from medldr.reporting.figures.forest import BETTER, Whisker, forest_figure
from medldr.reporting.prose import section
from medldr.reporting.results.gains import Gain, Pooled
from medldr.reporting.sections.rows import count
from medldr.reporting.wording import shown_number, spoken
from medldr.types import SPLIT_TITLES


@dataclass(frozen=True)
class SweepGains:
    """The gains of a sweep.

    Attributes:
        reference: What its methods are compared with.
        metric: What they are of.
        methods: Gains of each method, in order.
        controls: Methods that are controls.
    """

    reference: str
    metric: str
    methods: Mapping[str, Sequence[Gain]]
    controls: Sequence[str] = ()


def gains_section(found: Mapping[str, SweepGains]) -> Section | None:
    """A figure for each method of each sweep but controls.

    Args:
        found: Gains by the title of their sweep.
    """
    drawn = [(of, gains) for of in found.values() if _several(of)
             for method, gains in of.methods.items() if method not in of.controls]  # fmt: skip
    drawings = [gains_figure(gains, of.reference, of.metric, number)
                for number, (of, gains) in enumerate(drawn, 1)]  # fmt: skip
    references = " or ".join(dict.fromkeys(of.reference for of, _ in drawn))
    return section("analysis", "gains", Figures.of(*drawings), reference=references)


def gains_figure(
    found: Sequence[Gain], reference: str, metric: str, number: int = 1
) -> Drawing | None:
    """Paired differences with 95% intervals, unseen domains first, the largest gain at the top.

    Args:
        found: The gains of one method, in order.
        reference: What it is compared with.
        metric: The metric that they are of.
        number: Of the figure on its page, from 1.

    Returns:
        None without any gain.
    """
    if not found:
        return None
    known, several = metric_facts(metric), len({gain.data for gain in found}) > 1
    looks: dict[bool, tuple[Literal["o", "s"], str]] = {True: ("o", MUTED), False: ("s", BLUE)}
    rows = [
        Whisker(place_name(g, several=several), g.difference.estimate, *looks[g.unseen is False])
        for g in found
    ]
    places = {"o": "seen in training", "s": "unseen"}
    return forest_figure(
        f"gains_{number}", metric, rows,
        title=f"{known.title}: {found[0].method} minus {reference}", reference=reference,
        legend=places if any(gain.unseen for gain in found) else None,
        caption=f"One row per domain, with 95% CI, the largest gain first; "
        f"{BETTER.get(known.better, 'the line marks no difference')}. An interval that crosses the "
        "line means no clear difference there, not that there is none.",
    )  # fmt: skip


def place_name(gain: Gain, *, several: bool) -> str:
    """The domain of a gain, with its data set where there are several of them.

    Args:
        gain: The gain.
        several: Whether gains of other data sets stand beside it.
    """
    name = gain.domain
    if name is None:
        name = "all images" if gain.unseen is None else "seen domains"
        name = f"{name}, {gain.held_out} held out" if gain.held_out else name
    elif gain.unseen is False:
        name = f"{name} (seen)"
    if gain.unseen is None and gain.split != "test":
        name = f"{name}, {SPLIT_TITLES.get(gain.split, gain.split).lower()}"
    return f"{gain.data}: {name}" if several else name


def gains_answers(found: Mapping[str, SweepGains]) -> Iterator[str]:
    """What each method does in how many domains; controls, which explain others, are named so."""
    there = {title: of for title, of in found.items() if _several(of)}
    for title, of in there.items():
        for method, gains in of.methods.items():
            text = "Control: " * (method in of.controls) + verdict(gains, of.reference, of.metric)
            yield f"{title}: {text}" if len(there) > 1 else text


def _several(of: SweepGains) -> bool:
    """Whether there is more than one place: a single one is in the tables of the sweep already."""
    return any(len(gains) > 1 for gains in of.methods.values())


def verdict(gains: Sequence[Gain], reference: str, metric: str) -> str:
    """In how many places a method is better, worse, or not clearly different.

    Seen domains count only where no other was tested.

    Args:
        gains: The gains of one method.
        reference: What it is compared with.
        metric: What the gains are of.
    """
    chosen = [gain for gain in gains if gain.unseen is not False] or list(gains)
    unseen = all(gain.unseen for gain in chosen)
    found = Counter(gain.difference.finding or "not compared" for gain in chosen)
    if set(found) == {"not compared"}:
        why = {gain.difference.untested for gain in chosen} - {""}
        said = f"not compared ({', '.join(sorted(why))})" if why else "not compared"
    else:
        each = [f"{kind} in {found[kind]}" for kind in FINDINGS if found[kind]]
        where = " on unseen domains" if unseen else ""
        said = f"{', '.join(each)} of {count(len(chosen), 'comparison')}{where}"
    return f"{gains[0].method} vs {reference}, {spoken(metric)}: {said}."


def gains_lines(found: Mapping[str, SweepGains]) -> list[Line]:
    """One line per method and domain."""
    seen = {None: "", True: "unseen", False: "seen"}
    return [
        {"sweep": sweep, "method": method, "compared_with": of.reference, "data": gain.data,
         "domain": gain.domain, "held_out": gain.held_out, "split": gain.split,
         "seen": seen[gain.unseen], "metric": of.metric, "seeds": gain.difference.seeds,
         "difference": held.mean, "low": held.low, "high": held.high, "p": gain.difference.p,
         "p_holm": gain.difference.p_holm, "finding": gain.difference.finding or "not compared",
         "control": method in of.controls, "reason": held.reason}
        for sweep, of in found.items()
        if _several(of)
        for method, gains in of.methods.items()
        for gain in gains
        for held in [gain.difference.estimate]
    ]  # fmt: skip


OF_DOMAINS = (
    "Held-out domains of one data set share most of their training images and are not independent: "
    "these intervals are too narrow, and say nothing of other data sets."
)
FEW = "Two alone: tau and the interval cannot be relied on."
FEW_SEEDS = (
    "Fewer than three seeds were trained in some of them: the interval lacks the chance of "
    "training, or hardly knows it."
)


def pooled_section(found: Sequence[Pooled]) -> Section | None:
    """A figure for each method, and its mean in words; None where nothing was pooled."""
    shown = [each for each in found if each.summary is not None]
    drawings = [pooled_figure(each, number) for number, each in enumerate(shown, 1)]
    over = dict.fromkeys(_over(each) for each in shown)
    caveat = OF_DOMAINS if any(each.over == "domains" for each in shown) else ""
    notes = Bullets([*pooled_notes(shown)])
    return section(
        "analysis", "pooled", Figures.of(*drawings), notes, over=" or ".join(over), caveat=caveat
    )


def _over(each: Pooled) -> str:
    return "data sets" if each.over == "data sets" else "held-out domains"


SMALLEST, LARGEST = 4.0, 11.0
"""Width in points of the squares, whose area is the weight."""


def pooled_figure(pooled: Pooled, number: int = 1) -> Drawing | None:
    """A square per data set, a diamond for the mean, a line for where a new data set may lie.

    Args:
        pooled: The gains of one method.
        number: Of the figure on its page, from 1.

    Returns:
        None where nothing was pooled.
    """
    if pooled.summary is None:
        return None
    known, most = metric_facts(pooled.metric), max(pooled.summary.weights)
    one = _over(pooled).removesuffix("s")
    rows = [
        Whisker(of.name, of.estimate, size=max(SMALLEST, LARGEST * (weight / most) ** 0.5))
        for of, weight in zip(pooled.effects, pooled.summary.weights, strict=True)
    ]
    rows.append(Whisker("Random-effects mean", pooled.estimate, "diamond", ORANGE))
    line = ""
    if pooled.predicted is not None:
        low, high = pooled.predicted
        rows.append(Whisker("Prediction interval", Estimate(low=low, high=high), colour=MUTED))
        line = f"; the line below it is where the effect in a new {one} may lie, with 95% "
        line += "probability"
    return forest_figure(
        f"pooled_{number}", pooled.metric, rows,
        title=f"{known.title}: {pooled.method} minus {pooled.reference}",
        reference=pooled.reference,
        caption=f"One square per {one} with its 95% CI, larger where it weighs more. The diamond "
        f"is the random-effects mean and its 95% CI{line}; "
        f"{BETTER.get(known.better, 'the line at 0 marks no difference')}.",
    )  # fmt: skip


def pooled_notes(found: Sequence[Pooled]) -> Iterator[str]:
    """What each mean is of, and why some cannot be relied on."""
    for each in found:
        said = [FEW] if each.summary is not None and each.summary.few else []
        said += [FEW_SEEDS] if any(effect.few_seeds for effect in each.effects) else []
        control = ", a control" * each.control
        mean = shown_number(each.estimate, metric_facts(each.metric), signed=True)
        yield " ".join([f"{each.method}{control} minus {each.reference}: {mean}.", *said])
    left = dict.fromkeys(name for each in found for name in each.left_out)
    if left:
        yield (
            f"Not pooled: {', '.join(left)}. Their test images are evaluated more than once here, "
            "so they are not independent, or their gain has no standard error."
        )


def pooled_lines(found: Sequence[Pooled]) -> list[Line]:
    """A line for each gain, and one for each summary."""
    lines: list[Line] = []
    for each in found:
        summary = each.summary
        weights = summary.weights if summary is not None else [None] * len(each.effects)
        head = {"method": each.method, "compared_with": each.reference, "metric": each.metric,
                "over": each.over, "control": each.control}  # fmt: skip
        low, high = each.predicted or (None, None)
        more = {} if summary is None else {
            "predicted_low": low, "predicted_high": high, "k": len(each.effects),
            "tau": summary.tau, "i2": summary.i2, "q": summary.q, "q_p": summary.q_p,
            "few": summary.few,
        }  # fmt: skip
        numbers = [("gain", effect.name, effect.estimate, effect.error, {"weight": weight})
                   for effect, weight in zip(each.effects, weights, strict=True)]  # fmt: skip
        mean = each.estimate
        for kind, name, held, error, own in (*numbers, ("mean", "", mean, mean.se, more)):
            lines.append({**head, "kind": kind, "name": name, "difference": held.mean,
                          "error": error, "low": held.low, "high": held.high, **own,
                          "reason": held.reason})  # fmt: skip
    return lines
