"""Notes on settings that make up for rare classes twice, or that do nothing."""

import pytest

from medldr.config.schema import TrainingConfig
from medldr.training.optim import Schedule
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
        "classes; together they correct too much. Keep one of them"
    )
    assert said(method, weights="balanced").startswith(
        f"the loss {loss} and training.class_weights"
    )
    assert said(method, weights=LATE).startswith(f"the loss {loss} and training.class_weights")
    assert "if its numbers are for rare classes" in said(method, weights=(1.0, 2.0, 3.0))


@pytest.mark.parametrize(
    "loss",
    [
        "cross_entropy",
        "focal",
        {"name": "logit_adjusted", "tau": 0},
        {"name": "class_balanced", "beta": 0},
        {"name": "cb_focal", "beta": 0},
    ],
)
def test_one_correction_is_not_told(said, loss):
    method = {"name": "erm", "loss": loss}
    assert said(method, "weighted") == said(method, weights="balanced") == ""
    assert "class-balanced batches (sampler: weighted) and training.class_weights" in said(
        method, "weighted", "balanced"
    )


def test_three_are_listed(said):
    assert said(BALANCED, "weighted", "balanced").startswith(
        "the loss balanced_softmax, class-balanced batches (sampler: weighted) and "
        "training.class_weights each"
    )


def test_ldam_with_late_weights_is_the_published_method(said):
    method = {"name": "erm", "loss": "ldam"}
    assert said(method, weights=LATE, head="cosine", cosine_scale=30.0) == ""


@pytest.mark.parametrize(
    "algorithm",
    [
        {"name": "latentdr", "loss": "balanced_softmax"},
        {"name": "latentdr", "base": {"name": "erm", "loss": "balanced_softmax"}},
    ],
)
def test_the_loss_of_a_base_counts(said, algorithm):
    assert said(algorithm) == ""
    assert said(algorithm, "weighted").startswith("the loss balanced_softmax and")


def test_balms_asks_for_balanced_batches_and_gives_frequencies_back(said):
    assert said({"name": "balms"}, "weighted") == ""
    assert said({"name": "balms"}, "weighted", "balanced").startswith("the loss balanced_softmax")


def test_keys_of_the_schedule_that_do_nothing_are_told():
    silent = TrainingConfig(epochs=4, warmup_from=0.5, cosine_zero="last")
    assert without_effect(silent) == [
        "training.warmup_from has no effect, because training.warmup is 0",
        "training.cosine_zero has no effect, because training.schedule is multistep",
    ]
    plain = Schedule(TrainingConfig(epochs=4), 1)
    assert [Schedule(silent, 1)(step) for step in range(4)] == [plain(step) for step in range(4)]
    both = TrainingConfig(schedule="constant", cosine_top="one_before", cosine_zero="last")
    (note,) = without_effect(both)
    assert note.startswith("training.cosine_top and training.cosine_zero have no effect")
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
    notes = [note for note in run.fitted.notes if "correct too much" in note]
    assert len(notes) == 1
    assert "the loss balanced_softmax and class-balanced batches" in notes[0]
    plain = {**stage, "algorithm": {"name": "erm", "loss": "cross_entropy"}}
    run = train({**changes, "training.stages": [plain]}, "crt")
    assert not [n for n in run.fitted.notes if "correct too much" in n or "no effect" in n]
