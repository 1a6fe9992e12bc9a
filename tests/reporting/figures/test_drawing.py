"""Figures: without a display or a home, without ending anything, and fit to stand in one page."""

import logging
import os
import subprocess
import sys
import textwrap

import matplotlib
import numpy as np
import pytest

from medldr.reporting import write_report
from medldr.reporting.figures.comparison import overlay_figures
from medldr.reporting.figures.confusion import confusion_figures
from medldr.reporting.figures.curves import latent_curves, learning_curves
from medldr.reporting.figures.drawing import draw
from medldr.reporting.figures.forest import Whisker, forest_figure
from medldr.reporting.figures.roc_reliability import reliability_figure, roc_figure

BLANK = {"title": "t", "caption": "c", "alt": "a"}


def plot(figure):
    figure.add_subplot().plot([0, 1], [0, 1])


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
    def fail(*_):
        raise MemoryError("no canvas <here>")

    monkeypatch.setattr("medldr.reporting.figures.roc_reliability._paint_roc", fail)
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


def test_shares_of_the_confusion_matrix_are_of_each_true_class():
    counts, shares = confusion_figures([[3, 1], [0, 0]], ["yes", "no"])
    assert counts.alt == "Right answers per class: yes 3 of 4, no 0 of 0."
    assert shares.alt == "Share of right answers per class: yes 75 %, no undefined."
    for text in ("75", "25", "–"):
        assert f">{text}</text>" in shares.svg


def test_roc_and_reliability_say_their_numbers_with_intervals():
    auc = {"value": 0.875, "low": 0.75, "high": 1.0, "reason": None}
    split = {
        "metrics": {"ece": {"value": 0.0625, "low": 0.03125, "high": 0.125, "reason": None}},
        "classes": {"a": {"auc": auc}},
        "roc": {"a": {"fpr": [0, 0.5, 1], "tpr": [0, 1, 1]}, "b": {"fpr": [], "tpr": []}},
        "reliability": {"count": [0, 4], "confidence": [None, 0.75], "accuracy": [None, 0.5]},
    }
    roc = roc_figure(split)
    assert "a: 0.875 (0.750 to 1.000)" in roc.svg
    assert ">b" not in roc.svg
    drawn = reliability_figure(split, {"definition": "top-label", "bins": 2})
    assert "ECE 0.062 (0.031 to 0.125)" in drawn.svg
    assert "top-label definition with 2 bins" in drawn.caption
    assert "0.75 stated, 0.50 observed (4)" in drawn.alt


def test_many_classes_name_the_best_and_the_worst_curves():
    line = {"fpr": [0, 1], "tpr": [0, 1]}
    names = [f"c{i:02d}" for i in range(20)]
    aucs = np.linspace(0.5, 0.9, 20)
    split = {
        "classes": {n: {"auc": {"value": a}} for n, a in zip(names, aucs, strict=True)},
        "roc": dict.fromkeys(names, line),
    }
    svg = roc_figure(split).svg
    assert [n for n in names if f"{n}: " in svg] == ["c00", "c01", "c02", "c17", "c18", "c19"]


def test_nothing_to_draw_is_no_figure():
    assert roc_figure({"roc": {}}) is None
    assert reliability_figure({"reliability": {"count": [0, 0]}}, {}) is None
    assert forest_figure("f", [], title="", caption="", xlabel="") is None
    assert learning_curves([], None) == []
    assert latent_curves([{"epoch": 1, "train/loss": 1.0}], None, 0.5) == []


def test_curves_skip_what_is_undefined_and_mark_the_selected_epoch():
    rows = [{"epoch": e, "val/auc": v} for e, v in ((1, None), (2, 0.5), (3, 0.75))]
    (drawing,) = learning_curves(rows, {"epoch": 3, "step": 9})
    assert "from 0.500 at epoch 2 to 0.750 at epoch 3" in drawing.alt
    assert "selected (epoch 3)" in drawing.svg


def test_an_accuracy_on_mixed_images_is_called_that():
    rows = [{"epoch": e, "train/accuracy/mixed": e / 4, "train/loss": 1.0} for e in (1, 2)]
    loss, results = learning_curves(rows, None)
    assert "training, original latents" not in loss.svg
    alt = results.alt.replace("\xa0", " ")
    assert "training accuracy, mixed images: from 25.0 % at epoch 1" in alt


def test_evaluations_between_epochs_are_drawn_over_steps():
    rows = [{"epoch": 1, "step": s, "val/auc": 0.5 + s / 100} for s in (10, 20)]
    (drawing,) = learning_curves(rows, {"epoch": 1, "step": 20})
    assert "at step 20" in drawing.alt
    assert "selected (step 20)" in drawing.svg


@pytest.mark.parametrize("low", [None, -0.1])
def test_a_forest_shows_values_with_and_without_intervals(low):
    rows = [Whisker("a", 0.25, low, 0.5)]
    drawing = forest_figure("f", rows, title="", caption="", xlabel="x", factor=100, reference=0)
    assert not drawing.error
    assert drawing.alt == ("x: a 25." if low is None else "x: a 25 (-10 to 50).")


def test_batchformer_shows_its_latents_beside_the_plain_ones():
    rows = [
        {"epoch": e, "train/accuracy": 0.5 + e / 10, "train/accuracy/batchformer": 0.4 + e / 10}
        for e in (1, 2, 3)
    ]
    (drawing,) = latent_curves(rows, None, 0.25)
    assert drawing.name == "attended"
    assert "after attending to the batch: from" in drawing.alt


def test_many_runs_are_drawn_as_the_mean_of_each_method():
    def run(level):
        return [{"epoch": e, "val/auc": level + e / 100} for e in (1, 2)]

    few = overlay_figures({"erm": [run(0.5), run(0.7)]})[0]
    assert "One line per run" in few.caption
    assert "erm ends at 0.520, 0.720" in few.alt
    many = overlay_figures({f"m{i}": [run(0.5), run(0.7)] for i in range(7)})[0]
    assert "One line per method" in many.caption
    assert "m6 ends at 0.520, 0.720" in many.alt
