"""`evaluation.json` is read whole or refused with file, key and cure."""

import json

import pytest

from medldr.errors import InputError
from medldr.folders.evaluation_record import (
    EvaluationRecord,
    read_evaluation,
    read_evaluation_content,
    write_evaluation,
)
from medldr.folders.files import RunFolder

NUMBER = {"value": 0.5, "low": 0.4, "high": 0.6, "reason": None}
SPLIT = {
    "n": 4,
    "metrics": {"accuracy": NUMBER},
    "classes": {"a": {"n": 2, "recall": NUMBER, "auc": NUMBER}},
    "domains": {"h1": {"n": 4, "seen": False, "metrics": {"accuracy": NUMBER}}},
    "worst_domain": {"name": "h1", "accuracy": NUMBER},
}
CONTENT = {
    "schema": 1,
    "task": "binary",
    "class_names": ["a", "b"],
    "selection": {"rule": "last"},
    "splits": {"test": SPLIT},
    "colour": "blue",
}


@pytest.fixture
def files(tmp_path):
    return RunFolder(tmp_path)


def test_what_is_written_is_the_content_and_is_read_typed(files):
    write_evaluation(files, CONTENT)
    assert files.evaluation.read_text() == json.dumps(CONTENT, indent=1) + "\n"
    assert read_evaluation_content(files) == CONTENT
    record = read_evaluation(files)
    scored = record.splits["test"]
    assert scored.metrics["accuracy"].high == 0.6
    assert (scored.classes["a"].n, list(scored.classes["a"].metrics)) == (2, ["recall", "auc"])
    assert scored.unseen
    assert record.selection is not None
    assert record.selection.rule == "last"
    assert record.model_extra == {"colour": "blue"}


def test_weights_of_another_rule_have_a_file_of_their_own(files):
    write_evaluation(files, CONTENT, "val_auc")
    assert not files.evaluation.exists()
    assert read_evaluation(files, "val_auc") == EvaluationRecord.model_validate(CONTENT)


def test_what_a_file_lacks_has_its_default(files):
    files.evaluation.write_text('{"task": "ordinal", "splits": {"test": {"n": 3}}}')
    record = read_evaluation(files)
    scored = record.splits["test"]
    assert (scored.metrics, scored.groups, scored.parts, scored.roc) == ({}, {}, {}, {})
    assert record.gap is record.selection is record.intervals is scored.worst_group is None
    assert (record.level, record.calibration.bins) == (0.95, 15)
    assert not scored.unseen


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no such file"),
        ("{half", "is not readable JSON"),
        ("3", "should contain a mapping, not a value of type int"),
        ('{"splits": {}}', "task is missing"),
        ('{"task": "guess", "splits": {}}', "task should be 'multi-class'"),
        ('{"task": "binary", "splits": []}', "splits should be a valid dictionary"),
        (
            '{"task": "binary", "splits": {"test": {"metrics": {"auc": {"value": "high"}}}}}',
            r"splits\.test\.metrics\.auc\.value should be a valid number",
        ),
        ('{"schema": 7, "task": "binary", "splits": {}}', "has schema 7, but this version"),
    ],
)
def test_a_damaged_file_is_refused_with_file_key_and_cure(files, content, said):
    if content is not None:
        files.evaluation.write_text(content)
    with pytest.raises(InputError, match=rf"evaluation\.json.*{said}|{said}.*evaluation") as error:
        read_evaluation(files)
    assert f"Run `medldr evaluate {files.path}`" in str(error.value)


def test_what_could_not_be_read_again_is_not_written(files):
    with pytest.raises(InputError, match="task"):
        write_evaluation(files, {**CONTENT, "task": "guess"})
    assert not files.evaluation.exists()
