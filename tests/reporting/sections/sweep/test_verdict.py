"""The verdict claims what corrected tests show and no more: made-up differences, worked by hand."""

from dataclasses import replace

import pytest

from medldr.evaluation.comparison.comparison import (
    Comparison,
    Difference,
    Gap,
    Method,
    Score,
)
from medldr.evaluation.comparison.findings import finding
from medldr.evaluation.intervals.estimate import Estimate, Source, Variance
from medldr.folders.evaluation_record import IntervalRecord
from medldr.folders.sweep_record import Layout, Member
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import Entry, Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.sweep.verdict import verdict

ROWS = {
    "ERM": {"name": "erm", "lr_scale": 1.0},
    "Pool": {"name": "latentdr", "lr_scale": 0.5},
    "Half": {"name": "erm", "lr_scale": 0.5},
    "Mixup": {"name": "mixup", "lr_scale": 1.0},
}


def number(row, minus, value, p, *, seeds, control=False, share=0.5):
    variance = Variance(
        (Source(1 - share, 99),), (Source(share, 2),) if p is not None else (), 0.0, seeds
    )
    estimate = Estimate(value, low=value - 0.02, high=value + 0.02, p=p, variance=variance)
    return Difference("test", None, "accuracy", row, minus, estimate, None if control else p, seeds)


def build(differences, contrasts=None, *, seeds=(0, 1, 2), share=0.5, rows=ROWS, sets=("A", "B")):
    """A study whose paired differences are given: ``differences[row][set]`` is (value, p)."""

    def files(row):
        return RunFiles(row, {"algorithm": rows[row], "training": {"lr": 0.001}})

    entries = tuple(
        Entry(Member(f"{row}{name}", row, 0, row, name), "done", files=files(row))
        for name in sets
        for row in rows
    )
    controls = tuple(row for row in ("Half",) if row in rows)
    layout = Layout("T", reference="ERM", controls=controls,
                    contrasts=(("Pool", "Half"),) if contrasts else ())  # fmt: skip
    columns = []
    for place, name in enumerate(sets):
        seeds_of = seeds if isinstance(seeds, dict) else dict.fromkeys(rows, seeds)

        def fewest(*methods, seeds_of=seeds_of):
            return min(len(seeds_of.get(method, (0, 1, 2))) for method in methods)

        found = [
            number(row, "ERM", *of_row[place], control=row == "Half", share=share,
                   seeds=fewest(row, "ERM"))
            for row, of_row in differences.items()
        ]  # fmt: skip
        if contrasts:
            pair = number("Pool", "Half", *contrasts[place], seeds=fewest("Pool", "Half"))
            found.append(pair._replace(family="asked"))
        compared = Comparison(
            task="multi-class",
            reference="ERM",
            methods=tuple(Method(row, seeds=tuple(seeds_of.get(row, (0, 1, 2)))) for row in rows),
            splits={},
            scores=tuple(Score("test", None, "accuracy", row, Estimate()) for row in rows),
            differences=tuple(found),
            intervals=IntervalRecord(draws=2000),
        )
        columns.append(Column(name, compared, {}, {}))
    return Study("t", layout, entries, {}, {}), columns


def with_gaps(column, gaps):
    return replace(column, comparison=replace(column.comparison, gaps=gaps))


def test_wins_losses_and_undecided_sets_are_counted_apart():
    study, columns = build(
        {"Pool": [(0.05, 0.004), (-0.04, 0.01), (0.03, 0.06)]}, sets=("A", "B", "C")
    )
    first, *_ = verdict(study, columns, "accuracy")
    assert first == (
        "Pool vs ERM, accuracy (test): better in 1 of 3 (A +5.0 percentage points, 95% CI +3.0 to "
        "+7.0, p 0.004), worse in 1 of 3 (B −4.0 percentage points, 95% CI −6.0 to −2.0, p 0.010), "
        "no clear difference in 1 of 3 (C +3.0 percentage points, 95% CI +1.0 to +5.0, p 0.060)."
    )


def test_every_competing_row_has_its_sentence_latentdr_first_up_to_a_number():
    rows = {"ERM": ROWS["ERM"], "Own": {"name": "mylab.noise"}, "Mixup": ROWS["Mixup"],
            "Pool": ROWS["Pool"]}  # fmt: skip
    differences = {row: [(0.1, 0.01)] * 2 for row in rows if row != "ERM"}
    said = verdict(*build(differences, rows=rows), "accuracy")
    assert [text.split(" vs ")[0] for text in said[:3]] == ["Pool", "Own", "Mixup"]
    assert "see the table" not in " ".join(said)
    many = {**rows, **{f"Row {n}": {"name": f"mylab.m{n}"} for n in range(6)}}
    differences = {row: [(0.1, 0.01)] * 2 for row in many if row != "ERM"}
    said = verdict(*build(differences, rows=many), "accuracy")
    assert sum(" vs ERM" in text for text in said) == 6
    assert said[6] == "3 more methods: see the table of differences."
    assert "nothing to compare" in verdict(*build({}), "accuracy")[0]


def test_the_learning_rate_is_cleared_only_where_the_control_is_beaten_too():
    gains = {"Pool": [(0.05, 0.01), (0.04, 0.01)], "Half": [(0.0, 0.9), (0.03, 0.02)]}
    study, columns = build(gains, [(0.05, 0.01), (0.01, 0.3)])
    sentences = verdict(study, columns, "accuracy")
    assert sentences[1].startswith("Control: Half vs ERM")
    assert sentences[2] == (
        "Pool vs the control Half (both at learning rate 0.0005): better in 1 of 2 (A +5.0 "
        "percentage points, 95% CI +3.0 to +7.0, p 0.010), no clear difference in 1 of 2 (B +1.0 "
        "percentage points, 95% CI −1.0 to +3.0, p 0.300). In A the learning "
        "rate alone does not explain the gain. In B the gain may come from the learning rate alone."
    )


def test_a_control_at_another_rate_is_not_said_to_be_about_the_rate():
    rows = {**ROWS, "Half": {"name": "erm", "lr_scale": 1.0}}
    study, columns = build({"Pool": [(0.05, 0.01)] * 2}, [(0.05, 0.01)] * 2, rows=rows)
    told = next(t for t in verdict(study, columns, "accuracy") if "control Half" in t)
    assert "learning rate" not in told
    assert "what it shares with the control alone does not explain" in told


def test_the_caveat_counts_tests_and_columns():
    differences = {row: [(0.05, 0.01)] * 2 for row in ("Pool", "Mixup", "Half")}
    last = verdict(*build(differences, [(0.05, 0.01)] * 2), "accuracy")[-2]
    assert "Only accuracy is considered here" in last
    assert "(2 with ERM, and separately 1 chosen pairs)" in last  # without the control
    assert "2 columns" in last
    alone = verdict(*build(differences, sets=("A",)), "accuracy")[-2]
    assert "columns" not in alone


def test_two_seeds_are_marked():
    study, columns = build({"Pool": [(0.05, 0.01)] * 2}, seeds={"Pool": (0, 1)})
    told = verdict(study, columns, "accuracy")[-1]
    assert told.startswith("Methods with 2 seeds have a CI but no p")


def test_a_row_of_one_seed_is_not_scored_whatever_its_p():
    gains = {"Pool": [(0.05, 0.001)] * 2, "Half": [(0.01, 0.9)] * 2}
    study, columns = build(gains, [(0.05, 0.001)] * 2, seeds={"Pool": (0,), "Half": (0, 1)})
    sentences = verdict(study, columns, "accuracy")
    told = (
        "not compared in 2 of 2 (A +5.0 percentage points, a single seed; "
        "B +5.0 percentage points, a single seed)."
    )
    assert sentences[0] == f"Pool vs ERM, accuracy (test): {told}"
    assert sentences[1].startswith(
        "Control: Half vs ERM (learning rate 0.0005 against 0.001), accuracy (test): "
        "not compared in 2 of 2 (A +1.0 percentage points, 95% CI"
    )
    assert "two seeds" in sentences[1]
    assert told in sentences[2]
    assert "no clear gain" in sentences[2]
    assert "Methods with a single seed are not compared" in sentences[-2]
    assert "Methods with 2 seeds" in sentences[-1]
    # One seed of the reference is no better than one of the row.
    for few in ((0,), (0, 1)):
        alone = verdict(*build({"Pool": [(0.05, 0.001)] * 2}, seeds={"ERM": few}), "accuracy")
        assert "better" not in " ".join(alone)


def test_controls_are_looked_for_column_by_column():
    gains = {"Pool": [(0.05, 0.01)] * 2}
    study, columns = build(gains, [(0.05, 0.01)] * 2)
    # In B the control was not trained.
    gone = [e for e in study.entries if (e.member.row, e.member.column) != ("Half", "B")]
    told = verdict(replace(study, entries=tuple(gone)), columns, "accuracy")
    (text,) = [text for text in told if "No control shows" in text]
    assert text.startswith("Pool in B: trained at learning rate 0.0005, ERM at 0.001.")
    # Another algorithm at that rate shows another effect.
    rows = {**ROWS, "Half": {"name": "mixup", "lr_scale": 0.5}}
    told = verdict(*build(gains, [(0.05, 0.01)] * 2, rows=rows), "accuracy")
    assert any(text.startswith("Pool: trained at learning rate 0.0005") for text in told)
    assert not any("the learning rate alone" in text for text in told)


@pytest.mark.parametrize(
    ("metric", "value", "p", "said"),
    [
        ("accuracy", 0.1, 0.049, "better"),
        ("accuracy", -0.1, 0.049, "worse"),
        ("nll", -0.1, 0.049, "better"),
        ("accuracy", 0.1, 0.05, "no clear difference"),
        ("accuracy", 0.0, 0.001, "no clear difference"),
        ("accuracy", None, None, None),
        ("dice_score", 0.1, 0.001, "no clear difference"),
    ],
)
def test_a_finding_needs_a_small_corrected_p_and_a_better_side(metric, value, p, said):
    assert finding(metric, Estimate(value), p) == said


def test_what_the_reference_loses_on_unseen_domains_is_told_set_by_set():
    study, columns = build({"Pool": [(0.05, 0.01)] * 2})
    losses = {"ERM": 0.195, "Pool": 0.3}
    gaps = tuple(
        Gap("accuracy", row, "id_val", Estimate(value, low=0.091, high=0.295))
        for row, value in losses.items()
    )
    columns[0] = with_gaps(columns[0], gaps)
    told = [text for text in verdict(study, columns, "accuracy") if "unseen" in text]
    assert told == [
        "Seen minus unseen domains, accuracy of ERM, from validation, seen domains (id_val): "
        "A +19.5 percentage points, 95% CI +9.1 to +29.5."
    ]
    assert not [text for text in verdict(study, columns, "auc") if "unseen" in text]
    noted = tuple(gap._replace(note="id_val shares groups.") for gap in gaps)
    columns[0] = with_gaps(columns[0], noted)
    (told,) = [text for text in verdict(study, columns, "accuracy") if "unseen" in text]
    assert told.endswith("+9.1 to +29.5. id_val shares groups.")
