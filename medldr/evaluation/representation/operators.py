"""What D and R do to a run's own classifier: its decisions on z, D(z) and R(D(z), z)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.special import expit, log_softmax

from medldr.evaluation.intervals.bootstrap import Units
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.intervals.single_run import Sample
from medldr.evaluation.metrics.counts import decisions
from medldr.evaluation.metrics.items import Items
from medldr.evaluation.metrics.sums import Array, Sums, ratio
from medldr.evaluation.representation.drawn import Drawn, in_draws, sample_of, units_of
from medldr.evaluation.representation.judged import (
    ACCURACY,
    BALANCED,
    ENTROPY,
    PROBABILITY,
    RECALL,
    TO_MIX,
    Classified,
    Judged,
    Part,
)
from medldr.evaluation.representation.options import Options
from medldr.folders.latents_record import DEGRADED, ORIGINAL, RESTORED, Latents
from medldr.metric import Metric

PAIRS = ((ORIGINAL, DEGRADED), (RESTORED, DEGRADED), (RESTORED, ORIGINAL))
"""Views that are compared: the first minus the second."""
NOT_FINITE = "the predictions are not all finite numbers"
SEVERAL = "images have several labels, not one class"
SEEN = ("id_test", "id_val")
"""Splits of seen domains: the first that a run has is looked at, besides training and the test."""
NO_CLASS = "there are no images of it here"
TWO_CLASSIFIERS = "a different classifier judges original latents"


def operators(
    latents: Latents, options: Options, *, own_classifier: bool = False
) -> Classified | None:
    """Decisions of a run's own classifier on z, z_d and z_r, by split, class and domain.

    Args:
        latents: The latents of a run; its logits are judged.
        options: Draws and seed; all images count.
        own_classifier: Whether another classifier judges z_d and z_r than z; they are then not
            compared with z.

    Returns:
        None if there are no images of any split that is looked at, or a single class.

    Source:
        The paper wants D to "confuse" the classifier, with the mean label of a batch as its target,
        and R to recover the class; its source reports the accuracy on degraded latents, 33% of 7
        classes, in a sentence that is not printed. Balanced accuracy as the main number (guessing
        then gives 1 over the number of classes whatever the class mix), paired differences and the
        entropies are our choice. The mean label of a batch is the class mix of training on average,
        unless a sampler or mixed labels change it.

    Example:
        >>> from medldr.types import DataSpec
        >>> from medldr.folders.latents_record import View
        >>> spec = DataSpec("binary", ("no", "yes"), (2, 2), 1, (8, 8))
        >>> z = np.array([[2.0, 0.0], [0.0, 2.0], [0.0, 1.0], [1.0, 0.0]], np.float32)
        >>> run = Latents(spec, np.arange(4), np.full(4, "test"), np.full(4, ""), np.full(4, -1),
        ...               np.array([0, 1, 1, 1]), {"original": View(z, z)}, {})
        >>> found = operators(run, Options(draws=50)).last.views["original"]
        >>> found.accuracy.mean, round(found.balanced.mean, 3)
        (0.75, 0.833)
    """
    present = set(latents.split.tolist())
    seen = next((split for split in SEEN if split in present), "")
    splits = ("train", seen, latents.tested_split)
    chosen = [split for split in dict.fromkeys(splits) if split in present]
    spec, several = latents.spec, latents.spec.multi_label
    if not chosen or (spec.num_classes < 2 and not several):
        return None
    counts = np.array(spec.class_counts, np.float64)
    mix = counts / counts.sum() if not several and counts.sum() > 0 else np.empty(0)
    parts = (
        _part(latents.select(latents.split == split), split, mix, options, own_classifier)
        for split in chosen
    )
    return Classified(spec.class_names, tuple(parts), tuple(mix.tolist()), several)


def _part(latents: Latents, split: str, mix: Array, options: Options, own_classifier: bool) -> Part:
    unit = units_of(latents)
    domains = [d for d in latents.spec.domains if bool((latents.domain == d).any())]
    finite = {k: v.logits for k, v in latents.views.items() if np.isfinite(v.logits).all()}
    sums: dict[str, Sums] = {}
    for name, logits in finite.items():
        sums |= {
            f"{name}/{key}": s for key, s in _sums(latents, logits, unit, domains, mix).items()
        }
    drawn = in_draws(sums, unit, options, f"operators/{split}")
    measured = _Measures(latents, unit, drawn, own_classifier)
    several, classes = latents.spec.multi_label, latents.spec.num_classes
    return Part(
        split=split,
        unseen=bool(latents.unseen.all()),
        images=len(latents),
        groups=unit.count if unit.grouped else None,
        views={name: measured.judged(name, domains) for name in latents.views},
        differences={
            (one, other): measured.difference(one, other)
            for one, other in PAIRS
            if one in latents.views and other in latents.views
        },
        chance=0.5 if several else 1 / classes,
        lacking=0 if several else classes - len(np.unique(latents.label)),
    )


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


@dataclass(frozen=True)
class _Measures:
    """Everything measured of a part, by view.

    Attributes:
        latents: The images.
        unit: What was drawn.
        drawn: Numbers and their draws.
        own_classifier: As in `operators`.
    """

    latents: Latents
    unit: Units
    drawn: Mapping[str, tuple[float, Array]]
    own_classifier: bool

    def judged(self, view: str, domains: Sequence[str]) -> Judged:
        several, names = self.latents.spec.multi_label, self.latents.spec.class_names
        classes = range(len(names))

        def mean(key: str, metric: Metric) -> Estimate:
            if several:
                return Estimate(reason=SEVERAL)
            return self._one(view, f"spread/{key}", metric, sample_of(self.unit))

        return Judged(
            accuracy=self._one(view, ACCURACY.name, ACCURACY, self._sample(slice(None))),
            balanced=self._one(view, BALANCED.name, BALANCED, self._sample(slice(None))),
            by_class=tuple(
                self._one(view, f"class/{k}/recall", RECALL, self._sample(self._of_class(k)))
                for k in classes
            ),
            by_domain={
                name: self._one(
                    view, f"domain/{name}/{BALANCED.name}", BALANCED,
                    self._sample(self.latents.domain == name),
                )
                for name in domains
            },
            entropy=mean(ENTROPY.name, ENTROPY),
            to_mix=mean(TO_MIX.name, TO_MIX),
            mean=tuple(mean(f"{PROBABILITY.name}/{k}", PROBABILITY) for k in classes),
        )  # fmt: skip

    def difference(self, one: str, other: str) -> Estimate:
        """Balanced accuracy of one view minus that of another, paired."""
        keys = f"{one}/{BALANCED.name}", f"{other}/{BALANCED.name}"
        if self.own_classifier and ORIGINAL in (one, other):
            return Estimate(reason=TWO_CLASSIFIERS)
        if not all(key in self.drawn for key in keys):
            return Estimate(reason=NOT_FINITE)
        sample = sample_of(self.unit)
        first, second = (Drawn(*self.drawn[key], sample, NO_CLASS) for key in keys)
        return first.minus(second, BALANCED)

    def _one(self, view: str, key: str, metric: Metric, sample: Sample) -> Estimate:
        found = self.drawn.get(f"{view}/{key}")
        if found is None:
            return Estimate(reason=NOT_FINITE)
        return Drawn(*found, sample, NO_CLASS).estimate(metric)

    def _sample(self, rows: NDArray[np.bool_] | slice) -> Sample:
        """What a share is of; with several labels, accuracy is a mean of shares."""
        found = sample_of(self.unit, rows)
        whole = self.latents.spec.multi_label and isinstance(rows, slice)
        return found._replace(trials=0) if whole else found

    def _of_class(self, k: int) -> NDArray[np.bool_]:
        label = self.latents.label
        return np.asarray(label[:, k] == 1 if label.ndim == 2 else label == k)
