"""The rows of each source domain within a batch, over all processes.

Methods that compare domains see the rows of all processes, so the protocol does not depend on the
number of processes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from medldr.algorithms._gather import RowGatherer, several_processes
from medldr.algorithms.base import Algorithm, AlgorithmConfig
from medldr.errors import InputError
from medldr.models.base import FeatureModel
from medldr.types import DataSpec


class Blocks:
    """The positions of each domain's rows in the batch of all processes.

    Create it before the network runs: the host waits for the sizes, which would otherwise split a
    compiled loss.

    Args:
        domain: ``(B,)`` domain numbers of this process's rows.

    Attributes:
        domains: Numbers of the domains that are present, ascending.
    """

    def __init__(self, domain: Tensor) -> None:
        self._rows = RowGatherer(len(domain), domain.device) if several_processes() else None
        everybody = domain if self._rows is None else self._rows.gather(domain)
        self._order = everybody.argsort(stable=True)
        present, sizes = torch.unique(everybody, return_counts=True)
        self.domains: tuple[int, ...] = tuple(present.tolist())
        self._sizes: list[int] = sizes.tolist()

    def of(self, value: Tensor) -> tuple[Tensor, ...]:
        """The rows ``(B_e, ...)`` of each domain, in the order of `domains`, with gradients.

        Args:
            value: ``(B, ...)``, this process's rows.
        """
        everybody = value if self._rows is None else self._rows.gather(value)
        return torch.split(everybody[self._order], self._sizes)


def domain_risks(algorithm: Algorithm, logits: Tensor, label: Tensor, blocks: Blocks) -> Tensor:
    """Mean classification loss of each domain ``(n,)``, in the order of ``blocks.domains``.

    The run's class weights count as in `Algorithm.classification_loss`, within each domain.

    Example:
        >>> from medldr.algorithms.erm import ALGORITHM, Config
        >>> from medldr.models.base import FeatureModel
        >>> from medldr.types import DataSpec
        >>> spec = DataSpec("multi-class", ("a", "b"), (1, 1), 1, (8, 8))
        >>> model = FeatureModel(stage_dims=(2,), dim=2, num_classes=2)
        >>> erm = ALGORITHM(Config(), spec, model)
        >>> blocks = Blocks(torch.tensor([1, 0, 1]))
        >>> logits = torch.tensor([[0.0, 0.0], [50.0, 0.0], [0.0, 0.0]])
        >>> label = torch.zeros(3, dtype=torch.int64)
        >>> [round(risk, 3) for risk in domain_risks(erm, logits, label, blocks).tolist()]
        [0.0, 0.693]
    """
    losses, weights = algorithm.sample_losses(logits, label)
    if weights is None:
        return torch.stack([own.mean() for own in blocks.of(losses)])
    tiny = torch.finfo(losses.dtype).tiny  # all weights of a domain may be zero
    pairs = zip(blocks.of(losses * weights), blocks.of(weights), strict=True)
    return torch.stack([own.sum() / weight.sum().clamp_min(tiny) for own, weight in pairs])


def rows_of(domains: Sequence[int], wanted: Sequence[int], device: torch.device) -> list[Tensor]:
    """The rows of each wanted domain within a batch whose rows are of these domains."""
    numbers = np.array(domains)
    return [torch.from_numpy(np.flatnonzero(numbers == one)).to(device) for one in wanted]


class ComparesDomains(Algorithm):
    """An algorithm that compares source domains, of which it needs several.

    Raises:
        InputError: If all training images are of one domain.
    """

    needs_domains = True
    sampler = "domains"

    def __init__(self, config: AlgorithmConfig, spec: DataSpec, model: FeatureModel) -> None:
        super().__init__(config, spec, model)
        if len(spec.train_domains) == 1:
            raise InputError(
                f"algorithm {config.name} compares source domains and needs at least two, but all "
                f"training images are from {spec.train_domains[0]}. Hold out fewer domains "
                "(data.held_out), or use an algorithm that works with one (erm, latentdr)"
            )

    def risk_logs(self, blocks: Blocks, risks: Tensor) -> dict[str, Tensor]:
        """Each domain's risk, by its name in the logs."""
        names = (self.spec.train_domains[domain] for domain in blocks.domains)
        pairs = zip(names, risks, strict=True)
        return {f"loss/domain/{name}": risk.detach() for name, risk in pairs}
