"""Domains whose images are scaled from different values: a shift that nothing but reading makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from medldr.data.files.facts import Facts
from medldr.data.files.intensity import rule_name
from medldr.data.files.rules import SCAN
from medldr.data.image_table import ImageTable


def unlike_windows(table: ImageTable) -> Iterator[str]:
    """A sentence where the usual scale of one domain is not that of another.

    Args:
        table: A data set; there is nothing to say of one without scans. Of items that are several
            images, each column is compared by itself.
    """
    reading, how = table.reading or {}, table.combined
    if reading.get("kind") != SCAN or not table.facts:
        return
    windows = (reading["window"],) if how is None else how.windows
    depths = (reading["bit_depth"],) if how is None else how.bit_depths
    for (column, images), window, depth in zip(
        table.facts_of_images.items(), windows, depths, strict=True
    ):
        of_domain: dict[str, Counter[str]] = {}
        for domain, facts in zip(table.domains.tolist(), images, strict=True):
            if facts is not None:
                of_domain.setdefault(domain, Counter())[_scale(facts, window, depth)] += 1
        alike: dict[str, list[str]] = {}
        for domain, scales in sorted(of_domain.items()):
            alike.setdefault(scales.most_common(1)[0][0], []).append(domain)
        if len(alike) > 1:
            listed = "; ".join(f"{', '.join(names)} by {scale}" for scale, names in alike.items())
            which = f", {column}" if column else ""
            yield (
                f"{table.name}{which}: domains are scaled unlike each other, a shift that reading "
                f"makes: {listed}. Set data.window to one rule for all"
            )


def _scale(facts: Facts, window: str | tuple[float, float], bit_depth: int | None) -> str:
    rule = rule_name(facts, window, bit_depth)
    if rule == "file" and facts.window is not None:
        low, high = facts.window
        return f"{low:g} to {high:g}"
    return rule
