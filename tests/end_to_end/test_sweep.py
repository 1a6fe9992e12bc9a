"""`medldr sweep` with real processes: killed and stopped, two at once, with failures, by submitit.

A member takes some seconds on a free core, most of it imports; every test makes do with two.
"""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import medldr as package
from medldr.folders.standing import standing_of
from medldr.folders.sweep_record import SweepFolder, read_sweep

EPOCHS = 25
FILE = """\
# Two runs, each some seconds long.
common:
  extends: [recipe/phantom, data/phantom_fracture]
  data: {{patients: 16}}
  model: {{width: 0.0625}}
  training: {{epochs: {epochs}, precision: float32}}
  evaluation: {{draws: 100}}
  machine: {{report: false, device: cpu, threads: 1}}
runs:
  - label: tiny
axes:
  algorithm: [erm, latentdr_pool]
table:
  rows: algorithm
  columns: run
"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("sweep") / "tiny.yaml"
    path.write_text(FILE.format(epochs=EPOCHS))
    return path


def _start(file, folder, *words):
    command = [sys.executable, "-m", "medldr.cli", "sweep", str(file), "--out", str(folder.path)]
    return subprocess.Popen(
        [*command, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        start_new_session=True,
    )


def _end(process, code=0):
    said, _ = process.communicate(timeout=300)
    assert process.returncode == code, said
    assert "Traceback" not in said
    return said


def _until(happened, seconds=200.0):
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.02)


def _names(folder):
    return [member.run for member in read_sweep(folder).members]


def _starts(folder, name):
    return json.loads(folder.run(name).run.read_text())["times"]["starts"]


def _results(folder):
    files = ("evaluation.json", "predictions.csv", "model.safetensors")
    return {
        (name, file): (folder.run(name).path / file).read_bytes()
        for name in _names(folder)
        for file in files
    }


@pytest.fixture(scope="module")
def undisturbed(file, tmp_path_factory):
    folder = SweepFolder(tmp_path_factory.mktemp("undisturbed") / "S")
    result = package.sweep(file, out=folder.path, jobs=2)
    assert result.complete
    assert list(result.done) == _names(folder)
    assert folder.report.stat().st_size > 1000
    return folder


def _rows(folder, name):
    metrics = folder.run(name).metrics
    return len(metrics.read_text().splitlines()) if metrics.exists() else 0


def test_killed_and_started_twice_at_once_it_repeats_nothing(file, undisturbed, tmp_path):
    folder = SweepFolder(tmp_path / "S")
    first, second = _names(undisturbed)
    process = _start(file, folder)
    _until(lambda: _rows(folder, second) >= 2)
    process.kill()
    _end(process, -signal.SIGKILL)
    # The run does not outlive its sweep: signalled by the system, it saves and ends.
    _until(lambda: standing_of(folder, second).state == "interrupted", 30)
    assert standing_of(folder, first).state == "done"
    assert 2 <= _rows(folder, second) < EPOCHS
    done = folder.run(first).run.read_bytes()
    other = _start(file, folder)
    assert package.sweep(file, out=folder.path).complete
    _end(other)
    assert folder.run(first).run.read_bytes() == done
    assert [_starts(folder, name) for name in (first, second)] == [1, 2]
    assert "resumed" in folder.log(second).read_text()
    assert _results(folder) == _results(undisturbed)
    assert not list(folder.path.rglob("*.tmp"))


def test_a_member_that_fails_stops_no_other_and_submitit_gives_the_same_numbers(
    file, undisturbed, tmp_path
):
    broken = "  - label: broken\n    extends: [data/retinamnist]\n    data: {root: damaged}\n"
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "retinamnist.npz").write_text("no archive")
    both = tmp_path / "tiny.yaml"
    both.write_text(file.read_text().replace("axes:\n", broken + "axes:\n"))
    result = package.sweep(
        both, ["machine.threads=1"], tmp_path / "S", only="*_erm", jobs=2, launcher="slurm"
    )
    (name,) = result.done
    assert name == _names(undisturbed)[0]
    assert [label.split("-")[0] for label in result.failed] == ["broken_erm"]
    assert "retinamnist.npz" in next(iter(result.failed.values()))
    for kept in ("evaluation.json", "predictions.csv"):
        one, other = (path / name / kept for path in (result.folder, undisturbed.path))
        assert one.read_bytes() == other.read_bytes()


def test_a_search_killed_after_its_choice_trains_the_fresh_seeds_as_jobs(file, tmp_path):
    folder, searched = SweepFolder(tmp_path / "S"), tmp_path / "tiny.yaml"
    space = "search: {draws: 2, fresh_seeds: 2, space: {training.lr: {choice: [0.01, 0.001]}}}\n"
    short = (
        file.read_text().replace(f"epochs: {EPOCHS}", "epochs: 1").replace(", latentdr_pool", "")
    )
    searched.write_text(short + space)
    process = _start(searched, folder, "--jobs", "2")
    _until(folder.choices.exists)
    process.kill()
    _end(process, -signal.SIGKILL)
    chosen = folder.choices.read_bytes()
    result = package.sweep(searched, out=folder.path, jobs=2, launcher="slurm")
    assert result.complete
    assert [name.rpartition("-")[2] for name in result.done] == ["s0", "s0", "s1", "s2"]
    assert folder.choices.read_bytes() == chosen
