"""Turn, zoom and shift images with one resampling; mirror and quarter-turn them with none.

Positions are counted in pixels from the middle of the image, along its axes as they lie in memory:
``(H, W)`` of a picture, ``(X, Y, Z)`` of a volume. So a turn stays a turn where the axes differ in
length, and pixels count as equally long along each axis.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import grid_sample


def rotation(angles: Tensor) -> Tensor:
    """Matrices that turn positions.

    Args:
        angles: ``(n, 1)`` for pictures, from the first axis towards the second; or ``(n, 3)`` for
            volumes, about the first, then the second, then the third axis; in radians.

    Returns:
        ``(n, 2, 2)`` or ``(n, 3, 3)``.

    Example:
        >>> quarter = torch.tensor([[torch.pi / 2]], dtype=torch.float64)
        >>> rotation(quarter).round().abs()[0].tolist()
        [[0.0, 1.0], [1.0, 0.0]]
    """
    cosines, sines = angles.cos().unbind(1), angles.sin().unbind(1)
    if len(cosines) == 1:
        (c,), (s,) = cosines, sines
        rows = [[c, -s], [s, c]]
    else:
        (a, b, c), (p, q, r) = cosines, sines  # about the first, second and third axis
        rows = [
            [b * c, p * q * c - a * r, a * q * c + p * r],
            [b * r, p * q * r + a * c, a * q * r - p * c],
            [-q, p * b, a * b],
        ]
    return torch.stack([torch.stack(row, dim=1) for row in rows], dim=1)


def sources(angles: Tensor, zoom: Tensor, shift: Tensor) -> tuple[Tensor, Tensor]:
    """Where the pixels of turned, then enlarged, then shifted images come from.

    Args:
        angles: See `rotation`.
        zoom: ``(n,)``; above 1 enlarges what is shown.
        shift: ``(n, axes)``, in pixels.

    Returns:
        ``(n, axes, axes)`` and ``(n, axes)``: the value at position p is that at
        ``matrix @ p + start``.
    """
    matrix = rotation(angles).transpose(1, 2) / zoom[:, None, None]  # undoes the turn, then zoom
    start = torch.zeros_like(shift)
    for axis, distance in enumerate(shift.unbind(1)):
        start = start - matrix[:, :, axis] * distance[:, None]
    return matrix, start


def moves(matrix: Tensor, start: Tensor) -> Tensor:
    """Which images are moved at all, ``(n,)``; the others must not be resampled to stay exact."""
    unmoved = torch.eye(matrix.shape[1], dtype=matrix.dtype)
    return (matrix != unmoved).flatten(1).any(1) | (start != 0).any(1)


def resample(image: Tensor, matrix: Tensor, start: Tensor) -> Tensor:
    """Images whose value at position p is the image's at ``matrix @ p + start``.

    Linear between pixels; beyond the border, the border's value.

    Args:
        image: ``(n, C, H, W)`` or ``(n, C, X, Y, Z)`` float32.
        matrix: ``(n, axes, axes)``, on the host.
        start: ``(n, axes)``, in pixels, on the host.

    Returns:
        A new tensor of the same shape.
    """
    lengths = image.shape[2:]
    one_per_image = (-1, *[1] * len(lengths))
    middles = [
        (torch.arange(n, dtype=torch.float32, device=image.device) - (n - 1) / 2).view(
            *[n if other == axis else 1 for other in range(len(lengths))]
        )
        for axis, n in enumerate(lengths)
    ]
    grid = []
    for axis, length in enumerate(lengths):
        # grid_sample counts from -1 to 1 between the outer borders of the first and last pixel.
        unit = 2 / length
        weights = (matrix[:, axis] * unit).to(torch.float32).to(image.device)
        place = (start[:, axis] * unit).to(torch.float32).to(image.device).view(one_per_image)
        for weight, middle in zip(weights.unbind(1), middles, strict=True):
            place = place + weight.view(one_per_image) * middle
        grid.append(place)
    return grid_sample(
        image,
        torch.stack(grid[::-1], dim=-1),  # its last axis first
        mode="bilinear",  # trilinear in volumes
        padding_mode="border",
        align_corners=False,
    )


def mirror(image: Tensor, axis: int, chosen: Tensor) -> None:
    """Mirror the chosen images of a batch, in place.

    Args:
        image: ``(n, C, H, W)`` or ``(n, C, X, Y, Z)``.
        axis: Spatial axis, from 0.
        chosen: ``(n,)`` bool, on the host.
    """
    rows = _rows(chosen, image)
    if len(rows):
        image[rows] = image[rows].flip(axis + 2)


def quarter_turn(image: Tensor, turns: Tensor) -> None:
    """Turn each image of a batch, in place, from its first axis towards its second.

    Args:
        image: ``(n, C, E, E)`` or ``(n, C, E, E, Z)``.
        turns: ``(n,)`` int64, quarters of a full turn, on the host.
    """
    for count in (1, 2, 3):
        rows = _rows(turns == count, image)
        if len(rows):
            image[rows] = image[rows].rot90(count, (2, 3))


def _rows(chosen: Tensor, image: Tensor) -> Tensor:
    return chosen.nonzero()[:, 0].to(image.device)
