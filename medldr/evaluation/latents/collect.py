"""The latents of a run's images, made by its network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from medldr.config import RunConfig
from medldr.data import Data
from medldr.evaluation.predictions.predict import evaluating
from medldr.folders.latents_record import ORIGINAL, Latents, View
from medldr.models.base import FeatureModel
from medldr.types import SPLITS

if TYPE_CHECKING:
    from lightning_fabric import Fabric

MOST: Final = 20_000
"""Images of one split whose latents are kept; of a larger one, evenly spaced rows."""


def collect_latents(
    config: RunConfig,
    data: Data,
    model: FeatureModel,
    fabric: Fabric,
    most: int = MOST,
    only: NDArray[np.int64] | None = None,
) -> Latents:
    """Latents and logits of the images of every split, in the order of `SPLITS`.

    Images pass as they do in evaluation, training images too: nothing is augmented.

    Args:
        config: The run; batch size and workers are read.
        data: Its images, split.
        model: Its network, on the device of ``fabric``.
        fabric: Gives precision and device; this process alone makes all latents.
        most: Images of one split at most.
        only: Rows of the table that are wanted; None: all.
    """
    latents: list[Tensor] = []
    outputs: list[Tensor] = []
    rows_of: list[Tensor] = []
    splits: list[str] = []
    left_out: dict[str, int] = {}
    for split in SPLITS:
        rows = data.rows.get(split, np.empty(0, np.int64))
        rows = rows if only is None else np.intersect1d(rows, only)
        if not len(rows):
            continue
        left_out[split] = max(0, len(rows) - most)
        loader = data.eval_loader(split, config, device=fabric.device, most=most, only=only)
        with evaluating(model), torch.inference_mode():
            for batch in loader:
                with fabric.autocast():
                    z = model.features(batch.image)
                    logits = model.classify(z)
                latents.append(z.float().cpu())
                outputs.append(logits.float().cpu())
                rows_of.append(batch.index.cpu())
                splits += [split] * len(z)
    row: NDArray[np.int64] = torch.cat(rows_of).long().numpy()
    labels = data.table.labels[row]
    return Latents(
        spec=data.spec,
        row=row,
        split=np.array(splits, dtype=np.str_),
        domain=np.asarray(data.table.domains[row], dtype=np.str_),
        group=_numbers(np.asarray(data.table.groups[row], dtype=np.str_)),
        label=labels.astype(np.float64) if data.spec.multi_label else labels.astype(np.int64),
        views={ORIGINAL: View(torch.cat(latents).numpy(), torch.cat(outputs).numpy())},
        left_out=left_out,
    )


def _numbers(groups: NDArray[np.str_]) -> NDArray[np.int64]:
    """Groups by number in their order of appearance; -1 for an empty name."""
    known = {name: n for n, name in enumerate(dict.fromkeys(g for g in groups.tolist() if g))}
    return np.array([known.get(name, -1) for name in groups.tolist()], dtype=np.int64)
