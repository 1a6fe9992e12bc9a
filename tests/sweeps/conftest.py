"""A small sweep file to change in tests, and the message with which a sweep is refused."""

import json
import textwrap

import pytest

from medldr.errors import InputError
from medldr.sweeps.plan.expand import expand
from medldr.sweeps.plan.file import load_sweep

SMALL = """\
# Two sets, three methods.
title: Two sets
common:
  training: {epochs: 5}
runs:
  - label: derma
    extends: [recipe/medmnist, data/dermamnist]
  - label: retina
    extends: [recipe/medmnist, data/retinamnist]
    training: {lr: 0.01}
axes:
  algorithm: [erm, latentdr_pool, erm_half_lr]
seeds: [0, 3]
table:
  rows: algorithm
  columns: run
  reference: erm
  controls: [erm_half_lr]
  contrasts: [[latentdr_pool, erm_half_lr]]
  titles: {erm: ERM, retina: RetinaMNIST}
"""


@pytest.fixture
def small(tmp_path):
    """Path of a sweep of two entries, three methods, two seeds."""
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


@pytest.fixture
def write(tmp_path):
    """Write a YAML file below the test's folder."""

    def to(name, text):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
        return path

    return to


@pytest.fixture
def refusal(tmp_path):
    """The message with which a sweep is refused, when it is read or when it is expanded."""

    def of(source, *overrides):
        with pytest.raises(InputError) as caught:
            expand(load_sweep(source, overrides), tmp_path / "out")
        return str(caught.value)

    return of


@pytest.fixture
def leave():
    """Leave the folder of a run as a run leaves it."""

    def run(folder, name, status, *, starts=1, seconds=0.0, latest_start=None, **facts):
        run = folder.run(name)
        run.path.mkdir(parents=True, exist_ok=True)
        times = {"starts": starts, "seconds": seconds, "latest_start": latest_start}
        run.run.write_text(json.dumps({"status": status, "times": times, **facts}))
        if status == "done":
            run.evaluation.write_text("{}")
            run.model.touch()
        return run

    return run
