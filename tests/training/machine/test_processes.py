"""Two processes train as one does: same curves, same rows counted, same end."""

import json

import numpy as np
import pytest
import torch

from medldr.evaluation import auc, read_predictions, score
from medldr.evaluation.predictions.predict import probabilities
from medldr.folders.files import RunFolder, load_tensors
from medldr.training.machine.fabric import make_fabric

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def two_module():
    import importlib

    return importlib.import_module("tiny_lab.two")


@pytest.fixture(scope="module")
def two(two_module, tmp_path_factory):
    """What both processes saw in the one launch of this file, and the folder of their runs."""
    config = two_module.runs.make_config({"machine.devices": 2})
    out = tmp_path_factory.mktemp("two")
    fabric = make_fabric(config.machine, config.training, launcher="spawn")
    fabric.launch(two_module.work, str(out))
    return out, [json.loads((out / f"rank{rank}.json").read_text()) for rank in (0, 1)]


def test_the_processes_agree(two):
    _, seen = two
    for saw in seen:
        assert saw["world"] == 2
        assert saw["total"] == [3, 10]
        assert saw["largest"] == [1, 1]
        assert saw["sum"] == [2.0, 1.0]
        assert saw["gather"] == [{"rank": 0}, {"rank": 1}]
        assert saw["from_first"] == "from 0"


@pytest.mark.parametrize(
    "name", ["erm", "averaged", "swad", "frozen", "accumulated", "clipped", "latentdr", "domains"]
)
def test_two_processes_give_the_curve_and_weights_of_one(two, two_module, runs, tmp_path, name):
    out, seen = two
    changes = dict(two_module.CURVES[name])
    if name == "accumulated":
        # Two processes with two passes each take four rows apart.
        changes["training.accumulate"] = 4
    one = runs.train(changes, tmp_path / name)
    both = RunFolder(out / name)
    rows, expected = runs.rows_of(both), runs.rows_of(one.folder)
    assert len(rows) == (8 if name == "swad" else 3)
    for ours, theirs in zip(rows, expected, strict=True):
        undefined = [key for key, value in theirs.items() if value is None]
        assert [ours.pop(key) for key in undefined] == [theirs.pop(key) for key in undefined]
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-6)
    weights = load_tensors(one.folder.model)
    for key, value in load_tensors(both.model).items():
        torch.testing.assert_close(value, weights[key], rtol=1e-4, atol=1e-5)
    for saw in seen:
        assert saw[name]["facts"]["processes"] == 2
        assert saw[name]["selected"]["epoch"] == one.fitted.reported.epoch


def test_frozen_statistics_stay_in_both_processes_while_scale_and_shift_move(two):
    weights = load_tensors(RunFolder(two[0] / "frozen").model)
    assert weights["norm.running_mean"].tolist() == [0] * 6
    assert weights["norm.running_var"].tolist() == [1] * 6
    assert (weights["norm.weight"] != 1).any()
    assert (weights["norm.bias"] != 0).any()
    assert not any("each of the 2 processes separately" in n for n in two[1][0]["frozen"]["notes"])


def test_no_padded_row_counts_in_evaluation(two):
    for saw in two[1]:
        assert saw["metrics"]["rows"] == 5
        assert saw["metrics"]["accuracy"] == pytest.approx(0.8)
    assert two[1][0]["metrics"] == two[1][1]["metrics"]


def test_two_processes_give_the_table_of_one(two):
    """Five items on two processes, with and without a padded duplicate: 0.8, not 4/6."""
    for name in ("part-0", "part-1", "padded-0", "padded-1"):
        table = read_predictions(two[0] / f"{name}.csv")
        assert table.id.tolist() == ["a", "b", "c", "d", "e"]
        assert score(table)["accuracy"] == 0.8
        alone = np.array([0.0, 2.0, 0.0, 4.0, 0.0]), np.array([1.0, 0.0, 3.0, 0.0, 5.0])
        prob = probabilities(np.stack(alone, axis=1), "binary")
        np.testing.assert_array_equal(table.prob, prob)
        assert score(table)["auc"] == auc(table.label, prob, "binary")


def test_a_signal_to_one_process_stops_both_and_they_go_on_exactly(two, runs):
    out, seen = two
    for saw in seen:
        assert saw["interrupted"] == [15, True]
    whole, broken = RunFolder(out / "whole"), RunFolder(out / "broken")
    assert runs.rows_of(broken) == runs.rows_of(whole)
    assert broken.model.read_bytes() == whole.model.read_bytes()


def test_swad_goes_on_exactly_and_its_statistics_are_of_both_processes(two):
    out, seen = two
    whole, broken = RunFolder(out / "valley whole"), RunFolder(out / "valley broken")
    assert broken.model.read_bytes() == whole.model.read_bytes()
    assert load_tensors(whole.model)["norm.num_batches_tracked"] == 6
    (one, first), (other, second) = (saw["statistics"] for saw in seen)
    assert one == other
    assert first != second
    mean = [(a + b) / 2 for a, b in zip(first, second, strict=True)]
    assert one == pytest.approx(mean, rel=1e-4, abs=1e-6)


def test_a_nan_on_one_process_stops_both_and_both_name_its_samples(two):
    for saw in two[1]:
        assert "at step 7 (term: loss" in saw["stopped"]
    assert two[1][0]["stopped"] == two[1][1]["stopped"]


def test_statistics_of_each_process_alone_are_noted(two):
    for saw in two[1]:
        assert any("batch normalisation uses the rows of each process" in n for n in saw["notes"])
        assert not saw["erm_unused"]
    # The first process's statistics are everybody's.
    assert two[1][0]["buffer"] == two[1][1]["buffer"]
