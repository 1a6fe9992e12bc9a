"""Seeds differ by run and process; a restored state repeats; loaders do not disturb."""

import random

import numpy as np
import torch

from medldr.folders.files import load_checkpoint, save_checkpoint
from medldr.training.state.rng import Randomness, seed_process, undisturbed


def draw():
    numbers = [random.random(), random.gauss(0, 1)]
    numbers += np.random.standard_normal(3).tolist()  # noqa: NPY002
    return [*numbers, *torch.rand(3).tolist()]


def test_seeds_repeat_and_differ_by_seed_and_rank():
    drawn = []
    for seed, rank in [(0, 0), (0, 0), (0, 1), (1, 0)]:
        seed_process(seed, rank)
        drawn.append(draw())
    assert drawn[0] == drawn[1]
    assert len({tuple(d) for d in drawn}) == 3


def test_a_state_that_went_through_a_file_repeats_all_generators(tmp_path):
    seed_process(3, 0)
    draw()
    random.gauss(0, 1)  # leaves half a pair behind in Python's generator
    state = Randomness(torch.device("cpu"))
    save_checkpoint(tmp_path / "state", state.state_dict())
    first = draw()
    state.load_state_dict(load_checkpoint(tmp_path / "state"))
    assert draw() == first


def test_a_loader_that_draws_from_the_global_generator_does_not_disturb_it():
    closed = []

    def loader():
        try:
            for _ in range(3):
                yield torch.rand(2).tolist()
        finally:
            closed.append(True)

    torch.manual_seed(1)
    plain = torch.rand(3).tolist()
    torch.manual_seed(1)
    batches = undisturbed(loader())
    with_loader = [(next(batches), torch.rand(1).item())[1] for _ in range(3)]
    assert with_loader == plain
    batches.close()
    assert closed == [True]
