"""Alignment and uniformity: of the runs, by class, by domain, within and between domains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.geometry import (
    ALL,
    TEST,
    TRAINING,
    Closeness,
    Geometry,
    Part,
    Spread,
)
from medldr.evaluation.representation.pair_scores import APART
from medldr.evaluation.representation.sphere import ALIGNMENT, UNIFORMITY
from medldr.folders.latents_record import ORIGINAL
from medldr.metric import Metric
from medldr.reporting.document import Figures, Section
from medldr.reporting.figures.latents.geometry import latent_metrics, over_seeds
from medldr.reporting.prose import section
from medldr.reporting.sections.analysis.numbers import cell, heading, kept_rows
from medldr.reporting.table import Cell, Row, Table
from medldr.types import SPLIT_TITLES

SETS = {TEST: "test", TRAINING: "training", ALL: "all"}
SEEN = {True: "All seen domains", False: "All unseen domains, test images"}


def geometry_section(
    found: Mapping[str, Geometry], alike: Sequence[Sequence[str]] = ()
) -> Section | None:
    """Bars and tables; None where no run has latents.

    Args:
        found: By heading of the run or method, the reference first.
        alike: Headings of runs on the same data set with the same domains held out; unset: all
            are.
    """
    if not found:
        return None
    main = {run: one.main for run, one in found.items()}
    bars = {run: (part.closeness.alignment, part.uniformity) for run, part in main.items()}
    figure = latent_metrics(bars, images=_of_which(main.values()).lower())
    parts = [part for one in found.values() for views in one.parts.values()
             for part in views.values()]  # fmt: skip
    fewer = any(part.closeness.n < part.of for part in parts)
    return section(
        "analysis", "geometry", Figures([] if figure is None else [figure]),
        _overview(found), _between(found), _by_class(main),
        _by_domain(found, ALIGNMENT), _by_domain(found, UNIFORMITY),
        sampled="From larger sets, as many images as the tables give were drawn at random."
        if fewer else "",
        intervals=_intervals(bars), mixed=_mixed(alike),
    )  # fmt: skip


def _mixed(alike: Sequence[Sequence[str]]) -> str:
    """What to know where not all runs can be compared."""
    if len(alike) < 2:
        return ""
    several = "; ".join(" with ".join(headings) for headings in alike if len(headings) > 1)
    said = "Runs on different data sets, or with different domains held out, stand side by side "
    said += "here, and their numbers do not compare."
    return said + (f" Those that do: {several}." if several else "")


def _of_which(parts: Iterable[Part]) -> str:
    return " or ".join(dict.fromkeys(map(images, parts)))


def geometry_lines(found: Mapping[str, Geometry]) -> list[dict[str, object]]:
    """Every number as a line of a table."""
    return [
        {"run": run, "images": key, "latents": view, "of": kind, "name": name,
         "measure": measure, "n": n, "value": one.mean, "low": one.low, "high": one.high,
         "sd": one.sd, "seeds": one.n, "reason": one.reason}
        for run, each in found.items()
        for key, views in each.parts.items()
        for view, part in views.items()
        for kind, name, n, numbers in _numbers(part)
        for measure, one in numbers.items()
    ]  # fmt: skip


def images(part: Part) -> str:
    """Which images a part is of.

    Example:
        >>> from medldr.evaluation.representation.geometry import Closeness
        >>> none = Estimate()
        >>> images(Part("test", True, 9, Closeness(9, none, none, none, none), none))
        'Test images of unseen domains'
    """
    if part.split == ALL:
        return "All images"
    title = SPLIT_TITLES[part.split].split(",")[0]
    seen = part.split.startswith("id_")
    return f"{title} images{' of unseen domains' if part.unseen else ' of seen domains' * seen}"


def _numbers(part: Part) -> Iterator[tuple[str, str, int, dict[str, Estimate]]]:
    """What each set of images is, and its numbers."""
    for kind, name, each in (
        ("all", "", part.closeness), *(("class", k, one) for k, one in part.classes.items()),
    ):  # fmt: skip
        numbers = {
            "alignment": each.alignment, "alignment_within_domains": each.within,
            "alignment_between_domains": each.across, "alignment_difference": each.apart,
        }  # fmt: skip
        yield kind, name, each.n, numbers | ({} if name else {"uniformity": part.uniformity})
    spreads = [("domain", name, one) for name, one in part.domains.items()]
    spreads += [("domains", "seen" if s else "unseen", one) for s, one in part.together.items()]
    for kind, name, held in spreads:
        yield kind, name, held.n, {"alignment": held.alignment, "uniformity": held.uniformity}


def _overview(found: Mapping[str, Geometry]) -> Table:
    """Every kind of latents of every run, on every set of images."""
    table = Table("Alignment and uniformity", ["Latents"])
    sets, said = [], []
    for key, name in SETS.items():
        held = [one.parts[key][ORIGINAL] for one in found.values() if key in one.parts]
        if held:
            sets.append(key)
            table.columns += [f"{metric.title}, {name}" for metric in (ALIGNMENT, UNIFORMITY)]
            sizes = [part.closeness.n for part in held]
            ends = " to ".join(f"{n:,}" for n in dict.fromkeys((min(sizes), max(sizes))))
            said.append(f"{_of_which(held)}: n = {ends}.")
    table.notes.append(" ".join(said))
    for run, each in found.items():
        for view in next(iter(each.parts.values())):
            cells: list[Cell] = []
            for part in (each.parts.get(key, {}).get(view) for key in sets):
                cells += [Cell(), Cell()] if part is None else [
                    cell(table, part.closeness.alignment, ALIGNMENT),
                    cell(table, part.uniformity, UNIFORMITY),
                ]  # fmt: skip
            table.rows.append(Row(heading(run, view), cells))
    return table


def _between(found: Mapping[str, Geometry]) -> Table | None:
    """Alignment of pairs within a domain and of pairs of two domains; None where there are none."""
    table = Table(
        "Two images of the same class: of one domain, and of two domains (all images)",
        ["Latents", "Alignment within domains", "Alignment between domains", "Difference"],
        notes=[APART.meaning],
    )
    shown = False
    for run, each in found.items():
        for view, part in each.parts.get(ALL, {}).items():
            held = part.closeness
            shown |= held.apart.mean is not None
            cells = [cell(table, held.within, ALIGNMENT), cell(table, held.across, ALIGNMENT),
                     cell(table, held.apart, APART, signed=True)]  # fmt: skip
            table.rows.append(Row(heading(run, view), cells))
    return table if shown else None


def _by_class(found: Mapping[str, Part]) -> Table | None:
    """Alignment of each class on the images of the figure; None where there are no classes."""
    names = list(dict.fromkeys(name for part in found.values() for name in part.classes))
    if not names:
        return None
    of = _of_which(found.values()).lower()
    table = Table(f"Alignment by class, {of}", ["Class", "Images", *found])
    rows = {name: [part.classes.get(name) for part in found.values()] for name in names}
    for name in kept_rows(table, {name: (_most(each), False) for name, each in rows.items()}):
        each = rows[name]
        cells = [Cell() if one is None else cell(table, one.alignment, ALIGNMENT) for one in each]
        table.rows.append(Row(name, [_sizes(each), *cells]))
    return table


def _by_domain(found: Mapping[str, Geometry], metric: Metric) -> Table | None:
    """One score in each domain and over several; None with fewer than two domains."""
    each = [_domains(one.parts[ALL][ORIGINAL]) for one in found.values()]
    names = list(dict.fromkeys(name for rows in each for name in rows))
    if len(names) < 2:
        return None
    table = Table(f"{metric.title} by domain, all images", ["Domain", "Images", *found])
    rows = {name: [one.get(name) for one in each] for name in names}
    sizes = {name: (_most(held), name in SEEN.values() or not _all_seen(held))
             for name, held in rows.items()}  # fmt: skip
    for name in kept_rows(table, sizes):
        held = rows[name]
        cells = [Cell() if one is None else cell(table, getattr(one, metric.name), metric)
                 for one in held]  # fmt: skip
        together = name in SEEN.values()
        tags = dict.fromkeys("seen" if one.seen else "unseen" for one in held if one is not None)
        shown = () if together else tuple(tags)
        table.rows.append(Row(name, [_sizes(held), *cells], shown, apart=together))
    return table


def _most(each: Sequence[Closeness | Spread | None]) -> int:
    return max(one.n for one in each if one is not None)


def _all_seen(each: Sequence[Spread | None]) -> bool:
    return all(one.seen for one in each if one is not None)


def _sizes(each: Sequence[Closeness | Spread | None]) -> Cell:
    """Images of a class or domain; several numbers where runs differ."""
    sizes = list(dict.fromkeys(one.n for one in each if one is not None))
    return Cell(sizes[0] if len(sizes) == 1 else " or ".join(f"{n:,}" for n in sizes))


def _domains(part: Part) -> dict[str, Spread]:
    """Each domain, then all seen and all unseen ones where these are several."""
    several = {kind: one for kind, one in part.together.items() if one.domains > 1}
    return {**part.domains, **{SEEN[kind]: one for kind, one in several.items()}}


def _intervals(found: Mapping[str, tuple[Estimate, Estimate]]) -> str:
    """How the intervals of each run were made."""
    means = over_seeds(found)
    drawn = (
        "come from resampling groups (patients, slides; images where there are none), and hold for "
        "the networks as they are: another seed would give another network."
    )
    if not means:
        return f"95% CIs {drawn}"
    said = "means over seeds (Student's t), on the same images"
    single = [heading for heading in found if heading not in means]
    if not single:
        return f"95% CIs are of {said}."
    return (
        f"95% CIs of {', '.join(means)} are of {said}. Those of {', '.join(single)} {drawn} The "
        "two kinds do not compare."
    )
