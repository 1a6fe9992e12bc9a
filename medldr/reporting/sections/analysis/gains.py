"""Where a method helps: its gain over the reference by domain, and of all data sets together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from medldr.evaluation.comparison.findings import FINDINGS
from medldr.evaluation.intervals.estimate import TESTED, Estimate
from medldr.metric import Metric
from medldr.metrics import metric_facts
from medldr.reporting.document import Figures, Section
from medldr.reporting.figures.sweep.gains import gains_figure, place_name
from medldr.reporting.figures.sweep.pooled import pooled_figure
from medldr.reporting.prose import section, sentence
from medldr.reporting.results.gains import Gain, Pooled
from medldr.reporting.sections.comparison.tables import difference_cell
from medldr.reporting.sections.domain_gap import spoken
from medldr.reporting.sections.rows import count, method_row, show_p
from medldr.reporting.table import DASH, Cell, Row, Table


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
    """For each sweep a table, and for each method but controls a figure.

    Args:
        found: Gains by the title of their sweep.
    """
    there = {title: of for title, of in found.items() if _several(of)}
    drawn = [(of, gains) for of in there.values() for method, gains in of.methods.items()
             if method not in of.controls]  # fmt: skip
    drawings = [gains_figure(gains, of.reference, of.metric, number)
                for number, (of, gains) in enumerate(drawn, 1)]  # fmt: skip
    tables = [gains_table(of, title if len(there) > 1 else "") for title, of in there.items()]
    return section(
        "analysis", "gains", Figures([one for one in drawings if one is not None]), *tables,
        reference=" or ".join(dict.fromkeys(of.reference for of in there.values())),
    )  # fmt: skip


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


def gains_table(of: SweepGains, title: str = "") -> Table:
    """Domains down, methods across.

    Args:
        of: The gains of a sweep.
        title: Of the sweep, where there are several.
    """
    places: dict[tuple[object, ...], dict[str, Gain]] = {}
    for method, gains in of.methods.items():
        for gain in gains:
            places.setdefault(gain[:5], {})[method] = gain
    several = len({gain.data for gains in of.methods.values() for gain in gains}) > 1
    caption = f"{metric_facts(of.metric).heading}: difference from {of.reference} in each domain"
    table = Table(f"{title}: {caption}" if title else caption, ["Domain", *of.methods])
    for by_method in places.values():
        any_gain = next(iter(by_method.values()))
        found = {method: by_method[method].difference for method in by_method}
        cells = [difference_cell(table, of.metric, found.get(method)) for method in of.methods]
        tags = {True: ("unseen",), False: ("seen",), None: ()}[any_gain.unseen]
        name = place_name(any_gain, several=several).removesuffix(" (seen)")
        table.rows.append(Row(name, cells, tags))
    if any(gain.difference.seeds < TESTED for gains in of.methods.values() for gain in gains):
        table.notes.append(sentence("few_no_p"))
    return table


def gains_lines(found: Mapping[str, SweepGains]) -> list[dict[str, object]]:
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
SHARE = Metric("i2", "I²", "Share of the spread between gains that is not chance.", percent=True)


def pooled_section(found: Sequence[Pooled]) -> Section | None:
    """A figure for each method, and a table of all of them; None where nothing was pooled."""
    shown = [each for each in found if each.summary is not None]
    drawings = [pooled_figure(each, number) for number, each in enumerate(shown, 1)]
    over = dict.fromkeys(_over(each) for each in shown)
    caveat = OF_DOMAINS if any(each.over == "domains" for each in shown) else ""
    figures = Figures([drawing for drawing in drawings if drawing is not None])
    table = pooled_table(shown) if shown else None
    return section("analysis", "pooled", figures, table, over=" or ".join(over), caveat=caveat)


def _over(each: Pooled) -> str:
    return "data sets" if each.over == "data sets" else "held-out domains"


def pooled_table(found: Sequence[Pooled]) -> Table:
    """A row per method.

    Args:
        found: One or more that were pooled, of one metric.
    """
    known = metric_facts(found[0].metric)
    several = len({each.reference for each in found}) > 1
    more = "" if several else f", difference from {found[0].reference}"
    table = Table(
        f"{known.heading}: random-effects mean{more}",
        ["Method", "Pooled", "Mean gain", "Prediction interval", "tau", "I² (%)", "Q", "p of Q"],
        texts=(1, 3),
    )
    for each in found:
        summary = each.summary
        if summary is None:
            continue
        seeds = any(effect.few_seeds for effect in each.effects)
        signs = [table.sign(t) for t, holds in ((FEW, summary.few), (FEW_SEEDS, seeds)) if holds]
        mean = Cell(replace(each.estimate, se=None), known, signed=True, mark=",".join(signs))
        ends = DASH
        if each.predicted is not None:
            low, high = each.predicted
            ends = f"{known.show_difference(low)} to {known.show_difference(high)}"
        cells = [
            Cell(f"{len(each.effects)} {_over(each)}"),
            mean,
            Cell(ends),
            Cell(Estimate(summary.tau), known),
            Cell(Estimate(summary.i2), SHARE),
            Cell(f"{summary.q:.2f}", order=summary.q),
            Cell(show_p(summary.q_p), order=summary.q_p),
        ]
        name = f"{each.method} vs {each.reference}" if several else each.method
        table.rows.append(method_row(name, cells, control=each.control))
    left = dict.fromkeys(name for each in found for name in each.left_out)
    if left:
        table.notes.append(
            f"Not pooled: {', '.join(left)}. Their test images are evaluated more than once here, "
            "so they are not independent, or their gain has no standard error."
        )
    return table


def pooled_lines(found: Sequence[Pooled]) -> list[dict[str, object]]:
    """A line for each gain, and one for each summary."""
    lines: list[dict[str, object]] = []
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
