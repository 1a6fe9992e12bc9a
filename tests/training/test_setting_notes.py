"""Notes on settings that make up for rare classes twice, or that do nothing."""

import pytest

from medldr.config.schema import TrainingConfig
from medldr.training.start_checks import over_corrected, without_effect

LATE = {"kind": "effective_number", "start": 2}
BALANCED = {"name": "erm", "loss": "balanced_softmax"}


@pytest.fixture
def said(make_config, parts_of):
    """The note on a method with a sampler and class weights; empty if there is none."""

    def said(algorithm, sampler="shuffle", weights=None, **model):
        keys = {f"model.{key}": value for key, value in model.items()}
        method = parts_of(make_config({"algorithm": algorithm, **keys})).algorithm
        notes = over_corrected(method, sampler, TrainingConfig(class_weights=weights))
        assert len(notes) < 2
        return notes[0] if notes else ""

    return said


@pytest.mark.parametrize(
    "loss", ["balanced_softmax", "logit_adjusted", "class_balanced", "cb_focal"]
)
def test_a_loss_by_counts_is_not_balanced_again(said, loss):
    method = {"name": "erm", "loss": loss}
    assert said(method) == ""
    assert said(method, "weighted") == (
        f"the loss {loss} and class-balanced batches (sampler: weighted) each make up for rare "
        "classes: keep one of them"
    )
    for weights in ("balanced", LATE, (1.0, 2.0, 3.0)):
        assert f"the loss {loss} and training.class_weights" in said(method, weights=weights)


@pytest.mark.parametrize("loss", ["focal", {"name": "cb_focal", "beta": 0}])
def test_one_correction_is_not_told(said, loss):
    method = {"name": "erm", "loss": loss}
    assert said(method, "weighted") == said(method, weights="balanced") == ""
    assert "class-balanced batches (sampler: weighted) and training.class_weights" in said(
        method, "weighted", "balanced"
    )


def test_the_loss_of_a_base_counts(said):
    algorithm = {"name": "latentdr", "base": {"name": "erm", "loss": "balanced_softmax"}}
    assert said(algorithm) == ""
    assert said(algorithm, "weighted").startswith("the loss balanced_softmax and")


def test_balms_asks_for_balanced_batches_and_gives_frequencies_back(said):
    assert said({"name": "balms"}, "weighted") == ""
    assert said({"name": "balms"}, "weighted", "balanced").startswith("the loss balanced_softmax")


def test_keys_of_the_schedule_that_do_nothing_are_told():
    silent = TrainingConfig(epochs=2, warmup_from=0.5, cosine_zero="last", class_weights=LATE)
    told = [note.partition(" has no effect")[0] for note in without_effect(silent)]
    assert told == ["training.warmup_from", "training.cosine_zero", "training.class_weights"]
    used = {"warmup": 2, "warmup_from": 0.5, "schedule": "cosine", "cosine_zero": "last"}
    assert without_effect(TrainingConfig(**used)) == without_effect(TrainingConfig()) == []


def test_a_stage_is_judged_by_its_own_settings(train):
    """Its batches are class-balanced, and it has the loss of the first stage unless it says so."""
    changes = {
        "algorithm": BALANCED,
        "training.epochs": 2,
        "training.warmup": 1,
        "training.warmup_from": 0.5,
        "training.select": ("last",),
    }
    stage = {"name": "retrain_head", "epochs": 1}
    run = train({**changes, "training.stages": [stage]}, "same loss")
    notes = [note for note in run.fitted.notes if "make up for rare classes" in note]
    assert len(notes) == 1
    assert "the loss balanced_softmax and class-balanced batches" in notes[0]
    plain = {**stage, "algorithm": {"name": "erm", "loss": "cross_entropy"}}
    run = train({**changes, "training.stages": [plain]}, "crt")
    assert not [n for n in run.fitted.notes if "make up for rare classes" in n or "no effect" in n]
