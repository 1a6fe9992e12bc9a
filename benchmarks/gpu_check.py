"""What only an accelerator can show, in one script: training, exact resume, equal predictions.

    python benchmarks/gpu_check.py [--device cuda] [--json FILE]
    python benchmarks/gpu_check.py --quick    # seconds; on the CPU if there is no accelerator

Small runs on the phantom, a few minutes in total. Each check prints one line, and the exit code is
1 if any failed. With ``--device cpu`` the script can be tried without an accelerator; if the device
is missing, it says so and exits with 0, because nothing depends on it. bfloat16 is skipped on a
processor without bfloat16 units.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pandas as pd
import torch

import medldr
from medldr.config.automatic import has_fast_bfloat16
from medldr.data import build_data
from medldr.datasets import phantom_histology
from medldr.evaluation.predictions.predict import predict_each
from medldr.folders.files import RunFolder
from medldr.run import evaluate_run

SMALL = ("data.patients=60", "model.width=0.25", "training.epochs=3", "evaluation.draws=100")
QUICK = (
    *("data.patients=24", "model.width=0.0625", "training.epochs=2", "evaluation.draws=100"),
    "machine.report=false",
)
METHODS = ("erm", "latentdr_sa", "latentdr_pool")


def trains(device, out, precision, small, methods):
    """Every method ends with finite numbers, in this precision."""
    for method in methods:
        print(f"  training {method} in {precision}", flush=True)
        changes = [*small, f"machine.device={device}", f"training.precision={precision}"]
        result = medldr.train(f"phantom_fracture_{method}", changes, out=out)
        record = json.loads(RunFolder(result.folder).run.read_text())
        assert record["precision"] == precision, record["precision"]
        assert record["device"] == device, record["device"]
        assert result.metrics["test/accuracy"] is not None
    return result.folder


def resumes(device, out, small):
    """A run killed after its first epoch ends byte for byte as one left alone."""
    name = "phantom_fracture_latentdr_pool"
    changes = [*small, f"machine.device={device}", "seed=7"]
    whole = medldr.train(name, changes, out=out / "whole").folder
    command = [sys.executable, "-m", "medldr.cli", "train", name, *changes]
    command += ["--out", str(out / "killed")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 300
    while not any(p.read_text() for p in (out / "killed").glob("*/metrics.jsonl")):
        assert process.poll() is None, "the run ended before it could be killed"
        assert time.monotonic() < deadline, "the run did not get through an epoch"
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    killed = medldr.train(name, changes, out=out / "killed").folder
    for file in ("model.safetensors", "predictions.csv"):
        assert (whole / file).read_bytes() == (killed / file).read_bytes(), file


def reads_patches(device, out):
    """Patches decoded by workers and the same from a pack train to equal bytes, jitter and all."""
    data = out / "patches"
    config = phantom_histology.Config(name="phantom_histology", tiles=6, size=96)
    phantom_histology.write(config, data)
    changes = [
        *(f"data.root={data}", f"machine.device={device}", "training.epochs=1"),
        *("model.width=0.125", "transform.targeted=true", "evaluation.draws=100"),
    ]
    for algorithm in ("erm", "fish_domainbed", "coral_wilds"):
        print(f"  training {algorithm} on patches", flush=True)
        run = [*changes, f"algorithm={algorithm}"]
        files = medldr.train("camelyon17_erm", [*run, "machine.workers=2"], out=out / "files")
        if algorithm == "erm":
            pack = [sys.executable, "-m", "medldr.cli", "data", "pack", "camelyon17", str(data)]
            subprocess.run(pack, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            packed = medldr.train("camelyon17_erm", run, out=out / "packed")
            for file in ("model.safetensors", "predictions.csv"):
                assert (files.folder / file).read_bytes() == (packed.folder / file).read_bytes()


def agrees_with_the_cpu(folder, tolerance):
    """The same weights give the same probabilities on the CPU."""
    config = medldr.load_config(folder)
    data = build_data(config)
    model = medldr.load_model(folder)
    loader = data.eval_loader("test", config, device="cpu")
    (answers,) = predict_each([model], loader, spec=data.spec, table=data.table, split="test")
    here = answers.prob
    table = pd.read_csv(folder / "predictions.csv")
    there = table[table["split"] == "test"].filter(like="prob_").to_numpy()
    worst = float(abs(here - there).max())
    assert worst < tolerance, f"largest difference {worst:.2g}"
    return worst


def evaluates_again(folder):
    """Evaluating again changes no prediction."""
    before = (folder / "predictions.csv").read_bytes()
    evaluate_run(folder)
    assert (folder / "predictions.csv").read_bytes() == before


def main():
    """Run the checks, print a line for each, write JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda")
    parser.add_argument("--quick", action="store_true", help="smaller runs; CPU if there is no GPU")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    if given.quick and not torch.cuda.is_available():
        print("no CUDA device here: the checks run on the CPU")
        given.device = "cpu"
    if given.device == "cuda" and not torch.cuda.is_available():
        print("no CUDA device here: nothing was checked")
        return 0
    name = torch.cuda.get_device_name() if given.device == "cuda" else "CPU"
    fast = has_fast_bfloat16(given.device)
    print(f"{name}, torch {torch.__version__}, fast bfloat16: {fast}", flush=True)
    small = QUICK if given.quick else SMALL
    methods = ("erm", "latentdr_pool") if given.quick else METHODS
    tolerances = {"float32": 1e-3, "bfloat16": 5e-2}
    if given.device == "cpu" and not fast:
        print("no bfloat16 units: bfloat16 is not checked")
        del tolerances["bfloat16"]
    found = {}
    with tempfile.TemporaryDirectory() as temporary:
        out = Path(temporary)
        folders = {}

        def check(title, work):
            start = time.perf_counter()
            try:
                value = work()
                found[title] = {"passed": True, "seconds": time.perf_counter() - start}
            except (AssertionError, RuntimeError, medldr.InputError) as error:
                value = None
                found[title] = {"passed": False, "error": str(error)}
            said = "ok" if found[title]["passed"] else f"FAILED: {found[title]['error']}"
            print(f"{title}: {said} ({time.perf_counter() - start:.0f} s)", flush=True)
            return value

        for precision in tolerances:
            folders[precision] = check(
                f"every method trains in {precision}",
                lambda p=precision: trains(given.device, out / p, p, small, methods),
            )
        check("a killed run resumes exactly", lambda: resumes(given.device, out, small))
        if given.quick:
            print("patches and their pack are left out: they take minutes")
        else:
            check("patches and their pack train alike", lambda: reads_patches(given.device, out))
        for precision, tolerance in tolerances.items():
            folder = folders[precision]
            if folder is not None:
                check(
                    f"predictions in {precision} agree with the CPU's in float32",
                    lambda f=folder, t=tolerance: agrees_with_the_cpu(f, t),
                )
                check(
                    f"a second evaluation in {precision} is equal",
                    lambda f=folder: evaluates_again(f),
                )
    if given.json:
        given.json.write_text(json.dumps({"device": name, "checks": found}, indent=1) + "\n")
    return 0 if all(entry["passed"] for entry in found.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
