"""All again on training and validation images, for as long as selection chose."""

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from medldr.config.schema import TrainingConfig
from medldr.errors import InputError
from medldr.folders.files import load_tensors
from medldr.folders.lifecycle import Interrupted

CHANGES = {
    "training.epochs": 4,
    "training.optimizer": "adam",
    "training.schedule": "multistep",
    "training.milestones": (1, 3),
    "training.warmup_head": 1,
    "training.averaging": {"name": "mean", "start": 3},
    "training.select": ("val_loss", "last"),
    "model.dropout": 0.2,
}
ALL = {"training.stages": ["retrain_all"]}


def test_the_first_stage_is_the_run_without_it(train, rows_of):
    plain, staged = train(CHANGES, "plain"), train({**CHANGES, **ALL}, "staged")
    first = staged.folder.stage(1)
    assert first.model.read_bytes() == plain.folder.model.read_bytes()
    assert staged.fitted.reported == plain.fitted.reported
    assert list(staged.fitted.selections) == ["val_loss"]
    rows = rows_of(staged.folder)
    assert [row.pop("stage") for row in rows[:4]] == [1] * 4
    assert rows[:4] == rows_of(plain.folder)
    assert not any(name.startswith("val/") for row in rows[4:] for name in row)


@pytest.mark.parametrize("method", ["erm", "coral", "dann"])
def test_it_equals_a_plain_run_on_all_images(method, train, make_config, parts_of, rows_of):
    keys = {
        **CHANGES,
        "algorithm": {"name": method},
        "training.epochs": None,
        "training.steps": 9,
        "training.evaluate_every": 3,
        "training.schedule": "constant",
        "training.warmup_head": 0 if method == "dann" else 2,
        "training.select": ("val_loss",),
        "data.kind": "both",
    }
    staged = train({**keys, **ALL}, "staged")
    chosen = staged.fitted.reported.step
    # `strength` of DANN follows from the length of the first stage.
    if method == "dann" and chosen != 9:
        keys["training.select"] = ("last",)
        staged = train({**keys, **ALL}, "staged last")
        chosen = 9
    alone = {**keys, "training.steps": chosen, "training.select": ("last",)}
    parts = parts_of(make_config(alone))
    data = parts.data.with_validation()
    table, rows = data.table, data.rows
    assert np.array_equal(rows["train"], np.flatnonzero(table.splits != "test"))
    assert rows.keys() == {"train", "test"}
    assert sum(data.spec.class_counts) == len(rows["train"])
    parts.data = data
    plain = train(alone, "plain", parts)
    assert plain.folder.model.read_bytes() == staged.folder.model.read_bytes()


def test_rates_are_those_of_the_first_stage_step_by_step(train, rows_of):
    changes = {**CHANGES, "training.select": ("last",), "training.averaging": None}
    rows = rows_of(train({**changes, **ALL}, "staged").folder)
    first = [row for row in rows if row["stage"] == 1]
    second = [row for row in rows if row["stage"] == 2]
    assert [row["lr"] for row in second] == [row["lr"] for row in first]
    assert [row["step"] for row in second] == [2 * 20 - 20 + row["step"] for row in first]


@pytest.mark.slow
def test_a_run_stopped_in_either_stage_equals_an_unbroken_one(train, rows_of, stop_after):
    changes = {**CHANGES, **ALL, "training.select": ("last",)}
    whole = train(changes, "whole")
    for stop in (2, 7, 20, 21, 24, whole.fitted.steps - 1):
        with stop_after(stop), pytest.raises(Interrupted):
            train(changes, f"stop{stop}")
        torch.rand(3)
        resumed = train(changes, f"stop{stop}")
        assert rows_of(resumed.folder) == rows_of(whole.folder)
        assert resumed.folder.model.read_bytes() == whole.folder.model.read_bytes()
        assert resumed.fitted.selections == whole.fitted.selections
        assert resumed.fitted.notes[-1] == whole.fitted.notes[-1]


def test_the_reported_weights_are_of_the_last_step(train):
    staged = train({**CHANGES, **ALL})
    assert staged.folder.selected("val_loss").read_bytes() == staged.folder.model.read_bytes()
    first = load_tensors(staged.folder.stage(1).model)
    assert not torch.equal(first["head.weight"], load_tensors(staged.folder.model)["head.weight"])
    assert f"{staged.fitted.reported.step} steps that val_loss chose" in staged.fitted.notes[-1]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"training.averaging": "swad"}, r"averaging: swad needs"),
        ({"evaluation.recalibrate": "temperature"}, "images that retrain_all trains on"),
    ],
)
def test_what_needs_validation_afterwards_is_refused_first(changes, said, train, tmp_path):
    with pytest.raises(InputError, match=said):
        train({**CHANGES, **ALL, **changes})
    assert not list(tmp_path.glob("**/last.ckpt"))


def test_without_validation_images_there_is_nothing_to_add(train, make_config, parts_of):
    changes = {**CHANGES, **ALL, "training.select": ("last",)}
    parts = parts_of(make_config(changes))
    parts.data = parts.data.with_validation()
    with pytest.raises(InputError, match="but there are none"):
        train(changes, parts=parts)


def test_it_stands_alone():
    stages = ["retrain_all", "tau_norm"]
    with pytest.raises(ValidationError, match="retrain_all is the only stage"):
        TrainingConfig(stages=stages)
