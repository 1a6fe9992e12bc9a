"""One section for each question about latents: a figure and a table of the same numbers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from numpy.typing import NDArray

from medldr.evaluation.representation import neighbours as near
from medldr.evaluation.representation.centres import DISTANCE, NEAREST, OF_SEEN, OVERALL
from medldr.evaluation.representation.frame import Line, where
from medldr.evaluation.representation.geometry import ALL, MEASURES, TEST
from medldr.evaluation.representation.maps import Maps
from medldr.evaluation.representation.measured import Measured
from medldr.evaluation.representation.moved import METRICS as MOVED
from medldr.evaluation.representation.neighbours import ROBUSTNESS
from medldr.evaluation.representation.operators import BALANCED
from medldr.evaluation.representation.probes import CLASS, DOMAIN, METRIC
from medldr.reporting.document import Bullets, Drawing, Figures, Section
from medldr.reporting.figures.latents.centres import centres_figure
from medldr.reporting.figures.latents.dots import AT_RANDOM, GUESSING, Panel, dots_figure
from medldr.reporting.figures.latents.maps import map_figures, queries_figure
from medldr.reporting.figures.latents.pictures import neighbour_pictures
from medldr.reporting.prose import section
from medldr.reporting.sections.analysis.frames import (
    Runs,
    number_cell,
    of_runs,
    panels,
    views_table,
)
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
    """A figure and a table of the same panels."""
    drawn = dots_figure(figure, shown, title=title, caption=caption)
    table = views_table(title, shown) if drawn is not None else None
    return section("analysis", topic, _figures([drawn]), table, **given)


def _figures(drawings: Iterable[Drawing | None]) -> Figures:
    return Figures([drawing for drawing in drawings if drawing is not None])


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
    """Matrices of the distances between domains, and what is read from them."""
    frame = of_runs(runs, "centres")
    if not frame:
        return None
    new = dict.fromkeys(line["other_domain"] for line in where(frame, of=NEAREST))
    keys = [(NEAREST, name, f"{name} (unseen) to the nearest seen") for name in new]
    keys = [(OF_SEEN, "", "Mean over seen domains"), *keys, (OVERALL, "", "Mean over all pairs")]
    keys = [key for key in keys if where(frame, of=key[0], other_domain=key[1])]
    table = Table(DISTANCE.title, ["Run", *(title for _, _, title in keys)])
    for run in dict.fromkeys(line["run"] for line in frame):
        cells = []
        for kind, other, _ in keys:
            (line, *_) = *where(frame, run=run, of=kind, other_domain=other), None
            held, seen = (None, "") if line is None else (line["held"], line["domain"])
            cells.append(number_cell(table, held, DISTANCE, seen))
        table.rows.append(Row(run, cells))
    return section("analysis", "centres", _figures([centres_figure(frame)]), table)


def maps_section(runs: Runs, data: Mapping[str, str]) -> Section | None:
    """Maps of all runs side by side, and a note on each that could not be made."""
    found: dict[str, Maps] = {run: held.maps for run, held in runs.items()}
    notes = [f"{run}: {note}" for run, maps in found.items() for note in maps.missing]
    return section("analysis", "maps", _figures(map_figures(found, data)), Bullets(notes))


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
    return section("analysis", "pictures", _figures(drawings), shown=shown)


def queries_section(runs: Runs) -> Section | None:
    """Maps of queries of each run that degrades or restores, and how far these were moved."""
    asked = {run: held.queries for run, held in runs.items() if held.queries is not None}
    drawings = [queries_figure(run, one, n) for n, (run, one) in enumerate(asked.items(), 1)]
    notes = [
        f"{run}: no map of queries, because {q.reason}." for run, q in asked.items() if q.reason
    ]
    metrics = {metric.name: metric for metric in MOVED}
    titles = {name: metric.heading for name, metric in metrics.items()}
    table = views_table(
        "How far latents are moved, and which training image is then nearest",
        panels(of_runs(runs, "queries"), "metric", titles, metrics),
    )  # fmt: skip
    return section("analysis", "queries", _figures(drawings), Bullets(notes), table)
