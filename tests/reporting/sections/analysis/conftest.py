"""Runs as they were measured, from latents that are drawn at random or numbers that are given."""

import numpy as np
import pytest

from medldr.evaluation.representation.frame import Options
from medldr.evaluation.representation.maps import Maps, maps
from medldr.evaluation.representation.measured import Measured, measure
from medldr.evaluation.representation.probes import Probes
from medldr.evaluation.representation.queries import queries

QUICK = Options(draws=40, neighbours=5, points=20, queries=2)
TOPICS = ("geometry", "operators", "probes", "neighbours", "robustness", "centres", "queries")


@pytest.fixture(scope="session")
def measured():
    """Measures latents as an analysis does; without a batch, queries have one map."""

    def make(latents):
        asked = queries(latents, (), np.empty(0, np.int64), QUICK)
        return measure(latents, QUICK, asked, maps(latents, QUICK))

    return make


@pytest.fixture
def given():
    """A run of which nothing is known but the frames that are given."""

    def make(told=None, **frames):
        told = told or Probes([], {}, {}, ())
        every = {topic: frames.get(topic, []) for topic in TOPICS}
        return Measured(every, ("test", True), told, None, None, Maps((), ()))

    return make
