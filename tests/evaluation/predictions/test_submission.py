"""Files for a benchmark are written of what it can take only, and a note says why not."""

from types import SimpleNamespace

import pytest

from medldr import plugins
from medldr.datasets.base import BadFile
from medldr.errors import InputError
from medldr.evaluation import predictions_of
from medldr.evaluation.predictions.submission import submission_files

TABLES = {"test": predictions_of("binary", [0, 1], [[0.9, 0.1], [0.2, 0.8]])}


@pytest.fixture
def files(monkeypatch):
    """`submission_files` of a dataset that offers `offered`, with keys of its section changed."""

    def build(offered, bad_files=(), oracle=False, **keys):
        module = SimpleNamespace() if offered is None else SimpleNamespace(submission=offered)
        monkeypatch.setattr(plugins, "load", lambda kind, name: module)
        data = SimpleNamespace(
            **{"name": "x", "exclude": (), "held_out": (), "manifest": None} | keys
        )
        config = SimpleNamespace(data=data, seed=4)
        table = SimpleNamespace(bad_files=bad_files)
        return submission_files(config, table, TABLES, oracle=oracle)

    return build


def by_seed(config, predictions, seed):
    return {f"{split}_{seed}.csv": f"{len(table)} rows" for split, table in predictions.items()}


def test_a_dataset_gives_its_files_from_predictions_and_seed(files):
    assert files(by_seed) == ({"test_4.csv": "2 rows"}, [])


def test_a_dataset_that_offers_none_has_none_and_no_note(files):
    assert files(None, exclude=("a",)) == ({}, [])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"exclude": ("slide_20",)}, "data.exclude leaves some out"),
        ({"held_out": ("hospital_0",)}, "data.held_out makes others"),
        ({"manifest": "splits.json"}, "data.manifest makes others"),
        ({"bad_files": (BadFile("a.png", "cut off"),) * 3}, "3 files were left out"),
        ({"oracle": True}, "chosen on the test split"),
    ],
)
def test_nothing_is_written_of_what_a_benchmark_cannot_take_and_a_note_says_so(files, change, said):
    written, (note,) = files(by_seed, **change)
    assert written == {}
    assert note.startswith("No submission files were written: ")
    assert said in note


def test_what_the_dataset_refuses_is_a_note_and_costs_no_result(files):
    def refuse(config, predictions, seed):
        raise InputError("these are not the official splits")

    written, notes = files(refuse)
    assert written == {}
    assert notes == ["No submission files were written: these are not the official splits."]
