"""Tables beside each other are one table that loses nothing."""

from medldr.reporting.table import Cell, Row, Table, side_by_side
from medldr.reporting.writers.cells import printed


def test_tables_side_by_side_keep_rows_footnotes_and_what_is_apart():
    first, second = Table("one", ["Method", "x"]), Table("two", ["Method", "x"])
    first.rows = [
        Row("a", [Cell("1", mark=first.sign("only in one"))]),
        Row("c", [Cell("3")], apart=True),
    ]
    second.rows = [Row("b", [Cell("5", mark=second.sign("only in two"))]), Row("a", [Cell("4")])]
    table = side_by_side("both", [("One", first), ("Two", second)])
    assert table.columns == ["Method", "One", "Two"]
    texts = {row.heading: [printed(cell).text for cell in row.cells] for row in table.rows}
    assert texts == {"a": ["1", "4"], "b": ["–", "5"], "c": ["3", "–"]}
    assert [row.heading for row in table.rows] == ["a", "b", "c"]
    notes = dict(table.footnotes)
    assert notes[table.rows[0].cells[0].mark] == "only in one"
    assert notes[table.rows[1].cells[1].mark] == "only in two"
