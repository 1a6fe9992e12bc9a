"""Runs of stored latents in a sweep, several at once, are what each of them is by itself."""

import csv
import itertools
import subprocess
import sys

import numpy as np
import pytest

import medldr

pytestmark = pytest.mark.slow

STUDY = """\
common:
  extends: [recipe/own_features, data/features]
  data: {file: items.csv, array: latents.npy, id: id, domain: domain, group: patient}
  model: {adapter: mlp}
  training: {steps: 20, evaluate_every: 10, batch_size: 32, precision: float32}
  evaluation: {draws: 100}
  machine: {device: cpu, threads: 1}
axes:
  algorithm: [erm, latentdr_sa, coral]
  data.held_out: {x: x, y: y}
seeds: [0, 1]
table: {rows: algorithm, columns: data.held_out, reference: erm}
"""


def test_forked_two_at_a_time_they_are_bit_for_bit_what_they_are_alone(tmp_path):
    rows = [
        {
            "id": f"{domain}{n}",
            "label": "ab"[n % 2],
            "domain": domain,
            "patient": f"{domain}{n // 2}",
        }
        for domain, n in itertools.product("xyz", range(24))
    ]
    with (tmp_path / "items.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    latents = np.random.default_rng(0).standard_normal((len(rows), 16), np.float32)
    np.save(tmp_path / "latents.npy", latents)
    (tmp_path / "study.yaml").write_text(STUDY)
    folder = tmp_path / "sweep"
    command = [sys.executable, "-m", "medldr.cli", "sweep", tmp_path / "study.yaml"]
    subprocess.run([*command, "--out", folder, "--jobs", "2"], check=True, capture_output=True)
    members = sorted(path.parent for path in folder.glob("*/model.safetensors"))
    assert len(members) == 12
    for member in members[::3]:  # each of the methods, and both seeds
        alone = medldr.train(folder / "configs" / f"{member.name}.yaml", out=tmp_path / "alone")
        for name in ("model.safetensors", "predictions.csv", "evaluation.json"):
            assert (alone.folder / name).read_bytes() == (member / name).read_bytes(), name
