"""One section for each question about latents: a figure of some numbers of its frame."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeVar

from numpy.typing import NDArray

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation import neighbours as near
from medldr.evaluation.representation.frame import Line, where
from medldr.evaluation.representation.geometry import ALL, MEASURES, TEST
from medldr.evaluation.representation.maps import Maps
from medldr.evaluation.representation.measured import Measured
from medldr.evaluation.representation.neighbours import ROBUSTNESS
from medldr.evaluation.representation.operators import BALANCED
from medldr.evaluation.representation.probes import CLASS, DOMAIN, LABELS, METRIC
from medldr.folders.latents_record import ORIGINAL, VIEWS
from medldr.metric import Metric
from medldr.reporting.document import Bullets, Figures, Section
from medldr.reporting.figures.dots import (
    ALONE,
    AT_RANDOM,
    GUESSING,
    VIEW_TITLES,
    Panel,
    dots_figure,
)
from medldr.reporting.figures.maps import map_figures, queries_figure
from medldr.reporting.figures.matrix import centres_figure
from medldr.reporting.figures.pictures import neighbour_pictures
from medldr.reporting.prose import section
from medldr.reporting.sections.rows import grouped
from medldr.reporting.table import Row, Table
from medldr.reporting.wording import split_name
from medldr.types import SPLIT_TITLES

Pictures = Mapping[str, Callable[[int], NDArray[Any]]]
QUERIES: Final = {
    "training": "Training images", "seen": "Other images of seen domains",
    "unseen": "Test images of unseen domains", "other": "Other images",
}  # fmt: skip
"""Parts of the queries of a search for neighbours, in words."""
MOST_PICTURED: Final = 4
"""Runs whose pictures are shown: a page with more would be too large to send."""


def _section(
    topic: str, shown: list[Panel], figure: str, title: str, caption: str, **given: object
) -> Section | None:
    """A figure of panels; what a terminal prints is a table as well."""
    drawn = dots_figure(figure, shown, title=title, caption=caption)
    table = views_table(title, shown) if drawn is not None and topic == "geometry" else None
    return section("analysis", topic, Figures.of(drawn), table, **given)


def tested_images(run: Measured) -> str:
    """Which images alignment and uniformity of a run are shown of, in words."""
    if not where(run.frames["geometry"], images=TEST):
        return "all images"
    split, unseen = run.tested
    of = " of unseen domains" if unseen else " of seen domains" if split.startswith("id_") else ""
    return f"{SPLIT_TITLES[split].split(',')[0].lower()} images{of}"


def main_geometry(run: Measured) -> list[Line]:
    """Alignment and uniformity of all images that stand for the test, by kind of latents."""
    frame = where(run.frames["geometry"], of="all")
    return where(frame, images=TEST) or where(frame, images=ALL)


def geometry_section(runs: Runs) -> Section | None:
    """Alignment and uniformity of each run or method, the mean over its seeds where it has some."""
    frame = [{"run": run, **line} for run, held in runs.items() for line in main_geometry(held)]
    titles = {name: MEASURES[name].title for name in ("alignment", "uniformity")}
    if not frame:
        return None
    of = " or ".join(dict.fromkeys(map(tested_images, runs.values())))
    counts = [line["n"] for line in frame]
    size = " to ".join(f"{n:,}" for n in dict.fromkeys((min(counts), max(counts))))
    means = [run for run, held in runs.items() if any(x["held"].n for x in main_geometry(held))]
    single = "of new patients or slides (images, where these are unknown) for these networks"
    kinds = [f"of means over seeds (Student's t) for {', '.join(means)}"] if means else []
    kinds += [single] if len(means) < len(runs) else []
    return _section(
        "geometry", panels(frame, "measure", titles, MEASURES), "latent_metrics",
        f"Alignment and uniformity, {of}, n = {size}",
        "Alignment: how far apart images of the same class are. Uniformity: how evenly all images "
        "are spread. Lower is better in both. Lines are 95% CIs.",
        intervals=f"95% CIs are {', and '.join(kinds)}.",
    )  # fmt: skip


def operators_section(runs: Runs) -> Section | None:
    """Balanced accuracy of each run's own classifier on z, z_d and z_r."""
    moving = {run: held for run, held in runs.items() if held.moves}
    frame = where(of_runs(moving, "operators"), minus="", domain="", metric=BALANCED.name)
    for line in frame:
        line["part"] = split_name(line["split"]) + (", unseen domains" if line["unseen"] else "")
    titles = {title: title for title in dict.fromkeys(line["part"] for line in frame)}
    return _section(
        "operators", panels(frame, "part", titles, BALANCED, "chance", GUESSING), "operators",
        "Balanced accuracy of each run’s own classifier (%)",
        "Each mark is a balanced accuracy with its 95% CI: D should move it towards guessing, R "
        "back again.",
    )  # fmt: skip


def probes_section(runs: Runs) -> Section | None:
    """Balanced accuracy of linear probes of class and domain."""
    frame = where(of_runs(runs, "probes"), minus="")
    shown = panels(
        frame, "target", {CLASS: "Class", DOMAIN: "Domain"}, METRIC, "chance", GUESSING
    )  # fmt: skip
    return _section(
        "probes", shown, "probes", "Balanced accuracy of linear probes (%)",
        "Each mark is a balanced accuracy with its 95% CI, on patients or slides (images, where "
        "these are unknown) that the probe was not fitted on. Broken line: guessing. Dotted line: "
        "all that the class of an image tells of its domain.",
        made=_made(frame),
    )  # fmt: skip


def _made(frame: list[Line]) -> str:
    """How many images were predicted, in how many parts, and which runs' networks know them."""
    sizes = grouped(((x["images"], x["groups"], x["folds"], x["training_images"]), x["run"])
                    for x in frame if x["folds"])  # fmt: skip
    said = []
    for (images, groups, folds, training), runs in sizes.items():
        of = f"{', '.join(runs)}: " if len(sizes) > 1 else ""
        many = f" of {groups:,} patients or slides, each in one part alone" if groups else ""
        text = f"{of}{images:,} images{many}, cut into {folds} parts; each part is told by a probe "
        text += "fitted on the others."
        if training:
            text += f" {training:,} of them trained the network, which knows them: new images may "
            text += "be told less well."
        said.append(text)
    return " ".join(said)


def neighbours_section(runs: Runs) -> Section | None:
    """Neighbours of the same class in another domain; without domains, of the same class."""
    frame = of_runs(runs, "neighbours")
    share = near.SHARES[across(frame)]
    frame = where(frame, neighbours=share.name)
    ks = " or ".join(dict.fromkeys(str(line["k"]) for line in frame))
    return _section(
        "neighbours", panels(frame, "queries", QUERIES, share, "at_random", AT_RANDOM),
        "neighbours_across", f"Nearest neighbours: {share.title.lower()} (%)",
        f"Share of the {ks} nearest neighbours of an image, with its 95% CI. Broken line: "
        "neighbours drawn at random.",
        k=ks,
    )  # fmt: skip


def across(frame: list[Line]) -> str:
    """The share that restoration should raise; without domains only the class can be shared."""
    return near.SAME_CLASS if where(frame, neighbours=near.SAME_CLASS) else near.ALIKE


def robustness_section(runs: Runs) -> Section | None:
    """The robustness index of each run and kind of latents."""
    frame, parts = of_runs(runs, "robustness"), {ALL: "All images", **QUERIES}
    ks = " or ".join(dict.fromkeys(str(line["k"]) for line in frame))
    return _section(
        "robustness",
        panels(frame, "queries", parts, ROBUSTNESS, "at_random", AT_RANDOM),
        "robustness", "Robustness index",
        "0: the nearest neighbours follow the domain; 1: they follow the class. Each mark has its "
        "95% CI; broken line: neighbours drawn at random.",
        k=ks,
    )  # fmt: skip


def centres_section(runs: Runs) -> Section | None:
    """Matrices of the distances between domains."""
    return section("analysis", "centres", Figures.of(centres_figure(of_runs(runs, "centres"))))


def maps_section(runs: Runs, data: Mapping[str, str]) -> Section | None:
    """Maps of all runs side by side, and a note on each that could not be made."""
    found: dict[str, Maps] = {run: held.maps for run, held in runs.items()}
    notes = [f"{run}: {note}" for run, maps in found.items() for note in maps.missing]
    return section("analysis", "maps", Figures(map_figures(found, data)), Bullets(notes))


def pictures_section(runs: Runs, pictures: Pictures) -> Section | None:
    """Queries with their nearest neighbours, of runs whose images are at hand."""
    there = {run: held.pictured for run, held in runs.items() if run in pictures and held.pictured}
    # Runs that degrade and restore come first: the figure is about these.
    ranked = sorted(there, key=lambda run: not runs[run].moves)[:MOST_PICTURED]
    drawings = [
        neighbour_pictures(f"neighbour_pictures_{number}", run, there[run], pictures[run])
        for number, run in enumerate(ranked, 1)
    ]
    shown = f"Shown are {len(ranked)} of {len(there)} runs." if len(there) > len(ranked) else ""
    return section("analysis", "pictures", Figures.of(*drawings), shown=shown)


def queries_section(runs: Runs) -> Section | None:
    """Maps of queries of each run that degrades or restores."""
    asked = {run: held.queries for run, held in runs.items() if held.queries is not None}
    drawings = [queries_figure(run, one, n) for n, (run, one) in enumerate(asked.items(), 1)]
    notes = [
        f"{run}: no map of queries, because {q.reason}." for run, q in asked.items() if q.reason
    ]
    return section("analysis", "queries", Figures.of(*drawings), Bullets(notes))


Runs = Mapping[str, Measured]
"""What was measured of each run, by its heading; the reference first."""


T = TypeVar("T", bound=Any)


def named(found: Mapping[str, Sequence[T]]) -> list[T]:
    """What sweeps found, in one list; where several found something, each is named by its sweep.

    Args:
        found: Dataclasses with the name of their ``data``, by the title of their sweep.
    """
    several = sum(map(bool, found.values())) > 1
    return [
        replace(one, data=f"{title}, {one.data}") if several else one
        for title, of_sweep in found.items()
        for one in of_sweep
    ]


def of_runs(runs: Runs, topic: str) -> list[Line]:
    """The frame of a topic with a column for the run."""
    return [{"run": run, **line} for run, held in runs.items() for line in held.frames[topic]]


def csv_lines(frame: Iterable[Line], *, seeds: bool = False) -> list[Line]:
    """A frame as lines of csv, with the number and its interval in columns of their own.

    Args:
        frame: Lines with a number in ``held``.
        seeds: Whether numbers may be means over seeds.

    Example:
        >>> csv_lines([{"run": "ERM", "held": Estimate(0.5, low=0.4, high=0.6), "n": 9}])
        [{'run': 'ERM', 'value': 0.5, 'low': 0.4, 'high': 0.6, 'reason': '', 'n': 9}]
    """
    lines = []
    for line in frame:
        shown: Line = {}
        for column, value in line.items():
            if isinstance(value, Estimate):
                shown |= {"value": value.mean, "low": value.low, "high": value.high}
                shown |= {"sd": value.sd, "seeds": value.n} if seeds else {}
                shown["reason"] = value.reason
            else:
                shown[column] = " ".join(value) if isinstance(value, tuple) else value
        lines.append(shown)
    return lines


def panels(
    frame: Sequence[Line], by: str, titles: Mapping[str, str],
    metrics: Metric | Mapping[str, Metric], level: str = "", called: str = "",
) -> list[Panel]:  # fmt: skip
    """A panel of a figure, and column of a table, for each value of a column of a frame.

    Args:
        frame: With ``run`` and ``latents``; a line of `LABELS` is a level to compare with.
        by: The column.
        titles: Its values, in order, and what they are called; those without a line are left out.
        metrics: Of all panels, or of each.
        level: A column of the frame that holds a level to compare with.
        called: What that level is.
    """
    found = []
    for value, title in titles.items():
        rows: dict[str, dict[str, Estimate]] = {}
        levels: dict[str, dict[str, Estimate]] = {}
        for line in where(frame, **{by: value}):
            run, view = line["run"], line["latents"]
            if view in VIEW_TITLES:
                rows.setdefault(run, {})[view] = line["held"]
            elif view == LABELS:
                levels.setdefault(run, {})[ALONE] = line["held"]
            if level and isinstance(line[level], float):
                levels.setdefault(run, {})[called] = Estimate(line[level])
        metric = metrics if isinstance(metrics, Metric) else metrics[value]
        if rows:
            found.append(Panel(title, metric, rows, levels))
    return found


def views_table(caption: str, shown: Sequence[Panel]) -> Table | None:
    """A row for each kind of latents of each run.

    Args:
        caption: Of the table.
        shown: Its columns.
    """
    table = Table(caption, ["Latents", *(panel.title for panel in shown)])
    for run in dict.fromkeys(run for panel in shown for run in panel.rows):
        for view in VIEWS:
            held = {n: panel.rows.get(run, {}).get(view) for n, panel in enumerate(shown)}
            if any(each is not None for each in held.values()):
                name = run if view == ORIGINAL else f"{run}, {VIEW_TITLES[view]}"
                cells = [table.number(shown[n].metric, each) for n, each in held.items()]
                table.rows.append(Row(name, cells))
    return table if table.rows else None
