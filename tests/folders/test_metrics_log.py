"""Records of `metrics.jsonl`: the newest of each evaluation, and which stage they belong to."""

import json

import pytest

from medldr.folders.metrics_log import last_stage, read_log, stage_of, time_axis, while_training

RETRAINED = [{"epoch": e, "step": 10 * e, "stage": 1 + (e > 2)} for e in (1, 2, 3, 4)]
NORMALISED = [*RETRAINED[:2], {"epoch": 1, "step": 10, "stage": 2}]


def written(path, *lines):
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_the_newest_record_of_an_evaluation_counts(tmp_path):
    rows = [{"epoch": 1, "step": 5, "a": 1}, {"epoch": 2, "step": 9}, {"epoch": 1, "step": 5}]
    path = written(tmp_path / "metrics.jsonl", *map(json.dumps, rows), '{"epoch": 3, "st')
    found, problems = read_log(path)
    assert found == [rows[1], rows[2]]
    assert problems == ["Unreadable lines of metrics.jsonl left out of the curves: 1."]


def test_normalised_weights_do_not_replace_those_they_are_made_of(tmp_path):
    path = written(tmp_path / "metrics.jsonl", *map(json.dumps, NORMALISED))
    assert read_log(path) == (NORMALISED, [])


@pytest.mark.parametrize(
    ("rows", "last", "training"),
    [
        ([], [], []),
        ([{"step": 1}, {"step": 2}], [{"step": 1}, {"step": 2}], [{"step": 1}, {"step": 2}]),
        (RETRAINED, RETRAINED[2:], RETRAINED),
        (NORMALISED, NORMALISED[2:], NORMALISED[:2]),
        (RETRAINED[:2], RETRAINED[:2], RETRAINED[:2]),
    ],
)
def test_stages_are_told_apart(rows, last, training):
    assert last_stage(rows) == last
    assert while_training(rows) == training
    assert time_axis(while_training(NORMALISED)) == "epoch"


def test_a_classifier_trained_after_it_was_normalised_goes_on():
    rows = [*NORMALISED, {"epoch": 3, "step": 30, "stage": 3}]
    assert while_training(rows) == [*NORMALISED[:2], rows[3]]
    assert last_stage(rows) == rows[3:]


def test_records_without_a_stage_or_a_step_are_kept():
    assert stage_of({"step": 3}) == stage_of({"stage": None}) == 1
    rows = [{"epoch": 1}, {"epoch": 2, "stage": 2}]
    assert while_training(rows) == rows
