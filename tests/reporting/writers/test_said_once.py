"""What several tables of a section say below them stands there once; a paper has it in each."""

import re

import pytest

from medldr.reporting.document import Document
from medldr.reporting.prose import section
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.writers.html import html_page
from medldr.reporting.writers.latex import latex_table
from medldr.reporting.writers.markdown import markdown_page


@pytest.fixture
def page():
    first, second = Table("One", ["Method", "a", "b"]), Table("Two", ["Method", "a"])
    cells = [Cell("2", mark=first.sign("few images")), Cell("3", mark=first.sign("a single class"))]
    first.rows = [Row("y", cells), Row("x", [Cell("1"), Cell("1")], mark=first.sign("other rate"))]
    second.rows = [
        Row("y", [Cell("4", mark=second.sign("only one class"))], mark=second.sign("other rate")),
        Row("x", [Cell("5", mark=second.sign("few images"))]),
    ]
    first.notes, second.notes = ["One rule chose.", "Of one."], ["One rule chose."]
    return Document("A page", "", "s", sections=[section("sweep", "grids", first, second)])


@pytest.mark.parametrize("write", [html_page, markdown_page])
def test_a_page_says_it_once_below_the_tables(page, write):
    text = re.sub(r"<[^>]*>", "", write(page))
    said = (
        "few images",
        "other rate",
        "One rule chose",
        "a single class",
        "only one class",
        "Of one",
    )
    assert [text.count(one) for one in said] == [1] * 6
    second = text.index("Two")
    assert [text.index(one) > second for one in said] == [True, True, True, False, True, False]


def test_signs_are_those_of_the_section_in_the_order_of_reading(page):
    first, second = page.sections[0].tables
    assert first.footnotes == [("a", "few images"), ("b", "a single class"), ("c", "other rate")]
    assert [first.rows[0].cells[0].mark, first.rows[0].cells[1].mark, first.rows[1].mark] == [
        *"abc"
    ]
    assert [second.rows[0].mark, second.rows[0].cells[0].mark, second.rows[1].cells[0].mark] == [
        *"cda"
    ]


def test_a_table_of_a_paper_stands_alone(page):
    text = latex_table(page.sections[0].tables[1], "tab:two")
    said = re.findall(r"^\\textsuperscript\{(.)\} (.*)$", text, re.M)
    assert said == [("a", "other rate"), ("b", "only one class"), ("c", "few images")]
    assert "One rule chose." in text
    assert r"y\textsuperscript{a} & 4\textsuperscript{b} \\" in text
