"""Everything that is measured of the latents of one run."""

from __future__ import annotations

from dataclasses import dataclass

from medldr.evaluation.representation.centres import Centres, centres
from medldr.evaluation.representation.geometry import Geometry, geometry
from medldr.evaluation.representation.judged import Classified
from medldr.evaluation.representation.maps import Maps
from medldr.evaluation.representation.neighbourhoods import neighbourhoods
from medldr.evaluation.representation.neighbours import Neighbours, neighbours
from medldr.evaluation.representation.operators import operators
from medldr.evaluation.representation.options import Options
from medldr.evaluation.representation.pictures import PicturedNeighbours, pictured_neighbours
from medldr.evaluation.representation.probed_images import not_trained_on
from medldr.evaluation.representation.probes import Probes, probes
from medldr.evaluation.representation.queries import Queries
from medldr.evaluation.representation.robustness import Robustness, robustness
from medldr.folders.latents_record import Latents


@dataclass(frozen=True)
class Measured:
    """What was measured; None where a question makes no sense for the run.

    Attributes:
        geometry: Alignment and uniformity; a mean over seeds where several runs were given.
        classified: What the run's classifier makes of degraded and restored latents.
        probes: How well linear probes predict class and domain.
        neighbours: What nearest neighbours share with their query.
        robustness: Whether neighbours follow the class or the domain.
        centres: Distances between domains.
        pictured: Queries and neighbours to be shown as pictures.
        queries: Queries among the training latents.
        maps: Maps, made comparable with those of the first run.
    """

    geometry: Geometry | None
    classified: Classified | None
    probes: Probes
    neighbours: Neighbours | None
    robustness: Robustness | None
    centres: Centres | None
    pictured: PicturedNeighbours | None
    queries: Queries | None
    maps: Maps


def measure(
    latents: Latents,
    options: Options,
    found: Queries | None,
    drawn: Maps,
    *,
    own_classifier: bool = False,
) -> Measured:
    """Measure the latents of a run.

    Args:
        latents: Those of the run.
        options: The same for all runs of a page.
        found: Its queries, which need the run's degradation and restoration.
        drawn: Its maps, which need those of the first run.
        own_classifier: Whether degraded and restored latents are judged by one of their own.
    """
    near = neighbourhoods(latents, options)
    return Measured(
        geometry=geometry(latents, options),
        classified=operators(latents, options, own_classifier=own_classifier),
        probes=probes(not_trained_on(latents), options),
        neighbours=None if near is None else neighbours(latents, options, near=near),
        robustness=None if near is None else robustness(latents, options, near=near),
        centres=centres(latents, options),
        pictured=pictured_neighbours(latents, options),
        queries=found,
        maps=drawn,
    )
