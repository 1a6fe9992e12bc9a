"""3D convolutions that stay correct on tiny feature maps in bfloat16 on a CPU.

oneDNN, which torch uses there, fails where a map is smaller than the kernel: its bfloat16
kernels leave the weight gradient partly unwritten (other numbers each time, or NaN), and where a
strided output is one voxel wide a processor with AMX gets a wrong forward. Both concern maps of
a few voxels, which are computed in float32 at no real cost.

Source:
    Measured with torch 2.14.1: a 3x3x3 kernel on 2 slices, a 5x5x5 kernel on 2 to 4, stride 1 and
    2, any number of channels. The forward: github.com/pytorch/pytorch/issues/169688.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import conv3d


def convolve(
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    groups: int,
) -> Tensor:
    """`torch.nn.functional.conv3d`, in float32 where `too_small` says so."""
    if not too_small(x, weight, stride, padding, dilation):
        return conv3d(x, weight, bias, stride, padding, dilation, groups)
    with torch.autocast("cpu", enabled=False):
        full = None if bias is None else bias.float()
        out = conv3d(x.float(), weight.float(), full, stride, padding, dilation, groups)
    return out.bfloat16()


def too_small(
    x: Tensor,
    weight: Tensor,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
) -> bool:
    """Whether bfloat16 on the CPU would go wrong: a map under the kernel, or one strided voxel.

    Example:
        >>> x, weight = torch.ones(1, 4, 2, 2, 2), torch.ones(4, 4, 3, 3, 3)
        >>> at = ((1, 1, 1), (1, 1, 1), (1, 1, 1))
        >>> too_small(x, weight, *at), too_small(x.bfloat16(), weight.bfloat16(), *at)
        (False, True)
    """
    if x.device.type != "cpu" or not _in_bfloat16(x):
        return False
    for size, kernel, step, pad, spread in zip(
        x.shape[2:], weight.shape[2:], stride, padding, dilation, strict=True
    ):
        reach = spread * (kernel - 1) + 1
        if size < reach or (step > 1 and size + 2 * pad - reach < step):
            return True
    return False


def _in_bfloat16(x: Tensor) -> bool:
    if torch.is_autocast_enabled("cpu") and x.dtype != torch.float64:
        return torch.get_autocast_dtype("cpu") == torch.bfloat16
    return x.dtype == torch.bfloat16


class Conv3d(nn.Conv3d):
    """`torch.nn.Conv3d` through `convolve`."""

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:  # noqa: A002
        if isinstance(self.padding, str) or self.padding_mode != "zeros":
            out: Tensor = super()._conv_forward(input, weight, bias)
            return out
        at = (self.stride, self.padding, self.dilation)
        return convolve(input, weight, bias, *at, self.groups)


def use_here(network: nn.Module) -> nn.Module:
    """Make every `torch.nn.Conv3d` of a network one of ours, in place; nothing else changes."""
    for module in network.modules():
        if type(module) is nn.Conv3d:
            module.__class__ = Conv3d
    return network
