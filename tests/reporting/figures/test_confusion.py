"""The confusion matrix as a figure."""

from medldr.folders.evaluation_record import SplitRecord
from medldr.reporting.sections.run.drawn import confusion_figure


def test_shares_of_the_confusion_matrix_are_of_each_true_class():
    drawing = confusion_figure(SplitRecord(confusion=[[3, 1], [0, 0]]), ["yes", "no"])
    assert drawing.alt == "Correct predictions per class: yes 3 of 4 (75%), no 0 of 0."
    for text in ("75", "(3)", "25", "–"):
        assert f">{text}<" in drawing.svg
    assert confusion_figure(SplitRecord(), ["yes", "no"]) is None
