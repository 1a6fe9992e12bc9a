"""Names of others act on no terminal, page, drawing or spreadsheet."""

import csv
import io
import os
import stat

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medldr.console import Console
from medldr.data.files.memory import cache_folder
from medldr.evaluation.predictions.table import (
    predictions_of,
    read_predictions,
    write_predictions,
)
from medldr.foreign_text import cell, escape, plain, visible
from medldr.prediction.answers import Answers, write_answers
from medldr.reporting.document import Bullets, Document, Section
from medldr.reporting.figures.drawing import draw
from medldr.reporting.table import Cell, Row, Table
from medldr.reporting.writers.csv import csv_text
from medldr.reporting.writers.html import html_page
from medldr.reporting.writers.markdown import markdown_page
from medldr.reporting.writers.terminal import print_document

WORDS = st.text(alphabet="=+-@'1.e\t\ra ", max_size=8)
NASTY = "\x1b]0;x\x07\x9b\u202eb"
FORMULAS = ("=1+1", "+x", "-2+3", "@SUM(A1)", "'=1", "\t=1", "\r=1")


@given(WORDS)
def test_a_cell_reads_back_equal_and_runs_nothing(text):
    written = cell(text)
    assert plain(written) == text
    assert written == text or written == f"'{text}"
    if len(text) > 1 and text[0] in "=@":
        assert written.startswith("'")


@pytest.mark.parametrize("number", ["-1", "+1.5", "-1e-07", ".5", "-.5E+3", "+", "-", "a=b", ""])
def test_numbers_and_harmless_texts_stay_as_they_are(number):
    assert cell(number) == plain(number) == number


@given(st.text(max_size=20))
def test_visible_texts_hold_no_control_character(text):
    made = visible(text)
    assert len(made) == len(text)
    assert not [c for c in made if c not in "\t\n" and (ord(c) < 32 or 127 <= ord(c) < 160)]
    assert escape(text) == visible(escape(text))


def test_no_writer_lets_a_control_character_through(drawn):
    def paint(figure):
        figure.text(0.1, 0.1, NASTY)

    figure = draw("x", paint, title=NASTY, caption=NASTY, alt=NASTY, size=(2, 2))
    table = Table(NASTY, ["a", NASTY], [Row(NASTY, [Cell(NASTY)])], notes=[NASTY])
    document = Document(
        NASTY, NASTY, NASTY, (), [Section("s", NASTY, NASTY, [Bullets([NASTY]), table])]
    )
    out = io.StringIO()
    print_document(document, Console(file=out, width=80, force_terminal=True, color_system=None))
    for text in (figure.svg, html_page(document), markdown_page(document), out.getvalue()):
        assert "\ufffd" in text
        assert text == visible(text)


def test_an_error_moves_no_cursor(medldr):
    ended = medldr("report", f"nowhere{NASTY}")
    assert ended.code == 2
    assert "\ufffd" in ended.err
    assert ended.err == visible(ended.err)


def test_tables_of_pages_hold_no_formula():
    lines = [{"text": text, "number": -0.5} for text in FORMULAS[:-1]]
    rows = list(csv.DictReader(io.StringIO(csv_text(["text", "number"], lines), newline="")))
    assert all(row["text"][0] == "'" for row in rows)
    assert [plain(row["text"]) for row in rows] == list(FORMULAS[:-1])
    assert {row["number"] for row in rows} == {"-0.5"}


def test_predictions_read_back_equal_and_ids_stay(tmp_path):
    n = len(FORMULAS)
    made = predictions_of(
        "binary", [0] * n, [[0.5, 0.5]] * n, ids=FORMULAS, group=FORMULAS, domain=FORMULAS,
        columns={"sex": FORMULAS},
    )  # fmt: skip
    write_predictions(tmp_path / "p.csv", made)
    again = read_predictions(tmp_path / "p.csv")
    for name in ("id", "group", "domain"):
        np.testing.assert_array_equal(getattr(again, name), FORMULAS)
    np.testing.assert_array_equal(again.columns["sex"], FORMULAS)
    with (tmp_path / "p.csv").open(newline="") as file:
        (row, *_) = csv.DictReader(file)
    assert [row[key] for key in ("id", "domain", "meta_sex")] == ["=1+1", "'=1+1", "'=1+1"]


def test_answers_hold_no_formula_but_names_lead_to_files(tmp_path):
    answers = Answers(
        "binary", ("=a", "b"), ("-x.png",), np.array([[0.9, 0.1]]), np.array([[2.2, -2.2]]),
        warnings=(("=1",),),
    )  # fmt: skip
    write_answers(answers, tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert (row["path"], row["predicted"], row["warnings"]) == ("-x.png", "'=a", "'=1")
    assert row["prob_b"] == "0.1"


def test_the_cache_of_a_user_is_their_own(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("MEDLDR_CACHE")
    before = os.umask(0o022)
    try:
        folder = cache_folder("looks")
        assert stat.S_IMODE(folder.parent.stat().st_mode) == 0o700
        monkeypatch.setenv("MEDLDR_CACHE", str(tmp_path / "shared"))
        assert stat.S_IMODE(cache_folder("looks").parent.stat().st_mode) == 0o755
    finally:
        os.umask(before)
