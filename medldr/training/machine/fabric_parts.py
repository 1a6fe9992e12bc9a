"""Our changes to Fabric: autocast that leaves the batch unchanged, and data parallelism."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.distributed as dist
from lightning_fabric.plugins import MixedPrecision
from lightning_fabric.strategies.ddp import DDPStrategy
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from medldr.algorithms.base import Algorithm


class Autocast(MixedPrecision):
    """Fabric's autocast, with the batch left unchanged.

    Fabric would turn every floating tensor of a batch into half precision. Autocast casts images
    where a layer benefits; mixed images and soft labels stay exact.
    """

    def convert_input(self, data: Any) -> Any:
        """Return the batch unchanged."""
        return data


class DataParallel(DDPStrategy):
    """Fabric's DDP, searching for unused parameters only where there can be some.

    A method with its own `update` or with several optimizers sends only a part of the weights
    through each backward pass. DDP would then silently not average the first step's gradients.
    """

    def setup_module(self, module: nn.Module) -> DistributedDataParallel:
        """Wrap the pair of model and algorithm."""
        self._ddp_kwargs["find_unused_parameters"] = has_unused_parameters(module)
        # With one input channel the two strides describe the same memory; nothing is copied.
        warnings.filterwarnings("ignore", message="Grad strides do not match bucket view strides")
        return super().setup_module(module)

    def all_gather(
        self, tensor: Tensor, group: Any | None = None, sync_grads: bool = False
    ) -> Tensor:
        """The tensor of every process, stacked; without gradients, which nothing here needs."""
        if sync_grads:
            raise ValueError("gradients may pass between processes only inside algorithms")
        parts = [torch.empty_like(tensor) for _ in range(self.world_size)]
        dist.all_gather(parts, tensor.detach().contiguous(), group=group)
        return torch.stack(parts)


def has_unused_parameters(module: nn.Module) -> bool:
    """Whether some weights may get no gradient in one of the algorithm's backward passes."""
    algorithm, model = module.algorithm, module.model
    assert isinstance(algorithm, Algorithm)
    own_update = type(algorithm).update is not Algorithm.update
    return own_update or len(algorithm.optimizers(model)) > 1  # type: ignore[arg-type]
