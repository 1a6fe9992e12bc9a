"""Wherever seen minus unseen is shown, the seen split is named."""

import json

import pytest

from medldr.evaluation.comparison.compare import make_comparison
from medldr.folders.evaluation_record import EvaluationRecord, read_evaluation
from medldr.reporting import write_comparison, write_report
from medldr.reporting.read.run import read_run
from medldr.reporting.sections.comparison.tables import gap_table
from medldr.reporting.sections.run.result import run_overview
from medldr.reporting.sections.run.verdict import gap_sentence
from medldr.reporting.wording import split_name

HOSPITALS = {"domains": ("hospital_0", "hospital_2"), "held_out": ("hospital_2",)}
CAMELYON = {
    **HOSPITALS,
    "splits": ("id_val", "val", "test"),
    "scored": {"splits": ("id_val", "val", "test")},
}


@pytest.mark.parametrize(("more", "split"), [(HOSPITALS, "id_test"), (CAMELYON, "id_val")])
def test_the_page_and_the_terminal_of_a_run_name_the_seen_split(more, split, run_folder, read):
    files = run_folder(**more)
    scored = json.loads(files.evaluation.read_text())
    assert scored["gap"]["seen"] == split
    found = read(write_report(files))
    number = scored["gap"]["metrics"]["auc"]["value"]  # it leads, as classes are unequal
    seen = split_name(split).lower()
    said = f"seen ({seen}) minus unseen (test) {number:+.3f}"
    assert found.text.count(said.replace("-", "−")) == 1
    domain = "hospital_0" if split == "id_test" else "hospital_0 (validation, seen domains)"
    assert any(row[0].startswith(domain) for row in found.table("Domain"))
    assert any(f"seen ({seen})" in text for text in run_overview(read_run(files)).verdict.more)


@pytest.mark.parametrize(
    ("n", "value", "low", "high", "said"),
    [
        (40, 0.2, 0.1, 0.3, "Accuracy: lower in unseen domains; seen"),
        (40, -0.2, -0.3, -0.1, "Accuracy: higher in unseen domains; seen"),
        (40, 0.003, -0.181, 0.186, "Accuracy: no clear difference between seen and unseen"),
        (40, 0.2, None, None, "Accuracy: no clear difference between seen and unseen"),
    ],
)
def test_a_gap_has_a_direction_only_where_its_interval_excludes_zero(n, value, low, high, said):
    number = {"value": value, "low": low, "high": high}
    scored = EvaluationRecord(
        task="binary", splits={"id_test": {"n": n}, "test": {"n": 40}},
        gap={"seen": "id_test", "metrics": {"accuracy": number}},
    )  # fmt: skip
    assert gap_sentence(scored).startswith(said)


def test_a_gap_of_few_images_or_an_absent_split_has_no_number():
    def said(**splits):
        gap = {"seen": "id_test", "metrics": {"accuracy": number}}
        return gap_sentence(EvaluationRecord(task="binary", splits=splits, gap=gap))

    number, large = {"value": 0.2, "low": 0.1, "high": 0.3}, {"n": 40}
    few = "Accuracy: too few {} to compare seen and unseen domains."
    assert said(id_test=large, test={"n": 4}) == few.format("images (4)")
    of_groups = large | {"n_groups": 9, "unit": "group"}
    assert said(id_test=of_groups, test=large) == few.format("groups (9)")
    assert said(test=large) == said(id_test=large) == ""


def test_what_a_gap_may_come_from_is_said_by_numbers_and_not_by_the_file():
    def said(ill, note):
        counts = {"ill": {"n": ill, "known": 400}, "well": {"n": 400 - ill, "known": 400}}
        test = {"n": 400, "class_counts": counts}
        half = {name: {"n": 200, "known": 400} for name in counts}
        gap = {"seen": "id_test", "note": note, "metrics": {"accuracy": {"value": 0.1}}}
        splits = {"id_test": {"n": 400, "class_counts": half}, "test": test}
        return gap_sentence(EvaluationRecord(task="binary", splits=splits, gap=gap))

    assert "gap from it is too large" not in said(200, "The gap from it is too large.")
    assert "class mix differs" not in said(200, "The class mix differs: by much.")
    assert "The class mix differs: ill 50% seen, 25% unseen" in said(100, None)


def test_a_seen_split_that_chose_the_weights_is_told(run_folder):
    files = run_folder(**CAMELYON, selection={"rule": "id_val_auc", "split": "id_val"})
    sentence = gap_sentence(read_evaluation(files))
    assert sentence.endswith(
        "Validation, seen domains, chose the weights: the gap is biased upwards."
    )
    table = gap_table(make_comparison([files]))
    (row,) = table.rows
    assert dict(table.footnotes)[row.mark].startswith("Validation, seen domains, chose the weights")


def test_a_comparison_names_the_seen_split_and_shows_no_other_number_of_it(
    run_folder, tmp_path, read
):
    folders = [run_folder(f"m_{name}-{name}-s0", **CAMELYON, seed=i) for i, name in enumerate("ab")]
    result = make_comparison(folders)
    found = read(write_comparison(result, tmp_path / "c.html", "a and b", None, folders))
    assert "Seen minus unseen domains, from validation, seen domains, to test" in found.text
    assert list(result.splits) == ["test"]
