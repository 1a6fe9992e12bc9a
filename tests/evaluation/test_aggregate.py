"""Groups in place of images: how their probabilities are made, and that they are scored alike."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit

from medldr.config import EvaluationConfig
from medldr.errors import InputError
from medldr.evaluation import compare, evaluate, join, load_run, predictions_of
from medldr.evaluation.aggregate import grouped
from medldr.evaluation.agreement import differences
from medldr.evaluation.comparison.averages import AveragedSet, metric_scores
from medldr.folders.evaluation_record import EvaluationRecord

HOW = ("mean", "max", "share")


def binary(positive, group, label=None, **more):
    positive = np.array(positive)
    label = np.zeros(len(positive), int) if label is None else label
    prob = np.stack([1 - positive, positive], 1)
    return predictions_of("binary", label, prob, group=list(group), **more)


def patients(split, n=24, each=5, seed=0, **more):
    """Five pictures a patient, half of the patients positive, in two hospitals."""
    rng = np.random.default_rng([seed, len(split)])
    number = np.repeat(np.arange(n), each)
    noise = rng.normal(size=n)[number] + rng.normal(size=n * each)
    positive = 1 / (1 + np.exp(-(noise + 1.5 * (number % 2) - 0.7)))
    return binary(
        positive, [f"p{i:02d}" for i in number], number % 2, split=split,
        ids=[f"{split}{i}" for i in range(n * each)], domain=[f"h{i % 4 // 2}" for i in number],
        **more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def tables():
    return {"val": patients("val", 20), "test": patients("test", 24, seed=1)}


def test_mean_maximum_and_share_of_the_images_of_each_patient():
    images = binary([0.1, 0.7, 0.4, 0.6, 0.3], ["b", "b", "b", "a", ""], [1, 1, 1, 0, 0])
    found = {how: grouped(images, how, 1, 0.4) for how in HOW}
    assert [one.id.tolist() for one in found.values()] == [["a", "b", "4"]] * 3
    assert found["mean"].label.tolist() == [0, 1, 0]
    assert found["mean"].prob[:, 1] == pytest.approx([0.6, 0.4, 0.3])
    assert found["max"].prob[:, 1].tolist() == [0.6, 0.7, 0.3]
    assert found["share"].prob[:, 1] == pytest.approx([1, 1 / 3, 0])  # above, not at, 0.4
    other = grouped(images, "max", 0)  # the first class is the positive one
    assert other.prob[:, 0] == pytest.approx([0.4, 0.9, 0.7])


def test_the_highest_of_several_classes_grades_and_labels():
    prob = np.array([[0.6, 0.3, 0.1], [0.2, 0.2, 0.6], [0.1, 0.8, 0.1]])
    images = predictions_of("multi-class", [0, 0, 1], prob, group=["a", "a", "b"])
    assert grouped(images, "max").prob[0] == pytest.approx(np.array([0.6, 0.3, 0.6]) / 1.5)
    # P(grade >= 1) is at most 0.8 and P(grade >= 2) at most 0.6 in the images of a.
    grades = replace(images, task="ordinal", label=np.array([0, 2, 1]))
    assert grouped(grades, "max").prob[0] == pytest.approx([0.2, 0.2, 0.6])
    assert grouped(grades, "max").label.tolist() == [2, 1]
    label = np.array([[0, np.nan, np.nan], [1, 0, np.nan], [0, 1, 0]])
    findings = grouped(predictions_of("multi-label", label, prob, group=["a", "a", "b"]), "max")
    assert findings.prob[0].tolist() == [0.6, 0.3, 0.6]
    np.testing.assert_array_equal(findings.label, [[1, 0, np.nan], [0, 1, 0]])


def test_equal_patients_stay_equal_whatever_the_order_and_number_of_their_images():
    draw = np.random.default_rng(0).random(7)
    for p in draw:
        images = binary([p, p, p, *draw, *draw[::-1], p], ["a"] * 3 + ["b"] * 7 + ["c"] * 7 + ["d"])
        mean = grouped(images, "mean").prob[:, 1]
        assert mean[0] == mean[3] == p
        assert mean[1] == mean[2]


def test_means_of_confident_images_rank_by_their_log_odds():
    # In float64 all of these are 1: only the log-odds tell the patients apart.
    odds = np.array([40.0, 60.0, 45.0, 45.0, 45.0, 60.0, 40.0])
    group = ["p1", "p1", "p2", "p2", "p3", "p4", "p4"]
    images = predictions_of(
        "binary", [1] * 7, np.stack([1 - expit(odds), expit(odds)], 1), group=group,
        log_odds=np.stack([-odds, odds], 1),
    )  # fmt: skip
    found = grouped(images, "mean")
    p1, p2, p3, p4 = found.log_odds[:, 1].tolist()
    assert p1 == p4 == pytest.approx(40 + np.log(2), abs=1e-8)
    assert p2 == p3 == 45
    assert found.log_odds[:, 0].tolist() == [-p1, -45, -45, -p4]
    assert grouped(images, "max").log_odds[:, 1].tolist() == [60, 45, 45, 60]
    assert grouped(images, "share", 1, 0.5).log_odds is None


def test_patients_of_confident_networks_are_told_apart():
    odds = np.repeat([38.0, 40, 42, 44, 46, 48, 50, 60, 70, 90], 2)
    label, group = np.repeat([0, 1], [8, 12]), [f"p{n // 2}" for n in range(20)]
    prob = np.stack([1 - expit(odds), expit(odds)], 1)
    images = predictions_of("binary", label, prob, group=group, log_odds=np.stack([-odds, odds], 1))
    for how in ("mean", "max"):
        content = evaluate({"test": images}, EvaluationConfig(draws=100, aggregate=how))
        assert content["splits"]["test"]["by_group"]["metrics"]["auc"]["value"] == 1


def test_an_image_without_a_usable_output_makes_its_patient_unusable():
    images = binary([0.2, np.nan, 0.3], "aab")
    for how in HOW:
        assert np.isnan(grouped(images, how, 1, 0.1).prob[0]).any()


@pytest.mark.parametrize("how", HOW)
def test_numbers_of_patients_are_those_of_a_table_with_a_row_per_patient(tables, how):
    config = EvaluationConfig(draws=200)
    content = evaluate(tables, config.model_copy(update={"aggregate": how}))
    threshold = content["operating_point"]["threshold"]
    rows = {split: grouped(table, how, 1, threshold) for split, table in tables.items()}
    alone = evaluate(rows, config)
    assert content["by_group"]["operating_point"] == alone["operating_point"]
    for split in tables:
        assert content["splits"][split].pop("by_group") == alone["splits"][split]
        assert alone["splits"][split]["unit"] == "item"  # no grouping remains
    images = evaluate(tables, config)["splits"]
    assert content["splits"] == images


def test_each_finding_of_a_patient_has_its_own_threshold(make):
    group = [f"p{n // 3}" for n in range(90)]
    tables = {s: make("multi-label", 90, 2, k, group=group) for k, s in enumerate(("val", "test"))}
    config = EvaluationConfig(draws=100, aggregate="max", group_label="any")
    content = evaluate(tables, config)
    alone = evaluate(
        {split: grouped(table, "max") for split, table in tables.items()},
        EvaluationConfig(draws=100),
    )
    assert content["by_group"]["operating_points"] == alone["operating_points"]
    assert content["splits"]["test"]["by_group"] == alone["splits"]["test"]
    table = join([replace(of, split=np.full(90, split)) for split, of in tables.items()])
    assert differences(EvaluationRecord.model_validate(content), table) == []


def test_the_frame_holds_both_and_images_keep_their_names(tables):
    config = EvaluationConfig(draws=100, aggregate="mean")
    scores = EvaluationRecord.model_validate(evaluate(tables, config)).scores
    row, of_images = scores.row("test", "by_group/auc"), scores.row("test", "auc")
    assert (row.n, of_images.n, row.key) == (24, 120, "test/by_group/auc")
    assert row.value > of_images.value
    assert scores.row("test", "by_group/auc", domain="h1").n == 12


@pytest.mark.parametrize("how", HOW)
def test_a_changed_number_of_patients_is_found(tables, how):
    content = evaluate(tables, EvaluationConfig(draws=100, aggregate=how))
    table = join(list(tables.values()))
    assert differences(EvaluationRecord.model_validate(content), table) == []
    content["splits"]["test"]["by_group"]["metrics"]["auc"]["value"] = 0.5
    content["splits"]["test"]["by_group"]["domains"]["h0"]["n"] = 11
    content["by_group"]["operating_point"]["threshold"] = 0.123
    found = differences(EvaluationRecord.model_validate(content), table)
    assert {one.key for one in found} == {
        "test/by_group/auc",
        "test/by_group/domain/h0/n",
        "by_group/operating_point/threshold",
    }


def test_patients_are_compared_over_seeds_as_rows_of_their_own(run_folder):
    how = "share"  # a comparison sees only the rows that it makes

    def folders(name, rows):
        every = [(label, seed) for label in ("erm", "mixup") for seed in range(2)]
        return [rows(f"{name}_{label}{seed}", label, seed) for label, seed in every]

    def images(name, label, seed):
        tables = _seeded(label, seed)
        config = {"aggregate": how, "per_group": True}
        return run_folder(name, tables, label=label, identity=label * 2, seed=seed, config=config)

    def rows(name, label, seed):
        tables = _seeded(label, seed)
        threshold = evaluate(tables, EvaluationConfig(draws=100))["operating_point"]["threshold"]
        alone = {split: grouped(table, how, 1, threshold) for split, table in tables.items()}
        return run_folder(name, alone, label=label, identity=label * 2, seed=seed)

    both, alone = compare(folders("images", images)), compare(folders("rows", rows))
    found = [row for row in both["rows"] if row["metric"].startswith("by_group/")]
    for row in found:
        row["metric"] = row["metric"].removeprefix("by_group/")
    assert found == [row for row in alone["rows"] if not row["metric"].startswith("class/")]
    pairs = [pair for pair in both["pairs"] if pair["metric"].startswith("by_group/")]
    assert len(pairs) == len(alone["pairs"])
    assert not any("by_group" in row["metric"] for row in both["classes"])


def _seeded(label, seed):
    tables = {"val": patients("val", 20, seed=seed), "test": patients("test", 24, seed=9)}
    worse = np.random.default_rng([seed, len(label)]).normal(size=120) * 0.05
    prob = np.clip(tables["test"].prob[:, 1] + worse, 0.01, 0.99)
    return {**tables, "test": replace(tables["test"], prob=np.stack([1 - prob, prob], 1))}


def test_an_average_over_columns_draws_patients_as_rows_of_their_own(run_folder):
    found = {}
    for name, config in (("images", {"aggregate": "mean"}), ("rows", {})):
        sets = []
        for label in ("erm", "mixup"):  # two columns of the same patients
            tables = _seeded(label, 0)
            if name == "rows":
                tables = {split: grouped(table, "mean") for split, table in tables.items()}
            run = load_run(run_folder(f"{name}_{label}", tables, label=label, config=config))
            sets.append(AveragedSet((run,), "test", weight=0.5))
        found[name] = metric_scores(sets, "by_group/auc" if config else "auc")
    (images, units), (rows, count) = found.values()
    assert units == count == 24
    assert images.values == rows.values
    np.testing.assert_array_equal(images.draws, rows.draws)


def test_runs_that_were_not_scored_alike_are_compared_by_image_alone(run_folder):
    tables = {"val": patients("val"), "test": patients("test")}
    one = run_folder("a", tables, label="a", config={"aggregate": "max"})
    other = run_folder("b", tables, label="b", identity="bbbbbbbb")
    found = compare([one, other])
    assert not any("by_group" in row["metric"] for row in found["rows"])
    assert any("evaluation.aggregate (max, none)" in note for note in found["notes"])


MIXED = binary([0.1, 0.8, 0.6, 0.7, 0.2], ["p03", "p03", "p17", "p17", "p18"], [0, 1, 1, 1, 0])


@pytest.mark.parametrize(
    ("table", "keys", "said"),
    [
        (MIXED, {}, ["1 of 3 groups", "(p03)", "evaluation.group_label=any", "positive if any"]),
        (replace(MIXED, task="multi-class"), {}, ["(p03)", "Correct the labels", "aggregate=none"]),
        (replace(MIXED, task="multi-class"), {"group_label": "any"}, ["group_label", "no order"]),
        (replace(MIXED, task="ordinal"), {"aggregate": "share"}, ["aggregate=mean", "ordinal"]),
        (replace(MIXED, group=np.full(5, "")), {}, ["no image has a group", "data.group"]),
    ],
)
def test_what_cannot_be_scored_is_one_message_with_key_and_cure(table, keys, said):
    config = EvaluationConfig(draws=100, **{"aggregate": "mean", **keys})
    with pytest.raises(InputError) as error:
        evaluate({"test": table}, config)
    assert all(text in str(error.value) for text in ["evaluation.", *said])


def test_a_patient_with_a_stray_label_counts_as_positive_only_where_this_is_asked_for():
    config = EvaluationConfig(draws=100, aggregate="max", group_label="any")
    found = evaluate({"test": MIXED}, config)
    assert found["splits"]["test"]["by_group"]["confusion"] == [[1, 0], [0, 2]]
    assert found["notes"][-1].startswith("1 of 3 groups (patients, slides) have images of")
    assert found["notes"][-1].endswith("(p03); such a group counts as positive if any image is.")
    images = evaluate({"test": MIXED}, EvaluationConfig(draws=100))
    assert "p03" not in json.dumps(images)  # these scores are of images, whatever their patients


def test_a_share_needs_the_threshold_of_images_or_their_decisions(tables):
    config = EvaluationConfig(draws=100, aggregate="share")
    content = evaluate({"test": tables["test"]}, config)
    assert content["splits"]["test"]["by_group"]["metrics"]["auc"]["value"] is None
    assert any(note.startswith("by group: nothing can be measured") for note in content["notes"])
    decided = replace(tables["test"], decision=tables["test"].prob[:, 1] > 0.5)  # pooled folds
    content = evaluate({"test": decided}, config)
    above = grouped(tables["test"], "share", 1, 0.5).prob
    assert grouped(decided, "share").prob.tolist() == above.tolist()
    assert content["splits"]["test"]["by_group"]["metrics"]["auc"]["value"] is not None
