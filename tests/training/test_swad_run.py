"""A run with SWAD: nothing else changes, it resumes exactly, and what cannot work is reported."""

import numpy as np
import pytest
import torch

from medldr.errors import InputError
from medldr.folders.files import load_checkpoint, load_tensors
from medldr.folders.lifecycle import Interrupted
from medldr.training import trainer as trainer_module
from medldr.training.weights import swad as swad_module
from medldr.training.weights.loss_valley import find_valley
from medldr.training.weights.selection import parse_rules
from medldr.training.weights.swad import ValleyAverage

SHORT = [2, 1.5, 1.2, 1, 0.5, 0.6, 0.7, 2, 2, 2, 2, 2, 2]
"""A valley over segments 4 to 6 that dies with the last validation."""

PLAN = {
    "training.steps": 30,
    "training.evaluate_every": 2,
    "training.select": ("val_loss", "last"),
    "training.optimizer": "adam",
    "training.lr": 0.01,
}
SWAD = {**PLAN, "training.averaging": {"name": "swad", "bn_batches": 7}}


@pytest.fixture
def watched(monkeypatch):
    """Sets what SWAD receives at each validation: the losses given, then 2.0."""

    def use(losses, every=2):
        def loss(row):
            number = row["step"] // every - 1
            return losses[number] if number < len(losses) else 2.0

        monkeypatch.setattr(swad_module, "watched_loss", loss)

    return use


def test_nothing_else_of_a_run_changes_also_not_where_the_valley_ends(train, watched, rows_of):
    watched(SHORT[2:])
    plain, run = train(PLAN, "plain"), train(SWAD, "swad")
    assert rows_of(run.folder) == rows_of(plain.folder)
    assert run.fitted.steps == plain.fitted.steps == 30
    for rule in ("val_loss", "last"):
        ours = run.folder.selected(rule).read_bytes()
        assert ours == plain.folder.selected(rule).read_bytes()
        one, other = run.fitted.selections[rule], plain.fitted.selections[rule]
        assert one.written() == other.written()
    ours, theirs = load_checkpoint(run.folder.last), load_checkpoint(plain.folder.last)
    assert set(ours["shared"]) - set(theirs["shared"]) == {"valley"}
    torch_state = [saved["ranks"][0]["randomness"]["torch"] for saved in (ours, theirs)]
    assert torch.equal(*torch_state)


def test_a_run_averages_the_weights_after_each_step_of_the_valley(train, watched, monkeypatch):
    watched(SHORT)
    seen = []
    update = ValleyAverage.update

    def noted(self, model):
        update(self, model)
        seen.append({n: p.detach().double().numpy() for n, p in model.named_parameters()})

    monkeypatch.setattr(ValleyAverage, "update", noted)
    run = train({**SWAD, "training.select": ("swad", "last")})
    found = load_tensors(run.folder.model)
    assert set(found) == set(run.model.state_dict())
    for name in seen[0]:
        # Segment k is steps 2 k + 1 and 2 k + 2; segments 4 to 6 are in the valley.
        expected = np.mean([weights[name] for weights in seen[8:14]], axis=0)
        np.testing.assert_allclose(found[name].numpy(), expected, rtol=1e-5, atol=1e-7)
    assert run.folder.model.read_bytes() == run.folder.selected("swad").read_bytes()
    assert not (run.folder.checkpoints / "swad").exists()


def test_the_choice_tells_the_split_the_end_of_the_average_and_the_lowest_loss(train, watched):
    watched(SHORT)
    fitted = train(SWAD).fitted
    assert list(fitted.selections) == ["val_loss", "last", "swad"]
    choice = fitted.selections["swad"]
    assert (choice.split, choice.oracle, choice.step, choice.value) == ("val", False, 14, 0.5)
    assert choice.epoch == 3  # 5 steps each
    [note] = [note for note in fitted.notes if note.startswith("swad")]
    assert "after steps 9 to 14" in note
    assert "validation loss of 0.78" in note


def test_it_watches_the_mean_over_domains_where_rows_have_them(train, rows_of):
    run = train({**SWAD, "training.lr": 0.3, "training.steps": 40})
    rows = rows_of(run.folder)
    valley = find_valley([row["val/domain_loss"] for row in rows])
    choice = run.fitted.selections["swad"]
    assert choice.step == rows[max(valley.segments)]["step"]
    lowest = valley.lowest if valley.lowest is not None else len(rows) - 1
    assert choice.value == rows[lowest]["val/domain_loss"]
    assert swad_module.watched_loss({"val/loss": 0.25}) == 0.25


def test_a_loss_that_never_converges_leaves_the_last_segment_with_a_note(train, watched):
    watched([3 - 0.1 * k for k in range(15)])
    fitted = train(SWAD).fitted
    assert any("never converged" in n and "steps 29 to 30" in n for n in fitted.notes)
    assert fitted.selections["swad"].step == 30
    assert fitted.selections["swad"].value == pytest.approx(1.6)


def test_live_statistics_are_the_means_over_the_batches_asked_for(train, watched, monkeypatch):
    watched(SHORT)
    before = []
    publish = ValleyAverage.publish

    def noted(self, model, loader, epoch):
        before.append(torch.get_rng_state())
        choice = publish(self, model, loader, epoch)
        before.append(torch.get_rng_state())
        images = [b.image for e in (6, 7) for b in loader.batches(e)]
        before.append(images[: self.config.bn_batches])
        return choice

    monkeypatch.setattr(ValleyAverage, "publish", noted)
    run = train(SWAD)
    first, after, images = before
    assert torch.equal(first, after)
    found = load_tensors(run.folder.selected("swad"))
    means, variances = [], []
    for image in images:
        weight, bias = found["conv.weight"].double(), found["conv.bias"].double()
        z = torch.nn.functional.conv2d(image.double() / 255, weight, bias, padding=1).numpy()
        means.append(z.mean((0, 2, 3)))
        variances.append(z.transpose(1, 0, 2, 3).reshape(6, -1).var(1, ddof=1))
    assert len(images) == 7
    np.testing.assert_allclose(found["norm.running_mean"], np.mean(means, 0), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found["norm.running_var"], np.mean(variances, 0), rtol=1e-4)
    assert found["norm.num_batches_tracked"] == 7
    last = load_tensors(run.folder.selected("last"))
    assert not torch.equal(found["norm.running_mean"], last["norm.running_mean"])


@pytest.mark.parametrize(
    "stops", [(13,), pytest.param((1, 8, 9, 14, 21, 29), marks=pytest.mark.slow)]
)
def test_a_run_stopped_in_a_window_and_resumed_averages_the_same(stops, train, watched, stop_after):
    watched(SHORT)
    whole = train(SWAD, "whole")
    for stop in stops:
        with stop_after(stop), pytest.raises(Interrupted):
            train(SWAD, f"stop{stop}")
        torch.rand(2)  # what happens in between must not matter
        resumed = train(SWAD, f"stop{stop}")
        one, other = resumed.fitted.selections["swad"], whole.fitted.selections["swad"]
        assert one.written() == other.written()
        ours = resumed.folder.selected("swad").read_bytes()
        assert ours == whole.folder.selected("swad").read_bytes(), stop


@pytest.mark.slow  # kills
def test_a_kill_around_a_checkpoint_is_harmless(train, watched, monkeypatch, tmp_path):
    watched(SHORT)
    whole = train(SWAD, "whole").folder.selected("swad").read_bytes()
    for when in ("before the checkpoint", "after it"):
        for call in (1, 6, 15):
            name = f"killed at save {call}, {when}"
            run = _killed(train, monkeypatch, tmp_path / name, call, when)
            assert run.folder.selected("swad").read_bytes() == whole, name
            assert not (run.folder.checkpoints / "swad").exists(), name


def _killed(train, monkeypatch, folder, call, when):
    """A run that went on after it was killed at the n-th checkpoint."""
    calls = []
    save, tidy = trainer_module.Trainer.save, ValleyAverage.tidy

    def killed_before(self):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        save(self)

    def killed_after(self):
        calls.append(1)
        if len(calls) == call:
            raise KeyboardInterrupt
        tidy(self)

    with monkeypatch.context() as patch:
        if when == "after it":
            patch.setattr(ValleyAverage, "tidy", killed_after)
        else:
            patch.setattr(trainer_module.Trainer, "save", killed_before)
        with pytest.raises(KeyboardInterrupt):
            train(SWAD, folder.name)
    assert (folder / "checkpoints" / "swad").is_dir()
    return train(SWAD, folder.name)


def test_a_finished_run_is_left_as_it_is_and_a_kill_while_publishing_is_harmless(
    train, watched, monkeypatch
):
    watched(SHORT)
    run = train({**SWAD, "training.select": ("swad",)})
    files = {p: p.read_bytes() for p in run.folder.path.rglob("*") if p.is_file()}
    again = train({**SWAD, "training.select": ("swad",)})
    assert {p: p.read_bytes() for p in run.folder.path.rglob("*") if p.is_file()} == files
    assert again.fitted.selections == run.fitted.selections
    with monkeypatch.context() as patch:
        # The segments are half gone when it ends.
        def half(path):
            next(path.glob("*4.safetensors")).unlink()
            raise KeyboardInterrupt

        patch.setattr(swad_module.shutil, "rmtree", half)
        with pytest.raises(KeyboardInterrupt):
            train({**SWAD, "training.select": ("swad",)}, "killed")
    other = train({**SWAD, "training.select": ("swad",)}, "killed")
    assert other.folder.model.read_bytes() == run.folder.model.read_bytes()
    assert not (other.folder.checkpoints / "swad").exists()


def test_a_segment_that_is_gone_is_named_before_the_run_goes_on(
    train, watched, stop_after, tmp_path
):
    watched(SHORT)
    with stop_after(17), pytest.raises(Interrupted):
        train(SWAD)
    (tmp_path / "run" / "checkpoints" / "swad" / "000005.safetensors").unlink()
    with pytest.raises(
        InputError, match=r"cannot resume .*000005\.safetensors is missing.*restart=True"
    ):
        train(SWAD)


def test_what_cannot_work_is_refused_before_the_first_step(train):
    with pytest.raises(InputError, match=r"needs training\.averaging: swad\. Set that too"):
        train({**PLAN, "training.select": ("swad",)})
    with pytest.raises(InputError, match=r"needs a split 'val' or 'id_val'.*data\.val_fraction"):
        parse_rules(["last"], {"train", "test"}, averaging="swad")
    stop = {"training.early_stopping": 2, "training.select": ("swad",)}
    with pytest.raises(InputError, match=r"with the rule 'swad'. Put a rule such as val_auc"):
        train({**SWAD, **stop})
