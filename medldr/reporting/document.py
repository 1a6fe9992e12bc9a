"""What a page says, before anything is printed: sections of blocks.

A `Document` is made once and written by any of the writers (HTML, Markdown, LaTeX, terminal).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, TypeAlias, TypeVar

from medldr.reporting.table import Table

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Verdict:
    """The answer to the question of the page, read before anything else.

    Attributes:
        word: The answer in a word, such as ``better`` or ``not clear``.
        text: The sentence that says it with its numbers.
        tone: Whether it is good news, bad news, or neither; its colour. The word says the same.
        more: Further sentences that must not be missed.
    """

    word: str
    text: str
    tone: Literal["good", "bad", "open"] = "open"
    more: Sequence[str] = ()

    @property
    def headline(self) -> str:
        """The word as a sentence.

        Example:
            >>> Verdict("not clear", "No clear difference.").headline
            'Not clear.'
        """
        return f"{self.word[:1].upper()}{self.word[1:]}."


@dataclass(frozen=True)
class Paragraph:
    """A paragraph; ``lead`` is read first, ``small`` is a remark on how numbers were made."""

    text: str
    style: Literal["", "lead", "small"] = ""


@dataclass(frozen=True)
class Bullets:
    """Sentences, one below the other: a verdict, notes, or warnings."""

    items: Sequence[str]
    style: Literal["verdict", "notes", "warnings"] = "notes"


@dataclass(frozen=True)
class Heading:
    """A heading within a section."""

    text: str


@dataclass(frozen=True)
class Pairs:
    """Names and what is said of each: facts of a run, or terms and their meaning."""

    items: Sequence[tuple[str, str]]
    glossary: bool = False


@dataclass(frozen=True)
class Folded:
    """A long text behind a line that opens it."""

    summary: str
    text: str


@dataclass(frozen=True)
class Drawing:
    """A figure, drawn or not.

    Attributes:
        name: Unique within the page; prefix of the ids inside the SVG.
        title: What is shown.
        caption: One plain sentence on how to read it.
        alt: What a reader who cannot see it should know.
        svg: The picture, empty where it could not be drawn.
        error: Why it could not be drawn, else empty.
        width: Natural width in CSS pixels.
        paint: Draws it again, for a file that a paper can include.
        size: Width and height in inches, of such a file.
    """

    name: str
    title: str
    caption: str
    alt: str
    svg: str
    error: str
    width: int
    paint: Callable[[Figure], None] | None = field(default=None, compare=False, repr=False)
    size: tuple[float, float] = (4.6, 3.3)


@dataclass(frozen=True)
class Figures:
    """Figures next to each other."""

    drawings: Sequence[Drawing]

    @classmethod
    def of(cls, *drawings: Drawing | None) -> Figures:
        """Those of some drawings that there are."""
        return cls([drawing for drawing in drawings if drawing is not None])


@dataclass(frozen=True)
class Picture:
    """A small image of the data.

    Attributes:
        png: A PNG file in base64.
        lines: What is said below it.
        alt: What a reader who cannot see it should know.
    """

    png: str
    lines: Sequence[str]
    alt: str


@dataclass(frozen=True)
class Pictures:
    """Images next to each other.

    Attributes:
        pictures: The images.
        large: Whether details matter, as in heat maps; else they are small.
    """

    pictures: Sequence[Picture]
    large: bool = False


@dataclass(frozen=True)
class Footnotes:
    """What stands below tables.

    Attributes:
        footnotes: (sign, text).
        notes: Sentences below these.
    """

    footnotes: Sequence[tuple[str, str]]
    notes: Sequence[str]


Block: TypeAlias = (
    Paragraph | Bullets | Heading | Pairs | Folded | Figures | Pictures | Table | Footnotes
)
B = TypeVar("B", bound=Block)


@dataclass
class Section:
    """A part of a page.

    Attributes:
        anchor: Its name in the page.
        title: Its heading.
        short: Its name in the navigation.
        blocks: From top to bottom.
        folded: Whether the page shows its heading alone until a reader opens it.
    """

    anchor: str
    title: str
    short: str
    blocks: list[Block] = field(default_factory=list)
    folded: bool = False

    def add(self, *blocks: Block | None) -> None:
        """Append blocks; None and blocks without content are left out."""
        for block in blocks:
            contents = (getattr(block, name, True) for name in ("text", "items", "drawings"))
            if block is not None and all(contents):
                self.blocks.append(block)

    def of(self, kind: type[B]) -> list[B]:
        """Its blocks of one kind."""
        return [block for block in self.blocks if isinstance(block, kind)]

    @property
    def page(self) -> Sequence[Block]:
        """Its blocks as they stand on a page: what is said below several tables is said once."""
        below = [said for table in self.tables for said in (*table.footnotes, *table.notes)]
        often = {said: None for said in below if below.count(said) > 1}
        if not often:
            return self.blocks
        footnotes = [said for said in often if isinstance(said, tuple)]
        last = Footnotes(footnotes, [said for said in often if isinstance(said, str)])
        shown, end = list[Block](), 0
        for place, block in enumerate(self.blocks, 1):
            shown.append(block.without(often) if isinstance(block, Table) else block)
            end = place if isinstance(block, Table) else end
        return [*shown[:end], last, *shown[end:]]

    @property
    def tables(self) -> list[Table]:
        """Its tables."""
        return self.of(Table)


@dataclass(frozen=True)
class Banner:
    """What must be read before any number."""

    kind: Literal["remark", "warning", "oracle"]
    text: str


@dataclass(frozen=True)
class Document:
    """A page.

    Attributes:
        title: What it is about.
        kicker: What kind of page it is.
        subtitle: Its size in words.
        banners: What must be read before any number.
        sections: From top to bottom.
        verdict: Its answer, which stands above everything else.
        wide: Whether it is printed on paper turned sideways, for wide tables.
    """

    title: str
    kicker: str
    subtitle: str = ""
    banners: Sequence[Banner] = ()
    sections: Sequence[Section] = ()
    verdict: Verdict | None = None
    wide: bool = False

    def section(self, anchor: str) -> Section | None:
        """A section by its anchor; None where the document lacks it."""
        return next((s for s in self.sections if s.anchor == anchor), None)

    def tables(self, anchors: Iterable[str]) -> Iterator[tuple[str, Table]]:
        """Tables of some sections, with the anchor of each."""
        for anchor in anchors:
            found = self.section(anchor)
            yield from ((anchor, table) for table in (found.tables if found else ()))
