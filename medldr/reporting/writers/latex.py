"""Tables as LaTeX with booktabs, and a document around them that compiles as it is."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from math import ceil

from medldr.reporting.document import Document, Paragraph
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.writers.cells import Printed, printed

WIDTH = 160
"""Letters that fit on a line of the page of the document."""
GAP = 3
"""Letters that the space between two columns takes."""
SMALL = 0.8
"""Width of a letter of small print."""
SHOWN = ("result", "grids", "left_out", "choice", "differences", "published")
"""Sections whose tables a paper prints; the rest is on the page."""

_NAMED = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#",
    "%": r"\%", "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}",
    "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''",
    "\N{NO-BREAK SPACE}": "~", "–": "--", "—": "---", "−": "$-$", "±": r"$\pm$", "×": r"$\times$",
    "…": r"\dots{}", "“": "``", "”": "''", "‘": "`", "’": "'", "≤": r"$\le$", "≥": r"$\ge$",
    "†": r"$\dagger$", "→": r"$\to$", "°": r"$^\circ$", "µ": r"$\mu$", "·": r"$\cdot$",
}  # fmt: skip
_GREEK = ("ALPHA", "BETA", "GAMMA", "DELTA", "EPSILON", "LAMBDA", "MU", "SIGMA", "TAU")
_LETTERS = "ßæœøåÆŒØÅłŁı"
_ACCENTS = "\u0300\u0301\u0302\u0303\u0304\u0306\u0307\u0308\u030a\u030b\u030c\u0327"
"""What the plainest of LaTeX's fonts can set above and below a letter."""
_MINUS = re.compile(r"(?<![\w.)-])-(?=\d)")
_MARKS = {"best": r"\textbf{{{}}}", "second": r"\underline{{{}}}"}


def escape(text: str) -> str:
    r"""A text that pdflatex prints as it is; what its fonts lack is spelled out.

    Example:
        >>> escape("batch_size 50 % & more"), escape("-0.5 to +1.0"), escape("müde α 骨")
        ('batch\\_size 50 \\% \\& more', '$-$0.5 to +1.0', 'müde $\\alpha$ [U+9AA8]')
    """
    return "".join(map(_letter, _MINUS.sub("−", text)))


def _letter(letter: str) -> str:
    if letter in _NAMED or letter.isspace():
        return _NAMED.get(letter, " ")
    if letter.isascii():
        return letter if letter.isprintable() else ""
    base, *accents = list(unicodedata.normalize("NFD", letter))
    accented = base.isascii() and len(accents) == 1 and accents[0] in _ACCENTS
    if letter in _LETTERS or (accented and ord(letter) < 0x180):
        return letter
    *kind, last = unicodedata.name(letter, "unknown").split(" ")
    if kind[:3] == ["GREEK", "SMALL", "LETTER"] and last in _GREEK:
        return rf"$\{last.lower()}$"
    plain = unicodedata.normalize("NFKD", letter).encode("ascii", "ignore").decode()
    return "".join(_NAMED.get(c, c) for c in plain) or f"[U+{ord(letter):04X}]"


def latex_table(table: Table, label: str) -> str:
    """A table as a float: the spread next to a number, further details in small print below it."""
    table = table.lettered()
    numbers = [[printed(cell) for cell in row.cells] for row in table.rows]
    counts = Counter(number.count for of_row in numbers for number in of_row if number.count)
    usual = max(counts, key=counts.__getitem__, default="")
    rows = [_row(row, of_row, usual) for row, of_row in zip(table.rows, numbers, strict=True)]
    body: list[str] = []
    for above, row, lines in zip([None, *table.rows], table.rows, rows, strict=False):
        if above and row.apart and not above.apart:
            body.append(r"\midrule")
        elif above and max(map(len, rows)) > 1:
            body.append(r"\addlinespace")  # else an interval is as near to the next number
        body += lines
    notes = [f"{_above(sign)} {escape(text)}" for sign, text in table.footnotes]
    notes += [escape(note) for note in (*table.notes, *table.alone)]
    if usual:
        runs = f"${usual.replace('n ', 'n = ')}$" + (" unless noted" if len(counts) > 1 else "")
        spread = any(number.spread for of_row in numbers for number in of_row)
        what = r"Mean $\pm$ SD over seeds" if spread else "A single seed"
        limits = r", 95\% CI" if table.intervals else ""
        notes.insert(0, f"{what} ({runs}){limits}.")
    left = {0, *table.texts}
    layout = "".join("l" if number in left else "r" for number in range(len(table.columns)))
    return "\n".join([
        r"\begin{table}[htbp]",
        r"\centering",
        rf"\caption{{{escape(table.caption)}.}}",
        rf"\label{{{label}}}",
        r"\small",
        r"\setlength{\tabcolsep}{4pt}",
        rf"\begin{{tabular}}{{{layout}}}",
        r"\toprule",
        _line([escape(text) for text in table.columns]),
        r"\midrule",
        *body,
        r"\bottomrule",
        r"\end{tabular}",
        *([r"\par\smallskip", r"{\footnotesize", *notes, r"\par}"] if notes else ()),
        r"\end{table}",
    ])  # fmt: skip


def _row(row: Row, numbers: Sequence[Printed], usual: str) -> list[str]:
    """Lines of a row; how many runs a number comes from is printed only where that is unusual."""
    tags = [tag for tag in row.tags if tag == "oracle" and "(oracle)" not in row.heading]
    heading = escape(row.heading) + "".join(f" ({tag})" for tag in tags)
    cells = [_number(cell, number) for cell, number in zip(row.cells, numbers, strict=True)]
    lines = [_line([heading + _above(row.mark), *cells])]
    details = [number.detail for number in numbers]
    extras = [_extra(cell, number, usual) for cell, number in zip(row.cells, numbers, strict=True)]
    for texts in filter(any, (details, extras)):
        small = (rf"{{\scriptsize {escape(text)}}}" if text else "" for text in texts)
        lines.append(_line(["", *small]))
    return lines


def _extra(cell: Cell, number: Printed, usual: str) -> str:
    """What stands below a number: an unusual count, and the other half of a threshold's pair."""
    unusual = number.count if number.count != usual else ""
    return "; ".join(filter(None, (unusual, cell.extra if number.count else number.extra)))


def _length(cell: Cell, number: Printed) -> int:
    """Letters of its longest line; small print is narrower."""
    small = max(len(number.detail), len(_extra(cell, number, number.count)))
    return max(len(f"{number.text} ± {number.spread}"), ceil(SMALL * small))


def _number(cell: Cell, number: Printed) -> str:
    text = _MARKS.get(number.style, "{}").format(escape(number.text))
    return text + (rf" $\pm$ {escape(number.spread)}" if number.spread else "") + _above(cell.mark)


def _above(sign: str) -> str:
    return rf"\textsuperscript{{{sign}}}" if sign else ""


def _line(cells: list[str]) -> str:
    # A bracket or star here would be read as belonging to the line break before it.
    start = "{}" if cells[0].startswith(("[", "*")) else ""
    return f"{start}{' & '.join(cells)} \\\\"


def fitting(table: Table) -> list[Table]:
    """A table, in parts where it is too wide for a page.

    Example:
        >>> wide = Table("Accuracy", ["Method", *(f"hospital {n}, scanner 3" for n in range(10))])
        >>> [(part.caption, len(part.columns) - 1) for part in fitting(wide)]
        [('Accuracy (part 1 of 2)', 6), ('Accuracy (part 2 of 2)', 4)]
        >>> fitting(Table("Accuracy", ["Method", "a"]))[0].caption
        'Accuracy'
    """
    left = GAP + max(len(text) for text in (table.columns[0], *(r.heading for r in table.rows)))
    starts, used = [0], left
    for number, heading in enumerate(table.columns[1:]):
        cells = [(row.cells[number], printed(row.cells[number])) for row in table.rows]
        own = GAP + max([len(heading), *(_length(cell, found) for cell, found in cells)])
        if used + own > WIDTH and number > starts[-1]:
            starts.append(number)
            used = left
        used += own
    if len(starts) < 2 or table.texts:  # words say what the numbers behind them are
        return [table]
    return [
        replace(
            table,
            caption=f"{table.caption} (part {part} of {len(starts)})",
            columns=[table.columns[0], *table.columns[1:][start:end]],
            rows=[replace(row, cells=row.cells[start:end]) for row in table.rows],
        )
        for part, (start, end) in enumerate(zip(starts, [*starts[1:], None], strict=True), 1)
    ]


def latex_tables(document: Document) -> str:
    """`table.tex`: the tables alone, to be read by a document that uses booktabs."""
    parts = [(anchor, part) for anchor, table in document.tables(SHOWN) for part in fitting(table)]
    banners = [f"% {' '.join(banner.text.split())}" for banner in document.banners]
    head = ["% Written by medldr; needs \\usepackage{booktabs}.", *banners]
    numbered = [latex_table(t, f"tab:{anchor}-{n}") for n, (anchor, t) in enumerate(parts, 1)]
    return "\n\n".join(["\n".join(head), *numbered]) + "\n"


def latex_document(document: Document) -> str:
    """`report.tex`: a document that says what was found and reads `table.tex`."""
    verdict: list[str] = []
    if (found := document.verdict) is not None:
        verdict = [rf"\textbf{{{escape(found.headline)}}} {escape(found.text)}"]
        verdict += map(escape, found.more)
    result = document.section("result")
    small = [block.text for block in (result.of(Paragraph) if result else ()) if block.style]
    lines = [
        r"\documentclass[10pt]{article}",
        r"\usepackage[utf8]{inputenc}",
        r"\usepackage[a4paper,landscape,margin=18mm]{geometry}",
        r"\usepackage{booktabs}",
        r"\setcounter{totalnumber}{8}",
        rf"\title{{{escape(document.title)}}}",
        r"\author{}",
        r"\date{}",
        r"\begin{document}",
        r"\maketitle",
        *(rf"\noindent {text}\par\medskip" for text in verdict),
        rf"\noindent {escape(document.subtitle)}.\par\medskip",
        *(rf"\noindent\textbf{{{escape(b.text)}}}\par\medskip" for b in document.banners),
        rf"\noindent {escape(' '.join(small))}",
        r"\input{table.tex}",
        r"\end{document}",
    ]
    return "\n".join(lines) + "\n"
