"""A batch in parts gives the weights that the whole batch gives."""

import pytest
import torch

from medldr.folders.files import load_tensors

PLAIN = {"model.norm": False, "model.dropout": 0.0, "training.momentum": 0.9}


def known(row):
    """What is defined: MCC is not, where one class is predicted for all images."""
    return {name: value for name, value in row.items() if value is not None}


@pytest.mark.parametrize("parts", [2, 4])
def test_parts_equal_the_whole_batch_for_a_mean_over_samples(train, rows_of, parts):
    changes = {**PLAIN, "training.batch_size": 9}
    whole = train(changes, "whole")
    split = train({**changes, "training.accumulate": parts}, "split")
    assert split.fitted.steps == whole.fitted.steps == 9
    expected = load_tensors(whole.folder.model)
    for name, value in load_tensors(split.folder.model).items():
        torch.testing.assert_close(value, expected[name], rtol=1e-4, atol=1e-6)
    for one, other in zip(rows_of(split.folder), rows_of(whole.folder), strict=True):
        assert one.keys() == other.keys()
        assert known(one) == pytest.approx(known(other), rel=1e-4)


def test_no_part_is_a_single_image(train, monkeypatch):
    sizes = []
    from medldr.algorithms.erm import ERM

    loss = ERM.loss

    def counted(self, model, batch):
        sizes.append(len(batch.index))
        return loss(self, model, batch)

    monkeypatch.setattr(ERM, "loss", counted)
    train({"training.accumulate": 4, "training.batch_size": 10, "training.epochs": 1})
    assert sizes == [3, 3, 2, 2, 3, 3, 2, 2, 3]
