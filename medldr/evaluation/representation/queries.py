"""Queries among the training images, with what degradation and restoration make of them, on a map.

Source:
    Paper, figure 1 and its copies in the appendix: a random batch, degraded and restored in one
    forward pass; queries that are each inserted into 32 random batches; images of a single class.
    The paper says neither how its maps were made nor how queries and the class were chosen. Our
    choice: t-SNE of training images, queries, degraded and restored latents together; queries at
    random, equally many of each class; the class that has most images in its rarest domain.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.intervals.bootstrap import group_weights, stream
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.intervals.single_run import Sample
from medldr.evaluation.metrics.sums import Array, ratio
from medldr.evaluation.representation.drawn import Drawn, sample_of, units_of
from medldr.evaluation.representation.frame import Line, Options
from medldr.evaluation.representation.planes import balanced_order, finite, no_map, t_sne
from medldr.folders.latents_record import DEGRADED, RESTORED, Latents
from medldr.metric import Metric

MOST_IN_BATCH: Final = 96
"""Queries of a batch that are shown; the paper's batch has as many."""
MOST_OF_CLASS: Final = 24
"""Queries that are shown of a single class."""

Positions = NDArray[np.int64]
Floats = NDArray[np.float32]


@dataclass(frozen=True)
class Inserted:
    """A query that was put into several random batches of training images.

    Attributes:
        query: Position of the image among the latents.
        degraded: ``(T, D)``, one of each batch; None for a method that does not degrade.
        restored: ``(T, D)``; None for a method that does not restore.
    """

    query: int
    degraded: Floats | None
    restored: Floats | None


@dataclass(frozen=True)
class Scene:
    """One panel.

    Attributes:
        background: ``(N, 2)`` points of training images.
        kind: ``(N,)`` class or domain of each, as text; all empty for a background of one colour.
        names: Classes or domains in their order.
        query: ``(Q, 2)`` points of the queries.
        moved: ``(M, 2)`` points of their degraded and of their restored latents, by name.
    """

    background: Array
    kind: NDArray[np.str_]
    names: tuple[str, ...]
    query: Array
    moved: Mapping[str, Array]

    def points(self, by: str) -> Iterator[Line]:
        """Where each image is, by the kind of its latents; training images by ``by``, too."""
        for name, (x, y) in zip(self.kind.tolist(), self.background.tolist(), strict=True):
            yield {"latents": "training", by: name, "x": round(x, 4), "y": round(y, 4)}
        for view, at in {"query": self.query, **self.moved}.items():
            for x, y in at.tolist():
                yield {"latents": view, "x": round(x, 4), "y": round(y, 4)}


@dataclass(frozen=True)
class Queries:
    """What became of queries.

    Attributes:
        batch: A random batch over all training images; None where there is no map, or none of its
            images are given.
        inserted: Queries in several batches each, over training images by class; likewise.
        batches: How many batches each of these was put into.
        one_class: Queries of one class over its training images by domain; None without domains.
        class_name: That class.
        perplexity: Of the map behind `batch` and `inserted`, and of that behind `one_class`.
        left_out: Training images whose latents are not finite.
        moved: How far degraded and restored latents are from the originals, a line per number.
        reason: Why there is no map; else empty.
    """

    batch: Scene | None
    inserted: Scene | None
    batches: int
    one_class: Scene | None
    class_name: str
    perplexity: tuple[float | None, float | None]
    left_out: int
    moved: Sequence[Line]
    reason: str = ""

    def points(self) -> list[Line]:
        """The points of all panels, without names."""
        panels = {"batch": self.batch, "inserted": self.inserted, "one class": self.one_class}
        return [
            {"kind": "point", "panel": panel, **point}
            for panel, scene in panels.items()
            if scene is not None
            for point in scene.points("domain" if panel == "one class" else "class")
        ]


def chosen_queries(latents: Latents, options: Options) -> Positions:
    """Positions of the queries that are inserted into batches: ``options.queries`` training images.

    They are drawn at random, equally many of each class as far as possible.
    """
    rows = _training(latents)
    several = latents.label.ndim == 2
    cells = np.zeros(len(rows)) if several else latents.label[rows]
    order: Positions = rows[balanced_order(cells, options.seed)[: options.queries]]
    return order


def chosen_class(latents: Latents) -> int | None:
    """The class with most training images in its rarest domain; None if none has two domains."""
    rows = _training(latents)
    domain, label = latents.domain[rows], latents.label[rows]
    if label.ndim == 2:
        return None
    best = None
    for k in np.unique(label).tolist():
        _, count = np.unique(domain[(label == k) & (domain != "")], return_counts=True)
        ranked = (len(count), int(count.min(initial=len(rows))), int(count.sum()))
        if len(count) > 1 and (best is None or ranked > best[0]):
            best = (ranked, k)
    return None if best is None else best[1]


def queries(
    latents: Latents, inserted: Sequence[Inserted], batch_rows: Positions, options: Options
) -> Queries | None:
    """What degradation and restoration make of queries.

    Args:
        latents: Those of the run, with its degraded or restored ones.
        inserted: Queries that were put into random batches, as `chosen_queries` chose them.
        batch_rows: Positions of a random batch of training images.
        options: ``points`` limits the training images in the background.

    Returns:
        None for a run whose method neither degrades nor restores. Without a map, and with the
        reason, where fewer than four training images are finite or all are the same.
    """
    names = [name for name in (DEGRADED, RESTORED) if name in latents.views]
    if not names:
        return None
    rows = _training(latents)
    left_out = int((latents.split == "train").sum()) - len(rows)
    numbers = [line for name in names for line in moved(latents, name, options)]
    reason = no_map(latents.z[rows])
    if reason:
        return Queries(None, None, 0, None, "", (None, None), left_out, numbers, reason)
    batch = batch_rows[np.isin(batch_rows, rows)][:MOST_IN_BATCH]
    held = [one for one in inserted if one.query in rows]
    times = max((len(part) for one in held for part in (one.degraded, one.restored)
                 if part is not None), default=0)  # fmt: skip
    first, second, perplexity = _all_classes(latents, names, batch, held, options)
    chosen = chosen_class(latents)
    alone, other = (None, None) if chosen is None else _one_class(latents, names, chosen, options)
    name = "" if chosen is None or alone is None else latents.spec.class_names[chosen]
    return Queries(first, second, times, alone, name, (perplexity, other), left_out, numbers)


def _training(latents: Latents) -> Positions:
    """Positions of training images whose latents are all finite."""
    usable = latents.split == "train"
    for view in latents.views.values():
        usable = usable & finite(view.z)
    return np.flatnonzero(usable)


def _stacked(inserted: Sequence[Inserted], name: str) -> Floats:
    """``(Q * T, D)``: the finite latents of all queries in all batches."""
    parts = [part for one in inserted if (part := getattr(one, name)) is not None]
    if not parts:
        return np.empty((0, 0), dtype=np.float32)
    every = np.concatenate(parts)
    return every[finite(every)]


def _placed(parts: Sequence[Floats], seed: int) -> tuple[list[Array], float | None]:
    """A map of all parts together: the points of each, and its perplexity."""
    together = np.concatenate([part for part in parts if len(part)])
    made = t_sne(together, seed)
    ends = np.cumsum([len(part) for part in parts])
    return np.split(made.xy, ends[:-1]), made.perplexity


def _all_classes(
    latents: Latents,
    names: Sequence[str],
    batch: Positions,
    held: Sequence[Inserted],
    options: Options,
) -> tuple[Scene | None, Scene | None, float | None]:
    """Both panels over all training images, and the perplexity of their map."""
    if not (len(batch) or held):
        return None, None, None
    own = np.array([one.query for one in held], dtype=np.int64)
    rows = _training(latents)
    several = latents.label.ndim == 2
    label = np.zeros(len(rows), np.int64) if several else latents.label[rows].astype(np.int64)
    cells = np.char.add(np.char.add(latents.domain[rows], "\n"), label.astype(np.str_))
    order = balanced_order(cells, options.seed)
    order = order[~np.isin(rows[order], np.concatenate([batch, own]))][: 3 * options.points // 4]
    classes = () if several else latents.spec.class_names
    kind = np.array([classes[k] if classes else "" for k in label[order].tolist()], dtype=np.str_)
    made = [latents.views[name].z[batch] for name in names]
    made += [_stacked(held, name) for name in names]
    parts = [latents.z[rows[order]], latents.z[batch], latents.z[own], *made]
    (ground, query, own_at, *at), perplexity = _placed(parts, options.seed)
    count = len(names)
    plain = np.full(len(ground), "", dtype=np.str_)
    first = Scene(ground, plain, (), query, dict(zip(names, at[:count], strict=True)))
    second = Scene(ground, kind, classes, own_at, dict(zip(names, at[count:], strict=True)))
    return first if len(batch) else None, second if held else None, perplexity


def _one_class(
    latents: Latents, names: Sequence[str], chosen: int, options: Options
) -> tuple[Scene | None, float | None]:
    """A panel of one class, and the perplexity of its map."""
    rows = _training(latents)
    rows = rows[latents.label[rows] == chosen]
    ordered = rows[balanced_order(latents.domain[rows], options.seed)]
    query = ordered[: min(MOST_OF_CLASS, len(ordered) // 2)]
    shown = ordered[len(query) :][: options.points // 2]
    parts = [latents.z[shown], latents.z[query], *(latents.views[k].z[query] for k in names)]
    if no_map(np.concatenate(parts)):
        return None, None
    (ground, own, *made), perplexity = _placed(parts, options.seed)
    domain = latents.domain[shown]
    known = tuple(name for name in latents.spec.domains if (domain == name).any())
    moved_ = dict(zip(names, made, strict=True))
    return Scene(ground, domain, known, own, moved_), perplexity


PER_NEAREST: Final = Metric(
    "moved_per_nearest", "Moved (nearest image = 1)",
    "Mean distance of a latent from its original, divided by the mean distance of a training image "
    "from the nearest one of another patient (another image where there are no patients).",
    better="", range=(0.0, float("inf")),
)  # fmt: skip
PER_CLASS: Final = Metric(
    "moved_per_class", "Moved (same class = 1)",
    "Mean distance of a latent from its original, divided by the mean distance of a training image "
    "from the others of its class.",
    better="", range=(0.0, float("inf")),
)  # fmt: skip
SAME_CLASS: Final = Metric(
    "nearest_same_class", "Nearest: same class",
    "Share of latents whose nearest training image, apart from those of the same patient, is of "
    "the same class.",
    percent=True, better="", share="items",
)  # fmt: skip
OTHER_DOMAIN: Final = Metric(
    "nearest_other_domain", "Nearest: other domain",
    "Share of latents whose nearest training image, apart from those of the same patient, is of "
    "another domain.",
    percent=True, better="", share="items",
)  # fmt: skip
METRICS: Final = (PER_NEAREST, PER_CLASS, SAME_CLASS, OTHER_DOMAIN)

FEW: Final = "fewer than two groups of training images (images where there are no groups)"
SEVERAL: Final = "images have several labels"
ALONE: Final = "no class has images of two groups"
ONE_DOMAIN: Final = "training images are not of several domains"
SAME: Final = "training images have the same latents"


def moved(latents: Latents, view: str, options: Options) -> list[Line]:
    """How far degraded or restored training latents are from the originals.

    Intervals are of drawn groups. Each image's nearest neighbour is taken as it is: drawn groups
    would offer fewer neighbours.

    Args:
        latents: Those of the run; at most ``options.items`` training images are taken.
        view: ``degraded`` or ``restored``.
        options: Draws and their seed.

    Returns:
        A line for each of `METRICS`; ``images`` counts the training images they are of.
    """
    usable = (latents.split == "train") & finite(latents.z) & finite(latents.views[view].z)
    held = latents.select(usable).at_most(options.items, options.seed)
    unit = units_of(held)

    def lines(*numbers: Estimate) -> list[Line]:
        return [
            {"kind": "number", "latents": view, "metric": metric.name, "held": one,
             "images": len(held)}
            for metric, one in zip(METRICS, numbers, strict=True)
        ]  # fmt: skip

    if unit.count < 2:
        return lines(*[Estimate(reason=FEW)] * len(METRICS))
    z, other = held.z.astype(np.float64), held.views[view].z.astype(np.float64)
    apart = unit.number[:, None] != unit.number
    between = _distances(z, z)
    far = np.linalg.norm(other - z, axis=1)
    near = np.where(apart, between, np.inf).min(axis=1)
    nearest = np.where(apart, _distances(other, z), np.inf).argmin(axis=1)
    sample = sample_of(unit)
    weights = np.concatenate(
        [w[unit.number] for w in group_weights(
            unit.count, options.draws, stream(options.seed, "moved"), len(z))], axis=1
    )  # fmt: skip

    def share(metric: Metric, hit: NDArray[np.bool_]) -> Estimate:
        hits = hit.astype(np.float64)
        return _ratio(hits, np.ones(len(z)), weights, sample, "").estimate(metric)

    several, domain = held.label.ndim == 2, held.domain
    named = len(np.unique(domain[domain != ""])) > 1 and (domain != "").all()
    return lines(
        _ratio(far, near, weights, sample, SAME).estimate(PER_NEAREST),
        Estimate(reason=SEVERAL) if several
        else _per_class(far, between, apart & (held.label[:, None] == held.label), weights, sample),
        Estimate(reason=SEVERAL) if several
        else share(SAME_CLASS, held.label[nearest] == held.label),
        share(OTHER_DOMAIN, domain[nearest] != domain) if named else Estimate(reason=ONE_DOMAIN),
    )  # fmt: skip


def _distances(a: Array, b: Array) -> Array:
    """``(A, B)`` euclidean distances."""
    from sklearn.metrics import euclidean_distances  # slow to import

    middle = b.mean(axis=0)  # far from the origin, differences of squares would lose digits
    out: Array = euclidean_distances(a - middle, b - middle)
    return out


def _per_class(
    far: Array, between: Array, pair: NDArray[np.bool_], weights: Array, sample: Sample
) -> Estimate:
    """Distances from the originals over the mean distance within classes, of each image's mean."""
    ones = np.ones((len(far), 1))
    within, count = np.where(pair, between, 0.0), pair.astype(np.float64)

    def value(w: Array) -> Array:
        mean = ratio(within @ w, count @ w)  # of each image to the others that were drawn
        there = ~np.isnan(mean)
        spread = ratio((w * np.where(there, mean, 0.0)).sum(axis=0), (w * there).sum(axis=0))
        return ratio((w * far[:, None]).sum(axis=0) / w.sum(axis=0), spread)

    if not pair.any():
        return Estimate(reason=ALONE)
    found = Drawn(float(value(ones)[0]), value(weights), sample, SAME)
    return found.estimate(PER_CLASS)


def _ratio(above: Array, below: Array, weights: Array, sample: Sample, reason: str) -> Drawn:
    """A ratio of sums over images."""
    value = float(ratio(above.sum(), below.sum()))
    return Drawn(value, ratio(above @ weights, below @ weights), sample, reason)
