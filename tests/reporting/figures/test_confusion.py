"""The confusion matrix as a figure."""

import re

import pytest

from medldr.reporting.figures.confusion import confusion_figures


def test_shares_of_the_confusion_matrix_are_of_each_true_class():
    counts, shares = confusion_figures([[3, 1], [0, 0]], ["yes", "no"])
    assert counts.alt == "Correct predictions per class: yes 3 of 4, no 0 of 0."
    assert shares.alt == "Recall per class: yes 75%, no undefined."
    for text in ("75", "25", "–"):
        assert f">{text}</text>" in shares.svg


def test_the_shade_of_a_cell_is_its_share_of_one_colour():
    _, shares = confusion_figures([[3, 1], [0, 4]], ["yes", "no"])
    shades = [
        float(text) for text in re.findall(r"var\(--heat\); fill-opacity: ([0-9.]+)", shares.svg)
    ]
    assert shades == pytest.approx([0.75, 0.25], abs=0.01)
    assert shares.svg.count("fill: var(--heat)") == 3  # 100% is not transparent, 0% is not drawn
