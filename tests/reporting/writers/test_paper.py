"""Figures for a paper: white paper, fonts inside, nothing that only a page needs."""

import re

import pytest

from medldr.reporting.document import Document, Figures, Section
from medldr.reporting.figures.drawing import BLUE, add_tips, draw, draw_axes
from medldr.reporting.writers.paper import drawings_of, for_paper, write_figures

pytestmark = pytest.mark.usefixtures("drawn")


def line(name="a_line"):
    def paint(axes):
        axes.plot([0, 1], [0, 1], color=BLUE, label="line")
        add_tips(axes, [0, 1], [0, 1], ["first", "second"])

    return draw_axes(name, paint, labels=("x", "y"), title="t", caption="c", alt="a")


def broken():
    def paint(figure):
        raise RuntimeError("no")

    return draw("broken", paint, title="t", caption="c", alt="a")


def page(*drawings):
    section = Section("s", "S", "S", [Figures(drawings)])
    return Document("title", "kicker", sections=[section, Section("t", "T", "T")])


def test_each_figure_is_an_svg_and_a_pdf_and_one_that_failed_is_neither(tmp_path):
    document = page(line(), broken())
    assert [drawing.name for drawing in drawings_of(document)] == ["a_line", "broken"]
    files = write_figures(document, tmp_path / "figures")
    assert [path.name for path in files] == ["a_line.svg", "a_line.pdf"]
    assert sorted(path.name for path in (tmp_path / "figures").iterdir()) == [
        "a_line.pdf", "a_line.svg",
    ]  # fmt: skip


def test_a_file_needs_no_style_sheet_no_font_and_no_pointer():
    svg = for_paper(line(), "svg").decode()
    assert "var(--" in line().svg
    assert "var(--" not in svg
    assert BLUE in svg
    assert 'class="tip"' in line().svg
    assert 'class="tip"' not in svg
    assert "<text" not in svg  # letters are drawn
    assert re.search(r"fill: #ffffff", svg)


def test_a_pdf_has_outline_fonts_and_no_date():
    pdf = for_paper(line(), "pdf")
    assert b"/Type3" not in pdf
    assert b"CreationDate" not in pdf


def test_what_was_not_drawn_cannot_be_drawn_for_a_paper():
    with pytest.raises(ValueError, match="'broken' cannot be drawn again"):
        for_paper(broken(), "pdf")
