"""Settings of an analysis of latents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

ClassWeights = Literal["items", "pairs", "classes"]


@dataclass(frozen=True)
class Options:
    """Settings of an analysis; the same for all its runs.

    Attributes:
        seed: Of everything that is drawn here; degraded and restored latents that a run has
            stored were drawn before.
        neighbours: Nearest neighbours that are looked at.
        items: Most images of a run in whatever compares all pairs of images.
        points: Most images of a run in a map.
        draws: Bootstrap draws of groups (images where there are none) for each 95% interval.
        queries: Images whose neighbours are shown as pictures.
        batches: Random batches that a query of the first figure is inserted into.
        class_weights: What a class counts for in alignment: its ``items``, its ``pairs``, or as
            any of the ``classes``; the paper does not say.
    """

    seed: int = 0
    neighbours: int = 10
    items: int = 2_000
    points: int = 800
    draws: int = 1_000
    queries: int = 6
    batches: int = 32
    class_weights: ClassWeights = "items"
