"""The section on gains by domain: its sentences, table and csv lines."""

from medldr.evaluation.comparison.comparison import Difference
from medldr.evaluation.intervals.estimate import Estimate
from medldr.reporting.document import Bullets, Figures
from medldr.reporting.results.gains import Gain
from medldr.reporting.sections.analysis.gains import (
    SweepGains,
    gains_lines,
    gains_section,
    verdict,
)


def gain(mean, p, domain, *, unseen=True, seeds=3, method="LatentDR", metric="accuracy"):
    estimate, holm = Estimate(mean, low=mean - 0.1, high=mean + 0.1, p=p), p and min(1.0, 2 * p)
    split = "test" if unseen else "id_test"
    difference = Difference(split, domain, metric, method, "ERM", estimate, holm, seeds)
    return Gain("pacs", domain, "", split, unseen, method, difference)


GAINS = [gain(0.2, 0.001, "a"), gain(0.1, 0.04, "b"), gain(-0.3, 0.002, "c"),
         gain(0.3, 0.001, "d", unseen=False)]  # fmt: skip


def test_a_verdict_counts_unseen_domains_by_corrected_p():
    assert verdict(GAINS, "ERM", "accuracy") == (
        "LatentDR vs ERM, accuracy: better in 1, worse in 1, no clear difference in 1 of 3 "
        "comparisons on unseen domains."
    )
    errors = [gain(0.2, 0.001, "a", metric="ece"), gain(0.1, 0.04, "b", metric="ece")]
    assert "worse in 1, no clear" in verdict(errors, "ERM", "ece")


def test_seen_domains_count_where_there_are_no_others():
    assert verdict(GAINS[-1:], "ERM", "accuracy").endswith("better in 1 of 1 comparison.")


def test_single_seeds_are_not_compared():
    said = verdict([gain(0.2, None, "a", seeds=1)], "ERM", "accuracy")
    assert said.endswith("not compared, because single seeds say nothing of others.")
    mixed = verdict([gain(0.2, None, "a", seeds=1), gain(0.2, 0.001, "b")], "ERM", "accuracy")
    assert "better in 1, not compared in 1 of 2" in mixed


def found_of(**more):
    other = [gain(0.0, 0.5, "b", method="Mixup"), gain(0.0, 0.6, "a", method="Mixup")]
    methods = {"LatentDR": GAINS, "Mixup": other}
    return SweepGains("ERM", "accuracy", methods, ("Mixup",), **more)


def test_domains_are_rows_and_methods_columns():
    made = gains_section({"A": found_of()})
    (table,) = made.tables
    assert table.columns == ["Domain", "LatentDR", "Mixup"]
    assert [(row.heading, row.tags) for row in table.rows] == [
        ("a", ("unseen",)), ("b", ("unseen",)), ("c", ("unseen",)), ("d", ("seen",)),
    ]  # fmt: skip
    assert [cell.empty for cell in table.rows[2].cells] == [False, True]
    assert table.rows[1].cells[0].extra == "p 0.040, Holm 0.080"
    assert table.rows[1].cells[1].estimate.mean == 0
    (bullets,) = made.of(Bullets)
    assert bullets.items[1].startswith("Control: Mixup vs ERM")
    (figures,) = made.of(Figures)
    assert [drawing.name for drawing in figures.drawings] == ["gains_1"]  # none of the control


def test_several_sweeps_are_named():
    made = gains_section({"A": found_of(), "B": found_of()})
    assert [table.caption[:3] for table in made.tables] == ["A: ", "B: "]
    (bullets,) = made.of(Bullets)
    assert bullets.items[2].startswith("B: LatentDR vs ERM")
    (figures,) = made.of(Figures)
    assert len({drawing.name for drawing in figures.drawings}) == 2


def test_a_single_place_is_no_section():
    alone = SweepGains("ERM", "accuracy", {"LatentDR": GAINS[:1]})
    assert gains_section({"A": alone}) is None
    assert gains_lines({"A": alone}) == []
    assert gains_section({}) is None


def test_csv_has_a_line_for_each_method_and_place():
    lines = gains_lines({"A": found_of()})
    assert len(lines) == 6
    assert lines[1] == {
        "sweep": "A", "method": "LatentDR", "compared_with": "ERM", "data": "pacs", "domain": "b",
        "held_out": "", "split": "test", "seen": "unseen", "metric": "accuracy", "seeds": 3,
        "difference": 0.1, "low": 0.0, "high": 0.2, "p": 0.04, "p_holm": 0.08,
        "finding": "no clear difference", "control": False, "reason": "",
    }  # fmt: skip
    assert lines[4]["control"] is True
