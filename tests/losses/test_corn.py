import numpy as np
import pytest
import torch
from torch import nn

from medldr.errors import InputError
from medldr.latent import LatentDR
from medldr.losses.corn import LOSS, Config
from medldr.models.base import CornHead, CosineHead
from medldr.types import DataSpec

LOGITS = [[1, -1], [0.5, 2], [-0.3, 0.4], [2, -0.7]]
LABEL = [0, 1, 2, 2]


@pytest.fixture
def loss():
    return LOSS(Config(), DataSpec("ordinal", ("0", "1", "2"), (1, 1, 2), 1, (8, 8)))


@pytest.fixture
def log_p():
    """What the head gives for the logits of the worked values."""
    head = CornHead(2, 3).double()
    head.decisions = nn.Identity()
    return head(torch.tensor(LOGITS, dtype=torch.float64))


def published(logits, label):
    """Binary cross-entropies of each decision over the samples that reach it, as CORN's code.

    Returns:
        Their sum, and how many there are.
    """
    total, members = 0.0, 0
    for j in range(logits.shape[1]):
        entered = label > j - 1
        z, higher = logits[entered, j], label[entered] > j
        total += np.log1p(np.exp(np.where(higher, -z, z))).sum()
        members += entered.sum()
    return total, members


def test_the_worked_values(loss, log_p):
    each = loss(log_p, torch.tensor(LABEL))
    np.testing.assert_allclose(each[0], 1.3132617, atol=5e-8)
    np.testing.assert_allclose(each[1:], [2.6010, 1.3674, 1.2301], atol=5e-5)
    assert each.sum().item() == pytest.approx(6.5117512, abs=5e-8)


def test_the_published_value_is_ours_times_samples_over_decisions(loss, log_p):
    total, members = published(np.array(LOGITS), np.array(LABEL))
    assert (total / members, members) == (pytest.approx(0.9302502, abs=5e-8), 7)
    mean = loss(log_p, torch.tensor(LABEL)).mean().item()
    assert mean * len(LABEL) / members == pytest.approx(total / members, rel=1e-12)


def test_a_soft_label_is_the_mean_of_the_losses_of_its_classes(loss, log_p):
    soft = torch.tensor([[0.2, 0.5, 0.3]] * 4, dtype=torch.float64)
    of_class = [loss(log_p, torch.full((4,), k)).numpy() for k in range(3)]
    np.testing.assert_allclose(loss(log_p, soft), np.array([0.2, 0.5, 0.3]) @ of_class)


def test_all_terms_of_latentdr_are_its_sums(loss):
    torch.manual_seed(0)
    head, aug = CornHead(8, 3).double(), LatentDR(8, 3, dropout=0.0).double()
    z, y = torch.randn(6, 8, dtype=torch.float64), torch.tensor([0, 1, 2, 2, 1, 0])

    def mean(logits, target):
        return loss(logits, target).mean()

    found = aug.loss(z, y, head, criterion=mean).item()
    views = aug(z)

    def p(latents):
        weight, bias = (value.detach().numpy() for value in head.decisions.parameters())
        up = 1 / (1 + np.exp(-(latents.detach().numpy() @ weight.T + bias)))
        return np.stack([1 - up[:, 0], up[:, 0] * (1 - up[:, 1]), up[:, 0] * up[:, 1]], 1)

    rows = np.arange(6)
    terms = [-np.log(p(latents)[rows, y]).mean() for latents in (z, views.restored)]
    terms.append(-np.log(p(views.degraded)).mean())  # every class is a third of the batch
    assert found == pytest.approx(sum(terms), rel=1e-6)


@pytest.mark.parametrize("head", [nn.Linear(4, 3), CosineHead(4, 3)])
def test_another_head_is_refused_with_the_cure(head, loss):
    with pytest.raises(InputError, match=r"algorithm\.loss: corn.*Set model\.head: corn"):
        loss.bind(head)
