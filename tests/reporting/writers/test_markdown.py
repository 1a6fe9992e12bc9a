"""Markdown: every table is a rectangle, names are printed as they are, nobody is named."""

import re

from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.writers.markdown import escape, markdown_page, markdown_table


def tables_of(text):
    """Tables as rows of cells, split at bars that are not escaped."""
    found, rows = [], []
    for line in [*text.splitlines(), ""]:
        if line.startswith("| "):
            cells = re.split(r"(?<!\\)\|", line)[1:-1]
            rows.append([cell.strip() for cell in cells])
        elif rows:
            found.append(rows)
            rows = []
    return found


def test_the_page_has_every_section_and_every_table_is_a_rectangle(whole):
    text = markdown_page(whole.document)
    assert text.startswith("# Two \\<sets\\> & 100 %\n")
    headings = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    assert headings == [s.title for s in whole.document.sections if s.anchor != "curves"]
    found = tables_of(text)
    assert len(found) == sum(len(section.tables) for section in whole.document.sections)
    for rows in found:
        assert len({len(row) for row in rows}) == 1
        assert all(cell in (":--", "--:") for cell in rows[1])
    assert "DOE_JANE" not in text
    assert "MRN-" not in text
    assert "> **A demonstration.**" in text
    assert "ORACLE SELECTION in Mixup (oracle)" in text


def test_marks_counts_and_what_is_missing_are_in_the_grid(whole, grids_of):
    grid = grids_of(whole)["test", "accuracy"]
    rows = {row[0]: row[1:] for row in tables_of(markdown_page(whole.document))[0]}
    assert rows["Method"] == ["Derma\\_1", "OCT", "Average"]
    for row, cells in list(grid.cells.items())[2:4]:
        for cell, text in zip(cells, rows[f"{row}<sup>a</sup>"], strict=False):
            shown = f"{100 * cell.mean:.1f}"
            marked = {"best": f"**{shown}**", "second": f"<ins>{shown}</ins>", "": shown}
            assert text.split("<br>")[0] == marked["".join(cell.marks)]
            assert text.split("<br>")[2] == f"SD {100 * cell.sd:.1f}, n 3"
    assert rows["ERM, half the rate (control)<sup>a</sup>"][1] == "not run"
    assert rows["Mixup (oracle)"][1].endswith("n 2 of 3")


def test_names_with_markup_in_them_change_nothing():
    table = Table("a | b", ["x|y", "*z*"])
    table.rows = [Row("<b>_r_</b>", [Cell("1", mark=table.sign("see `c`"))], mark="a")]
    assert markdown_table(table).splitlines() == [
        "**a \\| b**",
        "",
        "| x\\|y | \\*z\\* |",
        "| :-- | --: |",
        "| \\<b\\>\\_r\\_\\</b\\><sup>a</sup> | 1<sup>a</sup> |",
        "",
        "<sup>a</sup> see \\`c\\`  ",
    ]
    assert escape("two\nlines") == "two lines"
