"""The sentences at the top of an analysis: clear effects, opposite ones, and none."""

from dataclasses import replace

import pytest

from medldr.evaluation.comparison.findings import direction
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.judged import Classified, Judged, Part
from medldr.evaluation.representation.probes import LABELS, Probed, Probes
from medldr.reporting.sections.analysis.signs import TWO_KINDS, apart
from medldr.reporting.sections.analysis.verdict import verdict

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
        (Estimate(reason="one group"),
         "Restored and degraded latents are not compared: one group."),
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


def test_many_runs_are_left_to_the_tables():
    items = verdict({}, {name: judged() for name in ("SA", "Pool", "other", "last")}).items
    assert len(items) == 3
    assert items[-1] == "For other, last, see the tables below."


def test_a_difference_without_an_interval_is_not_called():
    assert direction(Estimate(0.5)) == "unclear"
    assert [direction(each) for each in (UP, DOWN, NONE)] == ["higher", "lower", "unclear"]


def test_intervals_of_two_runs_add_up_as_if_independent():
    found = apart(Estimate(0.0, low=-0.3, high=0.3), Estimate(1.0, low=0.6, high=1.4))
    assert (found.low, found.high) == pytest.approx((-1.5, -0.5))
    assert apart(Estimate(0.0), UP).low is None
    assert apart(Estimate(reason="why"), UP).reason == "why"


def test_an_undefined_difference_is_not_called():
    why = Estimate(reason="another classifier")
    (text,) = verdict({}, {"a": judged(original_degraded=why)}).items
    assert "Degraded and original latents are not compared: another classifier." in text
    assert "no clear difference" not in text
    _, text = verdict({"a": Probes(probed(why), NO_DOMAINS)}, {"a": judged()}).items
    assert "degraded and original latents are not compared: another classifier, 50.0%" in text
    assert "no clear difference" not in text


def test_runs_on_other_images_are_not_compared():
    domain = replace(probed(), key=1)
    found = {"ERM": domain, **{name: replace(domain, key=2) for name in ("Mixup", "LatentDR")}}
    (text,) = verdict({h: Probes(NO_DOMAINS, one) for h, one in found.items()}, {}).items
    assert text.endswith(
        "guessing gives 50.0%. Not compared: Mixup, LatentDR (the runs were not probed on the same "
        "images)."
    )
    assert "no clear difference" not in text


def test_runs_are_compared_on_the_same_data_alone(monkeypatch):
    monkeypatch.setattr(Probed, "minus", lambda self, other: DOWN)
    names = ("ribs, ERM", "PACS, ERM", "PACS, LatentDR", "OfficeHome, ERM")
    pairs = {name: (Estimate(i, low=i, high=i), Estimate(-i, low=-i, high=-i))
             for i, name in enumerate(names, 1)}  # fmt: skip
    probes = {name: Probes(NO_DOMAINS, probed()) for name in names}
    alike = [names[:1], names[1:3], names[3:]]
    ribs, pacs, geometry, office = verdict(probes, {}, pairs, alike).items
    assert "Compared" not in ribs + office
    assert "the latents of PACS, ERM" in pacs
    assert "Compared with PACS, ERM: PACS, LatentDR less easily" in pacs
    assert "against PACS, ERM’s 2.000 and −2.000: PACS, LatentDR alignment 3.000" in geometry
    assert "ribs" not in geometry
    assert "OfficeHome" not in geometry
    many = [[f"run {i}"] for i in range(6)]
    found = {name: Probes(NO_DOMAINS, probed()) for (name,) in many}
    said = verdict(found, {}, {}, many).items
    assert len(said) == 5
    assert said[-1] == "Comparisons of run 4, run 5 are in the tables below alone."


def test_a_mean_over_seeds_is_not_compared_with_a_single_run():
    mean, single = Estimate(1.0, low=0.9, high=1.1, n=3), Estimate(0.5, low=0.4, high=0.6)
    found = apart(single, mean)
    assert (found.mean, found.low, found.reason) == (-0.5, None, TWO_KINDS)
    assert apart(mean, mean).low is not None
    for n, said in ((2, "no clear difference"), (3, "better")):  # two seeds make no test
        less = Estimate(0.5, low=0.4, high=0.6, n=n)
        (text,) = verdict({}, {}, {"ERM": (mean, mean), "SA": (less, less)}).items
        assert f"SA alignment 0.500 ({said}, " in text
    pairs = {"ERM": (mean, mean), "SA": (single, single), "Pool": (mean, mean)}
    (text,) = verdict({}, {}, pairs).items
    assert "Pool alignment 1.000 (no clear difference, " in text
    assert text.endswith("). Not compared: SA (a mean over seeds is not compared with a single "
                         "run).")  # fmt: skip
    del pairs["Pool"]
    (text,) = verdict({}, {}, pairs).items
    assert text == (
        "Alignment and uniformity, with ERM: Not compared: SA (a mean over seeds is not compared "
        "with a single run)."
    )
