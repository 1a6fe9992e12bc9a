"""Figures: without a display or a home, without ending anything, and fit to stand in one page."""

import logging
import os
import subprocess
import sys
import textwrap

import matplotlib
import pytest

from medldr.reporting import write_report
from medldr.reporting.figures.drawing import draw

BLANK = {"title": "t", "caption": "c", "alt": "a"}


def plot(figure):
    figure.add_subplot().plot([0, 1], [0, 1])


@pytest.mark.slow  # a process of its own
def test_figures_come_without_a_display_or_a_home_that_can_be_written(tmp_path):
    """A dead DISPLAY and no MPLBACKEND; the user's home is no folder at all."""
    script = """
        import sys, warnings
        warnings.simplefilter("error")
        from medldr.reporting.figures.confusion import confusion_figures
        from medldr.reporting.figures.drawing import draw
        many = [[i == j for i in range(40)] for j in range(40)]
        names = [str(i) for i in range(40)]
        drawn = confusion_figures([[3, 1], [0, 2]], ["a", "b"]) + confusion_figures(many, names)
        for drawing in drawn:
            assert drawing.svg.startswith("<svg") and not drawing.error, drawing.error
        assert "data:image/png;base64," in drawn[2].svg   # rasterised, through Agg
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
    assert done.stdout == "drawn 4\n"


def test_a_figure_that_fails_is_a_sentence_on_the_page_and_a_line_in_the_log(
    run_folder, read, monkeypatch, caplog
):
    def fail(*_, **__):
        raise MemoryError("no canvas <here>")

    monkeypatch.setattr("medldr.reporting.figures.roc._paint_roc", fail)
    with caplog.at_level(logging.WARNING, logger="medldr.reporting"):
        found = read(write_report(run_folder()))
    assert "This figure could not be drawn: MemoryError: no canvas <here>" in found.text
    assert found.errors == []
    assert found.figures == found.svgs + 1
    assert "the figure 'roc' could not be drawn" in caplog.text


def test_the_users_own_style_and_backend_are_neither_used_nor_changed(monkeypatch):
    monkeypatch.setitem(matplotlib.rcParams, "text.usetex", True)
    monkeypatch.setitem(matplotlib.rcParams, "font.size", 40)
    before = dict(matplotlib.rcParams)
    drawing = draw("x", plot, **BLANK)
    assert not drawing.error
    assert "40px" not in drawing.svg
    assert dict(matplotlib.rcParams) == before


def test_letters_that_matplotlib_lacks_are_left_to_the_browser():
    drawing = draw("x", lambda f: f.add_subplot().set_title("骨折 $a_b$"), **BLANK)
    assert not drawing.error
    assert "骨折 $a_b$" in drawing.svg


def test_ids_of_two_figures_never_meet():
    import re

    one, two = (set(re.findall(r'\bid="([^"]+)', draw(n, plot, **BLANK).svg)) for n in ("a", "b"))
    assert one
    assert two
    assert not one & two
