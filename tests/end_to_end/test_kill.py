"""Pulling the plug: what was killed or stopped resumes as if nothing had happened."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

import medldr as package

METHOD = "retinamnist_latentdr_pool"
SETTINGS = ("training.epochs=4", "machine.threads=1", "machine.report=false")


def _start(small, out):
    words = ["train", METHOD, *small, *SETTINGS, "--out", str(out)]
    return subprocess.Popen(
        [sys.executable, "-m", "medldr.cli", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )


def _wait_for_rows(out, count):
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        for path in out.glob("*/metrics.jsonl"):
            if len(path.read_text().splitlines()) >= count:
                return
        time.sleep(0.005)
    raise AssertionError("the run did not get that far")


@pytest.fixture(scope="module")
def undisturbed(small, tmp_path_factory):
    out = tmp_path_factory.mktemp("undisturbed")
    return package.train(METHOD, [*small, *SETTINGS], out=out).folder


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGKILL, -9),
        (signal.SIGTERM, 143),
        (signal.SIGINT, 130),
        (signal.SIGHUP, 129),
        (signal.SIGUSR1, 138),
    ],
    ids=["SIGKILL", "SIGTERM", "SIGINT", "SIGHUP", "SIGUSR1"],
)
def test_a_run_stopped_in_epoch_3_ends_as_one_left_alone(
    number, code, undisturbed, small, tmp_path, medldr
):
    """The run that is stopped is a process of its own; the same command then goes on with it."""
    process = _start(small, tmp_path)
    _wait_for_rows(tmp_path, 2)
    process.send_signal(number)
    said, _ = process.communicate(timeout=120)
    assert process.returncode == code, said
    assert "Traceback" not in said
    assert code < 0 or f"stopped by {number.name}. Run the same command to resume" in said
    (folder,) = tmp_path.iterdir()
    rows = (folder / "metrics.jsonl").read_text().splitlines()
    assert len(rows) < 4
    ended = medldr("train", METHOD, *small, *SETTINGS, "--out", tmp_path)
    assert ended.code == 0, ended.err
    assert "resumed" in ended.err
    for name in ("model.safetensors", "predictions.csv", "evaluation.json"):
        assert (folder / name).read_bytes() == (undisturbed / name).read_bytes(), name
    timeless = [
        [{k: v for k, v in json.loads(line).items() if k != "time_s"} for line in text.splitlines()]
        for text in ((f / "metrics.jsonl").read_text() for f in (folder, undisturbed))
    ]
    assert timeless[0] == timeless[1]
