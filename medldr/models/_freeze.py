"""What of a network lies before the end of a stage, seen while one image passes through it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import torch
from torch import Tensor, nn

Latents = Callable[[Tensor, dict[str, Callable[[Tensor], Tensor]]], Tensor]


def before(
    network: nn.Module, latents: Latents, image: Tensor, stage: str
) -> tuple[list[str], list[str]]:
    """Modules and parameters that a stage's output is made of, and nothing after it is.

    Nothing is assumed of how a network is written: a module lies before the end of the stage if it
    has run when the stage's tap is called, and is not run again; a parameter, if no gradient
    reaches it once that output is cut off.

    Args:
        network: In eval mode.
        latents: From images and taps to latents.
        image: ``(1, C, *S)``.
        stage: Name of the last frozen stage.

    Returns:
        Names in the network.
    """
    early: list[str] = []
    late: set[str] = set()
    cut = False

    def noted(name: str) -> Callable[[nn.Module, Any, Any], None]:
        return lambda *_: late.add(name) if cut else early.append(name)

    def tap(value: Tensor) -> Tensor:
        nonlocal cut
        cut = True
        return value.detach().requires_grad_().clone()  # what follows may write into it

    modules = dict(network.named_modules())
    parameters = dict(network.named_parameters())
    with ExitStack() as stack, torch.enable_grad():
        for name, module in modules.items():
            stack.callback(module.register_forward_hook(noted(name)).remove)
        z = latents(image, {stage: tap})
    slopes = torch.autograd.grad(z.sum(), list(parameters.values()), allow_unused=True)
    fixed = [name for name, slope in zip(parameters, slopes, strict=True) if slope is None]
    return [name for name in dict.fromkeys(early) if name not in late], fixed
