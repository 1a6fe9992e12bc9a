"""The sentences at the top of an analysis: clear effects, opposite ones, and none."""

import pytest

from medldr.evaluation.estimate import Estimate
from medldr.evaluation.representation.judged import Classified, Judged, Part
from medldr.evaluation.representation.probes import LABELS, Probed, Probes
from medldr.reporting.sections.analysis.verdict import apart, sign_of, verdict

UP, DOWN = Estimate(0.1, low=0.05, high=0.15), Estimate(-0.1, low=-0.15, high=-0.05)
NONE = Estimate(0.02, low=-0.03, high=0.07)
NO_DOMAINS = Probed(reason="the data have no domains")


def judged(**differences):
    views = {
        name: Judged(Estimate(), Estimate(value), (), {}, Estimate(), Estimate(), ())
        for name, value in (("original", 0.8), ("degraded", 0.4), ("restored", 0.7))
    }
    pairs = {("original", "degraded"): UP, ("restored", "degraded"): UP}
    pairs |= {tuple(key.split("_")): value for key, value in differences.items()}
    return Classified(("a", "b"), (Part("test", True, 9, None, views, pairs, 0.5),))


def probed(original=UP, restored=UP, **more):
    accuracy = {"original": Estimate(0.9, low=0.8, high=0.95), "degraded": Estimate(0.5)}
    return Probed(
        names=("a", "b"),
        accuracy={**accuracy, "restored": Estimate(0.7), **more},
        differences={("original", "degraded"): original, ("restored", "degraded"): restored},
    )


def test_d_confuses_and_r_recovers():
    first, second = verdict(
        {"LatentDR": Probes(probed(), NO_DOMAINS)}, {"LatentDR": judged()}
    ).items
    assert first == (
        "LatentDR, test, unseen domains: balanced accuracy of its own classifier is 80.0% on "
        "original latents, 40.0% on degraded latents, 70.0% on restored latents; guessing gives "
        "50.0%. D confuses the classifier: −10.0 percentage points (95% CI −15.0 to −5.0). R "
        "recovers the class: +10.0 percentage points (95% CI +5.0 to +15.0)."
    )
    assert second == (
        "LatentDR, by a linear probe: degraded latents are less class-separable than original "
        "ones: −10.0 percentage points (95% CI −15.0 to −5.0), 50.0% against 90.0%; restored "
        "latents are more class-separable than degraded ones: +10.0 percentage points (95% CI +5.0 "
        "to +15.0), 70.0% against 50.0%."
    )


@pytest.mark.parametrize(
    ("difference", "said"),
    [
        (NONE, "It is not shown that R recovers the class: no clear difference between restored "
         "and degraded latents: +2.0 percentage points (95% CI −3.0 to +7.0)"),
        (DOWN, "R does not recover the class"),
        (Estimate(reason="one group"), "between restored and degraded latents: one group."),
        (Estimate(0.1, reason="no interval: one group"),
         "no clear difference between restored and degraded latents: +10.0 percentage points (no "
         "interval: one group)"),
    ],
)  # fmt: skip
def test_what_is_not_so_is_never_hidden(difference, said):
    (text,) = verdict({}, {"LatentDR": judged(restored_degraded=difference)}).items
    assert said in text
    assert "D confuses the classifier" in text


def test_an_effect_in_the_other_direction_is_said():
    (text,) = verdict({}, {"a": judged(original_degraded=DOWN)}).items
    assert "D does not confuse the classifier, which does better on degraded latents: +10.0" in text
    _, text = verdict({"a": Probes(probed(NONE, DOWN), NO_DOMAINS)}, {"a": judged()}).items
    assert "no clear difference in how class-separable degraded and original latents are" in text
    assert "restored latents are less class-separable than degraded ones: −10.0" in text


def test_domains_are_compared_with_the_reference(monkeypatch):
    monkeypatch.setattr(Probed, "minus", lambda self, other: DOWN)
    domain = probed(**{LABELS: Estimate(0.55)})
    found = {"ERM": Probes(probed(), domain), "LatentDR": Probes(probed(), domain)}
    assert list(verdict(found, {}).items) == [
        "A linear probe tells the domain from the latents of ERM with a balanced accuracy of 90.0% "
        "(95% CI 80.0 to 95.0); guessing gives 50.0%, the class of an image alone at most 55.0%. "
        "Compared with ERM: LatentDR less easily: −10.0 percentage points (95% CI −15.0 to −5.0)."
    ]


def test_alignment_and_uniformity_are_compared_with_the_reference():
    def around(value):
        return Estimate(value, low=value - 0.03, high=value + 0.04)

    pairs = {"ERM": (around(1.0), around(-2.0)), "LatentDR": (around(0.8), around(-1.99))}
    (text,) = verdict({}, {}, pairs).items
    assert text == (
        "Alignment and uniformity (lower is better in both) against ERM’s 1.000 and −2.000: "
        "LatentDR alignment 0.800 (better, −0.200, 95% CI −0.250 to −0.150); LatentDR uniformity "
        "−1.990 (no clear difference, +0.010, 95% CI −0.040 to +0.060)."
    )
    assert list(verdict({}, {}, {"ERM": pairs["ERM"]}).items) == []
    undefined = {"ERM": (Estimate(), Estimate()), "LatentDR": pairs["LatentDR"]}
    assert list(verdict({}, {}, undefined).items) == []


def test_many_runs_are_left_to_the_tables():
    items = verdict({}, {name: judged() for name in ("SA", "Pool", "other", "last")}).items
    assert len(items) == 3
    assert items[-1] == "For other, last, see the tables below."


def test_nothing_to_say_is_no_sentence():
    assert list(verdict({}, {}).items) == []


def test_a_difference_without_an_interval_is_not_called():
    assert sign_of(Estimate(0.5)) == "unclear"
    assert [sign_of(each) for each in (UP, DOWN, NONE)] == ["higher", "lower", "unclear"]


def test_intervals_of_two_runs_add_up_as_if_independent():
    found = apart(Estimate(0.0, low=-0.3, high=0.3), Estimate(1.0, low=0.6, high=1.4))
    assert (found.low, found.high) == pytest.approx((-1.5, -0.5))
    assert apart(Estimate(0.0), UP).low is None
    assert apart(Estimate(reason="why"), UP).reason == "why"
