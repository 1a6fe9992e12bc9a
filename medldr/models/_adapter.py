"""A small network between encoder and head, which starts as if it were not there.

Latents are what comes out of it, so that a method which works on latents works on adapted ones.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional

BOTTLENECK = 4
"""Times that the hidden layer of ``mlp`` is narrower than the latent."""


class LinearAdapter(nn.Linear):
    """A square matrix and a bias, first the identity.

    Example:
        >>> import torch
        >>> z = torch.rand(2, 8)
        >>> torch.equal(LinearAdapter(8)(z), z)
        True
    """

    def __init__(self, dim: int) -> None:
        super().__init__(dim, dim)
        nn.init.eye_(self.weight)
        nn.init.zeros_(self.bias)


class MLPAdapter(nn.Module):
    """What two layers make of a latent, added to it; first zero.

    Source:
        The residual bottleneck of CLIP-Adapter (Gao et al. 2021), a quarter as wide, with GELU;
        the identity at first, nearly as in Houlsby et al. 2019. The share of the residual, which
        CLIP-Adapter fixes, is left to training here.

    Example:
        >>> import torch
        >>> z = torch.rand(2, 8)
        >>> torch.equal(MLPAdapter(8)(z), z)
        True
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        hidden = max(1, dim // BOTTLENECK)
        self.down, self.up = nn.Linear(dim, hidden), nn.Linear(hidden, dim)
        nn.init.zeros_(self.up.weight)
        nn.init.zeros_(self.up.bias)

    def forward(self, z: Tensor) -> Tensor:
        """Adapted latents ``(B, D)``."""
        change: Tensor = self.up(functional.gelu(self.down(z)))
        return z + change


ADAPTERS: dict[str, type[LinearAdapter | MLPAdapter]] = {
    "linear": LinearAdapter,
    "mlp": MLPAdapter,
}
