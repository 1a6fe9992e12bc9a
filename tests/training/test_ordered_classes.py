"""Grades: CORN in whole trainings, and the rules that measure a distance between grades."""

import pytest

from medldr.errors import InputError
from medldr.folders.files import load_tensors
from medldr.folders.lifecycle import Interrupted

GRADES = {"data.ordinal": True, "data.classes": 4}
CORN = {**GRADES, "model.head": "corn", "algorithm.loss": {"name": "corn"}}
HEAD = {"name": "retrain_head", "epochs": 2, "lr": 0.1}


def test_corn_trains_below_latentdr_and_resumes_within_its_stage(train, rows_of, stop_after):
    changes = {
        **CORN,
        "algorithm.name": "latentdr",
        "training.epochs": 2,
        "training.stages": [HEAD],
    }
    whole = train(changes, "whole")
    assert load_tensors(whole.folder.model)["head.decisions.weight"].shape == (3, 6)
    with stop_after(whole.fitted.steps - 1), pytest.raises(Interrupted):
        train(changes, "stopped")
    resumed = train(changes, "stopped")
    assert rows_of(resumed.folder) == rows_of(whole.folder)
    assert resumed.folder.model.read_bytes() == whole.folder.model.read_bytes()


def test_a_head_of_decisions_starts_from_and_leaves_others_heads_alone(train):
    plain = train({**GRADES, "training.epochs": 1}, "plain")
    ours = train(
        {**CORN, "training.epochs": 1, "model.weights": str(plain.folder.model)}, "started"
    )
    assert any("the head is newly initialised" in note for note in ours.model.notes)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({**CORN, "data.ordinal": False}, r"^model\.head: corn .*data\.ordinal: true"),
        ({**CORN, "model.head": "linear"}, r"^algorithm\.loss: corn .*Set model\.head: corn"),
        ({**CORN, "training.stages": [{"name": "tau_norm"}]}, "needs a linear classifier"),
    ],
)
def test_what_does_not_fit_is_refused_before_training(changes, said, train, tmp_path):
    with pytest.raises(InputError, match=said):
        train(changes, "refused")
    assert not list(tmp_path.glob("**/metrics.jsonl"))


def test_grades_select_by_their_distance_and_stop_early_where_it_falls_no_more(train, rows_of):
    rules = ("val_mae", "val_quadratic_kappa")
    # A rate that is too high, so that both get better and worse again.
    changes = {**GRADES, "seed": 1, "training.epochs": 8, "training.lr": 0.6}
    changes["training.select"] = rules
    whole = train(changes, "whole")
    rows = rows_of(whole.folder)
    for rule, best in zip(rules, (min, max), strict=True):
        values = [row[rule.replace("_", "/", 1)] for row in rows]
        chosen = whole.fitted.selections[rule]
        wanted = best(value for value in values if value is not None)
        assert wanted not in (values[0], values[-1])
        assert (chosen.value, chosen.epoch) == (wanted, 1 + values.index(wanted))
    mae = [row["val/mae"] for row in rows]
    first = next(n for n in range(1, 8) if mae[n] >= min(mae[:n]))
    assert 1 < first < 7
    stopped = train({**changes, "training.early_stopping": 1}, "stopped")
    assert (stopped.fitted.stopped_early, stopped.fitted.epochs) == (True, 1 + first)
