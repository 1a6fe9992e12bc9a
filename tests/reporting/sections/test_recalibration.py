"""The section on recalibration also says why there was none, and leaves old runs alone."""

from medldr.folders.evaluation_record import EvaluationRecord
from medldr.reporting.document import Paragraph
from medldr.reporting.sections.run.recalibration import recalibration


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
