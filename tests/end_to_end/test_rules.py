"""Several selection rules: each is scored in the one reading of the test split, and shown apart."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest
import torch

import medldr as package
from medldr.datasets import medmnist
from medldr.evaluation import evaluate_rules as rules
from medldr.folders import lifecycle
from medldr.folders.files import RunFolder, load_tensors
from medldr.reporting.read.run import read_run
from medldr.reporting.sections.run.tables import rule_table
from medldr.reporting.writers.cells import printed

RULES = ("val_auc", "last", "val_loss", "oracle_accuracy", "swad")
SETTINGS = (
    f"training.select=[{','.join(RULES)}]",
    "training.averaging={name: swad, bn_batches: 6}",
    "evaluation.oracle=true",
    "training.epochs=4",
)


@pytest.fixture(scope="module")
def trained(small, tmp_path_factory):
    out = tmp_path_factory.mktemp("rules")
    with pytest.MonkeyPatch.context() as patch:
        seen = []
        predict_each = rules.predict_each

        def watched(models, loader, *, split, **words):
            seen.append((split, len(models)))
            return predict_each(models, loader, split=split, **words)

        patch.setattr(rules, "predict_each", watched)
        result = package.train("retinamnist_erm", [*small, *SETTINGS], out=out)
    return RunFolder(result.folder), seen


def written(folder):
    """The evaluation of every rule, as bytes."""
    paths = [folder.predictions, folder.evaluation]
    paths += [path for rule in RULES[1:] for path in (folder.predictions_of(rule),
                                                      folder.evaluation_of(rule))]  # fmt: skip
    return {path.relative_to(folder.path): path.read_bytes() for path in paths}


def test_each_rule_is_scored_with_its_own_weights(trained, data_root):
    folder, _ = trained
    images = np.load(data_root / "retinamnist.npz")["test_images"]
    batch = torch.from_numpy(images).permute(0, 3, 1, 2).float() / 255 * 2 - 1
    model = package.load_model(folder.path)
    chosen = json.loads(folder.run.read_text())["selections"]
    for rule in RULES:
        model.load_state_dict(load_tensors(folder.selected(rule)))
        with torch.inference_mode():
            prob = model(batch).double().softmax(1).numpy()
        first = rule == RULES[0]
        table = pd.read_csv(folder.predictions if first else folder.predictions_of(rule))
        test = table[table["split"] == "test"]
        np.testing.assert_allclose(prob, test.filter(like="prob_").to_numpy(), atol=1e-5)
        path = folder.evaluation if first else folder.evaluation_of(rule)
        scored = json.loads(path.read_text())
        assert scored["selection"] == chosen[rule]
        right = (test.filter(like="prob_").to_numpy().argmax(1) == test["label"]).mean()
        assert scored["splits"]["test"]["metrics"]["accuracy"]["value"] == pytest.approx(right)


def test_each_split_is_read_once_and_equal_weights_predict_once(trained):
    folder, seen = trained
    chosen = json.loads(folder.run.read_text())["selections"]
    swad = chosen.pop("swad")
    assert swad["step"] == chosen["last"]["step"]  # and yet they are not the same weights
    steps = {choice["step"] for choice in chosen.values()}
    assert [split for split, _ in seen] == ["val", "test"]
    assert {count for _, count in seen} == {len(steps) + 1}
    assert folder.selected("swad").read_bytes() != folder.selected("last").read_bytes()


def test_evaluating_again_writes_all_of_them_anew(trained, tmp_path):
    copy = RunFolder(shutil.copytree(trained[0].path, tmp_path / "run"))
    before = written(copy)
    for path in before:
        (copy.path / path).unlink()
    package.evaluate(copy.path)
    assert written(copy) == before


def test_a_further_rule_whose_weights_were_taken_away_is_left_as_it_is(trained, tmp_path):
    copy = RunFolder(shutil.copytree(trained[0].path, tmp_path / "run"))
    copy.selected("last").unlink()
    before = copy.evaluation_of("last").read_bytes()
    package.evaluate(copy.path)
    assert copy.evaluation_of("last").read_bytes() == before
    assert json.loads(copy.evaluation_of("val_loss").read_text())["splits"]


@pytest.mark.slow  # the whole run once more
def test_a_run_that_was_stopped_between_two_rules_is_scored_by_all_when_it_goes_on(
    trained, small, tmp_path, monkeypatch
):
    write = rules.write_evaluation

    def stopped(files, content, rule=None):
        if rule == "val_loss":
            raise lifecycle.Interrupted(15, resumable=True)
        write(files, content, rule)

    monkeypatch.setattr(rules, "write_evaluation", stopped)
    words = "retinamnist_erm", [*small, *SETTINGS, "machine.report=false"]
    with pytest.raises(lifecycle.Interrupted):
        package.train(*words, out=tmp_path)
    folder = RunFolder(tmp_path / trained[0].path.name)
    assert not folder.evaluation.exists()
    assert not lifecycle.is_done(folder)
    monkeypatch.undo()
    assert package.train(*words, out=tmp_path).fresh
    assert lifecycle.is_done(folder)
    assert written(folder) == written(trained[0])


def test_the_page_has_a_row_per_rule_and_names_the_oracle(trained):
    folder, _ = trained
    table = rule_table(read_run(folder))
    assert [row.heading for row in table.rows] == list(RULES)
    assert [row.tags for row in table.rows] == [("reported",), (), (), ("oracle",), ()]
    for row, rule in zip(table.rows, RULES, strict=True):
        path = folder.evaluation if rule == RULES[0] else folder.evaluation_of(rule)
        number = json.loads(path.read_text())["splits"]["test"]["metrics"]["accuracy"]
        shown = printed(row.cells[table.columns.index("Accuracy (%)") - 1])
        assert shown.value == number["value"]
        assert shown.detail == f"{100 * number['low']:.1f} to {100 * number['high']:.1f}"
    read = [printed(row.cells[0]).text for row in table.rows]
    assert read == ["validation", "–", "validation", "test", "validation"]
    text = folder.report.read_text()
    assert "By selection rule" in text
    assert "ORACLE SELECTION" not in text  # the reported rule is none


def test_what_a_benchmark_asks_for_is_written_from_the_reported_weights(
    trained, tmp_path, monkeypatch
):
    def submission(config, predictions, seed):
        return {f"{config.flag}_{seed}.txt": str(predictions["test"].prob.tolist())}

    monkeypatch.setattr(medmnist, "submission", submission, raising=False)
    copy = RunFolder(shutil.copytree(trained[0].path, tmp_path / "run"))
    package.evaluate(copy.path)
    (path,) = copy.submission.iterdir()
    assert path.name == "retinamnist_0.txt"
    table = pd.read_csv(copy.predictions)
    test = table[table["split"] == "test"].filter(like="prob_").to_numpy()
    np.testing.assert_array_equal(json.loads(path.read_text()), test)
