"""Reliability: the calibration error, how it is defined, and every bin in words."""

from medldr.folders.evaluation_record import EvaluationRecord, SplitRecord
from medldr.reporting.sections.run.drawn import reliability_figure

BINS = {"count": [0, 4], "confidence": [None, 0.75], "accuracy": [None, 0.5]}


def scored(**more):
    return EvaluationRecord(**({"task": "multi-class", "splits": {}} | more))


def test_the_error_is_shown_with_its_interval_and_every_bin_in_words():
    ece = {"value": 0.0625, "low": 0.03125, "high": 0.125, "reason": None}
    split = SplitRecord(metrics={"ece": ece}, reliability=BINS)
    drawn = reliability_figure(split, scored(calibration={"definition": "top-label"}))
    assert drawn.name == "reliability"
    assert drawn.title == "Reliability, ECE 0.062 (0.031 to 0.125)"
    assert "top-label definition with 2 bins" in drawn.caption
    assert drawn.alt == (
        "ECE 0.062 (0.031 to 0.125). Mean probability, observed frequency (count): "
        "0.75 predicted, 0.50 observed (4)."
    )


def test_other_definitions_are_read_as_probabilities():
    split = SplitRecord(reliability=BINS)
    drawn = reliability_figure(split, scored(calibration={"definition": "per label"}))
    assert "observed frequency" in drawn.alt
    assert "per label definition" in drawn.caption
