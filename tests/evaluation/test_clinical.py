"""What a split's entry says to a clinical reader, recounted from the predictions."""

import json

import numpy as np
import pytest
from scipy import stats

from medldr.config import EvaluationConfig
from medldr.errors import InputError
from medldr.evaluation import check, compare, evaluate, predictions_of
from medldr.evaluation.comparison.delong import paired
from medldr.evaluation.intervals.single_run import Sample, number
from medldr.metrics import metric_facts
from medldr.types import DataSpec

FAST = EvaluationConfig(draws=200)
SIDES = ("positive", "negative")
TASKS = ["multi-class", "binary", "ordinal", "multi-label"]


def score(make, task="binary", n=120, config=FAST, **texts):
    tables = {"val": make(task, 80, split="val", seed=1), "test": make(task, n, **texts)}
    return tables["test"], evaluate(tables, config)


def test_classes_are_counted_by_image_and_by_group_in_the_split_and_its_domains(make):
    group, domain = [f"p{i // 7}" for i in range(120)], [f"h{i % 2}" for i in range(120)]
    table, found = score(make, "multi-class", group=group, domain=domain)
    split = found["splits"]["test"]
    for rows, counted in (
        (np.full(120, True), split["class_counts"]),
        (table.domain == "h1", split["domains"]["h1"]["class_counts"]),
    ):
        for k, name in enumerate(table.class_names):
            of_class = rows & (table.label == k)
            groups = len(set(table.group[of_class]))
            assert counted[name] == {
                "n": int(of_class.sum()), "n_groups": groups, "known": int(rows.sum())
            }  # fmt: skip


def test_missing_labels_are_not_known(make):
    table, found = score(make, "multi-label", missing=0.3)
    for k, name in enumerate(table.class_names):
        counted = found["splits"]["test"]["class_counts"][name]
        assert counted["known"] == (~np.isnan(table.label[:, k])).sum() < 120
        assert counted["n"] == (table.label[:, k] == 1).sum()


def test_decisions_are_those_at_the_threshold_and_make_up_the_metrics(make):
    table, found = score(make)
    threshold = found["operating_point"]["threshold"]
    split = found["splits"]["test"]
    called, truth = table.prob[:, 1] > threshold, table.label == 1
    tp, fn, fp, tn = split["decisions"].values()
    assert (tp, fn) == ((called & truth).sum(), (~called & truth).sum())
    assert (fp, tn) == ((called & ~truth).sum(), (~called & ~truth).sum())
    value = {name: number["value"] for name, number in split["metrics"].items()}
    assert value["ppv"] == pytest.approx(tp / (tp + fp))
    assert value["npv"] == pytest.approx(tn / (tn + fn))
    assert "at_prevalence" not in split


def test_at_the_datas_own_prevalence_bayes_gives_the_datas_own_values(make):
    table, _ = score(make)
    config = EvaluationConfig(draws=200, prevalence=float((table.label == 1).mean()))
    split = score(make, config=config)[1]["splits"]["test"]
    for name in ("ppv", "npv"):
        at = split["at_prevalence"][f"{name}_at_prevalence"]
        assert at["value"] == pytest.approx(split["metrics"][name]["value"])
        assert at["low"] < at["value"] < at["high"]


def test_a_rare_finding_has_a_lower_ppv_and_a_higher_npv(make):
    rare = EvaluationConfig(draws=200, prevalence=0.01)
    found = score(make, config=rare)[1]
    split = found["splits"]["test"]
    assert found["operating_point"]["prevalence"] == 0.01
    assert split["at_prevalence"]["ppv_at_prevalence"]["value"] < split["metrics"]["ppv"]["value"]
    assert split["at_prevalence"]["npv_at_prevalence"]["value"] > split["metrics"]["npv"]["value"]


def test_a_prevalence_needs_a_binary_task_and_a_share(make):
    config = EvaluationConfig(prevalence=0.1)
    said = "evaluation.prevalence is 0.1, but the task is ordinal.*Remove the key"
    with pytest.raises(InputError, match=said):
        evaluate({"test": make("ordinal")}, config)
    spec = DataSpec("ordinal", ("0", "1", "2"), (1, 1, 1), 1, (8, 8))
    with pytest.raises(InputError, match=said):
        check(config, spec, ["test"])
    for share in (0, 1, 1.5):
        with pytest.raises(ValueError, match="prevalence"):
            EvaluationConfig(prevalence=share)


@pytest.mark.parametrize("task", TASKS)
def test_calibration_is_of_the_positive_class_or_of_each(make, task):
    table, found = score(make, task)
    split = found["splits"]["test"]
    names = ["1"] if task == "binary" else list(table.class_names)
    assert list(split["calibration_fit"]) == list(split["calibration_curves"]) == names
    for curve in split["calibration_curves"].values():
        assert len(curve["predicted"]) == len(curve["low"]) > 50
        ends = zip(curve["low"], curve["observed"], curve["high"], strict=True)
        assert all(0 <= low < observed < high <= 1 for low, observed, high in ends)
    json.dumps(found, allow_nan=False)


def test_many_classes_have_numbers_but_no_curves(make):
    table = make("multi-class", 400, 7)
    split = evaluate({"test": table}, FAST)["splits"]["test"]
    assert (len(split["calibration_fit"]), split["calibration_curves"]) == (7, {})


def test_every_class_of_a_calibrated_forecast_has_slope_one_and_intercept_zero():
    rng = np.random.default_rng(0)
    prob = rng.dirichlet(np.ones(3), 6000)
    label = (prob.cumsum(axis=1) < rng.random((6000, 1))).sum(axis=1)
    fits = evaluate({"test": predictions_of("multi-class", label, prob)}, FAST)
    for fit in fits["splits"]["test"]["calibration_fit"].values():
        assert fit["calibration_slope"]["value"] == pytest.approx(1, abs=0.1)
        assert fit["calibration_intercept"]["value"] == pytest.approx(0, abs=0.1)


def test_a_split_of_one_class_has_reasons_and_no_curves():
    rng = np.random.default_rng(0)
    prob = rng.dirichlet(np.ones(2), 30)
    found = evaluate({"test": predictions_of("binary", [1] * 30, prob)}, FAST)
    json.dumps(found, allow_nan=False)
    split = found["splits"]["test"]
    for each in (split["calibration_fit"]["1"]["calibration_slope"], split["metrics"]["auprc"]):
        assert (each["value"], each["reason"]) == (None, "only one class in the labels")
    assert split["precision_recall"] == {}
    assert "no validation split" in split["metrics"]["ppv"]["reason"]


def test_a_single_group_has_values_without_intervals(make):
    split = score(make, group=["p"] * 120)[1]["splits"]["test"]
    fit = split["calibration_fit"]["1"]
    assert fit["calibration_slope"]["value"] is not None
    assert "single group" in fit["calibration_slope"]["reason"]
    assert "single group" in split["calibration_curves"]["1"]["reason"]


def test_worked_likelihood_ratios():
    """Of 50 positives 40 are called positive, of 100 negatives 10."""
    label = np.repeat([1, 0], [50, 100])
    positive = np.r_[np.full(40, 0.9), np.full(10, 0.1), np.full(10, 0.9), np.full(90, 0.1)]
    test = predictions_of("binary", label, np.stack([1 - positive, positive], 1))
    negatives = np.r_[np.full(90, 0.1), np.full(10, 0.9)]  # a threshold of 0.1
    val = predictions_of("binary", [0] * 100, np.stack([1 - negatives, negatives], 1), split="val")
    settings = EvaluationConfig(draws=100, specificity=0.9, splits=("val", "test"))
    found = evaluate({"val": val, "test": test}, settings)["splits"]["test"]["metrics"]
    near = {"abs": 1e-7}
    ends = [[found[f"lr_{of}"][key] for key in ("value", "low", "high")] for of in SIDES]
    assert ends[0] == pytest.approx([8.0, 4.3725225, 14.6368602], **near)
    assert ends[1] == pytest.approx([0.2222222, 0.1271643, 0.3883379], **near)


@pytest.mark.parametrize(("empty", "given"), [(0, True), (1000, True), (1001, False)])
def test_a_likelihood_ratio_of_groups_has_its_interval_on_the_log_scale(empty, given):
    """Never from zero; draws with an empty cell are left out, and more than half of them: none."""
    draws = np.exp(np.random.default_rng(0).normal(1.5, 0.8, 2000))
    draws[:empty] = np.where(np.arange(empty) % 2, np.nan, 0.0)
    found = number(metric_facts("lr_positive"), 4.5, draws, Sample(12, True, 80), None)
    assert (found["high"] is not None) is given
    if given:
        half = stats.t(11).ppf(0.975) * np.log(draws[draws > 0]).std() * (12 / 11) ** 0.5
        ends = 4.5 * np.exp(-half), 4.5 * np.exp(half)
        assert (found["low"], found["high"]) == pytest.approx(ends)


def test_an_interval_of_no_width_is_none():
    """A network that predicts one class has the same balanced accuracy in every draw."""
    draws = 1 / 3 + np.random.default_rng(0).choice([0, 1, -1], 500) * 1e-16
    for sample in (Sample(40, False, 0), Sample(12, True, 0)):
        found = number(metric_facts("balanced_accuracy"), 1 / 3, draws, sample, None)
        assert (found["low"], found["high"]) == (None, None)
        assert "every bootstrap draw" in found["reason"]


def test_domains_of_a_binary_task_have_curves_of_their_own(make):
    split = score(make, domain=[f"h{i % 2}" for i in range(120)])[1]["splits"]["test"]
    for name, curve in split["roc_by_domain"].items():
        area = np.trapezoid(curve["tpr"], curve["fpr"])
        assert area == pytest.approx(split["domains"][name]["metrics"]["auc"]["value"])
    assert list(split["roc_by_domain"]) == ["h0", "h1"]
    assert "roc_by_domain" not in score(make, "multi-class")[1]["splits"]["test"]


@pytest.fixture
def two(make, run_folder):
    """Two binary runs with single seeds on the same items."""

    def build(seeds=(0,), **texts):
        ids = [f"i{i}" for i in range(120)]
        one = make("binary", 120, seed=3, split="test", ids=ids, **texts)
        prob = np.random.default_rng(4).dirichlet(np.ones(2), 120)
        prob[:, 1] = (prob[:, 1] + one.prob[:, 1]) / 2
        prob[:, 0] = 1 - prob[:, 1]
        other = predictions_of("binary", one.label, prob, split="test", ids=ids, **texts)
        folders = [run_folder("erm-0", {"test": one})]
        folders += [
            run_folder(f"new-{seed}", {"test": other}, label="new", identity="b" * 8, seed=seed)
            for seed in seeds
        ]
        return one, other, compare(folders)

    return build


def delong_notes(found):
    return [note for note in found["notes"] if "DeLong" in note]


def test_two_single_networks_have_delongs_interval_and_no_p(two):
    one, other, found = two()
    (note,) = delong_notes(found)
    value, low, high = paired(one.label == 1, other.prob[:, 1], one.prob[:, 1])
    shown = " to ".join(f"{end:+.3f}".replace("-", "−") for end in (low, high))
    assert f"(95% CI {shown})" in note
    assert note.startswith("test: AUC of new minus that of erm")
    (row,) = (r for r in found["rows"] if (r["metric"], r["method"]) == ("auc", "new"))
    assert row["difference"]["value"] == pytest.approx(value)
    assert row["difference"]["p"] is None
    # The bootstrap's standard error is about the same.
    spread = row["difference"]["high"] - row["difference"]["low"]
    assert spread == pytest.approx(high - low, rel=0.25)


def test_groups_have_no_delong_interval(two):
    assert delong_notes(two(group=[f"p{i // 2}" for i in range(120)])[2]) == []


def test_several_seeds_have_no_delong_interval(two):
    assert delong_notes(two(seeds=(0, 1))[2]) == []
