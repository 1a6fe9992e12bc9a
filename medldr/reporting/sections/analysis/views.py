"""Words for the differences between z, z_d and z_r."""

from __future__ import annotations

from medldr.reporting.figures.views import VIEW_TITLES


def minus_text(one: str, other: str) -> str:
    """A paired difference of two views, in words.

    Example:
        >>> minus_text("restored", "degraded"), minus_text("original", "labels")
        ('restored minus degraded', 'original minus class alone')
    """
    alone = {"labels": "class alone"}
    return " minus ".join({**VIEW_TITLES, **alone}[name] for name in (one, other))
