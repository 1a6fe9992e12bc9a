"""Maps of the latents of runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from medldr.evaluation.representation.maps import Map, Maps
from medldr.reporting.document import Bullets, Figures, Section
from medldr.reporting.figures.latents.maps import map_figures
from medldr.reporting.prose import section

PARTS: Final = {
    "all": "all images", "unseen": "test images of unseen domains", "test": "test images",
    "validation": "validation images",
}  # fmt: skip
METHODS: Final = {"pca": "PCA", "t-sne": "t-SNE"}


def maps_section(
    found: Mapping[str, Maps], data: Mapping[str, str] | None = None
) -> Section | None:
    """Maps of all runs side by side, and a note on each that could not be made.

    Args:
        found: Maps of runs by their heading.
        data: The data set of each; unset: runs with the same classes share one.
    """
    notes = [f"{heading}: {note}" for heading, maps in found.items() for note in _missing(maps)]
    return section("analysis", "maps", Figures(map_figures(found, data)), Bullets(notes))


def _missing(maps: Maps) -> Iterator[str]:
    """A sentence for each part of the images of a run that has no map."""
    for part, title in PARTS.items():
        without = [made for made in maps.maps if made.part == part and made.reason]
        if without:
            kinds = " or ".join(METHODS[made.method] for made in without)
            yield f"no map of {title} by {kinds}, because {without[0].reason}{_left(without[0])}."


def _left(made: Map) -> str:
    if not made.left_out:
        return ""
    return f" ({made.left_out:,} of {made.images:,} are not finite)"


def maps_lines(found: Mapping[str, Maps]) -> list[dict[str, object]]:
    """The points of all maps, with nothing that names an image; a map without points is one line.

    Args:
        found: Maps of runs by their heading.
    """
    lines: list[dict[str, object]] = []
    for heading, maps in found.items():
        for made in maps.maps:
            shared = {"run": heading, "kind": made.method, "images": made.part}
            if made.reason:
                lines.append(shared | _point("", "", "", None, None, None, made.reason))
            columns = zip(made.split, made.domain, made.unseen, made.label, made.xy, strict=True)
            for split, domain, unseen, k, (x, y) in columns:
                name = maps.class_names[k] if maps.class_names else ""
                lines.append(shared | _point(str(split), str(domain), name, bool(unseen), x, y, ""))
    return lines


def _point(
    split: str, domain: str, name: str, unseen: bool | None, x: float | None, y: float | None,
    reason: str,
) -> dict[str, object]:  # fmt: skip
    return {
        "split": split, "domain": domain, "class": name, "unseen": unseen,
        "x": None if x is None else round(float(x), 4),
        "y": None if y is None else round(float(y), 4), "reason": reason,
    }  # fmt: skip
