"""Everything that is measured of the latents of one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from medldr.evaluation.representation.centres import centres
from medldr.evaluation.representation.frame import Line, Options
from medldr.evaluation.representation.geometry import geometry
from medldr.evaluation.representation.maps import Maps
from medldr.evaluation.representation.neighbourhoods import neighbourhoods
from medldr.evaluation.representation.neighbours import neighbours, robustness
from medldr.evaluation.representation.operators import operators
from medldr.evaluation.representation.pictures import PicturedNeighbours, pictured_neighbours
from medldr.evaluation.representation.probes import Probes, not_trained_on, probes
from medldr.evaluation.representation.queries import Queries
from medldr.folders.latents_record import DEGRADED, RESTORED, Latents


@dataclass(frozen=True)
class Measured:
    """What was measured of a run.

    Attributes:
        frames: By topic, the number of each line; a topic that makes no sense for the run has none.
            Alignment and uniformity are means over seeds where several runs were given.
        tested: The split that stands for the test, and whether its domains are unseen.
        probes: The probes, for comparisons with those of other runs.
        pictured: Queries and neighbours to be shown as pictures.
        queries: Queries among the training latents.
        maps: Maps, made comparable with those of the first run.
        notes: What was left out, in words.
    """

    frames: Mapping[str, list[Line]]
    tested: tuple[str, bool]
    probes: Probes
    pictured: PicturedNeighbours | None
    queries: Queries | None
    maps: Maps
    notes: tuple[str, ...] = ()

    @property
    def moves(self) -> bool:
        """Whether its method degrades or restores latents."""
        return any(line["latents"] in (DEGRADED, RESTORED) for line in self.frames["operators"])


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
    probed = probes(not_trained_on(latents), options)
    left_out = {} if near is None else {
        "a latent is zero or not finite": near.left_out, "they have no domain": near.nowhere,
    }  # fmt: skip
    said = [f"{n:,} images have no neighbours here, because {why}" for why, n in left_out.items()
            if n]  # fmt: skip
    return Measured(
        frames={
            "geometry": geometry(latents, options),
            "operators": operators(latents, options, own_classifier=own_classifier),
            "probes": probed.frame,
            "neighbours": [] if near is None else neighbours(near, options),
            "robustness": [] if near is None else robustness(near, options),
            "centres": centres(latents, options),
            "queries": [] if found is None else [*found.moved],
        },
        tested=(latents.tested_split, bool(latents.unseen[latents.tested].all())),
        probes=probed,
        pictured=pictured_neighbours(latents, options),
        queries=found,
        maps=drawn,
        notes=(*(f"probes: {note}" for note in probed.notes), *said),
    )
