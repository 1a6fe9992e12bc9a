"""The section on pooled gains: its table, caveats and csv lines."""

import pytest

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.intervals.random_effects import random_effects
from medldr.reporting.document import Figures, Paragraph
from medldr.reporting.results.gains import Effect, Pooled
from medldr.reporting.sections.analysis.gains import (
    OF_DOMAINS,
    pooled_lines,
    pooled_section,
)


def pooled_of(gains, *, over="data sets", method="LatentDR", reference="ERM", single=False, **more):
    effects = [
        Effect(f"set {n}", Estimate(gain, low=gain - 0.1, high=gain + 0.1), 0.05, single)
        for n, gain in enumerate(gains)
    ]
    summary = random_effects(gains, [0.05] * len(gains))
    return Pooled(method, reference, "accuracy", over, tuple(effects), summary, **more)


def said(made):
    return " ".join(block.text for block in made.of(Paragraph))


def test_the_table_has_mean_prediction_and_heterogeneity():
    found = pooled_of([0.1, 0.0, 0.2])
    made = pooled_section([found, pooled_of([0.1, 0.1, 0.1], method="Mixup", control=True)])
    (table,) = made.tables
    latentdr, mixup = table.rows
    assert latentdr.cells[0].content == "3 data sets"
    assert latentdr.cells[1].estimate.mean == pytest.approx(0.1)
    assert latentdr.cells[2].content == "−100.0 to +100.0"  # cut: it would be −122 to +142
    assert mixup.cells[2].content == "−26.7 to +46.7"  # 10 ± 12.706 * 5 / sqrt 3
    assert latentdr.cells[3].estimate.mean == pytest.approx(found.summary.tau)
    assert latentdr.cells[4].estimate.mean == pytest.approx(found.summary.i2)
    assert latentdr.cells[5].content == "8.00"  # (0.1 / 0.05)² twice
    assert latentdr.cells[6].content == "0.018"
    assert (latentdr.apart, mixup.apart) == (False, True)
    assert table.footnotes == []
    assert OF_DOMAINS not in said(made)
    assert "over data sets" in said(made)
    (figures,) = made.of(Figures)
    assert [drawing.name for drawing in figures.drawings] == ["pooled_1", "pooled_2"]


def test_held_out_domains_come_with_their_caveat():
    made = pooled_section([pooled_of([0.1, 0.0, 0.1], over="domains")])
    assert OF_DOMAINS in said(made)
    assert made.tables[0].rows[0].cells[0].content == "3 held-out domains"


def test_what_is_left_out_and_several_references_are_named():
    made = pooled_section([pooled_of([0.1, 0.0, 0.1], left_out=("octmnist",)),
                           pooled_of([0.1, 0.0, 0.1], reference="Mixup")])  # fmt: skip
    (table,) = made.tables
    assert [row.heading for row in table.rows] == ["LatentDR vs ERM", "LatentDR vs Mixup"]
    assert table.notes[0].startswith("Not pooled: octmnist.")


def test_csv_has_every_gain_and_every_mean():
    found = pooled_of([0.1, 0.0, 0.2])
    *gains, mean = pooled_lines([found])
    assert [line["difference"] for line in gains] == [0.1, 0.0, 0.2]
    assert sum(line["weight"] for line in gains) == pytest.approx(1)
    assert (mean["kind"], mean["k"], mean["few"]) == ("mean", 3, False)
    assert mean["difference"] == pytest.approx(0.1)
    assert (mean["predicted_low"], mean["predicted_high"]) == (-1, 1)
    (*_, alone) = pooled_lines([pooled_of([0.1])])
    assert (alone["difference"], alone["reason"]) == (None, "fewer than two data sets")
