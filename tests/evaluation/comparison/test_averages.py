"""Averages over test sets that share images or not: in the same draws of all their units."""

import json
from dataclasses import replace

import numpy as np
import pytest

from medldr.evaluation import load_run, predictions_of
from medldr.evaluation.comparison.averages import AveragedSet, metric_scores, share_units
from medldr.evaluation.comparison.compare import make_comparison
from medldr.evaluation.intervals.inference import of_mean


def table(seed, *, n=60, labels=0, part=""):
    label = np.random.default_rng(labels).integers(0, 3, n)
    logits = np.random.default_rng(100 + seed).normal(size=(n, 3))
    logits[np.arange(n), label] += 1
    prob = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    texts = {"ids": [f"i{i:03d}" for i in range(n)], "group": [f"p{i // 3}" for i in range(n)]}
    return predictions_of(
        "multi-class", label, prob, split="test", part=[part] * (n // 2) + [""] * (n - n // 2),
        **texts,
    )  # fmt: skip


@pytest.fixture
def runs(run_folder):
    def build(*tables):
        return [
            load_run(run_folder(f"a{seed}", {"test": each}, seed=seed))
            for seed, each in enumerate(tables)
        ]

    return build


@pytest.mark.parametrize("metric", ["accuracy", "auc", "nll"])
def test_it_is_the_variance_that_compare_uses(runs, metric):
    found = runs(table(0), table(1), table(2))
    mine = of_mean(*metric_scores([AveragedSet(found, "test")], metric))
    other = make_comparison(found).estimate("test", metric, "erm").variance
    assert mine.total == pytest.approx(other.total, rel=1e-12)
    assert mine.df == pytest.approx(other.df, rel=1e-12)


def test_a_part_is_scored_on_its_own_items(runs):
    found = runs(*(table(seed, part="target_in") for seed in range(3)))
    half = runs_of_half(found)
    mine = of_mean(*metric_scores([AveragedSet(found, "test", "target_in")], "accuracy"))
    assert mine.units[0].df == 9  # ten of the twenty patients
    values = [float((t.prob.argmax(1) == t.label).mean()) for t in half]
    assert mine.seeds[0].variance == pytest.approx(np.var(values, ddof=1) / 3)


def runs_of_half(found):
    tables = (run.predictions["test"] for run in found)
    return [t.select(t.part == "target_in") for t in tables]


def test_runs_that_cannot_be_compared_have_none(runs, run_folder):
    (one,) = runs(table(0))
    for number, other in enumerate((table(1, labels=1), table(1, n=57), table(1, part="x"))):
        run = load_run(run_folder(f"b{number}", {"test": other}, seed=1))
        assert metric_scores([AveragedSet([one, run], "test")], "accuracy") is None
    assert metric_scores([AveragedSet([one], "id_test")], "accuracy") is None


def test_runs_that_do_not_record_their_intervals_have_none(run_folder):
    folder = run_folder("old", {"test": table(0)})
    path = folder / "evaluation.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"intervals": None}))
    assert metric_scores([AveragedSet([load_run(folder)], "test")], "accuracy") is None


def test_a_number_that_a_finite_sample_inflates_has_none(runs):
    assert metric_scores([AveragedSet(runs(table(0), table(1)), "test")], "ece") is None


def halves(one, other=None):
    """Two test sets that each count half."""
    return [AveragedSet(each, "test", weight=0.5, data="d") for each in (one, other or one)]


def test_two_identical_columns_tell_as_much_as_one(runs):
    found = runs(table(0), table(1), table(2))
    one, units = metric_scores([AveragedSet(found, "test", data="d")], "accuracy")
    two, of_both = metric_scores(halves(found), "accuracy")
    assert share_units(halves(found))
    assert units == of_both == 20
    assert two.values == pytest.approx(one.values, abs=1e-15)
    assert two.draws == pytest.approx(one.draws, abs=1e-15)
    assert of_mean(two, units).df == pytest.approx(of_mean(one, units).df)


def test_columns_without_a_common_group_have_the_variance_of_independent_ones(runs, run_folder):
    found = runs(table(0), table(1), table(2))
    others = []
    for seed in range(3):
        made = table(10 + seed, labels=1)
        apart = replace(made, id=np.char.add("x", made.id), group=np.char.add("x", made.group))
        others.append(load_run(run_folder(f"o{seed}", {"test": apart}, seed=seed)))
    sets = halves(found, others)
    assert not share_units(sets)
    joint, units = metric_scores(sets, "accuracy")
    assert units == 40
    alone = [of_mean(*metric_scores([AveragedSet(r, "test")], "accuracy")) for r in (found, others)]
    expected = sum(each.units[0].variance for each in alone) / 4
    assert of_mean(joint, units).units[0].variance == pytest.approx(expected, rel=0.25)
    values = np.mean([[accuracy(run) for run in of] for of in (found, others)], axis=0)
    assert of_mean(joint, units).seeds[0].variance == pytest.approx(values.var(ddof=1) / 3)


def accuracy(run):
    test = run.predictions["test"]
    return float((test.prob.argmax(axis=1) == test.label).mean())


def test_items_of_two_data_sets_with_the_same_ids_are_not_the_same(runs):
    found = runs(table(0), table(1))
    apart = [AveragedSet(found, "test", weight=0.5, data=name) for name in "ab"]
    assert not share_units(apart)
    assert metric_scores(apart, "accuracy")[1] == 40


def test_what_is_taken_off_the_same_images_leaves_nothing(runs):
    found = runs(table(0), table(1), table(2))
    seen, unseen = (AveragedSet(found, "test", weight=w) for w in (1.0, -1.0))
    gap, _ = metric_scores([seen, unseen], "accuracy")
    assert not gap.values.any()
    assert not gap.draws.any()


def test_all_sets_are_drawn_as_often_as_the_first(runs):
    found = runs(table(0), table(1), table(2))
    made = found[0].evaluation
    fewer = made.model_copy(update={"intervals": made.intervals.model_copy(update={"draws": 50})})
    others = [replace(run, evaluation=fewer) for run in found]
    two, _ = metric_scores(halves(found, others), "accuracy")
    one, _ = metric_scores(halves(found), "accuracy")
    assert two.draws == pytest.approx(one.draws, abs=1e-15)
    alone, _ = metric_scores([AveragedSet(found, "test", first=others[0])], "accuracy")
    assert alone.draws.shape == (3, 50)
