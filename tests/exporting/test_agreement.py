"""An export that answers otherwise is not kept."""

import pytest
import torch

from medldr.errors import InputError
from medldr.exporting.agreement import Reference, check, difference
from medldr.exporting.exportable import make_exportable


def test_large_logits_are_compared_relative_to_their_size():
    ours = torch.tensor([[1000.0, 0.5]]), torch.tensor([[1.0, 0.0]])
    theirs = torch.tensor([[1000.05, 0.5]]), torch.tensor([[1.0, 0.0]])
    assert difference(ours, theirs).within
    assert not difference(ours, (torch.tensor([[1000.0, 0.5005]]), ours[1])).within


def test_log_odds_are_compared_relative_to_their_own_size():
    """Images may change places although logits are close and probabilities are all 1."""
    sure = torch.tensor([[1.0, 0.0]])
    ours, theirs = (torch.tensor([[gap + 950.0, 950.0]]) for gap in (50.0, 50.09))
    assert not difference((ours, sure), (theirs, sure)).within
    assert difference((ours, sure), (theirs, sure), multi_label=True).within
    assert difference((ours, sure), (ours + 0.09, sure)).within


def test_a_number_that_is_none_is_a_difference():
    value = float("nan")
    ours = torch.zeros(1, 2), torch.full((1, 2), 0.5)
    assert not difference(ours, (torch.tensor([[value, 0.0]]), ours[1])).within
    assert not difference(ours, (ours[0], torch.tensor([[value, 0.5]]))).within


def test_every_batch_is_compared_and_the_worst_reported(tiny, record_of, stored_images):
    record = record_of(1, (6, 4))
    module = make_exportable(tiny(), record)
    seen = []

    def run(image):
        seen.append(tuple(image.shape))
        assert image.dtype == torch.float32
        logits, probabilities = module(image)
        return logits + 5e-5 * (len(image) == 3), probabilities

    with torch.no_grad():
        reference = Reference(stored_images(record, 11))
        found = check(run, module, record.stored, reference, "model.onnx").difference
    assert seen == [(n, 1, 6, 4) for n in (1, 3, 8, 3)]
    assert found.logit == pytest.approx(5e-5, abs=1e-6)
    assert found.probability == 0


def test_a_difference_on_real_images_alone_is_found(tiny, record_of, stored_images):
    record = record_of(1, (6, 4))
    module = make_exportable(tiny(), record)
    real = stored_images(record, 2, seed=5)

    def run(image):
        logits, probabilities = module(image)
        return logits, probabilities + 0.01 * torch.equal(image, real.float())

    with (
        torch.no_grad(),
        pytest.raises(InputError, match=r"on real images .* probability by 0\.01"),
    ):
        check(run, module, record.stored, Reference(real), "model.onnx")


def test_real_images_of_another_shape_are_refused(tiny, record_of):
    record = record_of(1, (6, 4))
    module = make_exportable(tiny(), record)
    with torch.no_grad(), pytest.raises(InputError, match=r"\(1, 4, 6\).* \(1, 6, 4\)"):
        check(module, module, record.stored, Reference(torch.zeros(2, 1, 4, 6)), "")
