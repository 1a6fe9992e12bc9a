"""The section on recalibration also says why there was none, and leaves old runs alone."""

import pytest

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


def test_an_evaluation_of_an_older_version_has_no_section():
    assert recalibration(scored()) is None


def test_without_a_temperature_the_reason_is_given():
    section = recalibration(scored(split="val", n=9, reason="val gives no temperature: why"))
    assert "It was asked for, but val gives no temperature: why." in words(section)
    assert section.tables == []


@pytest.mark.parametrize(("temperature", "said"), [(1.876, "1.88"), (0.5, "0.5")])
def test_a_metric_that_was_not_measured_before_is_left_out(temperature, said):
    before = {"test": {"ece": 0.12, "ece_positive": 0.1, "nll": None}}
    section = recalibration(scored(temperature=temperature, split="val", n=1200, before=before))
    tendency = "overconfident" if temperature > 1 else "underconfident"
    assert f"Temperature {said}, the one with" in words(section)
    assert f"(1,200 images): the network was {tendency}" in words(section)
    (table,) = section.tables
    assert table.columns == ["Split", "ECE, before", "ECE, after", "NLL, before", "NLL, after"]
    (row,) = table.rows
    assert [cell.content.mean for cell in row.cells] == [0.12, 0.05, None, 0.4]
