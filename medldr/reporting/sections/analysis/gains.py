"""Where a method helps: its gain over the reference, domain by domain."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from medldr.evaluation.comparison.findings import FINDINGS
from medldr.evaluation.intervals.estimate import TESTED
from medldr.metrics import metric_facts
from medldr.reporting.document import Figures, Section
from medldr.reporting.figures.sweep.gains import gains_figure, place_name
from medldr.reporting.prose import section, sentence
from medldr.reporting.results.gains import Gain
from medldr.reporting.sections.comparison.tables import difference_cell
from medldr.reporting.sections.domain_gap import spoken
from medldr.reporting.sections.rows import count
from medldr.reporting.table import Row, Table


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
