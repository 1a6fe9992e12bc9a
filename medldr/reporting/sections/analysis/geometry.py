"""Alignment and uniformity: of the runs, by class, by domain, within and between domains."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from medldr.evaluation.estimate import Estimate
from medldr.evaluation.representation.geometry import ALL, TEST, TRAINING, Geometry, Part, Spread
from medldr.evaluation.representation.pair_scores import APART
from medldr.evaluation.representation.sphere import ALIGNMENT, UNIFORMITY
from medldr.folders.latents_record import ORIGINAL
from medldr.metric import Metric
from medldr.reporting.document import Figures, Section
from medldr.reporting.figures.latents.geometry import latent_metrics
from medldr.reporting.figures.views import VIEW_TITLES
from medldr.reporting.prose import section
from medldr.reporting.table import Cell, Row, Table
from medldr.types import SPLIT_TITLES

SETS = {TEST: "test", TRAINING: "training", ALL: "all"}
SEEN = {True: "All seen domains", False: "All unseen domains, test images"}


def geometry_section(found: Mapping[str, Geometry]) -> Section | None:
    """Bars and tables; None where no run has latents.

    Args:
        found: By heading of the run or method, the reference first.
    """
    if not found:
        return None
    first = next(iter(found.values()))
    main = {run: one.main for run, one in found.items()}
    bars = {run: (part.closeness.alignment, part.uniformity) for run, part in main.items()}
    figure = latent_metrics(bars, images=images(first.main).lower())
    parts = [part for one in found.values() for views in one.parts.values()
             for part in views.values()]  # fmt: skip
    fewer = any(part.closeness.n < part.of for part in parts)
    return section(
        "analysis", "geometry", Figures([] if figure is None else [figure]),
        _overview(found), _between(found), _by_class(main),
        _by_domain(found, ALIGNMENT), _by_domain(found, UNIFORMITY),
        sampled="From larger sets, as many images as the tables give were drawn at random."
        if fewer else "",
        intervals=_intervals(parts),
    )  # fmt: skip


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
            said.append(f"{images(held[0])}: n = {ends}.")
    table.notes.append(" ".join(said))
    for run, each in found.items():
        for view in next(iter(each.parts.values())):
            cells: list[Cell] = []
            for part in (each.parts.get(key, {}).get(view) for key in sets):
                cells += [Cell(), Cell()] if part is None else [
                    _cell(table, ALIGNMENT, part.closeness.alignment),
                    _cell(table, UNIFORMITY, part.uniformity),
                ]  # fmt: skip
            table.rows.append(Row(_heading(run, view), cells))
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
            cells = [_cell(table, ALIGNMENT, held.within), _cell(table, ALIGNMENT, held.across),
                     _cell(table, APART, held.apart)]  # fmt: skip
            table.rows.append(Row(_heading(run, view), cells))
    return table if shown else None


def _by_class(found: Mapping[str, Part]) -> Table | None:
    """Alignment of each class on the images of the figure; None where there are no classes."""
    names = list(dict.fromkeys(name for part in found.values() for name in part.classes))
    if not names:
        return None
    of = images(next(iter(found.values()))).lower()
    table = Table(f"Alignment by class, {of}", ["Class", "Images", *found])
    for name in names:
        each = [part.classes.get(name) for part in found.values()]
        size = next(one.n for one in each if one is not None)
        cells = [Cell() if one is None else _cell(table, ALIGNMENT, one.alignment) for one in each]
        table.rows.append(Row(name, [Cell(size), *cells]))
    return table


def _by_domain(found: Mapping[str, Geometry], metric: Metric) -> Table | None:
    """One score in each domain and over several; None with fewer than two domains."""
    each = [_domains(one.parts[ALL][ORIGINAL]) for one in found.values()]
    names = list(dict.fromkeys(name for rows in each for name in rows))
    if len(names) < 2:
        return None
    table = Table(f"{metric.title} by domain, all images", ["Domain", "Images", *found])
    for name in names:
        held = [rows.get(name) for rows in each]
        some = next(one for one in held if one is not None)
        cells = [Cell() if one is None else _cell(table, metric, getattr(one, metric.name))
                 for one in held]  # fmt: skip
        together = name in SEEN.values()
        tags = () if together else ("seen" if some.seen else "unseen",)
        table.rows.append(Row(name, [Cell(some.n), *cells], tags, apart=together))
    return table


def _domains(part: Part) -> dict[str, Spread]:
    """Each domain, then all seen and all unseen ones where these are several."""
    several = {kind: one for kind, one in part.together.items() if one.domains > 1}
    return {**part.domains, **{SEEN[kind]: one for kind, one in several.items()}}


def _intervals(parts: Sequence[Part]) -> str:
    """How the intervals were made."""
    if any(one.n is not None for part in parts for one in (part.closeness.alignment,
                                                           part.uniformity)):  # fmt: skip
        return "95% CIs are of means over seeds (Student's t), on the same images."
    return (
        "95% CIs come from resampling groups (patients, slides; images where there are none), and "
        "hold for the networks as they are: another seed would give another network."
    )


def _heading(run: str, view: str) -> str:
    return run if view == ORIGINAL else f"{run}, {VIEW_TITLES[view]}"


def _cell(table: Table, metric: Metric, one: Estimate) -> Cell:
    mark = table.sign(one.reason) if one.reason else ""
    return Cell(one, metric, signed=metric is APART, mark=mark)
