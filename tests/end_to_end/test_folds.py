"""Cross-validation from the command line: splits made once, a sweep of folds, one pooled result."""

import csv
import json

import numpy as np
import pytest

from medldr.folders.sweep_record import SweepFolder
from medldr.reporting.pages.sweep import sweep_page

FILE = """\
common:
  extends: [recipe/phantom, data/phantom_fracture]
  data: {patients: 24, size: 12, held_out: [], manifest: splits.json}
  model: {width: 0.0625}
  training: {epochs: 2, precision: float32}
  evaluation: {draws: 100}
  machine: {report: false, device: cpu, threads: 1}
axes:
  algorithm: [erm, latentdr_pool]
  data.fold: [0, 1, 2]
"""

pytestmark = pytest.mark.slow


def _read(path):
    """Id to label and prediction of the test items, by the columns of the file alone."""
    with path.open(newline="") as file:
        lines = [line for line in csv.DictReader(file) if line["split"] == "test"]
    names = [name for name in lines[0] if name.startswith("prob_")]
    prob = np.array([[float(line[name]) for name in names] for line in lines])
    found = prob.argmax(axis=1).tolist()
    return {line["id"]: (int(line["label"]), p) for line, p in zip(lines, found, strict=True)}


def test_every_item_is_tested_once_and_the_pooled_accuracy_is_that_of_the_files(medldr, tmp_path):
    out = tmp_path / "splits.json"
    words = ("data.patients=24", "data.size=12", "--folds", "3", "--replace-splits")
    ended = medldr("data", "split", "phantom_fracture", *words, "--out", out)
    assert ended.code == 0, ended.err
    file = tmp_path / "cv.yaml"
    file.write_text(FILE)
    ended = medldr("sweep", file, "--out", tmp_path / "S")
    assert ended.code == 0, ended.err
    assert "Pooled over 3 folds" in ended.out.replace("\n", " ")

    results = sweep_page(SweepFolder(tmp_path / "S")).results
    (column,) = results.columns
    manifest = json.loads(out.read_text())
    items = {item for ids in manifest["folds"]["0"].values() for item in ids}
    accuracies = []
    for method, row in (("erm", "ERM"), ("latentdr_pool", "LatentDR (Pool)")):
        tables = {
            fold: _read(path)
            for fold in "012"
            for path in (tmp_path / "S").glob(f"{method}_fold-{fold}-*/predictions.csv")
        }
        for fold, table in tables.items():
            assert set(table) == set(manifest["folds"][fold]["test"])
        pooled = {item: found for table in tables.values() for item, found in table.items()}
        assert len(pooled) == sum(map(len, tables.values()))
        assert set(pooled) == items
        pairs = np.array(list(pooled.values()))
        accuracies.append(np.mean(pairs[:, 0] == pairs[:, 1]))
        score = column.comparison.score("test", "accuracy", row)
        assert score.estimate.mean == pytest.approx(accuracies[-1], abs=1e-12)
        assert score.estimate.low < score.estimate.mean < score.estimate.high
    difference = column.difference("test", "accuracy", "LatentDR (Pool)").estimate.mean
    assert difference == pytest.approx(accuracies[1] - accuracies[0], abs=1e-12)
    (note,) = column.footnotes("LatentDR (Pool)")
    assert note.endswith("learning rate 0.001 (0.002).")
