"""Ordinary mistakes at the command line: one short message with the cure, and nothing written."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from medldr.commands.study import run_of_study
from medldr.config import dump_config
from medldr.errors import InputError
from medldr.evaluation.comparison.findings import margin_of
from medldr.folders.one_run import one_run
from medldr.sweeps.plan.expand import expand
from medldr.sweeps.plan.file import load_sweep

STUDY = """
common:
  extends: [recipe/own_2d, data/table]
  data: {file: table.csv, path: image, label: diagnosis, domain: hospital, group: patient, size: 8}
runs:
  - {label: erm, extends: [algorithm/erm]}
  - {label: coral, extends: [algorithm/coral]}
axes:
  data.held_out: {a: [a], b: [b], c: [c]}
seeds: [0, 1]
"""
RUNS = ["coral_a-11111111-s0", *(f"erm_a-{seed}2222222-s{seed}" for seed in range(3))]


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A study of three hospitals with its pictures, and the folder of a sweep with four runs."""
    rows, images = ["image,diagnosis,hospital,patient"], np.random.default_rng(0)
    (tmp_path / "scans").mkdir()
    for number in range(36):
        path = f"scans/{number}.png"
        Image.fromarray(images.integers(0, 255, (8, 8), np.uint8)).save(tmp_path / path)
        rows.append(f"{path},{'sick' if number % 2 else 'well'},{'abc'[number % 3]},p{number % 18}")
    (tmp_path / "table.csv").write_text("\n".join(rows) + "\n")
    (tmp_path / "study.yaml").write_text(STUDY)
    (tmp_path / "parts.yaml").write_text("extends: [recipe/medmnst, data/retinamnist]\n")
    for name in RUNS:
        (tmp_path / "runs" / "study" / name).mkdir(parents=True)
        (tmp_path / "runs" / "study" / name / "run.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


MISTAKES = {
    "train study.yaml": ["sweep of 12 runs", "medldr sweep study.yaml", "erm_a-s0", "--run NAME"],
    "train study.yaml --run erm_d": ["no such run", "Runs: erm_a-s0", "and 4 more"],
    "train study.yaml --run erm_a": ["2 runs of study.yaml", "erm_a-s0, erm_a-s1"],
    "train retinamnist_erm --run erm": ["leave out --run"],
    "train medmnist_table": ["is a sweep of", "medldr sweep medmnist_table"],
    "train runs/study": ["runs/study"],
    "train parts.yaml": ["recipe/medmnist", "medldr list parts"],
    "train retinamnist_erm training.lrr=1": ["training.lr", "more"],
    "train retinamnist_erm --seed 1": ["No such option", "seed=1"],
    "sweep study.yaml --seed 1": ["No such option", "seeds=[1]"],
    "sweep status study.yaml": ["runs/study"],
    "sweep status runs/stdy": ["does not exist", "'study'"],
    "predict runs/study scan.png": ["4 runs", *RUNS[:3], "--run", "--ensemble"],
    "predict runs/study scan.png --run erm_a": ["erm_a-s0, erm_a-s1, erm_a-s2"],
    "predict study.yaml scan.png": ["runs/study"],
    "evaluate runs/study": ["4 runs", "--run"],
    "export runs/study --format onnx": ["4 runs", "--run"],
    "validate runs/study table.csv": ["4 runs", "--run"],
    "compare runs/study": ["4 runs", "medldr report"],
    "analyze study.yaml": ["runs/study"],
    "report study.yaml": ["runs/study"],
    "verify study.yaml": ["runs/study"],
    "data check scans": ["medldr new scans"],
    "data stats retinamnst": ["'retinamnist'", "medldr data list"],
}


@pytest.mark.parametrize("typed", MISTAKES)
def test_a_mistake_is_told_with_its_cure_in_ten_lines(typed, here, medldr):
    before = sorted(here.rglob("*"))
    ended = medldr(*typed.split())
    assert ended.code == 2
    for said in MISTAKES[typed]:
        assert said in ended.err
    assert "Traceback" not in ended.err
    assert len(ended.err) < 1000
    assert len(ended.err.splitlines()) <= 10
    assert sorted(here.rglob("*")) == before


def test_no_command_needs_torch_to_refuse_a_place_or_to_look_at_one(here):
    """One process for all of them: what one imports is there for the next."""
    typed = [words.split() for words in MISTAKES if "training.lrr" not in words]
    fine = ["data card", "list parts", "plan --patients 240 --accuracy 75", "doctor", "--help"]
    code = (
        "import json, sys\nfrom medldr import cli\n"
        "for words in json.loads(sys.argv[1]):\n"
        "    sys.argv = ['medldr', *words]\n"
        "    cli._run()\n"
        "    loaded = {'torch', 'pandas', 'matplotlib', 'scipy.stats'} & set(sys.modules)\n"
        "    assert not loaded, (words, loaded)\n"
    )
    typed = [words for words in typed if words[:3] != ["train", "study.yaml", "--run"]]
    every = json.dumps([*typed, *(words.split() for words in fine)])
    done = subprocess.run([sys.executable, "-c", code, every], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_study_is_divided_counted_and_trained_like_a_run(here, medldr):
    ended = medldr("data", "split", "study.yaml", "--leave-one-domain-out", "--out", "sites.json")
    assert ended.code == 0, ended.err
    assert list(json.loads(Path("sites.json").read_text())["folds"]) == ["a", "b", "c"]
    ended = medldr("data", "stats", "study.yaml")
    assert ended.code == 0, ended.err
    assert "36 training images" in ended.out
    planned = {p.member.run: p.config for p in expand(load_sweep("study.yaml"), "runs/study")}
    name = next(name for name in planned if name.startswith("coral_b-") and name.endswith("-s1"))
    config, out = run_of_study("study.yaml", (), "coral_b-s1", None)
    assert dump_config(config) == dump_config(planned[name])
    assert out == Path("runs/study")


def test_a_run_of_a_sweep_is_found_by_its_label_and_seed(here):
    sweep = here / "runs" / "study"
    (sweep / f"{RUNS[0]}.before-20260101-000000").mkdir()
    assert one_run(sweep, "erm_a-s1").path.name == RUNS[2]
    assert one_run(sweep, "coral").path.name == RUNS[0]
    assert one_run(sweep / RUNS[0]).path.name == RUNS[0]
    with pytest.raises(InputError, match="no such run"):
        one_run(sweep / RUNS[0], "erm_a-s1")


def test_three_seeds_are_not_seed_three(here, medldr):
    assert "seed 3 alone; for 3 seeds give 'seeds=[0, 1, 2]'" in " ".join(
        medldr("sweep", "study.yaml", "seeds=3", "--dry-run").err.split()
    )
    assert "alone" not in medldr("sweep", "study.yaml", "seeds=[0,1,2]", "--dry-run").err


def test_a_margin_that_was_meant_as_a_share_is_asked_about():
    with pytest.raises(InputError, match=r"0\.02 percentage points.* Then give 2$"):
        margin_of("accuracy", 0.02)


def test_numbers_are_printed_as_json(here, medldr):
    printed = json.loads(medldr("plan", "--patients", 240, "--accuracy", 75, "--json").out)
    asked = [row for row in printed["rows"] if (row["patients"], row["seeds"]) == (240, 3)]
    assert asked[0]["numbers"]["detectable"] == pytest.approx(0.0773, abs=1e-3)
    assert printed["study"]["value"] == 0.75
