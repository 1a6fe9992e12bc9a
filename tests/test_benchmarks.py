"""Every benchmark still runs: somebody will want its figures long after it was written."""

import re
import runpy
import sys
from pathlib import Path

import pytest
import torch

FOLDER = Path(__file__).parents[1] / "benchmarks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
MORE = {"train_step": ["--all-methods"]}
"""Options that nobody else would try."""
RESULTS = {
    "algorithm_cost": r"latentdr +. \d+\.\d\d",
    "coverage": r"the same 10 slides +3( +\d+\.\d \(\d+\.\d\)){2}",
    "data_loading": r"medldr, packed / ImageFolder \+ DataLoader: \d",
    "latent_analysis": r"nearest neighbours +. +\d",
    "gpu_check": r"a killed run resumes exactly: ok",
    "medmnist_v2": r"medldr: mean best validation AUC \d",
    "own_scans": r"volumes, epochs, disk / memory: \d",
    "prediction": r"medldr predict +. +\d",
    "phantom_shift": r"lost, in percentage points +-?\d",
    "size": r"total +\d+ +\d+ +\d+",
    "single_run_coverage": r"accuracy 75%, 5 patients of 20 images +\d+\.\d \(\d+\.\d\)",
    "stain_jitter": r"medldr +. +\d",
    "timm_fine_tuning": r"AUC, medldr minus plain: [+-]\d",
    "train_step": r"medldr batchformer, time over ERM's: \d",
}
"""What the result of a benchmark looks like; any other one has to print a number at least."""

pytestmark = [
    pytest.mark.slow,
    # What a library warns of is no concern of somebody who reads the figures.
    pytest.mark.filterwarnings("default"),
]


@pytest.fixture
def _one_thread_again():
    yield
    torch.set_num_threads(1)


@pytest.mark.usefixtures("_one_thread_again")
@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs_and_prints_a_result(name, tmp_path, monkeypatch, capsys):
    """In this process, as imports would take longer than most of the measurements."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    monkeypatch.syspath_prepend(FOLDER)  # a script finds those beside it
    program = FOLDER / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(program), "--quick", *MORE.get(name, [])])
    code = None
    try:
        runpy.run_path(str(program), run_name="__main__")
    except SystemExit as end:
        code = end.code
    printed = capsys.readouterr().out
    assert not code, printed
    assert re.search(RESULTS.get(name, r"\d"), printed), printed
