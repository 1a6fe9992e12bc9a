"""The sentences on gains by domain."""

from medldr.evaluation.comparison.comparison import Difference
from medldr.evaluation.intervals.estimate import Estimate
from medldr.reporting.results.gains import Gain
from medldr.reporting.sections.analysis.gains import verdict


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
    assert said.endswith("not compared (a single seed).")
    two = verdict([gain(0.2, None, "a", seeds=2)], "ERM", "accuracy")
    assert two.endswith("not compared (two seeds).")
    mixed = verdict([gain(0.2, None, "a", seeds=1), gain(0.2, 0.001, "b")], "ERM", "accuracy")
    assert "better in 1, not compared in 1 of 2" in mixed
