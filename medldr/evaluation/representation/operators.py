"""What D and R do to a run's own classifier: its decisions on z, D(z) and R(D(z), z)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, log_softmax

from medldr.evaluation.intervals.bootstrap import Units
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.metrics.counts import decisions
from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.sums import Array, Sums, ratio
from medldr.evaluation.representation.drawn import Drawn, in_draws, sample_of, units_of
from medldr.evaluation.representation.frame import Line, Options
from medldr.folders.latents_record import DEGRADED, ORIGINAL, RESTORED, Latents
from medldr.metric import Metric
from medldr.metrics import metric_facts

INF = float("inf")
ACCURACY, BALANCED = metric_facts("accuracy"), metric_facts("balanced_accuracy")
RECALL = metric_facts("recall")
ENTROPY: Final = Metric(
    "entropy", "Entropy (nats)", "How undecided a prediction is: 0 if it is certain, and highest "
    "if all classes are equally likely.", better="", range=(0.0, INF),
)  # fmt: skip
TO_MIX: Final = Metric(
    "to_mix", "Cross-entropy to the class mix (nats)", "How far predictions are from the class mix "
    "of the training images; no less than the entropy of that mix.", better="", range=(0.0, INF),
)  # fmt: skip
PROBABILITY: Final = Metric(
    "probability", "Mean probability", "Mean of the predicted probability of a class.",
    percent=True, better="",
)  # fmt: skip
PAIRS = ((ORIGINAL, DEGRADED), (RESTORED, DEGRADED), (RESTORED, ORIGINAL))
"""Views that are compared: the first minus the second."""
NOT_FINITE = "the predictions are not all finite numbers"
SEVERAL = "images have several labels, not one class"
SEEN = ("id_test", "id_val")
"""Splits of seen domains: the first that a run has is looked at, besides training and the test."""
NO_CLASS = "there are no images of it here"
TWO_CLASSIFIERS = "a different classifier judges original latents"


def operators(latents: Latents, options: Options, *, own_classifier: bool = False) -> list[Line]:
    """Decisions of a run's own classifier on z, z_d and z_r, by split, class and domain.

    Args:
        latents: The latents of a run; its logits are judged.
        options: Draws and seed; all images count.
        own_classifier: Whether another classifier judges z_d and z_r than z; they are then not
            compared with z.

    Returns:
        By ``split`` (training, seen domains, and last what stands for the test), ``latents``,
        ``domain``, ``class`` and ``metric``; lines with ``minus`` are paired differences from
        these latents. ``chance`` is the balanced accuracy of guessing one of all classes;
        ``classes_without_images`` do not count in it. Nothing if there are no images of any split
        that is looked at, or a single class.

    Source:
        The paper wants D to "confuse" the classifier, with the mean label of a batch as its target,
        and R to recover the class; its source reports the accuracy on degraded latents, 33% of 7
        classes, in a sentence that is not printed. Balanced accuracy as the main number (guessing
        then gives 1 over the number of classes whatever the class mix), paired differences and the
        entropies are our choice. The mean label of a batch is the class mix of training on average,
        unless a sampler or mixed labels change it.

    Example:
        >>> from medldr.evaluation.representation.frame import number
        >>> from medldr.types import DataSpec
        >>> from medldr.folders.latents_record import View
        >>> spec = DataSpec("binary", ("no", "yes"), (2, 2), 1, (8, 8))
        >>> z = np.array([[2.0, 0.0], [0.0, 2.0], [0.0, 1.0], [1.0, 0.0]], np.float32)
        >>> run = Latents(spec, np.arange(4), np.full(4, "test"), np.full(4, ""), np.full(4, -1),
        ...               np.array([0, 1, 1, 1]), {"original": View(z, z)}, {})
        >>> found = operators(run, Options(draws=50))
        >>> number(found, metric="accuracy").mean
        0.75
    """
    present = set(latents.split.tolist())
    seen = next((split for split in SEEN if split in present), "")
    splits = dict.fromkeys(("train", seen, latents.tested_split))
    spec, several = latents.spec, latents.spec.multi_label
    if spec.num_classes < 2 and not several:
        return []
    counts = np.array(spec.class_counts, np.float64)
    mix = counts / counts.sum() if not several and counts.sum() > 0 else np.empty(0)
    return [
        {"split": split, "unseen": bool(part.unseen.all()), **line}
        for split in splits
        if split in present
        for part in [latents.select(latents.split == split)]
        for line in _Judged(part, split, mix, options, own_classifier).lines()
    ]


class _Judged:
    """What the classifier makes of the images of a split, with draws of their groups."""

    def __init__(
        self, latents: Latents, split: str, mix: Array, options: Options, own_classifier: bool
    ) -> None:
        self._latents, self._own_classifier = latents, own_classifier
        self._unit = units_of(latents)
        self._domains = [d for d in latents.spec.domains if bool((latents.domain == d).any())]
        sums = {
            f"{view}/{key}": each
            for view, held in latents.views.items()
            if np.isfinite(held.logits).all()
            for key, each in _sums(latents, held.logits, self._unit, self._domains, mix).items()
        }
        self._drawn = in_draws(sums, self._unit, options, f"operators/{split}")

    def lines(self) -> Iterator[Line]:
        views, spec, several = (
            self._latents.views,
            self._latents.spec,
            self._latents.spec.multi_label,
        )
        classes = spec.num_classes
        size = {
            "chance": 0.5 if several else 1 / classes,
            "classes_without_images": 0
            if several
            else classes - len(np.unique(self._latents.label)),
            "images": len(self._latents),
            "groups": self._unit.count if self._unit.grouped else "",
        }
        for view in views:
            for key, domain, name, metric, rows in self._places():
                held = self._one(f"{view}/{key}", metric, rows)
                yield {
                    "latents": view, "minus": "", "domain": domain, "class": name,
                    "metric": metric.name, "held": held, **size,
                }  # fmt: skip
        for one, other in PAIRS:
            if one in views and other in views:
                yield {
                    "latents": one, "minus": other, "domain": "", "class": "",
                    "metric": BALANCED.name, "held": self._difference(one, other), **size,
                }  # fmt: skip

    def _places(self) -> Iterator[tuple[str, str, str, Metric, NDArray[np.bool_] | None]]:
        """Key of each number of a view, its domain, class, metric and images (None: all)."""
        label = self._latents.label
        yield ACCURACY.name, "", "", ACCURACY, None
        yield BALANCED.name, "", "", BALANCED, None
        yield f"spread/{ENTROPY.name}", "", "", ENTROPY, None
        yield f"spread/{TO_MIX.name}", "", "", TO_MIX, None
        for k, name in enumerate(self._latents.spec.class_names):
            rows = np.asarray(label[:, k] == 1 if label.ndim == 2 else label == k)
            yield f"class/{k}/recall", "", name, RECALL, rows
            yield f"spread/{PROBABILITY.name}/{k}", "", name, PROBABILITY, None
        for domain in self._domains:
            rows = self._latents.domain == domain
            yield f"domain/{domain}/{BALANCED.name}", domain, "", BALANCED, rows

    def _one(self, key: str, metric: Metric, rows: NDArray[np.bool_] | None) -> Estimate:
        several = self._latents.spec.multi_label
        if several and metric in (ENTROPY, TO_MIX, PROBABILITY):
            return Estimate(reason=SEVERAL)
        if key not in self._drawn:
            return Estimate(reason=NOT_FINITE)
        sample = sample_of(self._unit, slice(None) if rows is None else rows)
        if several and rows is None:  # with several labels, accuracy is a mean of shares
            sample = sample._replace(trials=0)
        return Drawn(*self._drawn[key], sample, NO_CLASS).estimate(metric)

    def _difference(self, one: str, other: str) -> Estimate:
        """Balanced accuracy of one view minus that of another, paired."""
        keys = f"{one}/{BALANCED.name}", f"{other}/{BALANCED.name}"
        if self._own_classifier and ORIGINAL in (one, other):
            return Estimate(reason=TWO_CLASSIFIERS)
        if not all(key in self._drawn for key in keys):
            return Estimate(reason=NOT_FINITE)
        sample = sample_of(self._unit)
        first, second = (Drawn(*self._drawn[key], sample, NO_CLASS) for key in keys)
        return first.minus(second, BALANCED)


def _sums(
    latents: Latents, logits: NDArray[np.float32], unit: Units, domains: Sequence[str], mix: Array
) -> dict[str, Sums]:
    """Whatever is measured of one view, by prefix: of all images, and of each domain."""
    task, wide = latents.spec.task, logits.astype(np.float64)
    logs = np.asarray(log_softmax(wide, axis=1))
    prob = np.asarray(expit(wide)) if latents.spec.multi_label else np.exp(logs)
    found = {"": decisions(Items(latents.label, prob, task)).by_group(unit.number, unit.count)}
    if not latents.spec.multi_label:
        found["spread/"] = _spread(prob, logs, mix).by_group(unit.number, unit.count)
    for domain in domains:
        rows = latents.domain == domain
        there = decisions(Items(latents.label[rows], prob[rows], task))
        found[f"domain/{domain}/"] = there.by_group(unit.number[rows], unit.count)
    return found


def _spread(prob: Array, logs: Array, mix: Array) -> Sums:
    """Mean entropy, cross-entropy to a class mix, and mean probability of each class."""
    entropy = -(prob * logs).sum(axis=1)
    to_mix = -logs @ mix if len(mix) else np.full(len(prob), np.nan)
    per_item = csr_array(np.vstack([np.ones(len(prob)), entropy, to_mix, prob.T]))

    def finish(sums: Array) -> dict[str, Array]:
        means = ratio(sums[1:], sums[:1])
        each = {f"{PROBABILITY.name}/{k}": row for k, row in enumerate(means[2:])}
        return {ENTROPY.name: means[0], TO_MIX.name: means[1], **each}

    return Sums(per_item, finish)
