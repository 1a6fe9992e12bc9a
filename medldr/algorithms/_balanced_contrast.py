"""Balanced supervised contrastive loss: views of one class attract, and every class repels alike.

Source:
    Zhu et al., "Balanced contrastive learning for long-tailed visual recognition", 2022.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def balanced_contrast(
    embeddings: Tensor,
    label: Tensor,
    prototypes: Tensor,
    *,
    temperature: float,
    anchors: Tensor | None = None,
) -> Tensor:
    """Balanced supervised contrastive loss, the mean over all anchors.

    With ``B_j`` all embeddings of class j and its prototype, s the inner products divided by the
    temperature, an anchor i of class y costs the mean over p in ``B_y`` without i of
    ``ln(sum_j mean of exp(s_ik) over k in B_j without i) - s_ip``. So each class counts once,
    however many of its images are in the set (class averaging), and none is ever missing (class
    complement: its prototype is there).

    Args:
        embeddings: ``(N, F)``, each of length one: all views of all images in the set.
        label: ``(N,)`` class numbers.
        prototypes: ``(K, F)``, each of length one.
        temperature: What inner products are divided by.
        anchors: ``(A,)``, which rows the mean is over; None for all. Every row is compared with.

    Returns:
        Scalar, in float32 or, if the embeddings are, in float64.

    Source:
        Zhu et al. 2022. Its sums of exponentials are taken as logarithms, so no temperature
        overflows.

    Example:
        >>> corners = torch.eye(3)
        >>> found = balanced_contrast(corners, torch.arange(3), corners, temperature=1.0)
        >>> round(found.item(), 6)  # ln(1 + 2 / e)
        0.551445
    """
    with torch.autocast(embeddings.device.type, enabled=False):
        kind = torch.promote_types(embeddings.dtype, torch.float32)
        keys = torch.cat([embeddings.to(kind), prototypes.to(kind)])
        place = torch.arange(len(keys), device=label.device)
        of_class = torch.cat([label, place[: len(prototypes)]])
        rows = place[: len(embeddings)] if anchors is None else anchors
        similar = keys[rows] @ keys.T / temperature
        itself = rows[:, None] == place
        same_class = of_class[rows][:, None] == of_class
        sizes = functional.one_hot(of_class, len(prototypes)).sum(0)
        others = sizes[of_class] - same_class.long()  # size of each key's class without the anchor
        weighed = similar - others.to(kind).log()
        among_all = weighed.masked_fill(itself, float("-inf")).logsumexp(1)
        positive = (same_class & ~itself).to(kind)
        with_own = (similar * positive).sum(1) / positive.sum(1)
        return (among_all - with_own).mean()
