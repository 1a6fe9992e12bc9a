"""Stages after the training of the whole network: the classifier is retrained or normalised."""

import numpy as np
import pytest
import torch
from pydantic import ValidationError

from medldr.config.schema import TrainingConfig
from medldr.errors import InputError
from medldr.folders.files import load_tensors
from medldr.folders.lifecycle import Interrupted
from medldr.training.later_stages.retrain_head import stage_config

WHOLE = {"training.epochs": 2, "training.select": ("val_accuracy", "last")}
HEAD = {"name": "retrain_head", "epochs": 2, "lr": 0.1}
TAU = {"name": "tau_norm", "tau": 0.5}


def weights_of(trained):
    return load_tensors(trained.folder.model)


def test_only_the_classifier_changes_and_starts_anew(train):
    plain = train(WHOLE, "plain")
    retrained = train({**WHOLE, "training.stages": [HEAD]}, "retrained")
    before, after = weights_of(plain), weights_of(retrained)
    assert before.keys() == after.keys()
    for name, value in before.items():
        assert torch.equal(value, after[name]) == (not name.startswith("head.")), name
    assert load_tensors(retrained.folder.stage(1).model).keys() == before.keys()


def test_the_first_stage_is_the_run_without_stages(train, rows_of):
    plain = train(WHOLE, "plain")
    staged = train({**WHOLE, "training.stages": [HEAD]}, "staged")
    first = staged.folder.stage(1)
    assert first.model.read_bytes() == plain.folder.model.read_bytes()
    rows = rows_of(first)
    assert [row.pop("stage") for row in rows] == [1, 1]
    assert rows == rows_of(plain.folder)


def test_evaluations_are_counted_on(train, rows_of):
    staged = train({**WHOLE, "training.stages": [HEAD]}, "staged")
    rows = rows_of(staged.folder)
    assert [row["epoch"] for row in rows] == [1, 2, 3, 4]
    assert [row["stage"] for row in rows] == [1, 1, 2, 2]
    assert [row["step"] for row in rows] == sorted({row["step"] for row in rows})
    assert staged.fitted.epochs == 4
    assert staged.fitted.steps == rows[-1]["step"]
    assert all(chosen.epoch in (3, 4) for chosen in staged.fitted.selections.values())
    (stage,) = staged.fitted.facts["stages"]
    assert (stage["name"], stage["epochs"], stage["lr"]) == ("retrain_head", 2, 0.1)
    assert stage["began_from"]["rule"] == "val_accuracy"


def test_it_equals_a_plain_loop_over_frozen_latents(train, make_config, parts_of):
    """Logistic regression on the latents of the first stage, with the stage's own batches."""
    stage = {
        "name": "retrain_head",
        "epochs": 2,
        "lr": 0.1,
        "sampler": "shuffle",
        "schedule": "constant",
    }
    staged = train({**WHOLE, "training.stages": [stage], "training.momentum": 0.0}, "staged")
    parts = parts_of(staged.config)
    model = parts.model
    start = {k: v.double() for k, v in model.head.state_dict().items()}
    model.load_state_dict(load_tensors(staged.folder.stage(1).model))
    model.eval()
    loader = parts.data.train_loader(staged.config, sampler="shuffle", device="cpu")
    weight, bias = start["weight"].requires_grad_(), start["bias"].requires_grad_()
    for epoch in range(2):
        for batch in loader.batches(epoch):
            z = model.latents(batch.image).detach().double()
            logits = z @ weight.T + bias
            loss = torch.nn.functional.cross_entropy(logits, batch.label)
            for value, grad in zip(
                (weight, bias), torch.autograd.grad(loss, (weight, bias)), strict=True
            ):
                value.data -= 0.1 * grad
    found = load_tensors(staged.folder.selected("last"))
    np.testing.assert_allclose(found["head.weight"], weight.detach().numpy(), atol=1e-6)
    np.testing.assert_allclose(found["head.bias"], bias.detach().numpy(), atol=1e-6)


def test_the_trained_classifier_can_go_on(train):
    stage = {**HEAD, "restart": False, "lr": 1e-12}
    plain = train(WHOLE, "plain")
    after = weights_of(train({**WHOLE, "training.stages": [stage]}, "staged"))
    for name, value in weights_of(plain).items():
        torch.testing.assert_close(after[name], value, atol=1e-7, rtol=0)


def test_weights_are_divided_by_a_power_of_their_length(train):
    plain, staged = train(WHOLE, "plain"), train({**WHOLE, "training.stages": [TAU]}, "staged")
    for rule in ("val_accuracy", "last"):
        before = load_tensors(plain.folder.selected(rule))
        after = load_tensors(staged.folder.selected(rule))
        weight = before["head.weight"].double().numpy()
        expected = weight / np.linalg.norm(weight, axis=1, keepdims=True) ** 0.5
        np.testing.assert_allclose(after["head.weight"], expected, rtol=1e-6)
        assert not after["head.bias"].any()
        assert torch.equal(before["conv.weight"], after["conv.weight"])
    assert weights_of(staged)["head.bias"].abs().sum() == 0


def test_tau_is_chosen_by_the_rule(train, rows_of):
    changes = {"training.epochs": 2, "training.select": ("val_accuracy",)}
    plain = train(changes, "plain")
    staged = train({**changes, "training.stages": ["tau_norm"]}, "staged")
    without_bias = staged.fitted.reported.value
    assert without_bias is not None
    assert any(
        "tau_norm: the classifier that val_accuracy chose has tau" in n for n in staged.fitted.notes
    )
    assert staged.fitted.reported.step == plain.fitted.reported.step
    *rows, last = rows_of(staged.folder)
    assert last["val/accuracy"] == staged.fitted.reported.value
    assert (last["stage"], last["step"]) == (2, staged.fitted.reported.step)
    assert {row["stage"] for row in rows} == {1}


@pytest.mark.parametrize("stages", [[HEAD], [HEAD, TAU], [TAU, {**HEAD, "restart": False}]])
def test_a_run_stopped_in_any_stage_equals_an_unbroken_one(stages, train, rows_of, stop_after):
    changes = {**WHOLE, "training.stages": stages}
    whole = train(changes, "whole")
    for stop in (2, whole.fitted.steps - 1):
        with stop_after(stop), pytest.raises(Interrupted):
            train(changes, f"stop{stop}")
        torch.rand(3)
        resumed = train(changes, f"stop{stop}")
        assert rows_of(resumed.folder) == rows_of(whole.folder)
        assert resumed.folder.model.read_bytes() == whole.folder.model.read_bytes()
        assert resumed.fitted.facts["stages"] == whole.fitted.facts["stages"]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"training.stages": ["tau_norm"]}, "'last' compares nothing"),
        ({"training.stages": [TAU], "model.head": "cosine"}, "needs a linear classifier"),
        ({"training.stages": [{**HEAD, "sampler": "domains"}], "data.sites": 0}, "needs a domain"),
    ],
)
def test_a_stage_that_cannot_work_is_refused_before_the_first_begins(
    changes, said, train, tmp_path
):
    with pytest.raises(InputError, match=said):
        train({**WHOLE, **changes}, "refused")
    assert not list(tmp_path.glob("**/last.ckpt"))


def test_a_stage_needs_one_length():
    with pytest.raises(ValidationError, match="either epochs or steps"):
        TrainingConfig(stages=[{"name": "retrain_head"}])


def test_averaged_weights_are_normalised_too(train):
    changes = {
        "training.epochs": 4,
        "training.select": ("swad",),
        "training.averaging": {"name": "swad", "n_converge": 1, "n_tolerance": 1},
    }
    plain = train(changes, "plain")
    staged = train({**changes, "training.stages": [TAU]}, "staged")
    before, after = weights_of(plain)["head.weight"], weights_of(staged)["head.weight"]
    torch.testing.assert_close(after, before / before.norm(dim=1, keepdim=True) ** 0.5)
    with pytest.raises(InputError, match="'swad' compares nothing"):
        train({**changes, "training.stages": ["tau_norm"]}, "refused")


def test_a_run_stopped_in_its_first_stage_can_be_resumed(train, stop_after):
    changes = {**WHOLE, "training.stages": [HEAD]}
    with stop_after(2), pytest.raises(Interrupted) as caught:
        train(changes, "stopped")
    assert caught.value.resumable
    whole = train(changes, "stopped")
    assert whole.folder.has_state


def test_batches_of_a_stage_are_as_large_as_those_of_blocks_of_domains(make_config, parts_of):
    config = make_config({**WHOLE, "training.batch_per_domain": 2, "training.stages": [HEAD]})
    staged = stage_config(config, config.training.stages[0], parts_of(config).data.spec)
    assert staged.training.batch_per_domain is None
    assert staged.training.batch_size == 2 * 2  # of two sites
