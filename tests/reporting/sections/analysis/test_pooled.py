"""The section on pooled gains: its sentences, caveats and csv lines."""

import pytest

from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.intervals.random_effects import random_effects
from medldr.reporting.document import Bullets, Figures, Paragraph
from medldr.reporting.results.gains import Effect, Pooled
from medldr.reporting.sections.analysis.gains import (
    FEW,
    FEW_SEEDS,
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


def notes_of(*found):
    (bullets,) = pooled_section(found).of(Bullets)
    return bullets.items


def test_every_mean_is_said_with_its_interval():
    made = pooled_section([pooled_of([0.1, 0.0, 0.2]),
                           pooled_of([0.1, 0.1, 0.1], method="Mixup", control=True)])  # fmt: skip
    latentdr, mixup = made.of(Bullets)[0].items
    # 4.303 * 10 / sqrt 3
    assert latentdr == ("LatentDR minus ERM: +10.0 percentage points, 95% CI −14.8 to +34.8.")
    assert mixup.startswith("Mixup, a control minus ERM: +10.0 percentage points, 95% CI ")
    assert OF_DOMAINS not in said(made)
    assert "over data sets" in said(made)
    (figures,) = made.of(Figures)
    assert [drawing.name for drawing in figures.drawings] == ["pooled_1", "pooled_2"]


def test_held_out_domains_come_with_their_caveat():
    made = pooled_section([pooled_of([0.1, 0.0, 0.1], over="domains")])
    assert OF_DOMAINS in said(made)
    assert "over held-out domains" in said(made)


def test_what_is_left_out_and_cannot_be_relied_on_is_named():
    first, second, left = notes_of(
        pooled_of([0.1, 0.0, 0.1], left_out=("octmnist",), single=True),
        pooled_of([0.1, 0.0], reference="Mixup"),
    )
    assert first.endswith(FEW_SEEDS)
    assert second.startswith("LatentDR minus Mixup: ")
    assert second.endswith(FEW)
    assert left.startswith("Not pooled: octmnist.")


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
