"""Every benchmark still runs: somebody will want its figures long after it was written."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "benchmarks"
NAMES = sorted(path.stem for path in FOLDER.glob("*.py"))
MORE = {"train_step": ["--all-methods"]}
"""Options that nobody else would try."""
RESULTS = {
    "algorithm_cost": r"latentdr +. \d+\.\d\d",
    "coverage": r"mean covered: 2,000 items, seeds spread by 5 points( +\d+\.\d \(\d+\.\d\)){4}",
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
    "train_step": r"medldr batchformer, time over ERM's: \d",
}
"""What the result of a benchmark looks like; any other one has to print a number at least."""

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name", NAMES)
def test_a_benchmark_runs_and_prints_a_result(name, tmp_path):
    command = [sys.executable, FOLDER / f"{name}.py", "--quick", *MORE.get(name, [])]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(RESULTS.get(name, r"\d"), done.stdout), done.stdout
