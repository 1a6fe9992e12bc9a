"""What is refused before the first step, and weights taken over from another run."""

import pytest
import torch

from medldr.errors import InputError
from medldr.folders.files import load_tensors, save_tensors
from medldr.models.base import FeatureModel
from medldr.training import start_checks as start

LATENTDR = {"name": "latentdr", "degrade": "pool"}


def test_accumulation_is_refused_for_set_based_methods_unless_meant(train):
    changes = {"algorithm": LATENTDR, "training.accumulate": 2, "training.epochs": 1}
    with pytest.raises(InputError, match=r"training\.accumulate: 2.*accumulate_sets: true"):
        train(changes)
    fitted = train({**changes, "training.accumulate_sets": True}, "meant").fitted
    assert fitted.facts["set_size"] == 2


def test_accumulation_is_refused_for_methods_with_their_own_steps(train, parts_of, make_config):
    changes = {"training.accumulate": 2}
    parts = parts_of(make_config(changes))

    class Own(type(parts.algorithm)):
        def update(self, step, batch):
            return super().update(step, batch)

    parts.algorithm.__class__ = Own
    with pytest.raises(InputError, match=r"makes its own optimizer steps"):
        train(changes, parts=parts)


@pytest.mark.parametrize("changes", [{"training.batch_size": 1}, {"training.accumulate": 5}])
def test_single_images_per_pass_are_refused_with_batch_normalisation(train, changes):
    with pytest.raises(
        InputError, match=r"training\.batch_size: .*at least 2 images per pass.*here 1"
    ):
        train(changes)
    plain = {**changes, "model.norm": False, "training.epochs": 1}
    assert train(plain, "without").fitted.steps == (23 if "training.batch_size" in changes else 5)


def test_frozen_batch_normalisation_takes_single_images(train):
    frozen = {"training.batch_size": 1, "model.batch_norm": "frozen", "training.epochs": 1}
    fitted = train(frozen).fitted
    assert fitted.steps == 23
    assert any("mean 0 and variance 1" in note for note in fitted.notes)


@pytest.mark.parametrize("change", ["trained", "live", "warm"])
def test_statistics_at_rest_are_told_where_frozen_ones_would_normalise_nothing(change):
    model = FeatureModel(stage_dims=(4,), dim=4, num_classes=2)
    model.norms = torch.nn.Sequential(torch.nn.BatchNorm1d(4), torch.nn.BatchNorm3d(4))
    model.freeze_batch_norm()
    (note,) = start.resting_statistics(model, warm_start=False)
    assert "mean 0 and variance 1" in note
    if change == "trained":
        model.norms[1].running_var[2] = 1.5
    elif change == "live":
        model.batch_norm_frozen = False
    assert start.resting_statistics(model, warm_start=change == "warm") == []


def test_a_pass_of_single_images_is_refused_also_where_a_step_has_several_passes(train):
    with pytest.raises(InputError, match=r"at least 2 images.*here 1"):
        train({"algorithm": {"name": "fish"}, "training.batch_size": 1})


@pytest.mark.parametrize(("name", "sampler"), [("fish", "shuffle"), ("coral", "weighted")])
def test_methods_of_single_domains_refuse_a_sampler_without_blocks(name, sampler, train):
    with pytest.raises(InputError, match=rf"training\.sampler: {sampler} .*{name}.*domains"):
        train({"algorithm": {"name": name}, "training.sampler": sampler})
    train({"training.sampler": sampler, "training.epochs": 1}, "erm")


def test_blocks_too_small_for_a_method_are_refused_with_the_least_batch_size(train):
    changes = {"algorithm": {"name": "coral"}, "training.epochs": 1}
    with pytest.raises(InputError, match=r"coral needs 2 images of each domain per pass, not 1"):
        train({**changes, "training.batch_size": 3})
    train({**changes, "training.batch_size": 4}, "four")
    parts = {**changes, "training.accumulate": 2, "training.accumulate_sets": True}
    with pytest.raises(InputError, match=r"batch_size, or training\.accumulate: 1"):
        train({**parts, "training.batch_size": 6}, "parts")
    assert train({**parts, "training.batch_size": 8}, "eight").fitted.facts["set_size"] == 4


def test_rows_and_domains_of_a_step_are_facts(train):
    def facts(name, changes):
        found = train({**changes, "training.epochs": 1}, name).fitted.facts
        return found["sampler"], found["batch_size"], found["domains_per_batch"]

    fish = {"name": "fish"}
    assert facts("erm", {}) == ("shuffle", 5, None)
    assert facts("blocks", {"training.sampler": "domains"}) == ("domains", 4, 2)
    assert facts("fish", {"algorithm": fish}) == ("domains", 10, 2)
    assert facts("one", {"algorithm": {**fish, "meta_steps": 1}}) == ("domains", 5, 1)
    assert facts("coral", {"algorithm": {"name": "coral"}}) == ("domains", 4, 2)


def test_early_stopping_needs_a_rule_that_can_stop_improving(train):
    with pytest.raises(
        InputError, match=r"early_stopping has no metric to monitor with the rule 'last'"
    ):
        train({"training.early_stopping": 2, "training.select": ("last", "val_auc")})


def test_a_run_starts_from_the_reported_weights_of_another(train):
    first = train({"training.epochs": 1}, "first")
    given = load_tensors(first.folder.model)
    start = {
        "training.epochs": 1,
        "training.lr": 1e-12,
        "training.init_from": str(first.folder.path),
    }
    second = train(start, "second")
    for name, value in load_tensors(second.folder.model).items():
        if "running" not in name and "num_batches" not in name:
            torch.testing.assert_close(value, given[name])


def test_weights_that_do_not_fit_are_named(train, tmp_path):
    first = train({"training.epochs": 1}, "first")
    start = {"training.init_from": str(first.folder.path)}
    with pytest.raises(InputError, match=r"head\.weight: .*\[3, 6\].*\[4, 6\]"):
        train({**start, "data.classes": 4}, "four")
    with pytest.raises(InputError, match=r"Unexpected .*norm\.weight"):
        train({**start, "model.norm": False}, "plain")
    kept = {k: v for k, v in load_tensors(first.folder.model).items() if k != "conv.bias"}
    save_tensors(tmp_path / "some.safetensors", kept)
    with pytest.raises(InputError, match=r"Missing .*conv\.bias"):
        train({"training.init_from": str(tmp_path / "some.safetensors")}, "fewer")
    with pytest.raises(InputError, match=r"init_from: .*nowhere does not exist"):
        train({"training.init_from": str(tmp_path / "nowhere")}, "none")
