"""Latents on a plane: by PCA, and by t-SNE; and how one map is turned to fit another.

Source:
    The paper shows t-SNE and says nothing of its settings. Our choice: latents as they are, by
    their first 50 principal components, perplexity 30 or less, 500 iterations, from PCA or from
    the map of another run. The latter is with van der Maaten and Hinton's early exaggeration of 4
    (2008): on 500 latents of the rib phantom such maps fit as well as those from PCA (divergence
    1.91 and 1.91, and 1.11 and 1.12), and resembled the first run's more.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from medldr.evaluation.metrics.sums import Array

FEWEST: Final = 4
"""Fewer images than this make no map."""
PERPLEXITY: Final = 30.0
"""Of t-SNE, where there are images enough."""
ITERATIONS: Final = 500
"""Of t-SNE; 800 images take about four seconds on one core."""
COMPONENTS: Final = 50
"""Principal components that t-SNE is given."""
TOO_FEW: Final = f"fewer than {FEWEST} images have latents that are finite"
SAME: Final = "all latents are the same"


class Plane(NamedTuple):
    """Points of a map.

    Attributes:
        xy: ``(N, 2)``.
        share: Share of the variance that the plane holds, by PCA; None for t-SNE.
        perplexity: Of t-SNE; None for PCA.
    """

    xy: Array
    share: float | None = None
    perplexity: float | None = None


def no_map(z: NDArray[np.floating]) -> str:
    """Why finite latents ``(N, D)`` have no map; empty where they have one."""
    if len(z) < FEWEST:
        return TOO_FEW
    return "" if np.ptp(z, axis=0).any() else SAME


def finite(z: NDArray[np.floating]) -> NDArray[np.bool_]:
    """``(N,)``: whether all of a latent is finite."""
    out: NDArray[np.bool_] = np.isfinite(z).all(axis=1)
    return out


def principal_plane(z: NDArray[np.floating]) -> Plane:
    """The plane of the largest variance.

    Args:
        z: ``(N, D)`` latents for which `no_map` is empty.

    Example:
        >>> found = principal_plane(np.array([[0.0, 0, 0], [4, 0, 0], [0, 3, 0], [4, 3, 0]]))
        >>> found.xy.shape, round(found.share, 6)
        ((4, 2), 1.0)
    """
    scores, shares = _principal(z, 2)
    return Plane(scores, share=float(shares.sum()))


def t_sne(z: NDArray[np.floating], seed: int, start: Array | None = None) -> Plane:
    """A map on which latents that are near each other are near each other.

    Args:
        z: ``(N, D)`` latents for which `no_map` is empty.
        seed: Of whatever is random.
        start: ``(N, 2)`` points to start from; by default the principal plane.

    Returns:
        Points around 0. The perplexity is at most a third of the other images, so that each has
        the neighbours that it asks for.

    Example:
        >>> t_sne(np.random.default_rng(0).normal(size=(12, 5)), seed=0).perplexity
        3.6666666666666665
    """
    from sklearn.manifold import TSNE  # slow to import

    reduced, _ = _principal(z, COMPONENTS)
    perplexity = min(PERPLEXITY, (len(z) - 1) / 3)
    if start is None:  # as small as scikit-learn's own: attraction acts before repulsion
        init, exaggeration = 1e-4 / reduced[:, 0].std() * reduced[:, :2], 12.0
    else:  # as large as it is, and pulled together less, so that clusters keep their places
        init, exaggeration = start - start.mean(axis=0), 4.0
    map_ = TSNE(
        perplexity=perplexity, max_iter=ITERATIONS, random_state=seed,
        early_exaggeration=exaggeration, init=init.astype(np.float32),
    )  # fmt: skip
    xy = np.asarray(map_.fit_transform(reduced), dtype=np.float64)
    return Plane(xy - xy.mean(axis=0), perplexity=perplexity)


def turned_onto(xy: Array, target: Array) -> Array:
    """Points turned, and mirrored where that helps, so that they lie as near as may be to others.

    Nothing is stretched, so distances between the points remain.

    Args:
        xy: ``(N, 2)`` points.
        target: ``(N, 2)`` points of the same images on another map.

    Example:
        >>> points = np.array([[0.0, 1.0], [2.0, 0.0], [-2.0, -1.0]])
        >>> bool(np.allclose(turned_onto(points[:, ::-1], points), points))
        True
    """
    from scipy.linalg import orthogonal_procrustes

    centred = xy - xy.mean(axis=0)
    turn, _ = orthogonal_procrustes(centred, target - target.mean(axis=0))
    out: Array = centred @ turn
    return out


def balanced_order(cells: NDArray[Any], seed: int) -> NDArray[np.int64]:
    """An order of rows whose beginning, however long, has equally many of each kind.

    A kind with fewer rows than that is there with all of them, so small domains stay visible.

    Args:
        cells: ``(N,)`` kind of each row.
        seed: Of the order within a kind and between kinds.

    Returns:
        ``(N,)`` positions.

    Example:
        >>> cells = np.array(["a", "a", "a", "a", "b", "b"])
        >>> sorted(cells[balanced_order(cells, seed=0)][:4].tolist())
        ['a', 'a', 'b', 'b']
    """
    mixed = np.random.default_rng(seed).permutation(len(cells))
    rank = np.empty(len(cells), dtype=np.int64)
    for cell in np.unique(cells):
        members = mixed[cells[mixed] == cell]
        rank[members] = np.arange(len(members))
    return mixed[np.argsort(rank[mixed], kind="stable")]


def _principal(z: NDArray[np.floating], most: int) -> tuple[Array, Array]:
    """Scores ``(N, C)``, at least two columns, and the share of the variance of each component."""
    from sklearn.decomposition import PCA  # slow to import

    z64 = np.asarray(z, dtype=np.float64)
    z64 = z64 - z64.mean(axis=0)
    z64 /= np.abs(z64).max()  # squares of huge latents would overflow
    count = min(most, *z64.shape)
    model = PCA(count, svd_solver="full" if min(z64.shape) < 100 else "covariance_eigh")
    scores = model.fit_transform(z64)
    if count < 2:
        scores = np.column_stack([scores, np.zeros(len(z64))])
    return scores, model.explained_variance_ratio_
