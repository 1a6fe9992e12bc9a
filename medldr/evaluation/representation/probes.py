"""Linear probes: how well class and domain are predicted from z, D(z) and R(D(z), z)."""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.intervals.bootstrap import Units
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.metrics.counts import class_counts
from medldr.evaluation.metrics.sums import Array
from medldr.evaluation.representation.drawn import Drawn, in_draws, sample_of, units_of
from medldr.evaluation.representation.frame import Line, Options, where
from medldr.folders.latents_record import DEGRADED, ORIGINAL, RESTORED, Latents
from medldr.metrics import metric_facts

METRIC = metric_facts("balanced_accuracy")
CLASS, DOMAIN = "class", "domain"
LABELS = "labels"
"""In place of a view: the domain as predicted from the class of an image, without its latents."""
FOLDS: Final = 5
"""Parts that images are cut into; fewer where a class has too few groups."""
PENALTY: Final = 0.01
"""Inverse strength of the penalty on the weights, scikit-learn's ``C``."""
PAIRS = ((RESTORED, DEGRADED), (ORIGINAL, DEGRADED), (RESTORED, ORIGINAL))
"""Views that are compared: the first minus the second."""
NOT_FINITE = "the latents are not all finite numbers"
OTHER_IMAGES = "the runs were not probed on the same images"


@dataclass(frozen=True)
class Probes:
    """What linear probes predict from the latents of a run.

    Attributes:
        frame: Balanced accuracy by ``target`` (`CLASS`, `DOMAIN`) and ``latents``, also of `LABELS`
            where domains are predicted and images have one label each; lines with ``minus`` are
            paired differences from these latents. ``chance`` is the accuracy of guessing, and of
            always naming the most frequent. A target that is not predicted is one line that says
            why.
        drawn: Balanced accuracy with all draws, by target and latents, for comparisons of runs.
        keys: By target, equal where two runs were probed on the same images.
        notes: What was left out or did not converge, in words.
    """

    frame: list[Line]
    drawn: Mapping[tuple[str, str], Drawn] = field(repr=False, compare=False)
    keys: Mapping[str, int]
    notes: tuple[str, ...]

    def minus(self, other: Probes, target: str, view: str = ORIGINAL) -> Estimate:
        """This run less another one, paired where both were probed on the same images.

        The interval is of new images for these two networks, not of training them again.
        """
        for one in (self, other):
            if target not in one.keys:
                return Estimate(reason=where(one.frame, target=target)[0]["held"].reason)
        if self.keys[target] != other.keys[target]:
            return Estimate(reason=OTHER_IMAGES)
        if (target, view) not in self.drawn or (target, view) not in other.drawn:
            return Estimate(reason=NOT_FINITE)
        return self.drawn[target, view].minus(other.drawn[target, view], METRIC)


def probes(latents: Latents, options: Options) -> Probes:
    """Predict class and domain from z, z_d and z_r by logistic regression, groups apart.

    A probe sees standardised latents and is tested on groups that it was not fitted on, all images
    being tested once. All images in ``latents`` take part, at most ``options.items``, which
    `not_trained_on` chooses for a page; shares of classes and domains stay as they are. Classes and
    domains count equally, whatever their size.

    Args:
        latents: The latents of a run.
        options: Items, draws and seed.

    Source:
        The paper says that D confuses the classifier and R recovers the class, and measures
        neither on the latents themselves. Linear probes: Alain and Bengio 2017. Our choices: C 0.01
        for some hundred standardised latents of at most 2,000 images, balanced class weights, and
        intervals that draw groups while the fitted probes stay as they are. Domains differ in their
        mix of classes, so latents that separate classes tell something of the domain: the most that
        labels alone tell, by the rule that is best on these very images, is given beside it.

    Example:
        >>> from medldr.evaluation.representation.frame import number
        >>> from medldr.types import DataSpec
        >>> from medldr.folders.latents_record import View
        >>> rng, label = np.random.default_rng(0), np.arange(60) % 2
        >>> z = (label[:, None] + 0.1 * rng.normal(size=(60, 4))).astype(np.float32)
        >>> spec = DataSpec("binary", ("no", "yes"), (30, 30), 1, (8, 8))
        >>> empty = np.full(60, "")
        >>> run = Latents(spec, np.arange(60), np.full(60, "test"), empty, np.full(60, -1), label,
        ...               {"original": View(z, z[:, :2])}, {})
        >>> frame = probes(run, Options(draws=50)).frame
        >>> number(frame, target="class").mean, number(frame, target="domain").reason
        (1.0, 'the data have no domains')
    """
    latents = sampled(in_order(latents), options)
    every = [_Probed(latents, options, target) for target in (CLASS, DOMAIN)]
    return Probes(
        frame=[line for one in every for line in one.lines()],
        drawn={(one.target, view): held for one in every for view, held in one.drawn.items()},
        keys={one.target: one.key for one in every if not one.reason},
        notes=tuple(note for one in every for note in one.notes),
    )


class _Probed:
    """One target, predicted from every kind of latents; ``reason`` says why it is not."""

    def __init__(self, latents: Latents, options: Options, target: str) -> None:
        self.target, self.drawn, self.notes = target, dict[str, Drawn](), list[str]()
        self.chance: float | str = ""
        self.latents, self.folds, self.key = latents.select(np.arange(0)), 0, 0
        known, truth, self.reason = _asked(latents, target)
        if self.reason:
            return
        if target == DOMAIN:
            latents = latents.select(latents.domain != "")
        # What has a single group would be tested without being fitted, or fitted and never tested.
        groups = [len(np.unique(latents.units[truth == k])) for k in range(len(known))]
        if 1 in groups:
            names = ", ".join(name for name, n in zip(known, groups, strict=True) if n == 1)
            self.notes.append(f"left out, with images of a single group: {names}")
        kept = [k for k, number in enumerate(groups) if number >= 2]
        if len(kept) < 2:
            many = "classes" if target == CLASS else "domains"
            self.reason = f"there are no two {many} with two groups each"
            return
        latents = latents.select(np.isin(truth, kept))
        truth = np.searchsorted(kept, truth[np.isin(truth, kept)]).astype(np.int64)
        unit = units_of(latents)
        parts = folds_apart(truth, unit.number, FOLDS, options.seed)
        if not parts:
            self.reason = "there are too few groups to test a probe on"
            return
        self.latents, self.folds, self.chance = latents, len(parts), 1 / len(kept)
        self.key = _key(latents, unit, truth)
        finite = {k: v.z.astype(np.float64) for k, v in latents.views.items()
                  if np.isfinite(v.z).all()}  # fmt: skip
        fitted = {name: predict_apart(z, truth, parts, PENALTY) for name, z in finite.items()}
        predictions = {name: predicted for name, (predicted, _) in fitted.items()}
        if self._with_labels:
            predictions[LABELS] = from_labels(latents.label.astype(np.int64), truth)
        self.drawn = _measured(predictions, truth, unit, options, target)
        if unfinished := sum(number for _, number in fitted.values()):
            self.notes.append(
                f"{unfinished} fits for the {target} did not converge; their numbers may be a "
                "little too low"
            )

    @property
    def _with_labels(self) -> bool:
        return self.target == DOMAIN and not self.latents.spec.multi_label

    def lines(self) -> Iterator[Line]:
        names = ["", *self.latents.views, *([LABELS] if self._with_labels else [])]
        pairs = [*PAIRS, *((view, LABELS) for view in self.latents.views)]
        if self.reason:
            numbers = {("", ""): Estimate(reason=self.reason)}
        else:
            numbers = {(view, ""): self._held(view) for view in names[1:]}
            numbers |= {pair: self._held(*pair) for pair in pairs if {*pair} <= {*names}}
        unit = units_of(self.latents)
        for (one, other), held in numbers.items():
            yield {
                "target": self.target, "latents": one, "minus": other, "held": held,
                "chance": self.chance, "folds": self.folds, "images": len(self.latents),
                "training_images": int((self.latents.split == "train").sum()),
                "groups": unit.count if unit.grouped else "",
            }  # fmt: skip

    def _held(self, one: str, other: str = "") -> Estimate:
        if one not in self.drawn or (other and other not in self.drawn):
            return Estimate(reason=NOT_FINITE)
        if other:
            return self.drawn[one].minus(self.drawn[other], METRIC)
        return self.drawn[one].estimate(METRIC)


def _asked(latents: Latents, target: str) -> tuple[tuple[str, ...], NDArray[np.int64], str]:
    """The classes of a probe, the class number of each image, and why the probe is not made."""
    nothing = (), np.empty(0, np.int64)
    if target == DOMAIN:
        named = latents.domain[latents.domain != ""]
        known = tuple(d for d in latents.spec.domains if bool((named == d).any()))
        truth = np.array([known.index(name) for name in named.tolist()], np.int64)
        return known, truth, "" if known else "the data have no domains"
    if latents.spec.multi_label:
        return *nothing, "images have several labels, not one class"
    return latents.spec.class_names, latents.label.astype(np.int64), ""


def _key(latents: Latents, unit: Units, truth: NDArray[np.int64]) -> int:
    """A number that two runs share if their probes were asked the same of the same images."""
    names = repr((latents.spec.class_names, latents.spec.domains)).encode()
    columns = np.stack([latents.row, unit.number, truth]).astype(np.int64)
    return zlib.crc32(columns.tobytes(), zlib.crc32(names))


def _measured(
    predictions: Mapping[str, NDArray[np.int64]],
    truth: NDArray[np.int64],
    unit: Units,
    options: Options,
    target: str,
) -> dict[str, Drawn]:
    """Balanced accuracy of predictions, and in every draw."""
    eye = np.eye(int(truth.max()) + 1)
    parts = {
        f"{name}/": class_counts(truth, eye[predicted], "multi-class", 0).by_group(
            unit.number, unit.count
        )
        for name, predicted in predictions.items()
    }
    found = in_draws(parts, unit, options, f"probes/{target}")
    sample = sample_of(unit)
    return {name: Drawn(*found[f"{name}/{METRIC.name}"], sample) for name in predictions}


def from_labels(label: NDArray[np.int64], truth: NDArray[np.int64]) -> NDArray[np.int64]:
    """The domain in which the class of each image has its greatest share: all that labels can tell.

    Args:
        label: ``(N,)`` class numbers.
        truth: ``(N,)`` domain numbers.

    Example:
        >>> from_labels(np.array([0, 1, 1, 0]), np.array([0, 0, 1, 1])).tolist()
        [0, 0, 0, 0]
        >>> from_labels(np.array([0, 0, 1, 1]), np.array([0, 0, 0, 1])).tolist()
        [0, 0, 1, 1]
    """
    counts = np.zeros((int(truth.max()) + 1, int(label.max()) + 1))
    np.add.at(counts, (truth, label), 1.0)
    most: NDArray[np.int64] = (counts / counts.sum(axis=1, keepdims=True)).argmax(axis=0)
    return most[label]


def not_trained_on(latents: Latents) -> Latents:
    """The images that training has not used; all, where these lack a class or a domain of them.

    A network may know its training images by heart, and then tells them better than new ones.
    """
    new = latents.split != "train"
    for column in (latents.label, latents.domain):
        for name in np.unique(column) if column.ndim == 1 else ():
            if len(np.unique(latents.units[new & (column == name)])) < 2:
                return latents
    return latents.select(new)


def in_order(latents: Latents) -> Latents:
    """By rows of the dataset's table, with groups numbered in that order.

    Runs that hold out other domains keep the same images in another order; they can be compared
    only if the same images are drawn, dealt into folds and drawn again for intervals.
    """
    latents = latents.select(np.argsort(latents.row, kind="stable"))
    known, place, number = np.unique(latents.group, return_index=True, return_inverse=True)
    rank = np.argsort(np.argsort(place[known >= 0]))
    return replace(latents, group=np.concatenate([np.full((known < 0).sum(), -1), rank])[number])


def sampled(latents: Latents, options: Options) -> Latents:
    """At most ``options.items`` rows, evenly from every class in every domain."""
    label = None if latents.spec.multi_label else latents.label
    rows = evenly(latents.domain, label, options.items, options.seed)
    return latents.select(rows) if len(rows) < len(latents) else latents


def evenly(
    domain: NDArray[np.str_], label: NDArray[Any] | None, most: int, seed: int
) -> NDArray[np.int64]:
    """At most so many rows, drawn evenly from every class in every domain, in ascending order.

    Args:
        domain: ``(N,)`` domain of each row.
        label: ``(N,)`` class of each; None where images have several.
        most: How many rows at most.
        seed: Of the draw.
    """
    if len(domain) <= most:
        return np.arange(len(domain))
    order = np.random.default_rng(seed).permutation(len(domain))
    labels = np.zeros(len(order)) if label is None else label[order]
    order = order[np.lexsort((labels, domain[order]))]
    return np.sort(order[np.arange(most) * len(order) // most])


Rows: TypeAlias = NDArray[np.int64]
Folds: TypeAlias = Sequence[tuple[Rows, Rows]]
MOST_STEPS = 1_000
"""Steps of a fit; more have never been seen to change a prediction."""


def folds_apart(truth: Rows, group: Rows, folds: int, seed: int = 0) -> list[tuple[Rows, Rows]]:
    """Cut rows into folds that keep groups whole and classes even, as many as can be fitted.

    Args:
        truth: ``(N,)`` class numbers from 0, all of which occur.
        group: ``(N,)`` number of each row's group.
        folds: The most; fewer where some class would be missing from the training of a fold.
        seed: Of the order in which groups are dealt out.

    Returns:
        Rows of training and of test of each fold; empty where no two folds can be made.

    Example:
        >>> truth = np.array([0, 0, 1, 1])
        >>> [test.tolist() for _, test in folds_apart(truth, np.array([0, 1, 2, 3]), 5)]
        [[1, 2], [0, 3]]
    """
    from sklearn.model_selection import StratifiedGroupKFold

    classes = len(np.unique(truth))
    for number in range(min(folds, len(np.unique(group))), 1, -1):
        if number > np.bincount(truth).max():
            continue
        splitter = StratifiedGroupKFold(number, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            # It warns of a class with fewer rows than folds, which is looked at below.
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            found = list(splitter.split(np.zeros(len(truth)), truth, group))
        if all(len(test) and len(np.unique(truth[fit])) == classes for fit, test in found):
            return found
    return []


def predict_apart(x: Array, truth: Rows, folds: Folds, c: float) -> tuple[Rows, int]:
    """Predict every row by a logistic regression on standardised features of the other folds.

    Args:
        x: ``(N, D)`` finite features.
        truth: ``(N,)`` class numbers.
        folds: From `folds_apart`.
        c: Inverse strength of the penalty.

    Returns:
        ``(N,)`` predicted class numbers, and the number of fits that did not converge.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    regression = LogisticRegression(C=c, class_weight="balanced", max_iter=MOST_STEPS)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always", ConvergenceWarning)
        predicted = cross_val_predict(
            make_pipeline(StandardScaler(), regression), x, truth, cv=folds
        )
    unfinished = sum(issubclass(each.category, ConvergenceWarning) for each in heard)
    return predicted.astype(np.int64), unfinished
