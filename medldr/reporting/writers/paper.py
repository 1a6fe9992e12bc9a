"""The figures of a document as files that a paper can include."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, Literal

from medldr.folders.files import atomic
from medldr.reporting.document import Document, Drawing, Figures
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


def drawings_of(document: Document) -> Iterator[Drawing]:
    """Its figures, from top to bottom."""
    for section in document.sections:
        for figures in section.of(Figures):
            yield from figures.drawings


def write_figures(document: Document, folder: Path | str) -> list[Path]:
    """Write each figure of a document as ``<name>.svg`` and ``<name>.pdf``.

    A figure that could not be drawn has no file; the page says why.

    Args:
        document: The page.
        folder: Where they go.

    Returns:
        The files.

    Raises:
        StorageError: If a file cannot be written.
    """
    written = []
    for drawing in drawings_of(document):
        if drawing.error or drawing.paint is None:
            continue
        for kind in ("svg", "pdf"):
            path = Path(folder) / f"{drawing.name}.{kind}"
            content = for_paper(drawing, kind)
            with atomic(path, needed=len(content)) as temporary:
                temporary.write_bytes(content)
            written.append(path)
    return written
