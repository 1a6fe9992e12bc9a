"""The axial-coronal-sagittal convolution: 2D kernels slide over a volume in three orientations.

Output channels fall, by position, into three orientations. An axial channel's kernel lies in
(H, W), a coronal one's in (D, W), a sagittal one's in (D, H); along the third, flat axis its
extent is one. That equals a cubic kernel that is zero off its central slice, which fixes padding,
stride and dilation without special cases.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from acsconv.operators import ACSConv
from torch import Tensor
from torch.nn.functional import conv3d

from medldr.errors import InputError

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
            return conv3d(
                x, weight, self.bias, self.stride, self.padding, self.dilation, self.groups
            )
        parts = [
            self._convolve(x, axis, first, last)
            for axis, first, last in self._parts()
            if last > first
        ]
        out = torch.cat(parts, dim=1) if len(parts) > 1 else parts[0]
        return out if self.bias is None else out + self.bias.view(-1, 1, 1, 1)

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
        return conv3d(x, weight, None, self.stride, padding, self.dilation, groups)
