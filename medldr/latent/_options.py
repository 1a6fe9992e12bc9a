"""The options of LatentDR that depend on one another, and what does not fit together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

Degrade = Literal["attention", "pool", "gaussian", "none"]
Restore = Literal["attention", "none"]
TermName = Literal["degraded", "restored"]


def check_options(
    *,
    degrade: str,
    restore: str,
    terms: Sequence[str],
    share_operators: bool,
    weights: Sequence[float],
) -> None:
    """Raise ValueError where options are unknown or do not fit together."""
    for name, value, allowed in (
        ("degrade", degrade, get_args(Degrade)),
        ("restore", restore, get_args(Restore)),
        *(("terms", term, get_args(TermName)) for term in terms),
    ):
        if value not in allowed:
            raise ValueError(f"{name} should be one of {', '.join(allowed)}, but is {value!r}")
    if not terms or len(set(terms)) < len(terms):
        raise ValueError(
            f"terms should name degraded, restored or both, each once, but is {list(terms)}; "
            "with no extra term this is plain training (erm)"
        )
    if "degraded" in terms and degrade == "none":
        raise ValueError(
            "terms has 'degraded', but degrade is 'none': choose a degradation (attention, pool, "
            "gaussian) or leave 'degraded' out of terms"
        )
    if "restored" in terms and restore == "none":
        raise ValueError(
            "terms has 'restored', but restore is 'none': set restore to 'attention' or leave "
            "'restored' out of terms"
        )
    if share_operators and (degrade != "attention" or "restored" not in terms):
        raise ValueError(
            "share_operators needs two attention operators: degrade 'attention' (it is "
            f"{degrade!r}) and 'restored' in terms (they are {list(terms)})"
        )
    if len(weights) != 3 or any(not 0 <= w < float("inf") for w in weights):
        raise ValueError(
            "weights should be three finite numbers of at least 0 (original, degraded, restored), "
            f"but is {list(weights)}"
        )
