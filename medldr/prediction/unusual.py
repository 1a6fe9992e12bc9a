"""What is unusual about a new item, beside the images that a network was trained on.

Source:
    Our choice: sizes and spacings may be `NEAR` times beyond the training images' own, grey values
    `MARGIN` of their range. An item within them all is not thereby like them; the distance of its
    features (`medldr.evaluation.inputs.unlike`) sees more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from medldr.data.files.facts import Facts
from medldr.folders.preprocessing_record import Range, Training

NEAR: Final = 1.1
MARGIN: Final = 0.1


def unusual_file(facts: Facts, training: Training) -> dict[str, str]:
    """What a file says of itself that no training image said.

    Args:
        facts: Of the file.
        training: What the training images were.

    Returns:
        A sentence for each kind of finding.
    """
    texts = {}
    if training.channels and facts.shape[0] not in training.channels:
        had = ", ".join(map(str, training.channels))
        texts["channels"] = f"its channels are {facts.shape[0]}; training images had {had}"
    if _beyond(facts.spatial, training.sizes):
        texts["size"] = (
            f"its size is {_times(facts.spatial)}; training images had "
            f"{_ranges(training.sizes or ())} pixels"
        )
    if facts.spacing is None and training.spacings is not None:
        texts["spacing"] = "it does not say its spacing in mm, and training images did"
    elif facts.spacing is not None and _beyond(facts.spacing, training.spacings):
        texts["spacing"] = (
            f"its spacing is {_times(facts.spacing)} mm; training images had "
            f"{_ranges(training.spacings or ())} mm"
        )
    if facts.modality and training.modalities and facts.modality not in training.modalities:
        had = ", ".join(training.modalities)
        texts["modality"] = f"its modality is {facts.modality}; training images were {had}"
    return texts


def unusual_values(
    mean: float, sd: float, training: Training, *, latents: bool = False
) -> dict[str, str]:
    """Grey values that no training image had.

    Args:
        mean: Of an image as the network receives it.
        sd: Of its pixels.
        training: What the training images were.
        latents: Whether the network receives latents.
    """
    of = "the numbers of its latent" if latents else "its grey values"
    state = "" if latents else " after normalisation"
    for word, value, limits in (("mean", mean, training.mean), ("SD", sd, training.sd)):
        if limits is None:
            continue
        low, high = limits
        slack = MARGIN * (high - low)
        if not low - slack <= value <= high + slack:
            return {
                "values": f"the {word} of {of} is {value:.3g}{state}; training images had "
                f"{low:.3g} to {high:.3g}"
            }
    return {}


def unusual_features(distance: float, threshold: float) -> dict[str, str]:
    """Features far from those of training images.

    Args:
        distance: Of the image; see `medldr.evaluation.inputs.unlike`.
        threshold: Beyond which it is unlike them.
    """
    if distance <= threshold:
        return {}
    text = f"it looks unlike the training images (distance {distance:.3g}, limit {threshold:.3g})"
    return {"features": text}


def agreed(of_runs: Sequence[dict[str, str]]) -> tuple[str, ...]:
    """What more than half of the runs find unusual, in the words of the first that does.

    Example:
        >>> agreed([{"size": "a"}, {"size": "b", "values": "c"}, {}])
        ('a',)
    """
    by_kind: dict[str, list[str]] = {}
    for texts in of_runs:
        for kind, text in texts.items():
            by_kind.setdefault(kind, []).append(text)
    return tuple(texts[0] for texts in by_kind.values() if 2 * len(texts) > len(of_runs))


def _beyond(values: Sequence[float], ranges: Sequence[Range] | None) -> bool:
    if ranges is None:
        return False
    if len(ranges) != len(values):
        return True
    return any(
        not low / NEAR <= value <= high * NEAR
        for value, (low, high) in zip(values, ranges, strict=True)
    )


def _times(numbers: Sequence[float]) -> str:
    return " x ".join(f"{number:.4g}" for number in numbers)


def _ranges(ranges: Sequence[Range]) -> str:
    return " x ".join(
        f"{low:.4g}" if low == high else f"{low:.4g}–{high:.4g}" for low, high in ranges
    )
