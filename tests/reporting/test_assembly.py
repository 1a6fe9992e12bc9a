"""A section that fails is named on its page, in the log, and costs no other."""

import logging

import pytest

from medldr.folders.run_record import RunRecord
from medldr.reporting import prose
from medldr.reporting.document import Document, Paragraph
from medldr.reporting.pages.run import run_page
from medldr.reporting.prose import answered, assemble, section
from medldr.reporting.read.run import RunFiles
from medldr.reporting.sections.run import verdict as run_verdict
from medldr.reporting.writers.html import html_page
from medldr.reporting.writers.markdown import markdown_page


def fail():
    raise ValueError("no such <class>")


def made():
    return assemble(
        "run",
        [
            ("curves", lambda: section("run", "curves", Paragraph("Falling."))),
            ("labels", fail),
            ("clinical", lambda: None),
            ("card", lambda: section("run", "card", Paragraph("Taken in 2020."))),
        ],
    )


def test_one_that_fails_says_so_in_one_line_and_costs_no_other(monkeypatch, caplog):
    monkeypatch.setattr(prose, "STRICT", False)
    with caplog.at_level(logging.WARNING, logger="medldr.reporting"):
        sections = made()
    assert [(one.anchor, one.title) for one in sections] == [
        ("curves", "Learning curves: loss and validation during training"),
        ("classes", "Labels"), ("card", "Data card")
    ]  # fmt: skip
    page = Document("A run", "run", sections=sections)
    assert "could not be made: ValueError: no such &lt;class&gt;" in html_page(page)
    assert "could not be made: ValueError" in markdown_page(page)
    assert "Labels" in caplog.text
    assert "in fail" in caplog.text  # the traceback


def test_the_tests_of_medldr_see_the_error():
    with pytest.raises(ValueError, match="no such"):
        made()
    with pytest.raises(ValueError, match="no such"):
        answered(fail)


def test_a_verdict_that_fails_costs_no_page(monkeypatch, caplog):
    monkeypatch.setattr(prose, "STRICT", False)
    monkeypatch.setattr(run_verdict, "scored_verdict", lambda *_: fail())
    page = run_page(RunFiles("r", {}, RunRecord(status="done")))
    assert page.verdict.word == "not made"
    assert page.verdict.text == "The answer could not be made: ValueError: no such <class>"
    assert page.sections
    assert "in fail" in caplog.text


def test_a_name_that_has_no_words_is_an_error_even_if_its_section_is_fine(monkeypatch):
    monkeypatch.setattr(prose, "STRICT", False)
    with pytest.raises(LookupError, match=r"no run\.resul"):
        assemble("run", [("resul", lambda: None)])
