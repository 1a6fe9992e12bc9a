"""In the first steps the classifier alone is trained; then its optimizer starts anew."""

import pytest
import torch

from medldr.errors import InputError
from medldr.folders.files import load_checkpoint
from medldr.training.trainer import Trainer

CHANGES = {
    "training.steps": 6,
    "training.optimizer": "adam",
    "training.weight_decay": 0.1,
    "training.schedule": "constant",
    "training.select": ("last",),
}


METHODS = {
    "erm": {},
    "latentdr": {"degrade": "pool"},
    # Those with a penalty that grows, with several optimizers, and with steps of their own.
    "irm": {},
    "isda": {},
    "xdomainmix": {},
    "dann": {},
    "sagnet": {},
    "balms": {},
    "fish": {},
    "mldg": {},
    "mldg, second order": {"order": "second", "inner": "sgd"},
}


@pytest.mark.parametrize("name", METHODS)
def test_the_encoder_and_its_statistics_stay_to_the_last_bit(
    name, train, make_config, parts_of, monkeypatch
):
    method = {"algorithm": {"name": name.partition(",")[0], **METHODS[name]}}
    changes = {
        **CHANGES,
        **method,
        "training.warmup_head": 3,
        "training.evaluate_every": 2,
        "training.batch_size": 12,
        "data.sites": 3,
    }
    first = parts_of(make_config(changes)).model.state_dict()
    path, look_after = [], Trainer.look_after

    def watched(trainer, watch):
        path.append({k: v.clone() for k, v in trainer.model.state_dict().items()})
        look_after(trainer, watch)

    monkeypatch.setattr(Trainer, "look_after", watched)
    train(changes)
    encoder = [name for name in first if not name.startswith("head.")]
    for weights in path[:3]:
        assert all(torch.equal(weights[name], first[name]) for name in encoder)
        assert not torch.equal(weights["head.weight"], first["head.weight"])
    assert not any(torch.equal(path[-1][name], first[name]) for name in encoder)


def test_the_optimizer_starts_anew_when_all_weights_train(train):
    state = load_checkpoint(train({**CHANGES, "training.warmup_head": 4}).folder.last)
    moments = state["shared"]["optimizer/main"]["state"]
    assert {int(of["step"]) for of in moments.values()} == {2}


def test_a_run_that_is_all_warm_up_is_refused(train):
    with pytest.raises(InputError, match=r"training\.warmup_head: 6 takes up the whole run of 6"):
        train({**CHANGES, "training.warmup_head": 6})
