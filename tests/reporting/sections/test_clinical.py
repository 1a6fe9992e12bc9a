"""The clinical reading of a run: true to the evaluation, and silent where there is nothing."""

import json

import pytest

from medldr.folders.evaluation_record import EvaluationRecord, SplitRecord
from medldr.metrics import metric_facts
from medldr.reporting import write_report
from medldr.reporting.sections.run.clinical import decision_table
from medldr.reporting.sections.run.drawn import (
    calibration_figures,
    decision_figure,
    domain_roc_figure,
    precision_recall_figure,
)

BINARY = {"task": "binary", "names": ("well", "ill")}
PAIR = ("sensitivity_at_specificity", "specificity_at_threshold")
NEW = (
    "class_counts", "calibration_fit", "calibration_curves", "error_at_coverage", "decisions",
    "precision_recall", "risk_coverage", "decision_curve", "roc_by_domain",
)  # fmt: skip


@pytest.fixture
def page(run_folder, read):
    """The evaluation of a run and its page."""

    def build(**given):
        files = run_folder(**given)
        return json.loads(files.evaluation.read_text()), read(write_report(files))

    return build


def test_the_page_has_the_counts_and_numbers_at_the_threshold(page):
    scored, found = page(**BINARY, scored={"prevalence": 0.05})
    split = scored["splits"]["test"]
    tp, fn, fp, tn = split["decisions"].values()
    assert found.table("Truth", "Called ill", "Called well") == [
        ["ill", str(tp), str(fn), str(tp + fn)],
        ["well", str(fp), str(tn), str(fp + tn)],
        ["All", str(tp + fp), str(fn + tn), "48"],
    ]
    rows = {row[0]: row[1] for row in found.table("Metric", "Value")}
    numbers = split["metrics"] | split["at_prevalence"]
    for key in ("ppv", "npv", "ppv_at_prevalence", "npv_at_prevalence"):
        shown = f"{100 * numbers[key]['value']:.1f} "
        assert rows[f"{metric_facts(key).title} (%)"].startswith(shown)
    for key in ("lr_positive", "lr_negative"):
        assert rows[metric_facts(key).title].startswith(f"{numbers[key]['value']:.3f}")
    pair = [100 * numbers[key]["value"] for key in PAIR]
    said = "Sensitivity {:.1f}% at specificity {:.1f}% (threshold set for 90% specificity on valid"
    assert found.text.count(said.format(*pair)) == 2  # the verdict and the clinical numbers
    assert f"above a probability of {scored['operating_point']['threshold']:.3g}" in found.text
    assert f"{(tp + fn) / 48:.1%} in these data, and 5.0% as stated" in found.text


def test_without_a_validation_split_it_says_why_there_is_no_threshold(page):
    _, found = page(**BINARY, splits=("test",))
    assert "There is no threshold, because no validation split was scored." in found.text
    assert "Decisions at the threshold" not in found.text


def test_calibration_and_errors_are_those_of_the_evaluation(page):
    scored, found = page()
    split = scored["splits"]["test"]
    for row in found.table("Class", "Images of it"):
        fit = split["calibration_fit"][row[0]]
        assert row[1] == str(fit["n"])
        slope = fit["calibration_slope"]
        assert row[3] == f"{slope['value']:.3f} {slope['low']:.3f} to {slope['high']:.3f}"
    for percent, row in zip((100, 90, 80, 70), found.table("Images kept"), strict=True):
        value = split["error_at_coverage"][str(percent)]["value"]
        assert row[0] == f"{percent}%"
        assert row[1].startswith(f"{100 * value:.1f} ")


def test_class_frequencies_stand_by_split_and_by_domain(page):
    scored, found = page(domains=("a", "b"), held_out=("b",))
    counted = scored["splits"]["test"]["class_counts"]
    first = next(t for t in found.tables if t[0][:2] == ["Class", "Test (n = 48)"])
    for name, row in zip(counted, first[1:], strict=True):
        images = counted[name]["n"]
        assert row[1] == f"{images} ({images / 48:.1%})"
    assert first[0][-1] == "Training (n = 60)"
    assert [row[-1] for row in first[1:]] == ["30 (50.0%)", "20 (33.3%)", "10 (16.7%)"]
    assert "b (n = 48)" in first[0]


def test_a_run_of_an_older_version_has_no_such_section(run_folder, read):
    files = run_folder(**BINARY)
    scored = json.loads(files.evaluation.read_text())
    for split in scored["splits"].values():
        for key in NEW:
            split.pop(key, None)
        for key in ("auprc", "mcc", "ppv", "npv", "lr_positive", "lr_negative", "aurc"):
            split["metrics"].pop(key)
    del scored["operating_point"]["prevalence"]
    files.evaluation.write_text(json.dumps(scored))
    found = read(write_report(files))
    assert "clinical" not in found.sections
    assert "judging" in found.sections


def test_nothing_known_draws_nothing():
    empty = SplitRecord()
    assert calibration_figures(empty, 0.95) == []
    for figure in (precision_recall_figure, domain_roc_figure, decision_figure):
        assert figure(empty) is None
    assert decision_table(EvaluationRecord(task="binary", splits={}), empty) is None
