"""The section of what D and R do, and its csv lines."""

from dataclasses import replace

import numpy as np
import pytest

from medldr.evaluation.representation.operators import operators
from medldr.evaluation.representation.options import Options
from medldr.folders.latents_record import View
from medldr.reporting.document import Figures, Paragraph
from medldr.reporting.sections.analysis.operators import operators_lines, operators_section

FAST = Options(draws=60)


@pytest.fixture
def found(synthetic_latents):
    return {
        "ERM": operators(synthetic_latents(views=False, apart=0.5), FAST),
        "LatentDR": operators(synthetic_latents(apart=0.5), FAST),
    }


def rows_of(table):
    return {row.heading: [cell.estimate for cell in row.cells] for row in table.rows}


def test_tables_have_the_numbers_by_split(found):
    section = operators_section(found)
    balanced, difference, undecided, by_class = section.tables
    splits = ["Training", "Validation, seen domains", "Test, unseen domains"]
    assert balanced.columns == ["Latents", *splits]
    rows, held = rows_of(balanced), found["LatentDR"]
    views = ["ERM, original", *(f"LatentDR, {v}" for v in ("original", "degraded", "restored"))]
    assert list(rows) == [*views, "Guessing"]
    for place, part in enumerate(held.parts):
        assert rows["LatentDR, restored"][place] == part.views["restored"].balanced
        told = rows_of(difference)["LatentDR: restored minus degraded"][place]
        assert told == part.differences["restored", "degraded"]
    assert rows_of(undecided)["LatentDR, degraded"][1] == held.last.views["degraded"].entropy
    assert rows_of(undecided)["The class mix itself"][2].mean == held.floor
    first = rows_of(by_class)["class 1"]
    assert first[0].mean == held.mix[1]
    assert first[2] == held.last.views["degraded"].by_class[1]
    assert first[5] == held.last.views["degraded"].mean[1]
    assert section.of(Figures)


def test_runs_without_d_and_r_alone_have_no_section(found):
    assert operators_section({"ERM": found["ERM"]}) is None
    assert operators_section({}) is None


def test_several_labels_have_no_entropies(synthetic_latents):
    latents = synthetic_latents()
    spec = replace(latents.spec, task="multi-label")
    several = replace(latents, label=np.eye(3)[latents.label], spec=spec)
    section = operators_section({"LatentDR": operators(several, FAST)})
    captions = [table.caption for table in section.tables]
    assert not any("undecided" in caption for caption in captions)
    assert section.tables[-1].columns[1:] == [
        "Recall, original", "Recall, degraded", "Recall, restored",
    ]  # fmt: skip
    assert "Entropy" not in " ".join(block.text for block in section.of(Paragraph))


def test_reasons_are_footnotes(synthetic_latents):
    latents = synthetic_latents()
    bad = View(latents.z, np.full_like(latents.views["degraded"].logits, np.nan))
    held = operators(replace(latents, views={**latents.views, "degraded": bad}), FAST)
    section = operators_section({"LatentDR": held})
    for table in section.tables:
        assert "the predictions are not all finite numbers" in dict(table.footnotes).values()


def test_many_classes_are_in_the_csv_file_alone(synthetic_latents):
    held = operators(synthetic_latents(classes=20, n=200, dim=4), FAST)
    table = operators_section({"LatentDR": held}).tables[-1]
    assert len(table.rows) == 12
    assert table.notes == ["8 rarer classes are in the csv file alone."]
    assert {line["class"] for line in operators_lines({"a": held})} == {
        "", *held.class_names,
    }  # fmt: skip


def test_guessing_is_one_over_all_classes_and_says_which_are_absent(synthetic_latents):
    latents = synthetic_latents(apart=0.5)
    kept = latents.select((latents.split != "test") | (latents.label != 1))
    section = operators_section({"LatentDR": operators(kept, FAST)})
    balanced = section.tables[0]
    (row,) = [row for row in balanced.rows if row.heading == "Guessing"]
    assert [cell.estimate.mean for cell in row.cells] == pytest.approx([1 / 3] * 3)
    assert [cell.mark for cell in row.cells] == ["", "", "a"]
    assert dict(balanced.footnotes)["a"] == (
        "balanced accuracy is the mean over the classes that have images here, 2 of 3"
    )
    lines = operators_lines({"LatentDR": operators(kept, FAST)})
    assert {(line["split"], line["classes_without_images"]) for line in lines} == {
        ("train", 0), ("id_val", 0), ("test", 1)
    }  # fmt: skip
