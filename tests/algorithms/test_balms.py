"""BALMS beside its update, which `tests/fidelity` derives."""

import pytest
import torch
from lightning_fabric import Fabric

from medldr.config.method import method_id, method_title
from medldr.config.schema import TrainingConfig
from medldr.models.base import FeatureModel
from medldr.training.optim import build_optimizers
from medldr.training.step import Stepper, TrainStep
from medldr.types import Batch, DataSpec

COUNTS = (60, 12, 3)


class Flat(FeatureModel):
    """Latents are the pixels: only the classifier learns."""

    def __init__(self, dim=4, classes=3):
        super().__init__(stage_dims=(dim,) * 5, dim=dim, num_classes=classes)

    def latents(self, image, taps=None):
        return image.flatten(1)


@pytest.fixture
def build(standins):
    """A model, the algorithm and a batch of 12 rows, all in float64."""

    def make(rows=12, counts=COUNTS, **keys):
        spec = DataSpec("multi-class", ("a", "b", "c"), counts, 1, (2, 2))
        torch.manual_seed(0)
        model = Flat().double()
        algorithm = standins.make_algorithm("balms", spec, model, **keys).double().train()
        row = torch.arange(rows)
        image = torch.randn(rows, 1, 2, 2).double() + (row % 3).view(-1, 1, 1, 1)
        return model, algorithm, Batch(image, row % 3, torch.full_like(row, -1), row, row)

    return make


def stepper(model, algorithm, lr=0.1, **options):
    training = TrainingConfig(steps=10, lr=lr, momentum=0.9, precision="float32", **options)
    return Stepper(
        Fabric(accelerator="cpu", devices=1),
        TrainStep(model, algorithm).train(),
        build_optimizers(algorithm.optimizers(model), training),
        total=10,
    )


def test_class_weights_count_in_the_trial_step_but_not_in_the_score(build):
    model, algorithm, batch = build()
    scores = []
    for weights, lr in (([1.0, 1, 1], 0.0), ([5.0, 1, 1], 0.0), ([1.0, 1, 1], 1), ([5.0, 1, 1], 1)):
        algorithm.use_class_weights(torch.tensor(weights).double())
        algorithm.trial_lr.fill_(lr)
        torch.manual_seed(3)
        scores.append(algorithm.meta_loss(model, batch).loss.item())
    assert scores[0] == scores[1]
    assert scores[2] != scores[3]


def test_classes_whose_images_harm_are_drawn_less(build):
    """Class a's images in the pool are labelled wrongly: those of b and c help the score."""
    model, algorithm, _ = build(loss="cross_entropy", counts=(10, 10, 10))
    with torch.no_grad():
        for p in model.head.parameters():
            p.zero_()
    step = stepper(model, algorithm, lr=0.5)
    corners = torch.eye(4).double()
    for number in range(60):
        torch.manual_seed(number)
        label = torch.arange(24) % 3
        shown = label.clone()
        shown[:12] = torch.where(label[:12] == 0, 1 + torch.arange(12) % 2, label[:12])
        image = corners[shown].view(-1, 1, 2, 2) + 0.1 * torch.randn(24, 1, 2, 2).double()
        algorithm.update(step, Batch(image, label, label * 0, label, torch.arange(24)))
    a, b, c = algorithm.rate_logits.sigmoid().tolist()
    assert a < 0.45
    assert min(b, c) > 0.5


def test_an_unset_loss_is_balanced_softmax(build):
    _, unset, _ = build()
    _, named, _ = build(loss="balanced_softmax")
    _, other, _ = build(loss="cross_entropy")
    names = [algorithm.classification.config.name for algorithm in (unset, named, other)]
    assert names == ["balanced_softmax", "balanced_softmax", "cross_entropy"]


def test_its_own_loss_is_no_part_of_its_name():
    for loss in (None, "balanced_softmax"):
        config = {"algorithm": {"name": "balms"} | ({"loss": {"name": loss}} if loss else {})}
        assert (method_title(config), method_id(config)) == ("BALMS (meta-sampler)", "balms")
    config = {"algorithm": {"name": "balms", "loss": {"name": "ldam"}}}
    assert method_id(config) == "balms+ldam"
