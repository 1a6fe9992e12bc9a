"""`medldr train`: every file is there, says the same everywhere, and nothing is done twice."""

import json
from shutil import copytree

import medmnist
import numpy as np
import pandas as pd
import pytest
import torch

import medldr as package
from medldr.folders.checksums import checksum_of_content
from medldr.folders.evaluation_record import read_evaluation
from medldr.folders.files import RunFolder, load_tensors

METHOD = "retinamnist_latentdr_pool"


def record_of_another(folder, **changes):
    """Write the record that a run of other facts would have, with the checksum of its content."""
    record = json.loads(folder.run.read_text()) | changes
    record["checksums"]["run.json"] = checksum_of_content(record)
    folder.run.write_text(json.dumps(record))


@pytest.fixture(scope="module")
def trained(small, tmp_path_factory, figures):
    """A whole run, as users have it."""
    out = tmp_path_factory.mktemp("runs")
    with figures():
        result = package.train(METHOD, [*small, "training.epochs=3"], out=out)
    return RunFolder(result.folder), result


def test_every_file_of_the_run_folder_is_written(trained):
    folder, _ = trained
    for path in (
        folder.config,
        folder.run,
        folder.owner,
        folder.metrics,
        folder.last,
        folder.best,
        folder.model,
        folder.selected("val_auc"),
        folder.splits,
        folder.predictions,
        folder.evaluation,
        folder.report,
        folder.checklist,
        folder.mistakes,
    ):
        assert path.stat().st_size > 0, path


def test_the_record_says_how_it_was_run(trained):
    folder, _ = trained
    record = json.loads(folder.run.read_text())
    assert record["status"] == "done"
    assert record["protocol"] == "medmnist-28+modified"
    assert record["precision"] == "float32"
    assert record["lr"] == pytest.approx(0.0005)
    assert record["set_size"] == 16
    assert record["threads"] == torch.get_num_threads()
    assert record["data"]["files"].keys() == {"retinamnist.npz"}
    assert len(record["data_hash"]) == len(record["split_hash"]) == 64
    assert record["selection"]["rule"] == "val_auc"


def test_the_curves_have_a_row_per_epoch_with_degraded_and_restored_accuracy(trained):
    folder, _ = trained
    rows = [json.loads(line) for line in folder.metrics.read_text().splitlines()]
    assert [row["epoch"] for row in rows] == [1, 2, 3]
    for key in ("train/accuracy/degraded", "train/accuracy/restored", "val/auc", "train/loss"):
        assert all(row[key] is not None for row in rows)
    assert not any(key.startswith("test/") for row in rows for key in row)


def test_accuracy_and_auc_are_the_medmnist_evaluators(trained):
    folder, result = trained
    table = pd.read_csv(folder.predictions)
    test = table[table["split"] == "test"]
    scores = test[[c for c in table if c.startswith("prob_")]].to_numpy()
    labels = test["label"].to_numpy()[:, None]
    auc = medmnist.evaluator.getAUC(labels, scores, "ordinal-regression")
    accuracy = medmnist.evaluator.getACC(labels, scores, "ordinal-regression")
    assert result.metrics["test/auc"] == pytest.approx(auc, abs=1e-12)
    assert result.metrics["test/accuracy"] == pytest.approx(accuracy, abs=1e-12)


def test_the_model_file_holds_the_network_alone(trained):
    folder, _ = trained
    names = load_tensors(folder.model)
    assert not any("augment" in name or "degrad" in name or "restor" in name for name in names)
    model = package.load_model(folder.path)
    assert set(model.state_dict()) == set(names)
    assert not model.training


def test_the_loaded_model_predicts_what_was_written(trained, data_root):
    folder, _ = trained
    images = np.load(data_root / "retinamnist.npz")["test_images"]
    batch = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255 * 2 - 1
    with torch.inference_mode():
        prob = package.load_model(folder.path)(batch).double().softmax(1).numpy()
    table = pd.read_csv(folder.predictions)
    written = table[table["split"] == "test"].filter(like="prob_").to_numpy()
    np.testing.assert_allclose(prob, written, atol=1e-5)


def test_a_second_call_changes_nothing_and_says_so(trained, small, medldr):
    folder, _ = trained
    before = {p: p.read_bytes() for p in folder.path.rglob("*") if p.is_file()}
    ended = medldr("train", METHOD, *small, "training.epochs=3", "--out", folder.path.parent)
    assert ended.code == 0
    assert "finished" in ended.out + ended.err
    assert before == {p: p.read_bytes() for p in folder.path.rglob("*") if p.is_file()}


def test_evaluating_again_gives_the_same_numbers(trained, medldr):
    folder, _ = trained
    before = folder.evaluation.read_text(), folder.predictions.read_text()
    folder.evaluation.unlink()
    assert medldr("evaluate", folder.path, "--device", "cpu").code == 0
    assert (folder.evaluation.read_text(), folder.predictions.read_text()) == before


def test_evaluating_again_is_done_in_the_precision_of_the_run_or_another(trained, tmp_path, medldr):
    folder, _ = trained
    copy = RunFolder(tmp_path / "run")
    copytree(folder.path, copy.path)
    record_of_another(copy, precision="bfloat16")
    package.evaluate(copy.path)
    one, other = (pd.read_csv(f.predictions).filter(like="prob_") for f in (folder, copy))
    assert not np.array_equal(one, other)
    np.testing.assert_allclose(one, other, atol=0.05)
    said = "computed in float32; the precision of training is bfloat16"
    assert said not in read_evaluation(copy).notes
    assert medldr("evaluate", copy.path, "--precision", "float32").code == 0
    assert copy.predictions.read_text() == folder.predictions.read_text()
    assert said in read_evaluation(copy).notes
    assert medldr("verify", copy.path).code == 0
    ended = medldr("evaluate", copy.path, "--precision", "float23")
    assert ended.code == 2
    assert "--precision: 'float23' is unknown. Did you mean 'float32'?" in ended.err


def test_weights_that_no_rule_is_recorded_for_are_not_evaluated(trained, tmp_path, medldr):
    folder, _ = trained
    copy = tmp_path / "run"
    copytree(folder.path, copy)
    record = json.loads((copy / "run.json").read_text())
    del record["selection"]
    (copy / "run.json").write_text(json.dumps(record | {"status": "interrupted"}))
    ended = medldr("evaluate", copy)
    assert ended.code == 2
    assert "medldr train" in ended.err


def test_changed_data_is_not_evaluated_as_if_it_were_the_same(trained, tmp_path, medldr):
    folder, _ = trained
    copy = RunFolder(tmp_path / "run")
    copytree(folder.path, copy.path)
    record_of_another(copy, train_data_hash="0" * 64)
    ended = medldr("evaluate", copy.path)
    assert ended.code == 2
    assert "has changed since training: train_data_hash" in ended.err


def test_a_run_of_an_older_version_is_held_to_the_hash_of_all_data(trained, tmp_path, medldr):
    folder, _ = trained
    copy = RunFolder(tmp_path / "run")
    copytree(folder.path, copy.path)
    record = json.loads(folder.run.read_text())
    parts = {part: {"labels": of["labels"]} for part, of in record["data"]["parts"].items()}
    older = {"data": record["data"] | {"parts": parts}, "train_data_hash": None}
    record_of_another(copy, **older)
    assert medldr("evaluate", copy.path, "--device", "cpu").code == 0
    record_of_another(copy, **older, data_hash="0" * 64)
    ended = medldr("evaluate", copy.path)
    assert ended.code == 2
    assert "data_hash is now" in ended.err


def test_runs_are_compared_as_a_table_and_a_page(trained, small, tmp_path, medldr):
    folder, _ = trained
    other = package.train("retinamnist_erm", [*small, "training.epochs=1"], out=tmp_path)
    page = tmp_path / "compare.html"
    ended = medldr("compare", other.folder, folder.path, "--out", page)
    assert ended.code == 0
    assert "LatentDR (Pool)" in ended.out
    assert page.stat().st_size > 1000


def test_the_page_can_be_written_again(trained, medldr):
    folder, _ = trained
    folder.report.unlink()
    assert medldr("report", folder.path).code == 0
    assert folder.report.exists()
