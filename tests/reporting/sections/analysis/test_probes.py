"""The section of linear probes and its csv lines."""

import json
from dataclasses import replace

import pytest

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.options import Options
from medldr.evaluation.representation.probes import LABELS, Probed, Probes, probes
from medldr.reporting.document import Bullets, Figures, Paragraph
from medldr.reporting.sections.analysis.probes import probes_lines, probes_section

FAST = Options(draws=60)
NONE = Probed(reason="the data have no domains")


MADE = {}


@pytest.fixture
def found(synthetic_latents):
    if not MADE:  # fits take most of the time of these tests
        MADE["ERM"] = probes(synthetic_latents(n=80, views=False, apart=0.4), FAST)
        MADE["LatentDR"] = probes(synthetic_latents(n=80, apart=0.4), FAST)
    return dict(MADE)


def rows_of(table):
    return {row.heading: [cell.estimate for cell in row.cells] for row in table.rows}


def test_tables_have_the_numbers_with_guessing_below(found):
    section = probes_section(found)
    accuracy, difference = section.tables
    rows = rows_of(accuracy)
    views = ["ERM, original", *(f"LatentDR, {v}" for v in ("original", "degraded", "restored"))]
    assert list(rows) == [*views, "Guessing", "Class alone"]
    held = found["LatentDR"]
    assert rows["LatentDR, degraded"][0] == held.of_class.accuracy["degraded"]
    assert rows["LatentDR, degraded"][1] == held.of_domain.accuracy["degraded"]
    assert rows["Guessing"][1].mean == pytest.approx(1 / 3)
    assert rows["Class alone"] == [None, held.of_domain.accuracy[LABELS]]
    rows = rows_of(difference)
    told = held.of_class.differences["restored", "degraded"]
    assert rows["LatentDR: restored minus degraded"][0] == told
    beyond = held.of_domain.differences["original", LABELS]
    assert rows["LatentDR: original minus class alone"] == [None, beyond]
    between = held.of_class.minus(found["ERM"].of_class)
    assert rows["LatentDR minus ERM, original"][0].mean == between.mean
    assert all(cell.signed for row in difference.rows for cell in row.cells if cell.estimate)


def test_the_page_says_which_images_were_told(found):
    section = probes_section(found)
    text = " ".join(block.text for block in section.of(Paragraph))
    groups, training = found["ERM"].of_class.groups, found["ERM"].of_class.training
    assert f"80 images of {groups} groups (patients, slides) are cut into 5 parts, with no" in text
    assert f"{training} of the images were used to train the network" in text
    assert "“class alone” is the most" in text
    assert section.of(Figures)
    assert not section.of(Bullets)


def test_what_was_not_told_is_said():
    left_out = Probed(
        names=("a", "b"), left_out=("c",), images=9, folds=3, unfinished=2,
        accuracy={"original": Estimate(0.5)},
    )  # fmt: skip
    section = probes_section({"ERM": Probes(left_out, NONE)})
    (notes,) = section.of(Bullets)
    assert list(notes.items) == [
        "Left out, with images of a single group: c.",
        "2 fits for the class did not converge; their numbers may be a little too low.",
        "The domain is not told: the data have no domains.",
    ]
    text = " ".join(block.text for block in section.of(Paragraph))
    assert "class alone" not in text
    assert "used to train" not in text


def test_nothing_told_is_no_section():
    assert probes_section({"ERM": Probes(NONE, NONE)}) is None
    assert probes_section({}) is None


def test_csv_lines_have_every_number_and_reason(found):
    lines = probes_lines(found)
    assert all(next(iter(line)) == "run" for line in lines)
    assert len({tuple(line) for line in lines}) == 1
    held = found["LatentDR"].of_class
    (line,) = (
        line for line in lines
        if (line["run"], line["target"], line["latents"], line["minus"])
        == ("LatentDR", "class", "restored", "degraded")
    )  # fmt: skip
    number = held.differences["restored", "degraded"]
    assert (line["value"], line["low"], line["high"]) == (number.mean, number.low, number.high)
    assert (line["images"], line["folds"], line["reason"]) == (80, 5, "")
    assert "NaN" not in json.dumps(lines)
    (bare,) = probes_lines({"ERM": Probes(NONE, replace(NONE, reason="other"))})[1:]
    assert (bare["target"], bare["value"], bare["reason"]) == ("domain", None, "other")


def test_a_run_is_compared_with_the_first_on_its_images(found, synthetic_latents):
    other = probes(synthetic_latents(n=60, seed=1, views=False), FAST)
    table = probes_section({"other": other, **found}).tables[1]
    rows = {row.heading: row for row in table.rows}
    assert "LatentDR minus ERM, original" in rows
    assert "LatentDR minus other, original" not in rows
    apart = rows["ERM minus other, original"].cells
    assert [cell.estimate for cell in apart] == [None, None]
    reason = "the runs were not probed on the same images"
    assert [dict(table.footnotes)[cell.mark] for cell in apart] == [reason] * 2
