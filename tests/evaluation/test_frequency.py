"""Frequent and rare classes: worked values, files, comparisons, and what is refused."""

import numpy as np
import pytest
from pydantic import ValidationError

from medldr.config import EvaluationConfig
from medldr.errors import InputError
from medldr.evaluation import evaluate, predictions_of
from medldr.evaluation.agreement import differences
from medldr.evaluation.frequency import common_shots, shots_notes
from medldr.evaluation.metrics.items import Items, Shots
from medldr.evaluation.metrics.score import measures, values
from medldr.folders.evaluation_record import EvaluationRecord

RIGHT = (9, 5, 3, 1)  # of ten images of each class
COUNTS = (101, 100, 20, 19)


def predictions(right=RIGHT, task="multi-class"):
    """Ten images of each class, so many of them right; the rest is taken for the first class."""
    classes = len(right)
    label = np.repeat(np.arange(classes), 10)
    decision = np.concatenate([[k] * n + [int(not k)] * (10 - n) for k, n in enumerate(right)])
    prob = np.full((len(label), classes), 0.1)
    prob[np.arange(len(label)), decision] = 1 - 0.1 * (classes - 1)
    names = [f"class {k}" for k in range(classes)]
    return predictions_of(task, label, prob, class_names=names)


def evaluated(counts=COUNTS, shots=(100, 20), right=RIGHT, **more):
    config = EvaluationConfig(splits=("test",), draws=200, shots=shots)
    return evaluate({"test": predictions(right)}, config, trained_on=counts, **more)


def found(content, name):
    return content["splits"]["test"]["metrics"][f"{name}_shot_accuracy"]


def test_worked_values_of_the_long_tail_protocol():
    table = predictions()
    made = values(measures(Items(table.label, table.prob, table.task, shots=Shots(COUNTS))))
    assert made["many_shot_accuracy"] == pytest.approx(0.9)
    assert made["medium_shot_accuracy"] == pytest.approx(0.4)
    assert made["few_shot_accuracy"] == pytest.approx(0.1)
    assert made["accuracy"] == pytest.approx(0.45)


def test_each_has_an_interval_around_its_value():
    content = evaluated()
    for name in ("many", "medium", "few"):
        number = found(content, name)
        assert number["low"] < number["value"] < number["high"]


def test_an_empty_group_is_null_with_a_reason():
    content = evaluated(counts=(500, 400, 300, 101))
    assert found(content, "few") == {
        "value": None,
        "low": None,
        "high": None,
        "reason": "no class has few training images",
    }
    assert found(content, "many")["value"] == pytest.approx(0.45)


def test_the_file_says_which_class_is_in_which_group():
    said = evaluated()["shots"]
    assert (said["many"], said["few"]) == (100, 20)
    assert said["counts"] == {"class 0": 101, "class 1": 100, "class 2": 20, "class 3": 19}
    assert list(said["buckets"].values()) == ["many", "medium", "medium", "few"]


def test_nothing_is_said_where_it_is_not_asked_for():
    content = evaluated(shots=None)
    assert "shots" not in content
    assert not any("shot" in name for name in content["splits"]["test"]["metrics"])


def test_the_numbers_follow_from_the_predictions():
    content = evaluated()
    table = predictions()
    assert not differences(EvaluationRecord.model_validate(content), table)
    content["splits"]["test"]["metrics"]["few_shot_accuracy"]["value"] = 0.2
    (found_,) = differences(EvaluationRecord.model_validate(content), table)
    assert found_.key == "test/few_shot_accuracy"


def test_runs_with_other_rare_classes_are_not_compared_by_them():
    one, near, other, without = (
        EvaluationRecord.model_validate(content)
        for content in (
            evaluated(),
            evaluated(counts=(300, 90, 30, 5)),
            evaluated(counts=(300, 90, 30, 20)),
            evaluated(shots=None),
        )
    )
    assert common_shots([one, near]) == Shots(COUNTS)
    assert not shots_notes([one, near])
    assert common_shots([one, other]) is None
    assert "in which classes are rare" in shots_notes([one, other])[0]
    assert common_shots([one, without]) is None
    assert shots_notes([one, without]) == shots_notes([one, other])
    assert not shots_notes([without, without])


@pytest.mark.parametrize("task", ["binary", "multi-label"])
def test_other_tasks_are_refused(task):
    label = np.eye(2)[[0, 1, 1]] if task == "multi-label" else np.array([0, 1, 1])
    table = predictions_of(task, label, np.full((3, 2), 0.5), class_names=["a", "b"])
    config = EvaluationConfig(splits=("test",), draws=100, shots=(100, 20))
    with pytest.raises(InputError, match=f"the task is {task}"):
        evaluate({"test": table}, config, trained_on=(200, 3))


def test_unknown_counts_are_refused():
    with pytest.raises(InputError, match="training images of each class"):
        evaluated(counts=None)


def test_limits_in_the_wrong_order_are_refused():
    with pytest.raises(ValidationError, match="the larger first"):
        EvaluationConfig(shots=(20, 100))
