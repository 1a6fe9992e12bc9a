"""The figures of a document as files that a paper can include."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from medldr.folders.files import atomic
from medldr.reporting.document import Document, Drawing, Figures
from medldr.reporting.figures.for_paper import for_paper

KINDS: Final = ("svg", "pdf")


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
        for kind in KINDS:
            path = Path(folder) / f"{drawing.name}.{kind}"
            content = for_paper(drawing, kind)
            with atomic(path, needed=len(content)) as temporary:
                temporary.write_bytes(content)
            written.append(path)
    return written
