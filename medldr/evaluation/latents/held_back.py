"""Latents of patients who were held back from training, and what they tell of their domain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from medldr.config import RunConfig
from medldr.data import Data
from medldr.evaluation.inputs.describe_inputs import HELD_BACK
from medldr.evaluation.latents.collect import collect_latents
from medldr.evaluation.representation.frame import Options
from medldr.evaluation.representation.leaks import leaks
from medldr.evaluation.representation.probes import Rows, evenly, folds_apart
from medldr.models.base import FeatureModel

if TYPE_CHECKING:
    from lightning_fabric import Fabric

MOST: Final = 1_000
"""Training images at most, and held-back ones."""
PARTS: Final = 3
"""Of training patients, one of which is held back where validation has no others."""
SEED: Final = 0
"""Of the draw of images: all runs on the same data are asked about the same."""


def leaks_of(config: RunConfig, data: Data, model: FeatureModel, fabric: Fabric) -> dict[str, Any]:
    """The part ``leaks`` of `evaluation.json`: latents are made, measured and forgotten.

    Args:
        config: The run.
        data: Its images, split; those of test splits are not looked at.
        model: Its network, on the device of ``fabric``.
        fabric: Gives precision and device.

    Returns:
        Nothing where it was not asked for, or no two training domains have two patients each.
    """
    if not config.evaluation.leaks:
        return {}
    fitted, asked = held_back(data)
    if not len(asked):
        return {}
    rows = np.union1d(fitted, asked)
    latents = collect_latents(config, data, model, fabric, only=rows)
    options = Options(config.evaluation.bootstrap_seed, draws=config.evaluation.draws)
    found = leaks(latents, np.isin(latents.row, asked), options)
    return {} if found is None else {"leaks": found.written()}


def held_back(data: Data) -> tuple[Rows, Rows]:
    """Rows of training images, and of images of patients who are not among theirs.

    The latter are of the first of `HELD_BACK` that has two or more patients (images without a
    group) in at least two training domains who are not among those of training. Where none has, a
    third of the training patients are held back from the probe alone. All are of these domains, at
    most `MOST` of either, evenly from every class in every domain.

    Args:
        data: The data of a run.

    Returns:
        Both in ascending order; empty with fewer than two such domains.
    """
    table, train = data.table, data.rows["train"]
    for split in HELD_BACK:
        rows = data.rows.get(split, np.empty(0, np.int64))
        group = table.groups[rows]
        rows = rows[(group == "") | ~np.isin(group, table.groups[train])]
        domains = _of_several(data, rows)
        if len(domains) > 1:
            return _evenly(data, train, domains, MOST), _evenly(data, rows, domains, MOST)
    domains = _of_several(data, train)
    rows = _evenly(data, train, domains, 2 * MOST)
    _, domain = np.unique(table.domains[rows], return_inverse=True)
    folds = folds_apart(domain, _patients(data, rows), PARTS, SEED) if len(domains) > 1 else []
    if not folds:
        return rows[:0], rows[:0]
    fitted, asked = (_evenly(data, rows[of], domains, MOST) for of in folds[0])
    return fitted, asked


def _patients(data: Data, rows: Rows) -> Rows:
    """``(N,)`` a number for each patient; an image without a group is one of its own."""
    names = np.where(data.table.groups[rows] == "", rows.astype(np.str_), "g")
    pairs = np.stack([names, data.table.groups[rows].astype(np.str_)])
    return np.unique(pairs, axis=1, return_inverse=True)[1].ravel()


def _of_several(data: Data, rows: Rows) -> list[str]:
    """Training domains of which these rows have two or more patients."""
    domain, patient = data.table.domains[rows], _patients(data, rows)
    known = data.spec.train_domains
    return [name for name in known if len(np.unique(patient[domain == name])) > 1]


def _evenly(data: Data, rows: Rows, domains: list[str], most: int) -> Rows:
    """At most so many of these rows, of these domains."""
    rows = rows[np.isin(data.table.domains[rows], domains)]
    labels = None if data.spec.multi_label else data.table.labels[rows]
    return rows[evenly(data.table.domains[rows], labels, most, SEED)]
