"""Latents of patients who were held back from training, and what they tell of their domain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray

from medldr.config import RunConfig
from medldr.data import Data
from medldr.evaluation.inputs.describe_inputs import HELD_BACK
from medldr.evaluation.latents.collect import collect_latents
from medldr.evaluation.representation.frame import Options
from medldr.evaluation.representation.leaks import leaks
from medldr.evaluation.representation.probes import evenly
from medldr.models.base import FeatureModel

if TYPE_CHECKING:
    from lightning_fabric import Fabric

MOST: Final = 1_000
"""Training images at most, and held-back ones."""
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
        Nothing where it was not asked for, or nobody was held back in two training domains.
    """
    rows = held_back(data) if config.evaluation.leaks else np.empty(0, np.int64)
    if not len(rows):
        return {}
    latents = collect_latents(config, data, model, fabric, only=rows)
    options = Options(config.evaluation.bootstrap_seed, draws=config.evaluation.draws)
    found = leaks(latents, options)
    return {} if found is None else {"leaks": found.written()}


def held_back(data: Data) -> NDArray[np.int64]:
    """Rows of training images, and of images of patients who are not among those of training.

    The latter are of the first of `HELD_BACK` that has two or more such patients (images without a
    group) in at least two training domains. Both are of these domains, at most `MOST` each, evenly
    from every class in every domain.

    Args:
        data: The data of a run.

    Returns:
        Empty where there is no such split.
    """
    table, train = data.table, data.rows["train"]
    for split in HELD_BACK:
        rows = data.rows.get(split, np.empty(0, np.int64))
        group, domain = table.groups[rows], table.domains[rows]
        new = (group == "") | ~np.isin(group, table.groups[train])
        whose = np.where(group == "", rows.astype(np.str_), np.char.add("g", group.astype(np.str_)))
        several = [
            name for name in data.spec.train_domains
            if len(np.unique(whose[new & (domain == name)])) > 1
        ]  # fmt: skip
        if len(several) < 2:
            continue
        parts = (of[np.isin(table.domains[of], several)] for of in (train, rows[new]))
        labels = None if data.spec.multi_label else table.labels
        return np.concatenate([
            of[evenly(table.domains[of], None if labels is None else labels[of], MOST, SEED)]
            for of in parts
        ])  # fmt: skip
    return np.empty(0, np.int64)
