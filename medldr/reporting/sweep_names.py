"""What is printed for the rows and columns of a sweep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from medldr.reporting.published import METHOD_TITLES

ORACLE = " (oracle)"
ROW_TITLES = {
    **METHOD_TITLES,
    "erm_half_lr": "ERM, half the rate",
    "latentdr_full_lr": "LatentDR (Pool), full rate",
    "latentdr_sa_full_lr": "LatentDR (SA), full rate",
    "mixstyle_cross_domain": "MixStyle, cross-domain",
}


def printed_titles(
    names: Iterable[str], known: Mapping[str, str], oracles: Iterable[str]
) -> dict[str, str]:
    """What is printed for each name; a title that two would share gets the name behind it."""
    names, marked = list(dict.fromkeys(names)), set(oracles)
    # A row of several axes is named by their values, each of which may have a title.
    parts = [[name] if name in known else name.split(", ") for name in names]
    titles = [", ".join(known.get(part, part) for part in several) for several in parts]
    return {
        name: (title if titles.count(title) == 1 else f"{title} [{name}]")
        + (ORACLE if name in marked else "")
        for name, title in zip(names, titles, strict=True)
    }
