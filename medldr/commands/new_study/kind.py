"""What kind of images they are, which decides whether mirrors may be drawn in training.

Source:
    Our choice, by the rule of `medldr.transforms.scan`: only where nothing has an up or a left are
    all mirrors drawn. Grey images are scans. Coloured ones are microscopy where the names of
    folders, classes or the data set say so; all others are photographs and are not mirrored, which
    costs little where they could be and spoils no label where they could not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

import numpy as np

from medldr.commands.new_study.ask import TOLD, Asker
from medldr.data.scans.facts import Facts
from medldr.data.scans.read import read_scan
from medldr.data.scans.source import Source
from medldr.errors import InputError, did_you_mean

KINDS: Final = ("scan", "microscopy", "photo")
RECIPES: Final = {"microscopy": "recipe/own_microscopy", 2: "recipe/own_2d", 3: "recipe/own_3d"}

_MICROSCOPY: Final = re.compile(
    r"cell|histo|cyto|cyte|phil(\b|_)|mito|slide|smear|stain|biops|patholog|microscop|tissue|blood|"
    r"aperio|hamamatsu|leica|zeiss|3dhist|camelyon|tcga|epithel|stroma|adenocarcinoma|"
    r"dermosc|dermato|melanoma|nevus|keratos|parasit|malaria"
)
_LOOKED_AT: Final = 24
_COLOURED: Final = 8
"""Mean distance between the channels of a coloured picture, of 255."""


class Kind(NamedTuple):
    """Kind of the images.

    Attributes:
        name: One of `KINDS`.
        why: What says so.
        grey: Whether colour channels hold nothing but grey.
    """

    name: str
    why: str
    grey: bool = False


def kind_of_images(
    facts: Sequence[Facts],
    sources: Sequence[Source],
    names: Iterable[str],
    dims: int,
    given: str | None,
    asker: Asker,
) -> Kind:
    """Scan, microscopy or photo.

    Args:
        facts: ``(N,)`` what each item is.
        sources: ``(N,)`` where each is; a few are looked at.
        names: Of the data set, its classes and its domains.
        dims: 2 or 3.
        given: What the user said.
        asker: Who decides about coloured pictures.

    Raises:
        InputError: If `given` is no kind, or does not go with volumes.
    """
    if given is not None:
        if given not in KINDS:
            raise InputError(
                f"--kind: {given!r} is none of {', '.join(KINDS)}.{did_you_mean(given, KINDS)}"
            )
        if dims == 3 and given == "photo":
            raise InputError("--kind: these are volumes, so they are a scan, or microscopy")
        return Kind(given, TOLD)
    coloured = [row for row, one in enumerate(facts) if one.eight_bit and one.shape[0] >= 3]
    if dims == 3 or 2 * len(coloured) < len(facts):
        return Kind("scan", "Volumes." if dims == 3 else "Grey pictures.")
    if not _are_coloured([sources[row] for row in coloured]):
        return Kind("scan", "Pictures with three channels that hold nothing but grey.", grey=True)
    said = sorted({name for name in names if _MICROSCOPY.search(name.casefold())})
    best = "microscopy" if said else "photo"
    why = f"Coloured pictures, and names such as {said[0]!r}." if said else "Coloured pictures."
    answer = asker.choose("What are these coloured pictures", KINDS, best)
    return Kind(answer.value, f"{why} {answer.why}")


def _are_coloured(sources: Sequence[Source]) -> bool:
    """Whether most of some pictures have other colours than grey."""
    step = max(1, len(sources) // _LOOKED_AT)
    seen = sources[::step]
    spans = [np.ptp(read_scan(source).values[:3].astype(np.int64), axis=0) for source in seen]
    return 2 * sum(float(span.mean()) >= _COLOURED for span in spans) >= len(seen)
