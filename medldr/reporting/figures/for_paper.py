"""Figures as files that a paper can include."""

from __future__ import annotations

import io
from typing import Any, Final, Literal

from medldr.reporting.document import Drawing
from medldr.reporting.figures.drawing import PAPER, STYLE, new_figure, styled

PAPER_STYLE: Final[dict[str, Any]] = {
    "svg.fonttype": "path",  # readers of a paper may lack the font
    "font.size": 9.5,
    "pdf.fonttype": 42,  # journals refuse Type 3 fonts
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), PAPER),
}


def for_paper(drawing: Drawing, kind: Literal["svg", "pdf"]) -> bytes:
    """A figure as a file that a paper can include: on white, with fonts of its own.

    Args:
        drawing: One that could be drawn.
        kind: What to write; it holds no date.

    Raises:
        ValueError: If there is nothing to draw it with.
    """
    if drawing.paint is None or drawing.error:
        raise ValueError(f"the figure {drawing.name!r} cannot be drawn again")
    nothing = {"svg": dict.fromkeys(("Creator", "Date", "Format", "Type")),
               "pdf": dict.fromkeys(("Creator", "Producer", "CreationDate"))}[kind]  # fmt: skip
    buffer = io.BytesIO()
    with styled({**STYLE, **PAPER_STYLE}):
        figure = new_figure(drawing.size)
        drawing.paint(figure)
        figure.savefig(buffer, format=kind, metadata=nothing)
    return buffer.getvalue()
