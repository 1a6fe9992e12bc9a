"""One answer for all images of a patient, by the rule and threshold of the run's own patients."""

import csv
import json
import shutil

import numpy as np
import pytest
from scipy.special import logit

from medldr.config import EvaluationConfig
from medldr.errors import InputError
from medldr.evaluation import by_split, evaluate, read_predictions
from medldr.folders.evaluation_parts import GroupScoring, OperatingPoint
from medldr.prediction.answers import Answers
from medldr.prediction.by_group import by_group, group_rule
from medldr.prediction.items import Item, find_items

PROB = [0.9, 0.5, 0.1, 0.7]
GROUPS = ("p2", "p2", "p1", "", "p1")
ITEMS = [Item(name, group=group) for name, group in zip("abcde", GROUPS, strict=True)]
ANSWERS = Answers(
    "binary", ("ill", "well"), tuple("abcd"), np.stack([PROB, 1 - np.array(PROB)], 1),
    logit(np.stack([PROB, 1 - np.array(PROB)], 1)),
    positive_class="ill", threshold=0.6, warnings=((), ("dark",), (), ()),
    groups=GROUPS[:4],
)  # fmt: skip


@pytest.mark.parametrize(
    ("how", "prob"), [("mean", [0.1, 0.7, 0.7]), ("max", [0.1, 0.9, 0.7]), ("share", [0, 0.5, 1])]
)
def test_each_patient_has_one_answer_with_its_own_threshold(how, prob):
    point = OperatingPoint(threshold=0.4, split="val", specificity=0.9)
    found = by_group(ANSWERS, ITEMS, GroupScoring(aggregate=how, operating_point=point))
    assert found.names == ("p1", "p2", "d")
    assert found.prob[:, 0] == pytest.approx(prob)
    assert found.predicted == ["well", "ill", "ill"]
    assert found.images == (1, 2, 1)
    assert found.warnings == (
        ("1 of 2 images could not be read",),
        ("1 of 2 images have warnings",),
        (),
    )


def test_groups_are_read_from_the_table_and_need_one(tmp_path):
    (tmp_path / "t.csv").write_text("path,patient\na.png,p1\nb.png,\n")
    found = find_items([tmp_path / "t.csv"], 2, None, "patient")
    assert [item.group for item in found] == ["p1", ""]
    with pytest.raises(InputError, match=r"^group: "):
        find_items([tmp_path / "t.csv"], 2, None, "patent")
    with pytest.raises(InputError, match="no table is given"):
        find_items([tmp_path], 2, None, "patient")


def test_a_run_that_did_not_score_patients_is_refused_with_the_cure(
    lab, medldr, tmp_path, monkeypatch
):
    table = lab.volume_files / "t.csv"
    words = ("--group", "patient", "--out", tmp_path / "new.csv")
    with monkeypatch.context() as unloaded:  # it is refused before a network is loaded
        unloaded.setattr("medldr.prediction.predict.load_runs", None)
        ended = medldr("predict", lab.volumes[0], table, *words)
    assert ended.code == 2
    assert "evaluation.aggregate" in ended.err
    assert "medldr evaluate" in ended.err
    runs = []
    for run, how in zip(lab.volumes, ("max", "mean"), strict=True):
        copy = shutil.copytree(run, tmp_path / run.name)
        config = EvaluationConfig(draws=100, positive_class="ill", aggregate=how, group_label="any")
        tables = by_split(read_predictions(copy / "predictions.csv"))
        (copy / "evaluation.json").write_text(json.dumps(evaluate(tables, config)))
        runs.append(copy)
    with pytest.raises(InputError, match=r"max.*mean"):
        group_rule(runs)
    ended = medldr("predict", runs[0], table, *words)
    assert ended.code == 0, ended.err
    with (tmp_path / "new_by_group.csv").open() as file:
        rows = list(csv.DictReader(file))
    with (tmp_path / "new.csv").open() as file:
        images = [float(row["prob_ill"]) for row in csv.DictReader(file)]
    of_patient = {f"p{n + 1}": max(images[2 * n : 2 * n + 2]) for n in range(20)}
    assert {row["group"]: float(row["prob_ill"]) for row in rows} == of_patient
