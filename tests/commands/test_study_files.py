"""Studies and sweeps where a command takes a run or a data set; what starts without torch."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import medldr as package
from medldr.commands.study import run_config
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
SWEEP = Path(__file__).parents[1] / "frozen" / "leave_one_out" / "folder"
SINGLE = SWEEP.parents[1] / "single" / "folder"
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


REFUSED = [
    *("train study.yaml", "train runs/study", "train medmnist_table", "train parts.yaml"),
    *("train retinamnist_erm --run erm", "train retinamnist_erm --seed 1"),
    *("sweep status study.yaml", "sweep status runs/stdy", "sweep study.yaml --seed 1"),
    *("predict runs/study scan.png", "predict runs/study scan.png --run erm_a"),
    *("evaluate runs/study", "export runs/study --format onnx", "validate runs/study table.csv"),
    *("compare runs/study", "analyze study.yaml", "report study.yaml", "verify study.yaml"),
    *("data check scans", "data stats retinamnst", "new nowhere", "sweep nowhere"),
    *("train nowhere", "verify nowhere", "compare nowhere", "report nowhere", "predict nowhere x"),
    *("train retinamnist_erm training.epoch=5", "train retinamnist_erm training.epochs=five"),
    *("train retinamnist_latentdr_pool algorithm.kepe=1", "sweep medmnist_table training.epoch=5"),
    *("plan --patients 240 --accuracy 0.75", "list algoritms", "trian"),
]


def test_no_command_needs_torch_to_refuse_a_place_or_to_look_at_one(here):
    """One process for all of them: what one imports is there for the next."""
    fine = ["data card", "list parts", "plan --patients 240 --accuracy 75", "doctor", "--help"]
    fine += ["data list", "schema", f"sweep status {SWEEP}"]
    code = (
        "import json, sys\nfrom medldr import cli\n"
        "every, refused = map(json.loads, sys.argv[1:])\n"
        "for words in every:\n"
        "    sys.argv = ['medldr', *words]\n"
        "    code = cli._run()\n"
        "    loaded = {'torch', 'pandas', 'matplotlib', 'scipy.stats'} & set(sys.modules)\n"
        "    assert not loaded, (words, loaded)\n"
        "    assert code == 2 * (words in refused), (words, code)\n"
    )
    lists = [[words.split() for words in typed] for typed in ((*REFUSED, *fine), REFUSED)]
    command = [sys.executable, "-c", code, *map(json.dumps, lists)]
    done = subprocess.run(command, capture_output=True, text=True)
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
    config, out = run_config("study.yaml", (), "coral_b-s1", None)
    assert dump_config(config) == dump_config(planned[name])
    assert out == Path("runs/study")


def test_python_names_the_first_run_of_a_study_as_the_command_does(here, medldr):
    first = "first run is erm_a-s0; "
    assert f"{first}--run=NAME picks one" in medldr("train", "study.yaml").err
    with pytest.raises(InputError, match=f"{first}run=NAME picks one"):
        package.train("study.yaml")
    with pytest.raises(InputError, match="no such run"):
        package.train("study.yaml", {"training.epochs": 1}, run="erm_d")


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


def test_a_comparison_is_printed_as_json(medldr):
    pair = [SWEEP / name for name in ("erm_photo-21b39731-s0", "coral_photo-a94593c0-s0")]
    printed = json.loads(medldr("compare", *pair, "--json").out)
    rows = {(r["split"], r["metric"], r["method"]): r for r in printed["rows"] if not r["domain"]}
    assert printed["reference"] == "erm_photo"
    assert rows["test", "accuracy", "erm_photo"]["mean"] == pytest.approx(7 / 42)
    assert printed == json.loads(json.dumps(dict(package.compare(pair))))


def test_a_verification_is_printed_as_json(medldr, tmp_path):
    run = shutil.copytree(SINGLE / "hospital-296def41-s0", tmp_path / "run")
    ended = medldr("verify", run, "--json")
    (verdict,) = json.loads(ended.out)["runs"]
    assert (ended.code, len(verdict["differs"])) == (2, 2)  # no checksums, and no splits.json
    assert verdict["numbers"] > 100
    (run / "predictions.csv").unlink()
    ended = medldr("verify", run, "--json")
    (verdict,) = json.loads(ended.out)["runs"]
    assert ended.code == 2
    assert verdict["differs"][-1] == "predictions.csv missing, so scores cannot be checked"
