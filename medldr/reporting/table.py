"""Tables of estimates: numbers stay numbers until a writer prints them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace

from medldr.evaluation.intervals.estimate import Estimate
from medldr.folders.evaluation_record import Number
from medldr.metrics import Metric, metric_facts

DASH = "–"
CHANCE = "chance"
"""Style of the row of chance level, which is no method."""
AVERAGE = "Average"
"""Heading of the column of means over all others."""
ANY = "Always the most frequent class"
"""Heading of chance level where columns differ in their class."""


def interval(held: Estimate, known: Metric, *, signed: bool = False, between: str = " to ") -> str:
    """The ends of an interval in words; empty where there is none.

    Example:
        >>> interval(Estimate(0.7, low=0.65, high=0.75), metric_facts("accuracy"))
        '65.0 to 75.0'
    """
    if held.low is None or held.high is None:
        return ""
    show = known.show_difference if signed else known.show
    return f"{show(held.low)}{between}{show(held.high)}"


def number_text(
    held: Estimate | Number | None, known: Metric, *, signed: bool = False, unit: bool = False
) -> str:
    """A number with its interval, as a legend or an alternative text has it.

    Args:
        held: The number.
        known: What it is of.
        signed: Whether it is a difference.
        unit: Whether its unit is said.

    Example:
        >>> number_text(Estimate(0.875, low=0.75, high=1.0), metric_facts("auc"))
        '0.875 (0.750 to 1.000)'
        >>> number_text(None, metric_facts("auc"))
        'n/a'
    """
    held = Estimate.of(held) if isinstance(held, Number) else held
    if held is None or held.mean is None:
        return "n/a"
    show = known.show_difference if signed else known.with_unit if unit else known.show
    ends = interval(held, known, signed=signed)
    return f"{show(held.mean)} ({ends})" if ends else show(held.mean)


def ends_of(held: Estimate, factor: float = 1.0) -> list[float]:
    """The ends of an interval on an axis; empty where there is none.

    Args:
        held: A number.
        factor: Units of the axis in one of the number.
    """
    if held.low is None or held.high is None:
        return []
    return [factor * held.low, factor * held.high]


@dataclass(frozen=True)
class Cell:
    """One cell of a table.

    Attributes:
        content: An estimate, a count, or words.
        metric: How the number is printed; needed for an `Estimate` alone.
        signed: Whether it is a difference, printed with its sign.
        detail: A small second line, where it is not the interval.
        extra: A small third line, where it is not the spread and the number of runs.
        mark: Footnote signs, comma-separated; `Table.sign` gives them.
        style: ``missing``, ``same`` or ``wide``, or empty.
        order: What the page sorts words by; None: not at all.
    """

    content: Estimate | int | str = DASH
    metric: Metric | None = None
    signed: bool = False
    detail: str = ""
    extra: str = ""
    mark: str = ""
    style: str = ""
    order: float | None = None

    @property
    def estimate(self) -> Estimate | None:
        """Its number; None where it holds none that is defined."""
        held = self.content if isinstance(self.content, Estimate) else None
        return None if held is None or held.mean is None else held

    @property
    def empty(self) -> bool:
        """Whether nothing is known here."""
        return self.content == DASH


@dataclass(frozen=True)
class Row:
    """A row.

    Attributes:
        heading: What it is a row of.
        cells: One per further column.
        tags: Words behind the heading, such as ``control``.
        style: Class of the style sheet.
        mark: Footnote signs of the heading.
        apart: Below a separate line, however the others are sorted: controls, chance level.
    """

    heading: str
    cells: Sequence[Cell]
    tags: tuple[str, ...] = ()
    style: str = ""
    mark: str = ""
    apart: bool = False


@dataclass
class Table:
    """A table.

    Attributes:
        caption: What it shows.
        columns: Headings of all columns, the first being that of the row headings.
        rows: From top to bottom.
        footnotes: (sign, text), in order of appearance.
        notes: Sentences below the footnotes.
        alone: What must be said where the table stands without its page, as in a paper.
        texts: Positions of columns that hold words, which are aligned to the left.
        intervals: Whether its numbers have 95% intervals.
        code: Whether its cells are keys and values of a configuration.
    """

    caption: str
    columns: list[str]
    rows: list[Row] = field(default_factory=list)
    footnotes: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    alone: list[str] = field(default_factory=list)
    texts: tuple[int, ...] = ()
    intervals: bool = True
    code: bool = False

    def sign(self, text: str) -> str:
        """The sign of a footnote; the same text always has the same sign.

        Example:
            >>> table = Table("t", ["a"])
            >>> table.sign("x"), table.sign("y"), table.sign("x")
            ('a', 'b', 'a')
        """
        for sign, known in self.footnotes:
            if known == text:
                return sign
        number = len(self.footnotes)
        sign = chr(97 + number) if number < 26 else f"z{number - 25}"
        self.footnotes.append((sign, text))
        return sign

    def mark(self, signs: Iterable[str]) -> str:
        """Signs of one cell, each once, in the order of their footnotes.

        Example:
            >>> table = Table("t", ["a"])
            >>> table.mark(map(table.sign, "xy")), table.mark(map(table.sign, "zyz"))
            ('a,b', 'b,c')
        """
        own = set(signs)
        return ",".join(sign for sign, _ in self.footnotes if sign in own)

    def bare(self) -> Table:
        """The numbers alone, without notes and footnotes.

        Example:
            >>> table = Table("t", ["a"], [Row("x", [], mark="a")], [("a", "few images")])
            >>> table.bare() == Table("t", ["a"], [Row("x", [])])
            True
        """
        return replace(self, rows=self._marked(lambda _: ""), footnotes=[], notes=[])

    def without(self, said: Collection[object]) -> Table:
        """Without some of its footnotes and notes, which are said elsewhere."""
        footnotes = [footnote for footnote in self.footnotes if footnote not in said]
        return replace(
            self, footnotes=footnotes, notes=[note for note in self.notes if note not in said]
        )

    def _marked(self, read: Callable[[str], str]) -> list[Row]:
        """Its rows with other signs, as they are read: row by row, from left to right."""
        return [
            replace(
                row, mark=read(row.mark), cells=[replace(c, mark=read(c.mark)) for c in row.cells]
            )
            for row in self.rows
        ]

    def lettered(self, signs: Table | None = None) -> Table:
        """With its footnotes as they are read: row by row, from left to right.

        Args:
            signs: A table that gives the signs, which several tables share; None: from `a` on.

        Example:
            >>> cells = [Cell(mark="a"), Cell(mark="b")]
            >>> row = Row("x", cells, mark="b")
            >>> found = Table("t", ["", "", ""], [row], [("a", "few"), ("b", "slow")]).lettered()
            >>> found.rows[0].mark, found.rows[0].cells[0].mark, found.footnotes
            ('a', 'b', [('a', 'slow'), ('b', 'few')])
        """
        given, texts, used = signs or Table("", []), dict(self.footnotes), set[str]()

        def read(mark: str) -> str:
            said = [texts[sign] for sign in mark.split(",") if sign]
            used.update(said)
            return given.mark([given.sign(text) for text in said])

        rows = self._marked(read)
        footnotes = [(sign, text) for sign, text in given.footnotes if text in used]
        return replace(self, rows=rows, footnotes=footnotes)

    def number(self, key: str | Metric, estimate: Estimate | None, *, signed: bool = False) -> Cell:
        """A cell with an estimate; its reason becomes a footnote.

        Args:
            key: The metric, or its name.
            estimate: The number; None for one that was not computed.
            signed: Whether it is a difference.
        """
        if estimate is None:
            return Cell()
        reason = estimate.reason or ("undefined" if estimate.mean is None else "")
        mark = self.sign(reason) if reason else ""
        known = metric_facts(key) if isinstance(key, str) else key
        return Cell(replace(estimate, reason=reason), known, signed, mark=mark)


def first_word(metric: str) -> str:
    """Sensitivity or specificity, without how the threshold was set."""
    return metric_facts(metric).title.partition(" ")[0].lower()


def paired(cell: Cell, other: str, half: Estimate | None) -> Cell:
    """A cell of one half of a pair, with the other half as its last line.

    Args:
        cell: A number, or a difference.
        other: The metric of the other half; empty where the metric has none.
        half: Its number.
    """
    if not other or half is None or half.mean is None:
        return cell
    number = number_text(half, metric_facts(other), signed=cell.signed)
    text = f"{first_word(other)} {number}"
    return replace(cell, extra="; ".join(filter(None, (cell.extra, text))))


def side_by_side(caption: str, parts: Sequence[tuple[str, Table]]) -> Table:
    """Several tables of one number per row as one table with a column for each.

    Args:
        caption: Of the new table.
        parts: Heading of the new column, and the table whose first column of numbers it gets.
    """
    table = Table(caption, [parts[0][1].columns[0], *(heading for heading, _ in parts)])
    levels = {row.heading for _, part in parts for row in part.rows if row.style == CHANCE}
    if len(levels) > 1:  # one row, though the most frequent class is not the same in all of them
        parts = [(heading, _renamed(part)) for heading, part in parts]
    found = [{row.heading: row for row in part.rows} for _, part in parts]
    rows = {row.heading: row for _, part in reversed(parts) for row in part.rows}
    order = list(dict.fromkeys(row.heading for _, part in parts for row in part.rows))

    def signed(part: Table, mark: str) -> str:
        texts = dict(part.footnotes)
        return table.mark(table.sign(texts[sign]) for sign in mark.split(",") if sign)

    for heading in sorted(order, key=lambda name: rows[name].apart):
        cells, marks = [], ""
        for (_, part), there in zip(parts, found, strict=True):
            if heading in there and not marks:
                marks = signed(part, there[heading].mark)
            cell = there[heading].cells[0] if heading in there else Cell()
            cells.append(replace(cell, mark=signed(part, cell.mark)))
        table.rows.append(replace(rows[heading], cells=cells, mark=marks))
    table.notes = list(dict.fromkeys(note for _, part in parts for note in part.notes))
    table.alone = list(dict.fromkeys(text for _, part in parts for text in part.alone))
    return table


def _renamed(part: Table) -> Table:
    """A table whose row of chance level does not name its class."""
    rows = [replace(row, heading=ANY) if row.style == CHANCE else row for row in part.rows]
    return replace(part, rows=rows)
