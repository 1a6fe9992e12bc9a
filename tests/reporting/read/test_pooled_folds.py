"""Folds of one method and seed are one run: every item once, each fold at its own threshold."""

import json

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from medldr.config import EvaluationConfig
from medldr.evaluation import evaluate, join, predictions_of, write_predictions
from medldr.evaluation.predictions.table import read_predictions
from medldr.folders.sweep_record import Layout, Member, Sweep, SweepFolder, write_sweep
from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.read.sweep import read_study
from medldr.reporting.sections.sweep.csv_lines import csv_lines

SKILLS = {"erm": 1.0, "mixup": 2.0}


def fold_tables(fold, skill, seed, task="binary"):
    """Validation and test items of a fold; labels and groups are those of the items."""
    tables = {}
    for split, first in (("val", 1000 + 40 * fold), ("test", 30 * fold)):
        count = 40 if split == "val" else 30
        numbers = np.arange(first, first + count)
        label = numbers % 2 if task == "binary" else numbers % 3
        rng = np.random.default_rng([seed, fold, first, int(10 * skill)])
        logits = (
            rng.normal(size=(count, 2 if task == "binary" else 3))
            + 0.7 * fold * np.eye(2 if task == "binary" else 3)[-1]
        )  # the scale of the scores differs between folds
        if task == "multi-label":
            label = np.stack([numbers % 2, numbers % 3 == 0, numbers % 5 == 0], axis=1)
            prob = 0.4 / (1 + np.exp(1 - logits - skill * label))
        else:
            logits[np.arange(count), label] += skill
            prob = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
        tables[split] = predictions_of(
            task, label, prob, split=split, ids=[f"scan-{n:05d}.nii" for n in numbers],
            group=[f"patient-{n // 2:05d}" for n in numbers],
        )  # fmt: skip
    return tables


def write_fold(folder, member, fold, skill, task="binary", tables=None, **facts):
    files = folder.run(member.run)
    files.path.mkdir(parents=True)
    tables = tables or fold_tables(fold, skill, member.seed, task)
    scoring = EvaluationConfig(draws=100, specificity=0.8)
    chosen = {"rule": "val_auc", "split": "val", "epoch": fold + 1, "step": 8, "oracle": False}
    label, digits, _ = member.run.rsplit("-", 2)
    record = {
        "status": "done", "label": label, "hash": digits, "seed": member.seed, "protocol": "p",
        "data_hash": "d" * 64, "split_hash": f"{fold}" * 64, "precision": "float32",
        "data": {"name": "toy"}, "selections": {"val_auc": chosen, "last": {"rule": "last"}},
    } | facts  # fmt: skip
    config = {
        "seed": member.seed, "label": label, "evaluation": {"draws": 100, "specificity": 0.8},
        "data": {"name": "toy", "manifest": "splits.json", "fold": str(fold)},
        "algorithm": {"name": member.row_values["algorithm"]},
    }  # fmt: skip
    files.run.write_text(json.dumps(record))
    files.config.write_text(json.dumps(config))
    files.metrics.write_text(json.dumps({"epoch": 1, "step": 8, "val/accuracy": 0.5}) + "\n")
    files.evaluation.write_text(json.dumps(evaluate(tables, scoring, selection=chosen)))
    write_predictions(files.predictions, join(list(tables.values())))
    ids = {split: table.id.tolist() for split, table in tables.items()}
    files.splits.write_text(json.dumps({"splits": {"test": ids["test"]}}))
    return files


@pytest.fixture
def cross_validated(tmp_path):
    """Write a sweep of methods by folds, in rows or, if asked, in columns."""

    def write(seeds=(0,), folds=(0, 1, 2), columns=False, without=(), task="binary", changed=None):
        folder, members = SweepFolder(tmp_path / "S"), []
        for method, skill in SKILLS.items():
            for fold in folds:
                for seed in seeds:
                    label = f"{method}_fold-{fold}"
                    row = {"algorithm": method}
                    axis = {"data.fold": f"fold-{fold}"}
                    column = axis if columns else {"data": "toy"}
                    row |= {} if columns else axis
                    run = f"{label}-{fold}a{len(method)}b0000-s{seed}"
                    member = Member(
                        run, label, seed, ", ".join(row.values()), ", ".join(column.values()),
                        row_values=row, column_values=column,
                    )  # fmt: skip
                    members.append(member)
                    if (method, fold) not in without:
                        more = (changed or {}).get((method, fold), {})
                        write_fold(folder, member, fold, skill, task, **more)
        layout = Layout("CV", rows="algorithm", metrics=("accuracy", "auc"))
        write_sweep(folder, Sweep("cv", layout, tuple(members)))
        return folder

    return write


def of_folds(folder, method, seed=0):
    """Test predictions of each fold, straight from the files."""
    paths = sorted(folder.path.glob(f"{method}_fold-*-s{seed}/predictions.csv"))
    whole = [read_predictions(path, "binary") for path in paths]
    return [table.select(table.split == "test") for table in whole]


def number(comparison, metric, row):
    return comparison.score("test", metric, row).estimate


def test_predictions_of_all_folds_are_scored_together(cross_validated):
    folder = cross_validated()
    results = sweep_page(folder).results
    (column,) = results.columns
    assert results.study.rows == ["ERM", "Mixup"]
    assert column.problem == ""
    for method, row in (("erm", "ERM"), ("mixup", "Mixup")):
        tables = of_folds(folder, method)
        label = np.concatenate([table.label for table in tables])
        prob = np.concatenate([table.prob for table in tables])
        right = (prob.argmax(1) == label).mean()
        assert len(label) == 90
        assert number(column.comparison, "accuracy", row).mean == pytest.approx(right)
        auc = roc_auc_score(label, prob[:, 1])
        assert number(column.comparison, "auc", row).mean == pytest.approx(auc)
    assert column.comparison.splits["test"].n == 90
    assert column.comparison.splits["test"].groups == 45


def test_each_fold_decides_at_its_own_threshold(cross_validated):
    folder = cross_validated()
    page = sweep_page(folder)
    (column,) = page.results.columns
    found, lost, spared, negatives = 0, 0, 0, 0
    for path in sorted(folder.path.glob("mixup_fold-*/predictions.csv")):
        whole = read_predictions(path, "binary")
        val, test = (whole.select(whole.split == split) for split in ("val", "test"))
        negative = np.sort(val.prob[val.label == 0, 1])
        threshold = negative[int(np.ceil(0.8 * len(negative))) - 1]
        called = test.prob[:, 1] > threshold
        found += int((called & (test.label == 1)).sum())
        lost += int((~called & (test.label == 1)).sum())
        spared += int((~called & (test.label == 0)).sum())
        negatives += int((test.label == 0).sum())
    sensitivity = number(column.comparison, "sensitivity_at_specificity", "Mixup")
    assert sensitivity.mean == pytest.approx(found / (found + lost))
    assert sensitivity.low < sensitivity.mean < sensitivity.high
    specificity = number(column.comparison, "specificity_at_threshold", "Mixup")
    assert specificity.mean == pytest.approx(spared / negatives)
    (entry,) = [e for e in page.results.study.entries if e.member.row == "Mixup"]
    scored = entry.files.evaluation.splits["test"]
    assert scored.metrics["sensitivity_at_specificity"].value == pytest.approx(sensitivity.mean)
    assert scored.decisions.true_positives == found
    assert "Each fold decides at its own threshold" in page_text(page)


def test_each_fold_decides_each_label_at_its_own_threshold(cross_validated):
    folder = cross_validated(task="multi-label")
    page = sweep_page(folder)
    called, truth = [], []
    for path in sorted(folder.path.glob("mixup_fold-*/predictions.csv")):
        whole = read_predictions(path, "multi-label")
        val, test = (whole.select(whole.split == split) for split in ("val", "test"))
        negatives = [np.sort(val.prob[val.label[:, k] == 0, k]) for k in range(3)]
        cuts = [scores[int(np.ceil(0.8 * len(scores) - 1e-9)) - 1] for scores in negatives]
        called.append(test.prob > cuts)
        truth.append(test.label == 1)
    called, truth = np.concatenate(called), np.concatenate(truth)
    (entry,) = [e for e in page.results.study.entries if e.member.row == "Mixup"]
    scored = entry.files.evaluation
    of_mixup = [line for line in csv_lines(page.results) if line.get("row") == "mixup"]
    lines = {(line.get("class"), line["metric"]): line["mean"] for line in of_mixup
             if line["split"] == "test"}  # fmt: skip
    for k in range(3):
        hits, spared = called[truth[:, k], k].mean(), (~called[~truth[:, k], k]).mean()
        of = scored.splits["test"].classes[str(k)].metrics["sensitivity_at_specificity"]
        assert of.value == pytest.approx(hits)
        assert lines[str(k), "sensitivity_at_specificity"] == pytest.approx(hits)
        assert lines[str(k), "specificity_at_threshold"] == pytest.approx(spared)
    assert "no common threshold" in scored.operating_points["0"].reason
    assert "Each fold decides at its own threshold" in page_text(page)


def page_text(page):
    section = next(s for s in page.document.sections if s.anchor == "folds")
    return " ".join(str(block) for block in section.blocks)


def test_a_missing_fold_leaves_the_row_missing_and_is_named(cross_validated):
    folder = cross_validated(without=[("mixup", 1)])
    study = read_study(folder)
    (lost,) = [entry for entry in study.entries if entry.run is None]
    assert (lost.member.row, lost.state) == ("Mixup", "not run")
    assert lost.error == "1 of 3 folds without a result: fold-1 not run"
    (column,) = sweep_page(folder).results.columns
    assert column.missing["Mixup"] == {"not run": 1}
    assert column.estimate("test", "accuracy", "ERM").n == 1


def test_an_item_tested_twice_is_refused(cross_validated):
    tables = fold_tables(0, 2.0, 0)
    folder = cross_validated(changed={("mixup", 1): {"tables": tables}})
    (bad,) = [entry for entry in read_study(folder).entries if entry.run is None]
    assert bad.state == "unreadable"
    assert "30 items are" in bad.said
    assert "'scan-00000.nii'" in bad.said
    assert "tested more than once" in bad.said
    assert "scan-00000" not in bad.error


def test_items_that_no_fold_of_the_sweep_tests_are_refused(cross_validated):
    folder = cross_validated(folds=(0, 1))
    for path in folder.path.glob("*_fold-0-*/splits.json"):
        splits = json.loads(path.read_text())["splits"] | {"train": ["scan-00060.nii"]}
        path.write_text(json.dumps({"splits": splits}))
    entries = read_study(folder).entries
    assert all(entry.state == "unreadable" for entry in entries)
    assert "1 item is ('scan-00060.nii') of fold-0 tested in none" in entries[0].said
    assert "axes.data.fold" in entries[0].said


def test_folds_of_other_data_are_refused(cross_validated):
    folder = cross_validated(changed={("erm", 2): {"data_hash": "c" * 64}})
    (bad,) = [entry for entry in read_study(folder).entries if entry.run is None]
    assert "different data" in bad.said


def test_a_single_fold_is_a_run_like_any_other(cross_validated):
    page = sweep_page(cross_validated(folds=(1,)))
    assert page.results.study.rows == ["ERM", "Mixup"]
    assert all(not entry.folds for entry in page.results.study.entries)
    assert "folds" not in [section.anchor for section in page.document.sections]


def test_more_than_two_classes_need_no_threshold(cross_validated):
    page = sweep_page(cross_validated(task="multi-class"))
    (column,) = page.results.columns
    assert number(column.comparison, "accuracy", "ERM").mean is not None
    assert "at its own threshold" not in page_text(page)


def test_a_folder_without_a_sweep_pools_its_folds_too(cross_validated):
    folder = cross_validated()
    folder.sweep.unlink()
    study = read_study(folder)
    assert [(e.member.row, len(e.folds), e.state) for e in study.entries] == [
        ("ERM", 3, "done"),
        ("Mixup", 3, "done"),
    ]


def test_a_fold_that_leaves_a_domain_out_holds_it_out(cross_validated):
    spec = {
        "task": "binary", "class_names": [], "class_counts": [], "channels": 1,
        "spatial_size": [28, 28, 28], "domains": ["0", "1", "2"],
    }  # fmt: skip
    changed = {
        (method, fold): {"spec": spec | {"train_domains": [d for d in "012" if d != str(fold)]}}
        for method in SKILLS
        for fold in (0, 1, 2)
    }
    study = sweep_page(cross_validated(columns=True, changed=changed)).results.study
    found = [entry.config["data"]["held_out"] for entry in study.of("ERM")]
    assert found == [["0"], ["1"], ["2"]]


def test_pooled_folds_have_intervals_but_no_p_and_no_mark(cross_validated):
    """Their networks share training images, so a test over their images finds too much."""
    page = sweep_page(cross_validated(seeds=(0, 1, 2)))
    (column,) = page.results.columns
    found = column.difference("test", "accuracy", "Mixup")
    assert found.estimate.low is not None
    assert (found.p, found.p_holm, found.finding) == (None, None, "not compared")
    tables = page.document.section("result").tables
    assert not any(c.estimate and c.estimate.marks for t in tables for r in t.rows for c in r.cells)
    told = " ".join(str(block) for block in page.document.section("result").blocks)
    assert "pooled folds" in told
