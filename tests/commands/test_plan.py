"""`medldr plan` prints what the numbers of a study will be, and refuses studies that cannot be."""

import re

import pytest

from medldr.evaluation.intervals.planning import Design, precision, what_limits

ASKED = ("--patients", 240, "--accuracy", 75)


def rows(printed):
    """Cells of the lines of the table that hold numbers."""
    lines = [line.split() for line in printed.splitlines() if re.match(r" +[\d,]+ +\d+ ", line)]
    return {(int(line[0].replace(",", "")), int(line[1])): line[2:] for line in lines}


def test_the_table_has_the_asked_study_and_others_around_it(medldr):
    ended = medldr("plan", *ASKED, "--seeds", 4, "--seed-sd", 2, "--correlation", 0.6)
    assert ended.code == 0, ended.err
    found = rows(ended.out)
    assert set(found) == {(n, k) for n in (120, 240, 480) for k in (2, 3, 4, 5, 10)}
    for (patients, seeds), cells in found.items():
        study = Design(patients, 1, 0.5, seeds, "accuracy", 0.75, 0.5, 0.02, 0.6)
        plan = precision(study)
        network, mean = (f"{100 * number:.1f}" for number in plan[:2])
        detectable = "–" if seeds == 2 else f"{100 * plan.detectable:.1f}"
        assert cells == ["±", network, "±", mean, detectable]
    assert max(map(len, ended.out.splitlines())) <= 80


def test_it_says_what_limits_the_study(medldr):
    out = " ".join(medldr("plan", *ASKED).out.split())
    study = Design(240, 1, 0.5, 3, "accuracy", 0.75, 0.5, 0.01, 0.5)
    limit, patients, seeds = what_limits(study)
    size = 100 * precision(study).detectable
    assert f"a difference of {size:.1f} percentage points is detected with 80% power" in out
    assert f"The {limit} limit it: twice the patients would detect {100 * patients:.1f}" in out
    assert f"twice the seeds {100 * seeds:.1f}." in out
    assert "Assumed: SD between seeds 1 percentage points; correlation of two methods 0.5." in out
    assert "No gain" not in out


def test_an_auc_is_planned_in_its_own_unit(medldr):
    words = ("--patients", 100, "--images", 3, "--icc", 0.25, "--auc", 0.9, "--prevalence", 0.2)
    ended = medldr("plan", *words)
    study = Design(100, 3, 0.25, 3, "auc", 0.9, 0.2, 0.01, 0.5)
    plan = precision(study)
    assert rows(ended.out)[100, 3] == [
        "±", f"{plan.network:.3f}", "±", f"{plan.mean:.3f}", f"{plan.detectable:.3f}",
    ]  # fmt: skip
    out = " ".join(ended.out.split())
    assert "AUC of 0.900 expected; numbers in units of the AUC" in out
    assert "3 images per patient with intraclass correlation 0.25, worth 200 independent" in out
    assert "prevalence 0.2" in out


def test_a_gain_beyond_the_metrics_range_is_named(medldr):
    out = " ".join(medldr("plan", "--patients", 40, "--accuracy", 97, "--seeds", 3).out.split())
    assert "No gain over 97.0% can be that large" in out


@pytest.mark.parametrize("seeds", [1, 2])
def test_fewer_than_three_seeds_are_not_tested(medldr, seeds):
    ended = medldr("plan", *ASKED, "--seeds", seeds)
    assert ended.code == 0
    assert rows(ended.out)[240, seeds][-1] == "–"
    assert "fewer than three seeds per method" in " ".join(ended.out.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--patients", 240), "--accuracy or --auc"),
        ((*ASKED, "--prevalence", 0.2), "--prevalence is only for --auc"),
        (("--patients", 9, "--accuracy", 80), "--patients should be at least 10"),
        (("--patients", 240, "--accuracy", 0.8), "--accuracy should be a percentage"),
        (("--patients", 240, "--auc", 85), "--auc should be at least 0.5"),
        (("--patients", 240, "--auc", 0.8, "--prevalence", 20), "--prevalence should be above 0"),
        (("--patients", 30, "--auc", 0.8, "--prevalence", 0.05), "too few for an AUC"),
        ((*ASKED, "--seeds", 0), "--seeds should be from 1 to 1000"),
        ((*ASKED, "--correlation", 1), "--correlation should be at least 0 and below 1"),
    ],
)
def test_a_study_that_cannot_be_is_refused(words, said, medldr):
    ended = medldr("plan", *words)
    assert ended.code == 2
    assert ended.err.startswith("error: ")
    assert said in ended.err
    assert ended.out == ""
