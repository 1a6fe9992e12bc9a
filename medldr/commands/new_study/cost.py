"""How long a study takes, as an order of magnitude.

Source:
    He et al. (2016): a ResNet-18 forward at 224 pixels is 1.8e9 multiply-adds; a training step is
    three times that. The rest is our choice from runs on two cores: 2e10 multiply-adds a second
    and core, 5e12 on a GPU, and no faster than 2,000 images a second. A volume of 64 voxels an edge
    costs a 3D network with pooling 1.5 times a picture of 224 pixels. Without pooling at its start
    a network is 16 times as slow in 2D and 40 times in 3D.
"""

from __future__ import annotations

from typing import Final

EPOCHS: Final = 50
_CPU: Final = 2e10
_GPU: Final = 5e12
_FASTEST: Final = 2000.0


def seconds(images: int, size: int, dims: int, *, small_stem: bool, cores: int | None) -> float:
    """Time that a run takes.

    Args:
        images: That train.
        size: Pixels or voxels an edge.
        dims: 2 or 3.
        small_stem: Whether the network has no pooling at its start.
        cores: Of the processor; None: on a GPU.
    """
    forward = 1.8e9 * (size / 224) ** 2 if dims == 2 else 2.7e9 * (size / 64) ** 3
    if small_stem:
        forward *= 16 if dims == 2 else 40
    each = 3 * forward
    rate = _CPU * cores if cores is not None else _GPU
    return EPOCHS * images * max(each / rate, 1 / _FASTEST)


def about(time: float) -> str:
    """A time in words.

    Example:
        >>> about(20), about(400), about(9000), about(400_000)
        ('a minute', '7 minutes', '2.5 hours', '5 days')
    """
    if time < 90:
        return "a minute"
    if time < 5400:
        return f"{time / 60:.0f} minutes"
    if time < 48 * 3600:
        return f"{time / 3600:.2g} hours"
    return f"{time / 86400:.0f} days"
