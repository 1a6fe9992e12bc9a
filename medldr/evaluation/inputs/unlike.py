"""How far an image lies from those of training, by what the first half of the network makes of it.

The channels of each stage are averaged over all positions. The mean and the covariance of these
averages over training images define a Mahalanobis distance, and the distances of held-back images
of the same domains a threshold.

Source:
    Our choice. Mahalanobis distances of a network's features: Lee et al. 2018, here with a single
    mean for all classes and Ledoit and Wolf's covariance of standardised features, which needs no
    more images than features. The first half only, because the last stages keep what tells classes
    apart and drop what tells laboratories apart: of blood cells from a third laboratory the latents
    singled out 0 %, the first half 100 %. The threshold is the split-conformal one: of images like
    those of the split, at most one minus the share is called unlike, whatever the distances'
    distribution; with too few images it is their greatest distance.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil
from typing import Final, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from medldr.errors import InputError
from medldr.models.base import FeatureModel

SHARE: Final = 0.97
"""Share of held-back images within the threshold; size and grey values share the other 2 %."""

Array = NDArray[np.float64]


class Centre(NamedTuple):
    """Where training images lie.

    Attributes:
        mean: ``(D,)`` mean of the features.
        scale: ``(D,)`` their standard deviation; 1 where all are equal.
        precision: ``(D, D)`` inverse covariance of the standardised features.
    """

    mean: Array
    scale: Array
    precision: Array

    def tensors(self) -> dict[str, Tensor]:
        """As a file holds it."""
        return {name: torch.from_numpy(value.copy()) for name, value in self._asdict().items()}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> Centre:
        """As `tensors` wrote it.

        Raises:
            InputError: If it is something else.
        """
        if set(tensors) != set(cls._fields):
            raise InputError(
                "unlike.safetensors does not hold what it should. Write it again with `medldr "
                "evaluate` on the run"
            )
        return cls(**{name: tensors[name].double().numpy() for name in cls._fields})


def measured_stages(model: FeatureModel) -> tuple[str, ...]:
    """The stages whose averages are the features: all but the last two."""
    return tuple(model.stages[:-2])


def features(
    model: FeatureModel, image: Tensor, stages: Iterable[str]
) -> tuple[Tensor, NDArray[np.float32]]:
    """Logits, and the averages of some stages.

    Args:
        model: In eval mode.
        image: ``(B, C, *S)`` as the network receives it.
        stages: Their names. One that the network passes through no tap has no features.

    Returns:
        ``(B, K)`` and ``(B, D)``.
    """
    found: dict[str, Tensor] = {}

    def keep(name: str) -> None:
        def tap(value: Tensor) -> Tensor:
            maps = value.flatten(2) if model.maps else value.movedim(1, -1)
            found[name] = maps.float().mean(-1)
            return value

        taps[name] = tap

    taps: dict[str, object] = {}
    for name in stages:
        keep(name)
    logits = model.classify(model.features(image, taps))  # type: ignore[arg-type]
    averages = [found[name] for name in taps if name in found]
    joined = torch.cat(averages, dim=1) if averages else torch.zeros(len(image), 0)
    return logits, joined.cpu().numpy()


def moments(image: Tensor) -> tuple[Tensor, Tensor]:
    """``(B,)`` mean and ``(B,)`` standard deviation of each item as the network receives it.

    Args:
        image: ``(B, C, *S)``, ``(B, D)``, or bags ``(B, N, D)``, whose rows of NaN do not count.

    Example:
        >>> mean, sd = moments(torch.tensor([[[1.0, 3.0], [float("nan"), float("nan")]]]))
        >>> mean.item(), sd.item()
        (2.0, 1.0)
    """
    flat = image.flatten(1).float()
    if image.ndim != 3:
        return flat.mean(1), flat.std(1, correction=0)
    mean = flat.nanmean(1)
    return mean, (flat - mean.unsqueeze(1)).square().nanmean(1).sqrt()


def centre_of(averages: NDArray[np.float32]) -> Centre:
    """Where images with these features lie.

    Args:
        averages: ``(N, D)`` of training images, at least two.

    Example:
        >>> draws = np.random.default_rng(0).normal(5, 2, (500, 3)).astype(np.float32)
        >>> found = centre_of(draws)
        >>> bool(np.median(distances(found, draws)) < 2), found.precision.shape
        (True, (3, 3))
    """
    from sklearn.covariance import LedoitWolf

    values = averages.astype(np.float64)
    mean, scale = values.mean(axis=0), values.std(axis=0)
    scale[scale == 0] = 1
    fitted = LedoitWolf(assume_centered=True).fit((values - mean) / scale)
    return Centre(mean, scale, fitted.precision_)


def distances(centre: Centre, averages: NDArray[np.float32]) -> Array:
    """Mahalanobis distance of each image.

    Args:
        centre: Of the training images.
        averages: ``(N, D)``.
    """
    away = (averages.astype(np.float64) - centre.mean) / centre.scale
    squares = np.einsum("nd,de,ne->n", away, centre.precision, away)
    found: Array = np.sqrt(np.maximum(squares, 0))
    return found


def threshold_of(held_back: Array, share: float = SHARE) -> float:
    """The distance beyond which an image is unlike those of training.

    Args:
        held_back: ``(N,)`` distances of images that were not trained on; at least one.
        share: Share of such images that lie within it.

    Example:
        >>> threshold_of(np.arange(1.0, 100.0), 0.95), threshold_of(np.arange(3.0), 0.95)
        (95.0, 2.0)
    """
    ordered = np.sort(held_back)
    rank = min(ceil((len(ordered) + 1) * share), len(ordered))
    return float(ordered[rank - 1])
