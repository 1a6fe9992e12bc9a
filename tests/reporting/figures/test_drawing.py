"""Figures: without a display or a home, without ending anything, and fit to stand in one page."""

import logging
import os
import re
import subprocess
import sys
import textwrap
from importlib import resources

import matplotlib
import pytest

from medldr.reporting import write_report
from medldr.reporting.figures import drawing
from medldr.reporting.figures.drawing import VARIABLES, add_tips, draw, draw_axes, looks

STYLE_SHEET = resources.files("medldr.reporting") / "templates" / "style.css"
BLANK = {"title": "t", "caption": "c", "alt": "a"}


def plot(figure):
    figure.add_subplot().plot([0, 1], [0, 1])


@pytest.mark.slow  # a process of its own
def test_figures_come_without_a_display_or_a_home_that_can_be_written(tmp_path):
    """A dead DISPLAY and no MPLBACKEND; the user's home is no folder at all."""
    script = """
        import sys, warnings
        warnings.simplefilter("error")
        from medldr.folders.evaluation_record import SplitRecord
        from medldr.reporting.sections.run.drawn import confusion_figure
        from medldr.reporting.figures import drawing
        many = [[i == j for i in range(40)] for j in range(40)]
        names = [str(i) for i in range(40)]
        few = confusion_figure(SplitRecord(confusion=[[3, 1], [0, 2]]), ["a", "b"])
        drawn = few, confusion_figure(SplitRecord(confusion=many), names)
        for drawing in drawn:
            assert drawing.svg.startswith("<svg") and not drawing.error, drawing.error
        assert "data:image/png;base64," in drawn[1].svg   # rasterised, through Agg
        assert "matplotlib.pyplot" not in sys.modules
        print("drawn", len(drawn))
    """
    nowhere = tmp_path / "nowhere"
    nowhere.write_text("a file, so that nothing can be made below it")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MPL", "XDG_"))}
    environment |= {"DISPLAY": "localhost:64.0", "HOME": str(nowhere), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)],
        env=environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout == "drawn 2\n"


def test_a_figure_that_fails_is_a_sentence_on_the_page_and_a_line_in_the_log(
    run_folder, read, monkeypatch, caplog
):
    def fail(*_, **__):
        raise MemoryError("no canvas <here>")

    monkeypatch.setattr("medldr.reporting.figures.lines.add_tips", fail)
    with caplog.at_level(logging.WARNING, logger="medldr.reporting"):
        found = read(write_report(run_folder()))
    assert "This figure could not be drawn: MemoryError: no canvas <here>" in found.text
    assert found.errors == []
    assert 0 < found.svgs < found.figures
    assert "the figure 'roc' could not be drawn" in caplog.text


def test_the_users_own_style_and_backend_are_neither_used_nor_changed(monkeypatch):
    monkeypatch.setitem(matplotlib.rcParams, "text.usetex", True)
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 40)
    before = dict(matplotlib.rcParams)
    drawn = draw("x", plot, **BLANK)
    assert not drawn.error
    assert "40px" not in drawn.svg
    assert dict(matplotlib.rcParams) == before


def test_ids_of_two_figures_never_meet():
    one, two = (set(re.findall(r'\bid="([^"]+)', draw(n, plot, **BLANK).svg)) for n in ("a", "b"))
    assert one
    assert two
    assert not one & two


def test_every_colour_is_a_variable_so_that_a_dark_page_can_change_it():
    def paint(figure):
        axes = figure.add_subplot()
        for place in range(8):
            axes.plot([0, 1], [0, place])
        axes.fill_between([0, 1], [0, 1], color=drawing.BLUE, alpha=0.2)
        axes.text(0, 0, "#123456 is a name", color="white")
        axes.bar([0], [1], color="black", edgecolor=drawing.PAPER)

    drawn = draw("x", paint, **BLANK)
    assert not drawn.error
    assert re.findall(r"#[0-9a-f]{6}", drawn.svg) == ["#123456"]
    assert "font-family" not in drawn.svg
    used = set(re.findall(r"var\(--([a-z]+)\)", drawn.svg))
    assert set(VARIABLES.values()) - {"heat"} == used


def test_a_colour_that_no_dark_page_could_change_is_refused():
    drawn = draw("x", lambda f: f.add_subplot().plot([0, 1], color="#123456"), **BLANK)
    assert "#123456 would not suit a dark page" in drawn.error


def test_points_show_their_numbers_where_they_are():
    def paint(axes):
        add_tips(axes, [0, float("nan"), 10], [0, 0.5, 1], ["a <b>", "nowhere", "c"])
        axes.plot([0, 10], [0, 1], "o")

    drawn = draw_axes("x", paint, labels=("x", "y"), **BLANK)
    assert not drawn.error
    circle = r'<circle class="tip" cx="([0-9.]+)" cy="([0-9.]+)" r="5"><title>([^<]*)</title>'
    tips = re.findall(circle, drawn.svg)
    assert [text for _, _, text in tips] == ["a &lt;b&gt;", "c"]
    assert drawn.svg.index("<circle") > drawn.svg.rindex("<use")  # nothing covers them
    marks = re.findall(r'<use [^>]*x="([0-9.]+)" y="([0-9.]+)" style="fill: var\(--blue', drawn.svg)
    assert len(marks) == 2
    for (x, y, _), mark in zip(tips, marks, strict=True):
        assert [float(x), float(y)] == pytest.approx([float(at) for at in mark], abs=0.1)


def test_a_method_looks_the_same_whatever_is_drawn_with_it():
    methods = ["erm", "half", "a", "full", "b"]
    found = looks(methods, "erm", ["half", "full"])
    assert found["erm"] == {"color": drawing.INK, "ls": "-"}
    assert {found[m]["color"] for m in ("half", "full")} == {drawing.MUTED}
    assert len({found[m]["ls"] for m in ("half", "full")} - {"-"}) == 2
    assert found["a"] == {"color": drawing.BLUE, "ls": "-"}
    many = looks(range(25), 0)
    assert len({tuple(style.values()) for style in many.values()}) == 25


def test_no_text_of_a_page_is_smaller_than_10_pixels_on_a_phone(drawn):
    def paint(figure):
        axes = figure.add_subplot()
        axes.set_xticks([0, 1], ["a", "b"], fontsize=6)
        axes.text(0, 0, "tiny", fontsize=4)

    sizes = re.findall(r"font(?:-size)?: ([0-9.]+)px", draw("small", paint, **BLANK).svg)
    assert len(sizes) > 4
    least = min(map(float, sizes)) * 96 / 72  # the unit of a drawing is a point
    assert least * 0.72 >= 10  # the style sheet keeps this share of the natural width
    assert ".72 * var(--width)" in STYLE_SHEET.read_text("utf-8")
