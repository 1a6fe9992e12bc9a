"""The section on recalibration also says why there was none, and leaves old runs alone."""

from medldr.folders.evaluation_record import EvaluationRecord
from medldr.reporting.document import Paragraph
from medldr.reporting.sections.run.tables import recalibration


def scored(**made):
    return EvaluationRecord(
        task="binary",
        splits={"test": {"n": 5, "metrics": {"ece": {"value": 0.05}, "nll": {"value": 0.4}}}},
        **({"recalibration": {"method": "temperature", **made}} if made else {}),
    )


def words(section):
    return " ".join(block.text for block in section.of(Paragraph))


def test_without_a_temperature_the_reason_is_given():
    section = recalibration(scored(split="val", n=9, reason="val gives no temperature: why"))
    assert "It was asked for, but val gives no temperature: why." in words(section)
    assert section.tables == []


def test_its_size_its_interval_and_where_it_did_harm_are_given():
    worse = {"split": "test", "domain": "h2", "metric": "nll", "before": 0.5, "after": 0.75}
    made = {"temperature": 10.8, "low": 0.1, "high": 100.0, "split": "val", "n": 6, "n_groups": 3}
    little = worse | {"domain": "h3", "after": 0.5004}  # by less than is shown
    said = words(recalibration(scored(**made, worsened=[worse, little])))
    assert "h3" not in said
    assert "Temperature 10.8 (95% CI 0.1 to 100)" in said
    assert "6 images of 3 groups" in said
    assert "was not clearly over- or underconfident there" in said  # the interval includes 1
    assert "NLL worse on test, h2: 0.500 before, 0.750 after" in said
