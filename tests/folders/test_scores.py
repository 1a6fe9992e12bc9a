"""The frame of scores: a row for every number of `evaluation.json`, found by what it is of."""

import pytest

from medldr.folders.evaluation_record import EvaluationRecord

NUMBER = {"value": 0.5, "low": 0.4, "high": 0.6, "reason": None}
NOTHING = {"value": None, "low": None, "high": None, "reason": "only one class in the labels"}
SPLIT = {
    "n": 8,
    "metrics": {"accuracy": NUMBER, "ece": {**NUMBER, "noise": [0.1, 0.2]}},
    "classes": {"a": {"n": 2, "recall": NUMBER, "auc": NOTHING}},
    "domains": {"h/1": {"n": 4, "seen": True, "metrics": {"accuracy": NUMBER}}},
    "worst_domain": {"name": "h/1", "accuracy": NUMBER},
    "parts": {"target_in": {"items": 6, "metrics": {"accuracy": NUMBER}}},
    "groups": {"p1": {"n": 3, "correct": 2, "accuracy": 2 / 3, "low": 0.2, "high": 0.9}},
    "worst_group": {"name": "p1", "n": 3, "accuracy": NUMBER},
    "subgroups": {"sex": {"values": {"F": {"n": 5, "metrics": {"auc": NUMBER}}}}},
    "calibration_fit": {"a": {"n": 2, "calibration_slope": NUMBER}},
    "error_at_coverage": {"90": NUMBER},
    "at_prevalence": {"ppv_at_prevalence": {**NUMBER, "undefined_draws": 7}},
}
PLACES = {
    "test/accuracy": ({}, 8),
    "test/ece": ({}, 8),
    "test/ppv_at_prevalence": ({}, 8),
    "test/coverage/90/error": ({}, 8),
    "test/worst_domain/accuracy": ({}, None),
    "test/worst_group/accuracy": ({}, 3),
    "test/target_in/accuracy": ({"part": "target_in"}, 6),
    "test/domain/h/1/accuracy": ({"domain": "h/1"}, 4),
    "test/class/a/recall": ({"class_": "a"}, 2),
    "test/class/a/auc": ({"class_": "a"}, 2),
    "test/class/a/calibration_intercept": ({"class_": "a"}, 2),
    "test/class/a/calibration_slope": ({"class_": "a"}, 2),
    "test/subgroup/sex/F/auc": ({"subgroup": "sex/F"}, 5),
    "test/group/p1/accuracy": ({"group": "p1"}, 3),
}


@pytest.fixture
def frame():
    content = {"task": "binary", "selection": {"rule": "val_auc"}, "splits": {"test": SPLIT}}
    return EvaluationRecord.model_validate(content).scores


def test_every_number_is_a_row_that_says_what_it_is_of(frame):
    assert [row.key for row in frame.rows] == list(PLACES)
    for row, (place, n) in zip(frame.rows, PLACES.values(), strict=True):
        columns = ("part", "domain", "class_", "group", "subgroup")
        assert {key: getattr(row, key) for key in columns if getattr(row, key)} == place
        assert (row.split, row.rule, row.n) == ("test", "val_auc", n)
        assert frame.row("test", row.metric, **place) is row


def test_a_row_has_the_interval_of_its_number_and_what_is_said_of_it(frame):
    assert frame.row("test", "accuracy")[2:6] == (0.5, 0.4, 0.6, None)
    assert frame.row("test", "auc", class_="a")[2:6] == tuple(NOTHING.values())
    assert frame.row("test", "accuracy", group="p1")[2:6] == (2 / 3, 0.2, 0.9, None)
    assert frame.row("test", "ece").noise == (0.1, 0.2)
    assert frame.row("test", "ppv_at_prevalence").undefined_draws == 7


def test_what_is_not_there_is_none(frame):
    assert frame.row("val", "accuracy") is frame.row("test", "auc", domain="h/1") is None
    assert frame.value("val", "accuracy") is frame.value("test", "auc", class_="a") is None
    assert frame.value("test", "accuracy", part="target_in") == 0.5
    assert frame.flat() == {row.key: row.value for row in frame.rows}
