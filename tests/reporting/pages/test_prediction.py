"""The page of answers: one decision for each item, by one rule, counted first."""

from medldr.reporting.pages.prediction import Decided, Decision, overview, prediction_page
from medldr.reporting.writers.html import html_page


def found(rule, *classes, unreadable=()):
    decisions = [Decision(f"item {n}", (name,), 0.518, ()) for n, name in enumerate(classes, 1)]
    return Decided("a run", "items", decisions, rule, ["Mean of 2 runs."], unreadable)


def test_a_threshold_is_counted_and_its_class_has_the_probability():
    document = overview(found(("tumor", 0.3), "tumor", "normal", "tumor"))
    assert document.verdict.word == "2 of 3 above the threshold"
    assert document.verdict.text == "tumor is decided for items above a probability of 0.3."
    (table,) = document.section("answers").tables
    assert table.columns == ["Item", "Decision", "Probability of tumor", "Warnings"]
    assert [cell.content for cell in table.rows[0].cells] == ["tumor", "0.518", ""]


def test_without_one_the_most_probable_classes_are_counted():
    document = overview(found(None, *"aaabbc", unreadable=[("x.nii", "truncated")]))
    assert document.verdict.word == "6 items answered"
    assert document.verdict.text == "Decided: a 3, b 2, c 1."
    assert "Not readable: 1" in document.verdict.more[0]
    assert document.section("answers").tables[0].columns[2] == "Probability"


def test_the_page_has_verdict_decisions_and_maps():
    html = html_page(prediction_page(found(None, "a", "b"), [("iVBORw0=", True)], "Some-CAM"))
    assert "2 items answered." in html
    assert "item 1: a" in html
    assert "zero everywhere" in html
    assert "(Some-CAM)" in html
    assert "In the folder: 1 more" in html


def test_a_single_item_no_label_and_nothing_are_said_in_whole_words():
    assert overview(found(None, "a")).verdict.word == "1 item answered"
    none = Decided("a run", "items", [Decision("x", (), 0.1, ("dark",))], None, [], [])
    assert overview(none).verdict.text == "No label is present."
    assert "1 of 1 item;" in overview(none).verdict.more[0]
    nothing = overview(found(("tumor", 0.3), unreadable=[("x.nii", "truncated")])).verdict
    assert (nothing.word, nothing.text) == ("0 items answered", "Nothing could be read.")
