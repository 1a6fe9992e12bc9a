"""Metadata, data card and pictures of mistakes through the real commands, before and after."""

import csv
import json

import numpy as np
import pytest

import medldr as package
from medldr.config.yaml_text import write_yaml
from medldr.evaluation.verification import verify_run
from medldr.folders.files import RunFolder


@pytest.fixture(scope="module")
def described(small, data_root, tmp_path_factory):
    """A configuration in a file, with relative paths, and its run."""
    place = tmp_path_factory.mktemp("described")
    with np.load(data_root / "retinamnist.npz") as file:
        counts = {split: len(file[f"{split}_labels"]) for split in ("train", "val", "test")}
    lines = ["id,sex,age,name"]
    for split, count in counts.items():
        lines += [f"{split}/{n},{'FM'[n % 2]},{30 + 2 * n},Ms {n}" for n in range(count) if n != 5]
    (place / "sheet.csv").write_text("\n".join(lines))
    (place / "card.yaml").write_text("source: a drawing\n")
    data = {"metadata": "sheet.csv", "card": "card.yaml"}
    (place / "mine.yaml").write_text(write_yaml({"extends": ["run/retinamnist_erm"], "data": data}))
    result = package.train(place / "mine.yaml", [*small, "training.epochs=1"], out=place / "runs")
    return RunFolder(result.folder), result, place


def test_columns_reach_the_predictions_and_the_numbers(described):
    folder, result, _ = described
    with folder.predictions.open(newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["split"] == "test"]
    for row in rows:
        n = int(row["id"].split("/")[1])
        expected = ("", "") if n == 5 else ("FM"[n % 2], str(30 + 2 * n))
        assert (row["meta_sex"], row["meta_age"]) == expected
        assert "meta_name" not in row
    prob = np.array([[float(v) for k, v in row.items() if k.startswith("prob_")] for row in rows])
    right = prob.argmax(axis=1) == [int(row["label"]) for row in rows]
    of_men = np.array([row["meta_sex"] == "M" for row in rows])
    assert result.metrics["test/subgroup/sex/M/accuracy"] == pytest.approx(right[of_men].mean())
    assert verify_run(folder).differs == ()


def test_the_record_and_the_pages_say_so(described):
    folder, _, place = described
    data = json.loads(folder.run.read_text())["data"]
    assert data["card"] == {"source": "a drawing"}
    assert set(data["files"]) == {"retinamnist.npz", "data.metadata"}
    assert "3 of 88 images have no row in the metadata table" in data["notes"]
    assert any("left out: name (" in note for note in data["notes"])
    page, checklist = folder.report.read_text(), folder.checklist.read_text()
    assert "By sex" in page
    assert "a drawing" in page
    assert "a drawing." in checklist
    wrong = json.loads(folder.mistakes.read_text())
    assert page.count("data:image/png;base64,") == len(wrong["items"]) > 0
    assert str(place / "sheet.csv") in folder.config.read_text()


def test_a_finished_run_takes_other_bands_and_no_pictures_when_scored_again(described, medldr):
    folder, result, place = described
    (place / "card.yaml").write_text("source: another drawing\n")
    text = folder.config.read_text()
    assert "bands: {}" in text
    text = text.replace("bands: {}", "bands: {age: [40]}")
    folder.config.write_text(text.replace("thumbnails: true", "thumbnails: false"))
    ended = medldr("evaluate", folder.path)
    assert ended.code == 0, ended.err
    again = package.run.RunResult.read(folder).metrics
    assert again["test/accuracy"] == result.metrics["test/accuracy"]
    assert "test/subgroup/age/40 and above/accuracy" in again
    assert not folder.mistakes.exists()
    assert medldr("verify", folder.path).code == 0
    page = folder.report.read_text()
    assert "machine.thumbnails is false" in page
    assert "another drawing" in page


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (["evaluation.subgroups=[sexx]"], ["evaluation.subgroups", "'sexx'", "'sex'"]),
        (["evaluation.subgroups=[name]"], ["'name'", "at most 12", "data.metadata"]),
        (["evaluation.bands={sex: [1]}"], ["evaluation.bands", "'sex'", "not a number"]),
    ],
)
def test_a_column_that_is_not_there_is_refused_before_training(
    described, small, medldr, tmp_path, changes, said
):
    _, _, place = described
    ended = medldr("train", place / "mine.yaml", *small, *changes, "--out", tmp_path)
    assert ended.code == 2
    assert all(word in ended.err for word in said)
    assert not list(tmp_path.glob("*/metrics.jsonl"))
