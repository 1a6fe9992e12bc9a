"""The verdict of an analysis and its answers: no word of direction where nothing is clear."""

import re
from dataclasses import replace

import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st

from medldr.evaluation.comparison.findings import TWO_KINDS, apart
from medldr.evaluation.intervals.estimate import Estimate
from medldr.evaluation.representation.centres import OVERALL
from medldr.evaluation.representation.frame import RECOVERED
from medldr.evaluation.representation.maps import Maps
from medldr.evaluation.representation.measured import Measured
from medldr.evaluation.representation.probes import Probes
from medldr.reporting.sections.analysis.answers import answers, verdict
from medldr.reporting.wording import way

UP, DOWN = Estimate(0.1, low=0.05, high=0.15), Estimate(-0.1, low=-0.15, high=-0.05)
NONE = Estimate(0.02, low=-0.03, high=0.07)
DIRECTION = re.compile(
    r"\b(higher|lower|better|worse|more|fewer|less|further|closer|confuses|recovers|does not)\b"
)


def geometry(alignment, uniformity, n=3):
    """Means over seeds, or with ``n=None`` numbers of one network, 0.1 wide."""
    return [
        {"images": "test", "latents": "original", "of": "all", "name": "", "measure": name, "n": 9,
         "held": Estimate(mean, low=mean - 0.05, high=mean + 0.05, n=n)}
        for name, mean in (("alignment", alignment), ("uniformity", uniformity))
    ]  # fmt: skip


def of(runs, alike=None):
    return verdict(runs, alike or [list(runs)])


@pytest.mark.parametrize(
    ("alignment", "uniformity", "word", "tone"),
    [(0.5, -2.0, "better", "good"), (1.5, -2.0, "worse", "bad"), (0.5, -1.0, "not clear", "open"),
     (1.01, -2.01, "not clear", "open"), (1.0, -2.5, "better", "good")],
)  # fmt: skip
def test_a_method_is_better_where_one_is_lower_and_none_higher(
    given, alignment, uniformity, word, tone
):
    runs = {"ERM": given(geometry=geometry(1.0, -2.0)),
            "SA": given(geometry=geometry(alignment, uniformity))}  # fmt: skip
    found = of(runs)
    assert (found.word, found.tone) == (word, tone)
    assert found.text.startswith("SA against ERM, test images of unseen domains: ")
    assert ("at the cost" in found.text) == (alignment == 0.5 and uniformity == -1.0)


def test_the_numbers_of_the_verdict_are_differences_as_if_independent(given):
    runs = {"ERM": given(geometry=geometry(1.0, -2.0)), "SA": given(geometry=geometry(0.5, -2.0))}
    text = of(runs).text
    assert "alignment −0.500, 95% CI −0.571 to −0.429 (images of a class lie closer" in text
    assert "uniformity +0.000, 95% CI −0.071 to +0.071 (no clear difference)" in text


def test_several_methods_are_counted_and_named(given):
    base = given(geometry=geometry(1.0, -2.0))
    runs = {"ERM": base, "SA": given(geometry=geometry(0.5, -2.0)), "Pool": base,
            "Mixup": given(geometry=geometry(1.5, -2.0))}  # fmt: skip
    found = of(runs)
    assert found.word == "1 of 3 better"
    for said in ("in one or both: SA", "no clear difference: Pool", "in one or both: Mixup"):
        assert said in found.text


@pytest.mark.parametrize("n", [None, 2])
def test_networks_and_two_seeds_are_not_called(given, n):
    runs = {"ERM": given(geometry=geometry(1.0, -2.0, n)),
            "SA": given(geometry=geometry(0.5, -2.0, n))}  # fmt: skip
    found = of(runs)
    assert (found.word, found.tone) == ("not clear", "open")
    assert ("one network each" in found.text) == (n is None)
    if n == 2:
        assert not DIRECTION.search(found.text)


def test_one_run_is_described_and_other_data_are_not_compared(given):
    runs = {"ERM": given(geometry=geometry(1.0, -2.0)), "SA": given(geometry=geometry(0.5, -2.0))}
    found = of(runs, [["ERM"], ["SA"]])
    assert (found.word, found.tone) == ("described", "open")
    assert (
        "ERM, test images of unseen domains: alignment 1.000, 95% CI 0.950 to 1.050" in found.text
    )
    assert not DIRECTION.search(found.text)


def test_a_mean_over_seeds_is_not_compared_with_a_single_run(given):
    mean, single = Estimate(1.0, low=0.9, high=1.1, n=3), Estimate(0.5, low=0.4, high=0.6)
    found = apart(single, mean)
    assert (found.mean, found.reason) == (None, TWO_KINDS)
    runs = {"ERM": given(geometry=geometry(1.0, -2.0)),
            "SA": given(geometry=geometry(0.5, -2.0, None))}  # fmt: skip
    assert of(runs).text.endswith(f"not compared, because {TWO_KINDS}.")


def test_intervals_of_two_runs_add_up_as_if_independent():
    found = apart(Estimate(0.0, low=-0.3, high=0.3), Estimate(1.0, low=0.6, high=1.4))
    assert (found.low, found.high) == pytest.approx((-1.5, -0.5))
    assert apart(Estimate(0.0), UP).low is None
    assert apart(Estimate(reason="why"), UP).reason == "why"
    few = replace(UP, n=2)
    assert [way(each) for each in (UP, DOWN, NONE, few)] == [
        "higher",
        "lower",
        "unclear",
        "unclear",
    ]


def judged(confused=UP, recovered=UP):
    head = {"split": "test", "unseen": True, "domain": "", "class": "", "chance": 0.5,
            "metric": "balanced_accuracy"}  # fmt: skip
    views = {"original": 0.8, "degraded": 0.4, "restored": 0.7}
    lines = [{**head, "latents": v, "minus": "", "held": Estimate(x)} for v, x in views.items()]
    pairs = {"original": confused, "restored": recovered}
    return lines + [
        {**head, "latents": v, "minus": "degraded", "held": x} for v, x in pairs.items()
    ]


def sentences(run, others=()):
    runs = {"SA": run, **dict(others)}
    return [text for text in answers(runs, [list(runs)]) if text]


def test_d_confuses_and_r_recovers(given):
    confused, recovered = sentences(given(operators=judged()))
    assert confused == (
        "SA, test, unseen domains: balanced accuracy of its own classifier 40.0% on degraded, "
        "80.0% on original latents: D confuses the classifier (−10.0 percentage points, 95% CI "
        "−15.0 to −5.0)."
    )
    assert "70.0% on restored, 40.0% on degraded latents: R recovers the class (+10.0" in recovered


@pytest.mark.parametrize(
    ("difference", "said"),
    [(NONE, "latents: no clear difference (+2.0 percentage points, 95% CI −3.0 to +7.0)"),
     (DOWN, "R does not recover the class, which is told less well (−10.0"),
     (Estimate(reason="one group"), "not compared (one group)"),
     (Estimate(0.1), "no clear difference (+10.0 percentage points, no CI)")],
)  # fmt: skip
def test_what_is_not_so_is_never_hidden(given, difference, said):
    _, text = sentences(given(operators=judged(recovered=difference)))
    assert said in text


def test_many_runs_are_left_to_the_tables(given):
    runs = {name: given(operators=judged()) for name in ("SA", "Pool", "other", "last")}
    said = [text for text in answers(runs, []) if text]
    assert (len(said), said[-1]) == (5, "For other, last, see the tables below.")


def test_domains_are_told_against_the_reference(given, synthetic_latents):
    from medldr.evaluation.representation.frame import Options
    from medldr.evaluation.representation.probes import probes

    one, two = (
        probes(synthetic_latents(150, shift=shift, views=False), Options(draws=100))
        for shift in (1.0, 0.0)
    )
    (text,) = sentences(given(one), [("alike", given(two))])
    assert "tells the domain from the latents of SA" in text
    assert "Compared with SA: alike less easily (−" in text
    (text,) = sentences(given(one), [("same", given(one))])
    assert text.endswith("Compared with SA: same no clear difference (+0.0 percentage points, "
                         "no CI).")  # fmt: skip


unclear = st.builds(
    lambda mean, below, above: Estimate(mean, low=mean - below, high=mean + above),
    st.floats(-0.2, 0.2), st.floats(0.2, 0.5), st.floats(0.2, 0.5),
)  # fmt: skip


@settings(max_examples=40, deadline=None)
@examples(st.lists(unclear, min_size=6, max_size=6), st.integers(1, 2))
def test_nothing_unclear_has_a_direction(held, n):
    """Whatever is measured: no sentence goes by the sign of a difference that is not clear."""
    recovered = {"queries": "unseen", "latents": RECOVERED, "neighbours": "same_class_other_domain"}
    frames = {
        "operators": judged(held[0], held[1]),
        "neighbours": [{**recovered, "held": held[2]}],
        "robustness": [{"queries": "all", "latents": RECOVERED, "held": held[3]}],
        "centres": [{"of": OVERALL, "held": held[4]}],
        "queries": [],
    }
    frames["probes"] = [
        {"target": "class", "latents": "original", "minus": "degraded", "held": held[5]}
    ]
    told = Probes(frames["probes"], {}, {}, ())
    runs = {
        name: Measured({**frames, "geometry": geometry(mean, mean, n)}, ("test", True), told,
                       None, None, Maps((), ()))
        for name, mean in (("ERM", 1.0), ("SA", 1.0 + held[0].mean))
    }  # fmt: skip
    found = verdict(runs, [list(runs)])
    said = [found.text, *answers(runs, [list(runs)])]
    assert not [text for text in said if DIRECTION.search(re.sub(r"guessing.*?%", "", text))]
    assert found.word == "not clear"
