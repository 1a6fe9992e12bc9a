"""Two short runs on the rib phantom, one of which kept its latents."""

import pytest

from medldr.api import train

SMALL = [
    "training.epochs=2", "training.batch_size=24", "model.width=0.125", "data.patients=64",
    "data.size=12", "machine.threads=1", "machine.report=false", "evaluation.draws=100",
]  # fmt: skip


@pytest.fixture(scope="session")
def erm(tmp_path_factory):
    """A run of ERM, whose latents are made again when they are needed."""
    return train("phantom_fracture_erm", SMALL, tmp_path_factory.mktemp("erm")).folder


@pytest.fixture(scope="session")
def latentdr(tmp_path_factory):
    """A run of LatentDR that kept its latents."""
    wanted = [*SMALL, "evaluation.latents=true"]
    return train("phantom_fracture_latentdr_sa", wanted, tmp_path_factory.mktemp("dr")).folder
