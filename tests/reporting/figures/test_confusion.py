"""The confusion matrix as a figure."""

from medldr.reporting.figures.confusion import confusion_figures


def test_shares_of_the_confusion_matrix_are_of_each_true_class():
    counts, shares = confusion_figures([[3, 1], [0, 0]], ["yes", "no"])
    assert counts.alt == "Correct predictions per class: yes 3 of 4, no 0 of 0."
    assert shares.alt == "Recall per class: yes 75%, no undefined."
    for text in ("75", "25", "–"):
        assert f">{text}</text>" in shares.svg
