"""Tables of numbers with intervals, footnotes for what is undefined, ready for a template."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from medldr.metrics import SPLIT_TITLES, is_defined, measure, metrics_of

Number = Mapping[str, Any]
TESTS = ("test", "id_test")


@dataclass(frozen=True)
class Cell:
    """One cell.

    Attributes:
        text: What stands there.
        detail: The interval.
        extra: Another small line, such as a standard deviation.
        value: The unrounded number, for sorting; None where there is none.
        reason: Why the number is undefined.
        mark: Footnote sign.
        style: Class of the style sheet: `best`, `second`, `missing`, `same`, or empty.
        spread: Standard deviation alone, for print; it is part of `extra` too.
        count: How many runs it is the mean of, likewise.
    """

    text: str
    detail: str = ""
    extra: str = ""
    value: float | None = None
    reason: str = ""
    mark: str = ""
    style: str = ""
    spread: str = ""
    count: str = ""


@dataclass(frozen=True)
class Row:
    """A row.

    Attributes:
        heading: What stands at its left.
        cells: One per further column.
        tags: Words behind the heading.
        style: Class of the style sheet.
        mark: Footnote sign.
        apart: Below a line of its own, whatever the others are sorted by.
    """

    heading: str
    cells: list[Cell]
    tags: tuple[str, ...] = ()
    style: str = ""
    mark: str = ""
    apart: bool = False


@dataclass
class Table:
    """A table of the page.

    Attributes:
        caption: What it shows, above it.
        columns: Headings of all columns, the first being that of the row headings.
        rows: From top to bottom.
        footnotes: (sign, text), in order of appearance.
        notes: Sentences below the footnotes.
        texts: Positions of columns that hold words, which stand at the left.
        intervals: Whether its numbers have 95 % intervals.
    """

    caption: str
    columns: list[str]
    rows: list[Row] = field(default_factory=list)
    footnotes: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    texts: tuple[int, ...] = ()
    intervals: bool = True

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

    def number(self, key: str, number: Number | None, *, signed: bool = False) -> Cell:
        """A cell with a number of `evaluation.json` and its interval."""
        if number is None:
            return Cell("–")
        known = measure(key)
        show = known.show_difference if signed else known.show
        if not is_defined(number):
            reason = str(number.get("reason") or "undefined")
            return Cell("n/a", reason=reason, mark=self.sign(reason))
        low, high = number.get("low"), number.get("high")
        detail = ""
        if low is not None and high is not None:
            detail = f"{show(low)} to {show(high)}"
        # A defined mean may still carry a remark, such as labels it had to leave out.
        mark = self.sign(str(number["reason"])) if number.get("reason") else ""
        return Cell(show(number["value"]), detail=detail, value=number["value"], mark=mark)


def side_by_side(caption: str, parts: Sequence[tuple[str, Table]]) -> Table:
    """Several tables of one number per row as one table with a column for each.

    Args:
        caption: Of the new table.
        parts: Heading of the new column, and the table whose first column of numbers it gets.
    """
    table = Table(caption, [parts[0][1].columns[0], *(heading for heading, _ in parts)])
    found = [{row.heading: row for row in part.rows} for _, part in parts]
    rows = {row.heading: row for _, part in reversed(parts) for row in part.rows}
    order = list(dict.fromkeys(row.heading for _, part in parts for row in part.rows))

    def signed(part: Table, mark: str) -> str:
        texts = dict(part.footnotes)
        return ",".join(table.sign(texts[sign]) for sign in mark.split(",") if sign)

    for heading in sorted(order, key=lambda name: rows[name].apart):
        cells, marks = [], ""
        for (_, part), there in zip(parts, found, strict=True):
            if heading in there and not marks:
                marks = signed(part, there[heading].mark)
            cell = there[heading].cells[0] if heading in there else Cell("–")
            cells.append(replace(cell, mark=signed(part, cell.mark)))
        table.rows.append(replace(rows[heading], cells=cells, mark=marks))
    table.notes = list(dict.fromkeys(note for _, part in parts for note in part.notes))
    return table


def ordered(keys: Iterable[str]) -> list[str]:
    """Keys of measures in the order in which a page shows them; unknown ones last."""
    order = (
        "accuracy", "auc", "balanced_accuracy", "macro_f1", "exact_match", "sensitivity",
        "specificity", "sensitivity_at_specificity", "specificity_at_threshold",
        "quadratic_kappa", "mae", "ece", "ece_positive", "brier", "nll",
        "recall", "precision", "f1",
    )  # fmt: skip
    keys = list(dict.fromkeys(keys))
    return sorted(keys, key=lambda key: order.index(key) if key in order else len(order))


def _union(entries: Iterable[Mapping[str, Any]]) -> list[str]:
    return ordered(key for entry in entries for key in entry)


def split_table(splits: Mapping[str, Any], headings: Mapping[str, str]) -> Table:
    """Every measure of every split: measures down, splits across."""
    names = [name for name in SPLIT_TITLES if name in splits]
    names += [name for name in splits if name not in names]
    table = Table("Every measure in every scored split", ["Measure"])
    table.columns += [_split_heading(name, splits[name]) for name in names]
    measured = {name: metrics_of(splits[name]) for name in names}
    for key in _union(measured.values()):
        cells = [table.number(key, measured[name].get(key)) for name in names]
        table.rows.append(Row(headings.get(key, measure(key).heading), cells))
    return table


def _split_heading(name: str, split: Mapping[str, Any]) -> str:
    return f"{SPLIT_TITLES.get(name, name)} (n = {split.get('n', 0):,})"


def class_table(split: Mapping[str, Any], multi_label: bool = False) -> Table:
    """What is found of each class, with intervals."""
    classes: Mapping[str, Any] = split.get("classes") or {}
    keys = _union({k: v for k, v in entry.items() if k != "n"} for entry in classes.values())
    count = "Positive" if multi_label else "Images"
    table = Table(
        "Results per label" if multi_label else "Results per class",
        ["Label" if multi_label else "Class", count, *(measure(key).heading for key in keys)],
    )
    for name, entry in classes.items():
        cells = [_count(entry.get("n"))]
        cells += [table.number(key, entry.get(key)) for key in keys]
        table.rows.append(Row(name, cells))
    return table


def domain_entries(
    splits: Mapping[str, Any], name: str, seen: str = "id_test"
) -> list[tuple[str, Mapping[str, Any]]]:
    """Every domain that was tested on: those of the headline split, then of the seen one.

    Args:
        splits: `evaluation.json`'s splits.
        name: The headline split.
        seen: The split that stands for the seen domains.

    Returns:
        Name and numbers of each; a domain of two splits carries the split in its second name.
    """
    found: dict[str, Mapping[str, Any]] = {}
    for split in dict.fromkeys((name, *((*TESTS, seen) if name in TESTS else ()))):
        for domain, entry in ((splits.get(split) or {}).get("domains") or {}).items():
            title = domain
            if domain in found or split not in (name, *TESTS):
                title = f"{domain} ({SPLIT_TITLES.get(split, split).lower()})"
            found[title] = entry
    return list(found.items())


def domain_table(entries: Sequence[tuple[str, Mapping[str, Any]]]) -> Table:
    """Results in each domain, the one with the lowest accuracy marked."""
    keys = _union(entry.get("metrics") or {} for _, entry in entries)
    table = Table(
        "Results per domain", ["Domain", "Images", *(measure(key).heading for key in keys)]
    )
    worst = worst_domain(entries)
    for name, entry in sorted(entries, key=lambda item: (item[1].get("seen", True), item[0])):
        tags = ["seen" if entry.get("seen", True) else "unseen"]
        if entry.get("few_groups"):
            tags.append("few groups")
        if name == worst:
            tags.append("worst")
        cells = [_count(entry.get("n"))]
        cells += [table.number(key, (entry.get("metrics") or {}).get(key)) for key in keys]
        style = "worst" if name == worst else ""
        table.rows.append(Row(name, cells, tags=tuple(tags), style=style))
    if any(entry.get("few_groups") for _, entry in entries):
        table.notes.append("Few groups: under 20, so that the intervals are too narrow.")
    return table


def worst_domain(entries: Sequence[tuple[str, Mapping[str, Any]]]) -> str:
    """Name of the domain with the lowest accuracy; empty where there are fewer than two."""
    defined = {
        name: entry["metrics"]["accuracy"]["value"]
        for name, entry in entries
        if is_defined((entry.get("metrics") or {}).get("accuracy"))
    }
    return min(defined, key=defined.__getitem__) if len(defined) > 1 else ""


def label_confusion_table(counts: Any, names: Sequence[str]) -> Table:
    """Right and wrong decisions of each label of a multi-label task.

    Args:
        counts: ``L x 2 x 2``, rows are the truth (absent, present), columns what was said.
        names: One per label.
    """
    table = Table(
        "Decisions per label at probability 0.5",
        ["Label", "Present, found", "Present, missed", "Absent, false alarm", "Absent, right"],
    )
    for name, ((right, alarm), (missed, found)) in zip(names, counts, strict=True):
        table.rows.append(Row(name, [_count(n) for n in (found, missed, alarm, right)]))
    return table


def _count(value: Any) -> Cell:
    return Cell("–") if value is None else Cell(f"{int(value):,}", value=float(value))
