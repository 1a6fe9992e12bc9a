"""What leaks: whether latents tell the domain (hospital, scanner) of patients who were held back.

A network that tells hospitals apart can use what it knows of them in place of the disease.

Source:
    Linear probes: Alain and Bengio 2017; the robustness index: see
    `medldr.evaluation.representation.neighbours`. Our choices: hospitals differ in their mix of
    classes, so that the class tells something of the hospital. The probe is therefore judged within
    each class, every class of every domain counts alike in its fit and in its number, and the same
    probe, given the true class alone, stands beside it. Intervals resample patients and
    do not fit the probes again.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.metrics.sums import Array, Sums, mean_defined, ratio
from medldr.evaluation.representation.drawn import Drawn, in_draws, sample_of, units_of
from medldr.evaluation.representation.frame import Options, where
from medldr.evaluation.representation.neighbourhoods import neighbourhoods
from medldr.evaluation.representation.neighbours import ALL, ROBUSTNESS, robustness
from medldr.evaluation.representation.planes import finite
from medldr.evaluation.representation.probes import PENALTY, Rows
from medldr.folders.evaluation_record import LeaksRecord
from medldr.folders.latents_record import Floats, Latents
from medldr.folders.scores import Number
from medldr.metric import Metric

PROBE: Final = Metric(
    "domain_probe", "Domain probe",
    "How well a linear probe of the latents names the domain of patients it was not fitted on: its "
    "balanced accuracy over domains within each class, averaged over classes.",
    percent=True, better="lower", share="items",
)  # fmt: skip
ALONE: Final = "domain_probe_label"
"""The same of a probe that is given the true class alone."""
DIFFERENCE: Final = "domain_probe_difference"
AT_RANDOM: Final = "robustness_index_at_random"
HELD_BACK: Final = "held back"
STEPS: Final = 100
"""Of a fit, at most; latents of 1,280 numbers take about 60."""
DIGITS: Final = 6
"""Probabilities that agree in so many decimals are equal, and the first domain is named."""
NO_CLASS: Final = "no class has held-back images of two domains"
STOPPED: Final = f"the fit was stopped after {STEPS} steps"


def leaks(latents: Latents, new: NDArray[np.bool_], options: Options) -> LeaksRecord | None:
    """How well latents tell the domain, and what the nearest neighbours of images share with them.

    Args:
        latents: Images of training domains. Rows that are not finite are left out.
        new: ``(N,)``: which of them are of patients who were held back; the probe is fitted on the
            others, and sees no image of these patients.
        options: Draws and their seed; how many neighbours.

    Returns:
        None without two domains that have images of both kinds. The index of neighbours is of the
        held-back images among all of these; it is missing where images can have several labels.

    Example:
        >>> from medldr.folders.latents_record import View
        >>> from medldr.types import DataSpec
        >>> domain, label = np.arange(80) // 2 % 2, np.arange(80) % 2
        >>> z = np.eye(2, dtype=np.float32)[domain] + 1
        >>> spec = DataSpec("binary", ("no", "yes"), (20, 20), 2, (), ("a", "b"), ("a", "b"))
        >>> split = np.where(np.arange(80) < 40, "train", "val")
        >>> held = Latents(spec, np.arange(80), split, np.array(["a", "b"])[domain],
        ...                np.full(80, -1), label, {"original": View(z, z)}, {})
        >>> found = leaks(held, held.split == "val", Options(draws=50)).metrics
        >>> [found[key].value for key in ("domain_probe", "domain_probe_label")]
        [1.0, 0.5]
    """
    good = finite(latents.z)
    names = np.intersect1d(latents.domain[good & new], latents.domain[good & ~new])
    if len(names) < 2:
        return None
    good &= np.isin(latents.domain, names)
    held, new = latents.select(good), new[good]
    domain, kinds, asked = (
        np.searchsorted(names, held.domain),
        kinds_of(held.label),
        held.select(new),
    )
    weight = cell_weights(kinds[~new], domain[~new])
    hits, remarks = dict[str, NDArray[np.bool_]](), dict[str, str]()
    for key, x in ((PROBE.name, held.z), (ALONE, kinds.astype(np.float32))):
        named, converged = tell(x[~new], domain[~new], weight, x[new])
        hits[key] = named == domain[new]
        remarks[key] = "" if converged else STOPPED
    unit = units_of(asked)
    sums = _within(hits, kinds[new], domain[new], len(names))
    drawn = {
        key: Drawn(*pair, sample_of(unit), NO_CLASS if np.isnan(pair[0]) else "")
        for key, pair in in_draws(
            {"": sums.by_group(unit.number, unit.count)}, unit, options, "leaks"
        ).items()
    }
    found = {key: _number(one.estimate(PROBE), remarks[key]) for key, one in drawn.items()}
    found[DIFFERENCE] = _number(_beyond(drawn[PROBE.name], drawn[ALONE]))
    parted = replace(held, split=np.where(new, HELD_BACK, ""))
    near = neighbourhoods(parted, options, {HELD_BACK})
    for line in [] if near is None else where(robustness(near, options), queries=ALL):
        found[ROBUSTNESS.name] = _number(line["held"])
        found[AT_RANDOM] = Number(value=line["at_random"])
    return LeaksRecord(
        split=str(asked.split[0]),
        domains=len(names),
        fitted=int((~new).sum()),
        n=len(asked),
        n_groups=unit.count if unit.grouped else None,
        metrics=found,
    )


def kinds_of(label: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.bool_]:
    """``(N, K)``: whether each image is of each class; of several labels, an image may be of many.

    Args:
        label: ``(N,)`` classes, or ``(N, L)`` labels with NaN where one is missing. Images without
            any of them are one kind more.

    Example:
        >>> kinds_of(np.array([[1.0, 1.0], [0.0, 0.0]])).astype(int).tolist()
        [[1, 1, 0], [0, 0, 1]]
    """
    several = label.ndim == 2
    out: NDArray[np.bool_] = (
        np.column_stack([label == 1, (label == 0).all(axis=1)])
        if several
        else label[:, None] == np.unique(label)
    )
    return out


def cell_weights(kinds: NDArray[np.bool_], domain: Rows) -> Array:
    """``(N,)`` weights, 1 on average, by which every class of every domain counts alike.

    Args:
        kinds: ``(N, K)`` from `kinds_of`.
        domain: ``(N,)`` domain numbers.

    Example:
        >>> cell_weights(np.ones((3, 1), dtype=bool), np.array([0, 0, 1])).tolist()
        [0.75, 0.75, 1.5]
    """
    counts = kinds.T.astype(np.float64) @ np.eye(int(domain.max()) + 1)[domain]
    weight: Array = np.where(kinds, ratio(np.ones(1), counts).T[domain], 0.0).sum(axis=1)
    weight *= len(weight) / weight.sum()
    return weight


def tell(x: Floats, truth: Rows, weight: Array, new: Floats) -> tuple[Rows, bool]:
    """Name the domain of new images by a logistic regression on standardised features.

    Args:
        x: ``(N, D)`` finite features; float32 takes half the time of float64.
        truth: ``(N,)`` domain numbers from 0, all of which occur.
        weight: ``(N,)`` weights.
        new: ``(M, D)`` features of the new images.

    Returns:
        ``(M,)`` domain numbers, and whether the fit ended by itself.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler

    scale = StandardScaler().fit(x)
    with warnings.catch_warnings():  # the number of steps says so, too
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = LogisticRegression(C=PENALTY, max_iter=STEPS).fit(
            scale.transform(x), truth, sample_weight=weight
        )
    likely = np.round(fitted.predict_proba(scale.transform(new)), DIGITS)
    return likely.argmax(axis=1), int(fitted.n_iter_.max()) < STEPS


def _within(
    hits: Mapping[str, NDArray[np.bool_]], kinds: NDArray[np.bool_], domain: Rows, domains: int
) -> Sums:
    """Balanced accuracy over the domains within each class, averaged over classes.

    A class that is in a single domain says nothing: who knows the class knows the domain.
    """
    item, kind = np.nonzero(kinds)
    cell, shape = kind * domains + domain[item], (kinds.shape[1] * domains, len(kinds))
    parts = [np.ones(len(item), dtype=bool), *(hit[item] for hit in hits.values())]
    counts = [csr_array((np.ones(p.sum()), (cell[p], item[p])), shape=shape) for p in parts]

    def finish(sums: Array) -> dict[str, Array]:
        n, *right = sums.reshape(len(parts), kinds.shape[1], domains, -1)
        several = (n > 0).sum(axis=1) > 1
        means = (mean_defined(np.moveaxis(ratio(each, n), 1, 0)) for each in right)
        return {
            key: mean_defined(np.where(several, mean, np.nan))
            for key, mean in zip(hits, means, strict=True)
        }

    return Sums(csr_array(vstack(counts)), finish)


def _beyond(probe: Drawn, alone: Drawn) -> Estimate:
    """The probe less the one that knows the class alone, on the same patients."""
    found, own = probe.minus(alone, PROBE), probe.estimate(PROBE)
    if found.mean is None or found.low is not None or own.low is None or own.high is None:
        return found
    # A probe that is always right is so in every draw: its own interval is Wilson's.
    return replace(found, low=own.low - alone.value, high=own.high - alone.value, reason="")


def _number(found: Estimate, remark: str = "") -> Number:
    """As `evaluation.json` holds it."""
    said = "; ".join(filter(None, (found.reason, remark)))
    return Number(value=found.mean, low=found.low, high=found.high, reason=said or None)
