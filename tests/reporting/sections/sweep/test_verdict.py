"""The verdict claims what corrected tests show and no more: made-up differences, worked by hand."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medldr.evaluation.comparison.comparison import Comparison, Difference, Method, Score, Size
from medldr.evaluation.comparison.findings import finding
from medldr.evaluation.intervals.estimate import Estimate, Source, Variance
from medldr.evaluation.intervals.planning import power
from medldr.folders.evaluation_record import IntervalRecord
from medldr.folders.sweep_record import Layout, Member
from medldr.reporting.pages.comparison import comparison_verdict
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import Entry, Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.sweep.common import Results
from medldr.reporting.sections.sweep.verdict import sweep_verdict

DIRECTION = re.compile(
    r"\b(higher|lower|better|worse|best|worst|highest|lowest|gains?|loss|loses|improve\w*)\b", re.I
)
ROWS = {
    "ERM": {"name": "erm", "lr_scale": 1.0},
    "Pool": {"name": "latentdr", "lr_scale": 1.0},
    "Half": {"name": "erm", "lr_scale": 0.5},
    "Mixup": {"name": "mixup", "lr_scale": 1.0},
}


def number(row, minus, value, half, *, seeds, metric="accuracy", control=False):
    """A difference whose p follows from its interval, as it does in `inferred`."""
    variance = Variance((Source((half / 2) ** 2 / 2, 99),), (Source((half / 2) ** 2 / 2, 2),),
                        0.0, seeds)  # fmt: skip
    p = None if seeds < 3 else (0.2 if abs(value) <= half else 0.01)
    estimate = Estimate(value, low=value - half, high=value + half, p=p, variance=variance)
    return Difference("test", None, metric, row, minus, estimate, None if control else p, seeds)


def build(differences, *, seeds=3, rows=ROWS, stated=None, contrast=None, others=None, missing=0):
    """The results of a sweep of one column, where ``differences[row]`` is (value, half a width).

    Args:
        differences: Of accuracy.
        seeds: Of each method.
        rows: Algorithms.
        stated: The key ``table.verdict``.
        contrast: Of Pool minus the control Half, likewise.
        others: The same of the AUC.
        missing: Runs without a result.
    """
    names = ["ERM", *differences] + (["Half"] if contrast else [])
    entries = [
        Entry(Member(row, row, seed, row, "A"), "done", run=Run(),
              files=RunFiles(row, {"algorithm": rows[row], "training": {"lr": 0.001}}))
        for row in dict.fromkeys(names)
        for seed in range(seeds)
    ]  # fmt: skip
    entries += [Entry(Member(f"x{n}", "ERM", 9, "ERM", "A"), "failed") for n in range(missing)]
    controls = tuple(row for row in ("Half",) if row in names)
    contrasts = (("Pool", "Half"),) if contrast else ()
    layout = Layout("T", reference="ERM", controls=controls, contrasts=contrasts, verdict=stated)
    of = {"accuracy": differences, "auc": others or {}}
    found = [
        number(row, "ERM", *size, seeds=seeds, metric=metric, control=row == "Half")
        for metric, of_rows in of.items()
        for row, size in of_rows.items()
    ]
    if contrast:
        found.append(number("Pool", "Half", *contrast, seeds=seeds)._replace(family="asked"))
    compared = Comparison(
        task="multi-class",
        reference="ERM",
        methods=tuple(
            Method(row, seeds=tuple(range(seeds)), control=row in controls) for row in names
        ),
        splits={"test": Size(100)},
        scores=tuple(
            Score("test", None, metric, row, Estimate(0.5), (0.5,) * seeds)
            for row in names
            for metric in of
        ),
        differences=tuple(found),
        intervals=IntervalRecord(draws=2000),
    )
    study = Study("t", layout, tuple(entries), {}, {})
    return Results(study, [Column("A", compared, {}, {})], list(of), ["test"], [])


class Run:
    """A finished run, of which nothing but its selection is asked."""

    oracle = False


def told(*args, **keys):
    made = sweep_verdict(build(*args, **keys))
    return made.word, made.tone, made.text, " ".join(made.more)


@pytest.mark.parametrize(
    ("value", "word", "tone", "starts"),
    [
        (0.05, "better", "good", "Pool is better than ERM on A: accuracy +5.0 percentage points"),
        (-0.05, "worse", "bad", "Pool is worse than ERM on A: accuracy −5.0 percentage points"),
        (0.01, "not clear", "open", "No clear difference between Pool and ERM on A: accuracy +1.0"),
    ],
)
def test_the_only_method_has_a_word_a_sentence_and_its_numbers(value, word, tone, starts):
    found = told({"Pool": (value, 0.02)})
    assert found[:2] == (word, tone)
    assert found[2].startswith(starts)
    ends = f"95% CI {100 * value - 2:+.1f} to {100 * value + 2:+.1f}, p = 0."
    assert ends.replace("-", "−") in found[2]


def test_a_difference_that_is_not_clear_says_what_could_have_been_seen():
    results = build({"Pool": (0.01, 0.02)})
    text = sweep_verdict(results).text
    (seen,) = re.findall(r"could have seen a difference of ([\d.]+) percentage points", text)
    (found,) = results.columns[0].comparison.differences
    assert power(float(seen) / 100, found.estimate.variance) == pytest.approx(0.8, abs=0.02)


def test_methods_that_answer_alike_say_nothing_of_what_could_have_been_seen():
    text, more = told({"Pool": (0.0, 1e-12)})[2:]
    assert text.startswith("No clear difference")
    assert "could have seen" not in text
    assert "variance" not in more


def test_several_methods_of_two_seeds_have_their_numbers_but_no_direction():
    word, tone, text, _ = told({"Pool": (0.05, 0.02), "Mixup": (-0.05, 0.02)}, seeds=2)
    assert (word, tone) == ("not compared", "open")
    assert "Pool, accuracy +5.0 percentage points (95% CI +3.0 to +7.0)" in text
    assert "Mixup, accuracy −5.0 percentage points (95% CI −7.0 to −3.0)" in text
    assert DIRECTION.search(text) is None


def test_several_methods_are_counted_and_named_and_none_is_picked():
    sizes = {"Pool": (0.05, 0.02), "Mixup": (-0.05, 0.02)}
    word, tone, text, _ = told(sizes)
    assert (word, tone) == ("1 of 2 better", "open")
    assert "1 of 2 methods is clearly better than ERM on A: Pool, accuracy +5.0" in text
    assert "1 of 2 methods is clearly worse than ERM on A: Mixup, accuracy −5.0" in text
    assert told({"Pool": (0.01, 0.02), "Mixup": (0.0, 0.02)})[:2] == ("not clear", "open")


def test_many_methods_have_a_range_and_not_each_its_numbers():
    sizes = {f"M{n}": (0.03 + n / 100, 0.02) for n in range(5)}
    text = told(sizes, rows={name: {"name": "erm"} for name in ("ERM", *sizes)})[2]
    assert text == (
        "5 of 5 methods are clearly better than ERM on A: M0, M1, M2, M3 and M4 "
        "(accuracy +3.0 to +7.0 percentage points)."
    )


def test_the_stated_method_is_the_subject_and_controls_and_oracles_never_are():
    sizes = {"Pool": (0.01, 0.02), "Mixup": (0.05, 0.02)}
    assert told(sizes, stated="Pool")[0] == "not clear"
    assert told({"Pool": (0.01, 0.02), "Half": (0.05, 0.02)})[0] == "not clear"
    assert told({"Half": (0.05, 0.02)})[2].startswith("There is no method to compare")
    _, _, text, more = told(sizes | {"Half": (0.05, 0.02)}, stated="Half")
    assert more.startswith("table.verdict names Half, which does not compete here")
    assert "Half" not in text
    assert "table.verdict" not in told(sizes, stated="Pool")[3]
    results = build(sizes)
    peeking = type("Peeking", (), {"oracle": True})()
    entries = [
        replace(e, run=peeking) if e.member.row == "Mixup" else e for e in results.study.entries
    ]
    made = sweep_verdict(replace(results, study=replace(results.study, entries=tuple(entries))))
    assert "Mixup" not in made.text


def test_another_metric_speaks_only_where_it_disagrees():
    def said(value):
        return told({"Pool": (0.05, 0.02)}, others={"Pool": (value, 0.02)})[2]

    assert "By AUC, however, Pool is worse than ERM, −0.050 (95% CI −0.070" in said(-0.05)
    assert "AUC" not in said(0.05) + said(0.01)
    text = told({"Pool": (0.01, 0.02)}, others={"Pool": (0.05, 0.02)})[2]
    assert "By AUC, however, Pool is better than ERM" in text


@pytest.mark.parametrize(("seeds", "few"), [(1, "a single seed"), (2, "two seeds")])
def test_few_seeds_are_networks_and_not_methods(seeds, few):
    word, tone, text, _ = told({"Pool": (0.05, 0.02)}, seeds=seeds)
    assert (word, tone) == ("not compared", "open")
    assert f"cannot be compared as methods with {few}. These networks of" in text
    assert "accuracy +5.0 percentage points (95% CI +3.0 to +7.0" in text
    assert not DIRECTION.search(text)


def test_missing_runs_and_a_missing_reference_are_said():
    assert "Missing: 2 of 5 runs without a result (failed)" in told({}, missing=2)[3]
    results = build({"Pool": (0.05, 0.02)})
    column = results.columns[0]
    scores = tuple(s for s in column.comparison.scores if s.method != "ERM")
    gone = replace(column, comparison=replace(column.comparison, scores=scores))
    made = sweep_verdict(replace(results, columns=[gone]))
    assert made.text == "ERM, the reference, has no finished run to compare others with."
    assert sweep_verdict(replace(results, columns=[], splits=[])).text == "No run has a result yet."


def test_the_learning_rate_is_cleared_only_where_the_control_is_beaten_too():
    rows = ROWS | {"Pool": {"name": "latentdr", "lr_scale": 0.5}}
    gains = {"Pool": (0.05, 0.02), "Half": (0.0, 0.02)}
    beaten = told(gains, rows=rows, contrast=(0.05, 0.02))[3]
    assert (
        "Compared with the control Half, which has the learning rate of Pool: accuracy +5.0"
        in beaten
    )
    assert "The learning rate alone does not explain the difference in accuracy." in beaten
    assert "alone may explain" in told(gains, rows=rows, contrast=(0.01, 0.02))[3]
    told_apart = told(gains, rows=rows)[3]  # the control is there, but nothing compares the two
    assert "Pool: trained at learning rate 0.0005, ERM at 0.001. Half has that rate," in told_apart
    assert "No control row" not in told_apart
    alone = told({"Pool": (0.05, 0.02)}, rows=rows)[3]
    assert "ERM at 0.001. No control row shows what the rate alone does" in alone
    unclear = told({"Pool": (0.01, 0.02)} | {"Half": (0.0, 0.02)}, rows=rows, contrast=(0.0, 0.02))
    assert "ERM at 0.001. Half shows what the rate alone does." in unclear[3]
    other = rows | {"Half": {"name": "mixup", "lr_scale": 0.5}}
    assert "No control row" in told(gains, rows=other, contrast=(0.05, 0.02))[3]
    assert "learning rate" not in told(gains, rows=ROWS, contrast=(0.05, 0.02))[3]


@pytest.mark.parametrize(
    ("metric", "value", "p", "half", "said"),
    [
        ("accuracy", 0.1, 0.049, 0.05, "better"),
        ("accuracy", -0.1, 0.049, 0.05, "worse"),
        ("nll", -0.1, 0.049, 0.05, "better"),
        ("accuracy", 0.1, 0.05, 0.05, "no clear difference"),
        ("accuracy", 0.1, 0.049, 0.1, "no clear difference"),
        ("accuracy", None, None, 0.0, None),
        ("dice_score", 0.1, 0.001, 0.05, "no clear difference"),
    ],
)
def test_a_finding_needs_a_small_corrected_p_an_interval_and_a_better_side(
    metric, value, p, half, said
):
    ends = {} if value is None else {"low": value - half, "high": value + half}
    assert finding(metric, Estimate(value, **ends), p) == said


sizes = st.tuples(st.floats(-0.3, 0.3), st.floats(0.001, 0.3))


@given(st.dictionaries(st.sampled_from(["Pool", "Mixup"]), sizes, min_size=1),
       st.dictionaries(st.sampled_from(["Pool", "Mixup"]), sizes), st.integers(1, 4))  # fmt: skip
def test_no_sentence_has_a_word_of_direction_without_a_clear_difference(found, others, seeds):
    results = build(found, others=others, seeds=seeds)
    compared = results.columns[0].comparison
    of = {(d.metric, d.method): d.finding for d in compared.differences}
    for made in (sweep_verdict(results), comparison_verdict(compared, "accuracy")):
        for text in [made.text, *made.more]:
            for sentence in re.split(r"(?<=\.) (?=[A-Z1-9])", text):
                words = {word.lower() for word in DIRECTION.findall(sentence)}
                metric = "auc" if "AUC" in sentence else "accuracy"
                named = {of.get((metric, row)) for row in ("Pool", "Mixup") if row in sentence}
                assert words <= named, sentence
                assert not words or len(words) == 1
        assert (made.tone == "open") or made.word.split()[-1] in of.values()
