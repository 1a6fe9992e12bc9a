"""Which images are shown with their nearest neighbours, as in the paper's figure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.representation.frame import Options
from medldr.evaluation.representation.neighbourhoods import nearest, searchable
from medldr.folders.latents_record import DEGRADED, ORIGINAL, RESTORED, Latents

TOP: Final = 2
"""Neighbours shown of each query, as in the paper."""


@dataclass(frozen=True)
class Shown:
    """One image that is shown.

    Attributes:
        row: Its row of the dataset's table.
        label: Its class.
        domain: Its domain, empty where there is none.
        unseen: Whether that is a domain that training has not seen.
    """

    row: int
    label: str
    domain: str
    unseen: bool


@dataclass(frozen=True)
class Retrieved:
    """A query and its nearest neighbours.

    Attributes:
        query: The image that was asked about.
        neighbours: By view, the nearest images, the nearest first.
    """

    query: Shown
    neighbours: Mapping[str, tuple[Shown, ...]]


@dataclass(frozen=True)
class PicturedNeighbours:
    """Queries with their nearest neighbours.

    Attributes:
        queries: In the order in which they are shown.
    """

    queries: tuple[Retrieved, ...]

    @property
    def rows(self) -> list[int]:
        """The rows of the dataset's table whose images are shown, ascending."""
        found = {query.query.row for query in self.queries}
        for query in self.queries:
            found |= {one.row for many in query.neighbours.values() for one in many}
        return sorted(found)


def pictured_neighbours(latents: Latents, options: Options) -> PicturedNeighbours | None:
    """Some training images with the nearest neighbours of their degraded and restored latents.

    Queries are drawn at random among training images, one class and one domain after the other
    until there are enough: neither what they look like nor how well the method does plays a part.
    Runs on the same data with the same seed show the same queries.

    Args:
        latents: Of a run.
        options: ``queries`` and ``seed``.

    Returns:
        None where an image can have several labels, or there is no training image with a possible
        neighbour. Without degraded latents, neighbours are of the unmodified ones.

    Source:
        The paper's figure: the top two neighbours after degradation (first row) and after
        restoration (second row). It does not say how its queries were chosen; this is our choice.
    """
    held = searchable(latents)
    if held is None or len(np.unique(held.units)) < 2:
        return None
    queries = _drawn(held, options)
    if not len(queries):
        return None
    views = [name for name in (DEGRADED, RESTORED) if name in held.views] or [ORIGINAL]
    owners = held.units
    near = {
        name: nearest(
            held.views[name].z[queries], held.z, TOP,
            owner=owners[queries], owners=owners,
        )
        for name in views
    }  # fmt: skip
    unseen = held.unseen

    def shown(place: int) -> Shown:
        label = held.spec.class_names[int(held.label[place])]
        return Shown(int(held.row[place]), label, str(held.domain[place]), bool(unseen[place]))

    return PicturedNeighbours(
        tuple(
            Retrieved(
                shown(int(query)),
                {
                    name: tuple(shown(int(place)) for place in found[number] if place >= 0)
                    for name, found in near.items()
                },
            )
            for number, query in enumerate(queries)
        )
    )


def _drawn(held: Latents, options: Options) -> NDArray[np.int64]:
    """Positions of the queries: random training images, each class and each domain in turn."""
    training = np.flatnonzero(held.split == "train")
    training = training[np.argsort(held.row[training], kind="stable")]  # the same in every run
    generator = np.random.default_rng(options.seed)
    label = np.asarray(held.label)[training]
    by_class = [generator.permutation(training[label == k]).tolist() for k in np.unique(label)]
    if len(by_class) > options.queries:
        chosen = np.sort(generator.choice(len(by_class), options.queries, replace=False))
        by_class = [by_class[k] for k in chosen]
    domain = held.domain.tolist()
    shown: Counter[tuple[int, str]] = Counter()  # by class and domain; class -1 is all of them
    out: list[int] = []
    while any(by_class) and len(out) < options.queries:
        for k, places in enumerate(by_class):
            if not places:
                continue
            place = min(places, key=lambda p: (shown[k, domain[p]], shown[-1, domain[p]]))
            places.remove(place)
            out.append(place)
            shown.update([(k, domain[place]), (-1, domain[place])])
    return np.array(out[: options.queries], dtype=np.int64)
