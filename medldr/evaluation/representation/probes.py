"""Linear probes: how well class and domain are predicted from z, D(z) and R(D(z), z)."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.intervals.bootstrap import Units
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.metrics.counts import class_counts
from medldr.evaluation.metrics.sums import Array
from medldr.evaluation.representation.drawn import Drawn, in_draws, sample_of, units_of
from medldr.evaluation.representation.folds import folds_apart, predict_apart
from medldr.evaluation.representation.options import Options
from medldr.evaluation.representation.probed_images import in_order, sampled
from medldr.folders.latents_record import DEGRADED, ORIGINAL, RESTORED, Latents
from medldr.metrics import metric_facts

METRIC = metric_facts("balanced_accuracy")
LABELS = "labels"
"""In place of a view: the domain as predicted from the class of an image, without its latents."""
PAIRS = ((RESTORED, DEGRADED), (ORIGINAL, DEGRADED), (RESTORED, ORIGINAL))
"""Views that are compared: the first minus the second."""
NOT_FINITE = "the latents are not all finite numbers"


@dataclass(frozen=True)
class Probed:
    """How well a linear probe predicts the class or the domain of images from their latents.

    Attributes:
        names: The classes or domains that are predicted.
        left_out: Classes or domains with too few groups to be tested apart from training.
        images: Images whose class or domain is predicted.
        groups: Groups that they are of; None where the data name no groups.
        training: How many of the images the network was trained on.
        folds: Parts that the images are cut into, with groups in one part each.
        accuracy: Balanced accuracy by view; also of `LABELS`, where domains are predicted and
            images have one label each.
        differences: Paired differences of balanced accuracy, (one, other): one minus other.
        unfinished: Fits that did not converge.
        reason: Why there is no prediction; else empty.
        measured: The same with all draws, for comparisons of runs.
        key: Equal where two runs were probed on the same images.
    """

    names: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    images: int = 0
    groups: int | None = None
    training: int = 0
    folds: int = 0
    accuracy: Mapping[str, Estimate] = field(default_factory=dict)
    differences: Mapping[tuple[str, str], Estimate] = field(default_factory=dict)
    unfinished: int = 0
    reason: str = ""
    measured: Mapping[str, Drawn] = field(default_factory=dict, repr=False, compare=False)
    key: int = 0

    @property
    def chance(self) -> float | None:
        """Balanced accuracy of guessing, and of always naming the most frequent; None for none."""
        return 1 / len(self.names) if self.names else None

    def minus(self, other: Probed, view: str = ORIGINAL) -> Estimate:
        """This run less another one, paired where both were probed on the same images.

        The interval is of new images for these two networks, not of training them again.
        """
        if self.reason or other.reason:
            return Estimate(reason=self.reason or other.reason)
        if self.key != other.key:
            return Estimate(reason="the runs were not probed on the same images")
        if view not in self.measured or view not in other.measured:
            return Estimate(reason=NOT_FINITE)
        return self.measured[view].minus(other.measured[view], METRIC)


@dataclass(frozen=True)
class Probes:
    """What linear probes predict from the latents of a run.

    Attributes:
        of_class: The class of an image.
        of_domain: Its domain.
    """

    of_class: Probed
    of_domain: Probed


def probes(latents: Latents, options: Options, *, folds: int = 5, c: float = 0.01) -> Probes:
    """Predict class and domain from z, z_d and z_r by logistic regression, groups apart.

    A probe sees standardised latents and is tested on groups that it was not fitted on, all images
    being tested once. All images in ``latents`` take part, at most ``options.items``, which
    `not_trained_on` chooses for a page; shares of classes and domains stay as they are. Classes and
    domains count equally, whatever their size.

    Args:
        latents: The latents of a run.
        options: Items, draws and seed.
        folds: Parts that images are cut into; fewer where a class has too few groups.
        c: Inverse strength of the penalty on the weights, scikit-learn's ``C``.

    Source:
        The paper says that D confuses the classifier and R recovers the class, and measures
        neither on the latents themselves. Linear probes: Alain and Bengio 2017. Our choices: C 0.01
        for some hundred standardised latents of at most 2,000 images, balanced class weights, and
        intervals that draw groups while the fitted probes stay as they are. Domains differ in their
        mix of classes, so latents that separate classes tell something of the domain: the most that
        labels alone tell, by the rule that is best on these very images, is given beside it.

    Example:
        >>> from medldr.types import DataSpec
        >>> from medldr.folders.latents_record import View
        >>> rng, label = np.random.default_rng(0), np.arange(60) % 2
        >>> z = (label[:, None] + 0.1 * rng.normal(size=(60, 4))).astype(np.float32)
        >>> spec = DataSpec("binary", ("no", "yes"), (30, 30), 1, (8, 8))
        >>> empty = np.full(60, "")
        >>> run = Latents(spec, np.arange(60), np.full(60, "test"), empty, np.full(60, -1), label,
        ...               {"original": View(z, z[:, :2])}, {})
        >>> found = probes(run, Options(draws=50))
        >>> found.of_class.accuracy["original"].mean, found.of_domain.reason
        (1.0, 'the data have no domains')
    """
    latents = sampled(in_order(latents), options)
    return Probes(
        _probed(latents, options, "class", folds, c), _probed(latents, options, "domain", folds, c)
    )


def _probed(latents: Latents, options: Options, target: str, folds: int, c: float) -> Probed:
    if target == "domain":
        latents = latents.select(latents.domain != "")
        known = tuple(d for d in latents.spec.domains if bool((latents.domain == d).any()))
        truth = np.array([known.index(name) for name in latents.domain.tolist()], np.int64)
        if not known:
            return Probed(reason="the data have no domains")
    elif latents.spec.multi_label:
        return Probed(reason="images have several labels, not one class")
    else:
        known, truth = latents.spec.class_names, latents.label.astype(np.int64)
    # What has a single group would be tested without being fitted, or fitted and never tested.
    groups = [len(np.unique(latents.units[truth == k])) for k in range(len(known))]
    kept = [k for k, number in enumerate(groups) if number >= 2]
    left_out = tuple(known[k] for k, number in enumerate(groups) if number == 1)
    if len(kept) < 2:
        many = "classes" if target == "class" else "domains"
        return Probed(left_out=left_out, reason=f"there are no two {many} with two groups each")
    latents = latents.select(np.isin(truth, kept))
    truth = np.searchsorted(kept, truth[np.isin(truth, kept)]).astype(np.int64)
    unit = units_of(latents)
    parts = folds_apart(truth, unit.number, folds, options.seed)
    if not parts:
        return Probed(left_out=left_out, reason="there are too few groups to test a probe on")
    features: dict[str, Array] = {k: v.z.astype(np.float64) for k, v in latents.views.items()}
    fitted = {
        name: predict_apart(x, truth, parts, c)
        for name, x in features.items()
        if np.isfinite(x).all()
    }
    predictions = {name: predicted for name, (predicted, _) in fitted.items()}
    names = list(features)
    if target == "domain" and not latents.spec.multi_label:
        names.append(LABELS)
        predictions[LABELS] = from_labels(latents.label.astype(np.int64), truth)
    measured = _measured(predictions, truth, unit, options, target)
    missing = Estimate(reason=NOT_FINITE)
    pairs = [*PAIRS, *((view, LABELS) for view in features)]
    return Probed(
        names=tuple(known[k] for k in kept),
        left_out=left_out,
        images=len(latents),
        groups=unit.count if unit.grouped else None,
        training=int((latents.split == "train").sum()),
        folds=len(parts),
        accuracy={
            name: measured[name].estimate(METRIC) if name in measured else missing for name in names
        },
        differences={
            (one, other): measured[one].minus(measured[other], METRIC)
            if one in measured and other in measured
            else missing
            for one, other in pairs
            if one in names and other in names
        },
        unfinished=sum(number for _, number in fitted.values()),
        measured=measured,
        key=_key(latents, unit, truth),
    )


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
