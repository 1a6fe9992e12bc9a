"""The terminal: names in full where there is room, captions on their own line, no empty columns."""

import io

from rich.console import Console

from medldr.metrics import metric_facts
from medldr.reporting.document import Document, Section
from medldr.reporting.table import Cell, Estimate, Row, Table
from medldr.reporting.writers.terminal import terminal_document

LONG = "latentdr_full_lr_breast (oracle)"


def lines_of(table, width=80):
    out = Console(file=io.StringIO(), width=width, highlight=False)
    page = Document("", "", sections=[Section("a", "A", "A", [table])])
    out.print(terminal_document(page, width))
    return [line.rstrip() for line in out.file.getvalue().splitlines()]


def table_of(columns):
    cell = Cell(Estimate(0.5, sd=0.1), metric_facts("accuracy"))
    rows = [Row(name, [cell] * columns) for name in ("erm", LONG)]
    return Table("Test, unseen domain (scanner_d), n = 28", ["Method", *"abcdefgh"[:columns]], rows)


def test_a_long_name_folds_where_the_columns_need_the_room():
    lines = lines_of(table_of(4), width=78)
    assert not any(line.startswith(LONG) for line in lines)
    assert max(map(len, lines)) <= 78
    assert "".join(lines).count("50.0 ±10.0") == 8


def test_a_table_cut_into_parts_gives_each_the_room_it_has_and_every_number():
    lines = lines_of(table_of(8), width=60)
    assert max(map(len, lines)) <= 60
    assert "".join(lines).count("50.0 ±10.0") == 16


def test_a_column_of_dashes_alone_is_left_out():
    table = table_of(2)
    table.columns[2] = "Average"
    table.rows = [Row(row.heading, [row.cells[0], Cell()]) for row in table.rows]
    assert "Average" not in "\n".join(lines_of(table))
    table.rows[0] = Row("erm", [Cell(), Cell(Estimate(0.5), metric_facts("accuracy"))])
    assert "Average" in "\n".join(lines_of(table))
