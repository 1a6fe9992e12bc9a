"""`preprocessing.json` of a run: what one must know to give new images to its network.

Source:
    Our choice: at most `MOST` training images and as many held-back ones are looked at, evenly
    spaced in the order of the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray

from medldr.config import RunConfig
from medldr.data import Data
from medldr.data.files.rules import reading_of
from medldr.evaluation.inputs.unlike import (
    SHARE,
    Centre,
    centre_of,
    distances,
    features,
    measured_stages,
    moments,
    threshold_of,
)
from medldr.evaluation.predictions.predict import evaluating
from medldr.folders.evaluation_parts import Recalibration
from medldr.folders.preprocessing_record import (
    Latents,
    Preprocessing,
    Range,
    Shape,
    Stored,
    Training,
)
from medldr.models.base import FeatureModel
from medldr.version import __version__

if TYPE_CHECKING:
    from lightning_fabric import Fabric

MOST: Final = 1000
HELD_BACK: Final = ("id_val", "val")
"""The first of these that there is gives the threshold; no test split chooses anything."""
FEWEST: Final = 10


class Measured(NamedTuple):
    """Some images as the network received them.

    Attributes:
        averages: ``(N, D)`` averages of the stages.
        mean: ``(N,)`` mean of each image.
        sd: ``(N,)`` standard deviation of its pixels.
    """

    averages: NDArray[np.float32]
    mean: NDArray[np.float64]
    sd: NDArray[np.float64]


def describe_inputs(
    config: RunConfig,
    data: Data,
    model: FeatureModel,
    fabric: Fabric,
    evaluation: dict[str, Any],
    made: Recalibration | None,
) -> tuple[Preprocessing, Centre | None]:
    """How new images are given to a run's network, and where those of training lie.

    Args:
        config: The run.
        data: Its images, split.
        model: With the reported weights, on the device.
        fabric: Gives precision and device.
        evaluation: What `evaluate` returned for these weights.
        made: How they were recalibrated; None where that was not asked for.
    """
    stages = measured_stages(model)
    trained = measure(config, data, model, fabric, "train", stages)
    held_back = next((name for name in HELD_BACK if len(data.rows.get(name, ()))), None)
    centre, latents = None, None
    if trained.averages.shape[1] and held_back is not None and len(trained.mean) >= FEWEST:
        centre = centre_of(trained.averages)
        others = measure(config, data, model, fabric, held_back, stages)
        found = distances(centre, others.averages)
        latents = Latents(
            threshold=threshold_of(found),
            share=SHARE,
            split=held_back,
            n=len(found),
            stages=stages,
        )
    of_labels: dict[str, dict[str, Any]] = evaluation.get("operating_points", {})
    thresholds = {k: of["threshold"] for k, of in of_labels.items() if of["threshold"] is not None}
    point = evaluation["operating_point"] or next(iter(of_labels.values()), {})
    record = Preprocessing(
        **described(config, data),
        positive_class=evaluation["positive_class"],
        temperature=None if made is None else made.temperature,
        threshold=None if of_labels else point.get("threshold"),
        thresholds=thresholds,
        threshold_from=point.get("split"),
        specificity=point.get("specificity"),
        training=_training(data.trained_by(config), trained),
        latents=latents,
    )
    return record, centre


def described(config: RunConfig, data: Data) -> dict[str, Any]:
    """How a file becomes what the network of a configuration sees: keys of `Preprocessing`.

    Args:
        config: Whose transform it is.
        data: Its images.
    """
    table, spec = data.table, data.spec
    channels, *size = table.images.shape[1:]
    return {
        "schema": 1,
        "medldr": __version__,
        "task": spec.task,
        "class_names": spec.class_names,
        "reading": reading_of(table),
        "stored": Stored(
            channels=channels,
            spatial_size=tuple(size),
            dtype="uint8" if table.images.dtype == np.uint8 else "float32",
            views=spec.views,
        ),
        "transform": config.transform.model_dump(mode="json", exclude={"train", "views"}),
        "input": Shape(channels=spec.views * spec.channels, spatial_size=spec.spatial_size),
    }


def measure(
    config: RunConfig,
    data: Data,
    model: FeatureModel,
    fabric: Fabric,
    split: str,
    stages: Sequence[str],
) -> Measured:
    """Look at some images of a split.

    Args:
        config: The run.
        data: Its images, split.
        model: On the device.
        fabric: Gives precision and device.
        split: Its name.
        stages: Whose averages are the features.
    """
    loader = data.eval_loader(split, config, device=fabric.device, most=MOST)
    averages, mean, sd = [], [], []
    with evaluating(model), torch.inference_mode():
        for batch in loader:
            of_mean, of_sd = moments(batch.image)
            mean.append(of_mean.cpu().numpy())
            sd.append(of_sd.cpu().numpy())
            with fabric.autocast():
                averages.append(features(model, batch.image, stages)[1])
    return Measured(
        np.concatenate(averages),
        np.concatenate(mean).astype(np.float64),
        np.concatenate(sd).astype(np.float64),
    )


def _training(data: Data, trained: Measured) -> Training:
    rows = data.rows["train"]
    facts = [data.table.facts[row] for row in rows.tolist()] if data.table.facts else []
    return Training(
        images=len(rows),
        channels=tuple(sorted({one.shape[0] for one in facts})),
        sizes=_ranges(one.spatial for one in facts),
        spacings=_ranges(one.spacing for one in facts),
        modalities=tuple(sorted({one.modality for one in facts if one.modality})),
        mean=_range(trained.mean),
        sd=_range(trained.sd),
    )


def _ranges(several: Iterable[Sequence[float] | None]) -> tuple[Range, ...] | None:
    """Lowest and greatest along each axis; None where not all have the same axes."""
    known = [tuple(one) for one in several if one is not None]
    if not known or len({len(one) for one in known}) > 1:
        return None
    return tuple(_range(np.array(axis)) for axis in zip(*known, strict=True))


def _range(values: NDArray[Any]) -> Range:
    return float(values.min()), float(values.max())
