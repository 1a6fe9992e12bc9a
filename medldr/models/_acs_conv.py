"""The axial-coronal-sagittal convolution: 2D kernels slide over a volume in three orientations.

Output channels are divided, by position, into three orientations. An axial channel's kernel is in
(H, W), a coronal one's in (D, W), a sagittal one's in (D, H); along the third, flat axis its
extent is one. That equals a cubic kernel that is zero off its central slice, which fixes padding,
stride and dilation without special cases.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from acsconv.operators import ACSConv
from torch import Tensor
from torch.nn.functional import conv3d

from medldr.errors import InputError
from medldr.models._small_maps import convolve, too_small

Triple = tuple[int, int, int]


class AcsConv3d(ACSConv):  # type: ignore[misc]  # acsconv carries no types
    """acsconv's `ACSConv` (weights, split, initialisation, state dict) with an exact forward.

    The weight keeps its 2D shape ``(O, I / groups, K, K)``, so the state dict of a 2D network
    loads unchanged. Every odd kernel size, stride, padding, dilation and number of groups works.

    Args:
        in_channels: Channels ``I`` of the input.
        out_channels: Channels ``O`` of the output.
        kernel_size: Odd ``K``, the same on every axis.
        stride: One number, or one for each of D, H, W.
        padding: Zeros added at both ends of every axis; one number or three.
        dilation: One number, or three.
        groups: As in `torch.nn.Conv3d`; a group's output channels keep their orientations.
        acs_kernel_split: Channels per orientation; unset: thirds, the first ones larger.
        bias: Add one number per output channel.
        padding_mode: Only ``zeros``.

    Shape:
        - Input ``(B, I, D, H, W)``; output as that of a `Conv3d` with a cubic kernel.

    Raises:
        InputError: For an even kernel size, another padding mode, padding given as text, or a
            split that does not add up.

    Source:
        Yang et al., "Reinventing 2D Convolutions for 3D Images" (2021). For even kernels there
        is no central slice, so they are refused.

    Example:
        >>> layer = AcsConv3d(1, 3, 3, padding=1, bias=False)
        >>> _ = torch.nn.init.ones_(layer.weight)
        >>> layer(torch.ones(1, 1, 5, 5, 5))[0, :, 0, 2, 2].tolist()
        [9.0, 6.0, 6.0]
    """

    weight: torch.nn.Parameter
    bias: torch.nn.Parameter | None
    kernel_size: Triple
    stride: Triple
    padding: Triple
    dilation: Triple
    groups: int
    acs_kernel_split: Triple

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int | Triple = 1,
        padding: int | Triple = 0,
        dilation: int | Triple = 1,
        groups: int = 1,
        acs_kernel_split: Triple | None = None,
        bias: bool = True,
        padding_mode: str = "zeros",
    ) -> None:
        if kernel_size % 2 == 0:
            raise InputError(
                f"an ACS convolution needs an odd kernel size, not {kernel_size}: "
                "an even kernel has no central slice"
            )
        if padding_mode != "zeros":
            raise InputError(f"an ACS convolution pads with zeros only, not {padding_mode!r}")
        if isinstance(padding, str):
            raise InputError(f"an ACS convolution needs its padding as a number, not {padding!r}")
        super().__init__(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            groups,
            acs_kernel_split,
            bias,
            padding_mode,
        )
        split = self.acs_kernel_split
        if len(split) != 3 or min(split) < 0 or sum(split) != out_channels:
            raise InputError(
                f"acs_kernel_split {tuple(split)} must be three numbers that add up to "
                f"out_channels = {out_channels}"
            )

    def forward(self, x: Tensor) -> Tensor:
        """Convolve ``(B, I, D, H, W)``."""
        if self.kernel_size[0] == 1:  # the three orientations are one and the same
            weight = self.weight.unsqueeze(2)
            return convolve(
                x, weight, self.bias, self.stride, self.padding, self.dilation, self.groups
            )
        parts = [
            self._convolve(x, axis, first, last)
            for axis, first, last in self._parts()
            if last > first
        ]
        out = torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]
        return out if self.bias is None else out + self.bias.to(out.dtype).view(-1, 1, 1, 1)

    def _parts(self) -> Iterator[tuple[int, int, int]]:
        """Flat axis, first and last output channel of every convolution.

        With groups, an orientation's channels may begin or end within a group; whole groups in
        between stay one grouped convolution.
        """
        per_group = self.out_channels // self.groups
        start = 0
        for axis, size in enumerate(self.acs_kernel_split):
            stop = start + size
            if self.groups == 1:
                yield axis, start, stop
            else:
                whole_from = min(-(-start // per_group) * per_group, stop)
                whole_to = max(stop // per_group * per_group, whole_from)
                yield axis, start, whole_from
                yield axis, whole_from, whole_to
                yield axis, whole_to, stop
            start = stop

    def _convolve(self, x: Tensor, axis: int, first: int, last: int) -> Tensor:
        """Output channels ``first`` to ``last``, whose kernels are flat along ``axis``."""
        groups = self.groups
        if groups > 1:
            per_group, inputs = self.out_channels // groups, self.weight.shape[1]
            first_group, last_group = first // per_group, -(-last // per_group)
            groups = last_group - first_group
            x = x[:, first_group * inputs : last_group * inputs]
        padding = list(self.padding)
        # The cubic kernel reaches dilation * (K - 1) / 2 zeros beyond its central slice.
        padding[axis] -= self.dilation[axis] * (self.kernel_size[axis] - 1) // 2
        if padding[axis] < 0:
            cut = -padding[axis]
            x = x.narrow(2 + axis, cut, x.shape[2 + axis] - 2 * cut)
            padding[axis] = 0
        weight = self.weight[first:last].unsqueeze(2 + axis)
        reach = [
            d * (k - 1) - p
            for d, k, p in zip(self.dilation, weight.shape[2:], padding, strict=True)
        ]
        if too_small(x, weight, self.stride, padding, self.dilation):
            return convolve(x, weight, None, self.stride, padding, self.dilation, groups)
        plain = groups == 1 and self.stride == (1, 1, 1) and min(reach) >= 0
        if plain and _better_swapped(x, weight):
            operands = _as_autocast(x, weight)
            out: Tensor = _SwappedConv3d.apply(*operands, padding, list(self.dilation), reach)
            return out
        return conv3d(x, weight, None, self.stride, padding, self.dilation, groups)


_LANES = 16


def _better_swapped(x: Tensor, weight: Tensor) -> bool:
    """Whether the weight's gradient is faster with input and output exchanged.

    Vector units hold 16 numbers, and a gradient kernel lays output channels along them, so 21
    channels cost as much as 32. Exchanged, the input's channels are there instead.

    Measured on one AVX-512 core, 64 to 21 channels at 28^3, channels last, in GFLOP/s (a kernel
    with 64 outputs reaches 165 in float32, 88 in bfloat16): forward 94 and 57, input gradient 138
    and 84, weight gradient 57 and 52, exchanged 81 and 69. Not better: padding to 32 channels,
    one cubic kernel (three times the operations), folding an axis into a 2D convolution, a
    transposed convolution for the input gradient. Channels first: 33 for the input gradient.
    """
    if x.device.type != "cpu" or torch.compiler.is_compiling() or not torch.is_grad_enabled():
        return False
    outputs, inputs = weight.shape[:2]
    return _filled(inputs) > _filled(outputs) and weight.requires_grad


def _filled(channels: int) -> float:
    return channels / (-(-channels // _LANES) * _LANES)


def _as_autocast(x: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
    """What autocast would do to a convolution's operands, which it cannot see in a function."""
    device = x.device.type
    if torch.is_autocast_enabled(device) and x.dtype != torch.float64:
        dtype = torch.get_autocast_dtype(device)
        return x.to(dtype), weight.to(dtype)
    return x, weight


class _SwappedConv3d(torch.autograd.Function):
    """Stride-1 `conv3d` whose weight gradient takes the image as the output's gradient.

    With y[p] = sum_k w[k] x[p + k d - pad], the gradient of w[k] pairs x[q] with the gradient of
    y[q - k d + pad]. Read the other way round, that is the weight gradient of a convolution from
    y's gradient to x, with the kernel flipped and padding ``reach = d (K - 1) - pad``.
    """

    @staticmethod
    def forward(
        ctx: Any,
        x: Tensor,
        weight: Tensor,
        padding: list[int],
        dilation: list[int],
        reach: list[int],
    ) -> Tensor:
        ctx.save_for_backward(x, weight)
        ctx.padding, ctx.dilation, ctx.reach = padding, dilation, reach
        return conv3d(x, weight, None, 1, padding, dilation)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        last = x.is_contiguous(memory_format=torch.channels_last_3d)
        layout = torch.channels_last_3d if last else torch.contiguous_format
        grad = grads[0].contiguous(memory_format=layout)  # it is a slice of all channels
        grad_x = grad_weight = None
        if ctx.needs_input_grad[0]:
            grad_x = convolution_gradient(grad, x, weight, ctx.padding, ctx.dilation, 0)
        if ctx.needs_input_grad[1]:
            shape_only = weight.transpose(0, 1)
            swapped = convolution_gradient(x, grad, shape_only, ctx.reach, ctx.dilation, 1)
            grad_weight = swapped.transpose(0, 1).flip(2, 3, 4)
        return grad_x, grad_weight, None, None, None


def convolution_gradient(
    grad: Tensor, x: Tensor, weight: Tensor, padding: list[int], dilation: list[int], which: int
) -> Tensor:
    """Gradient of a stride-1 convolution for its input (``which`` 0) or its weight (1)."""
    mask = [which == 0, which == 1, False]
    fixed = ([1, 1, 1], padding, dilation, False, [0, 0, 0], 1, mask)
    gradients = torch.ops.aten.convolution_backward(grad, x, weight, None, *fixed)
    out: Tensor = gradients[which]
    return out
