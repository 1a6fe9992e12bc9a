"""Each label of a multi-label task is decided like a binary test, at its own threshold."""

from dataclasses import replace

import numpy as np
import pytest

from medldr.config import EvaluationConfig
from medldr.evaluation import accuracy, compare, evaluate, join, predictions_of
from medldr.evaluation.agreement import differences
from medldr.evaluation.metrics.operating_point import of_label
from medldr.evaluation.split_scores import LABEL_METRICS
from medldr.folders.evaluation_record import EvaluationRecord
from medldr.prediction.answers import Answers
from medldr.reporting.document import Paragraph, Section
from medldr.reporting.sections.run.clinical import benefit, operating
from medldr.reporting.sections.run.tables import classes, label_table

NAMES = ("effusion", "nodule")
CONFIG = EvaluationConfig(draws=150, specificity=0.9)


def table(split, n=72, missing=0.0, **texts):
    """Effusion in half of the images, nodule in one of eight, all probabilities below 0.5."""
    rng = np.random.default_rng({"val": 0, "test": 1}[split])
    label = np.stack([np.arange(n) % 2 == 0, np.arange(n) % 8 == 0], axis=1).astype(float)
    prob = 0.49 / (1 + np.exp(-rng.normal(size=(n, 2)) - 2 * label + [0.0, 2.0]))
    label[rng.random(label.shape) < missing] = np.nan
    return predictions_of("multi-label", label, prob, split=split, class_names=NAMES, **texts)


def both(**more):
    return {split: table(split, **more) for split in ("val", "test")}


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("groups", [False, True])
def test_the_numbers_of_a_label_are_those_of_a_binary_task_of_it_alone(missing, groups):
    texts = {"group": [f"p{n // 3:02}" for n in range(72)]} if groups else {}
    tables = both(missing=missing, **texts)
    found = evaluate(tables, CONFIG)
    for column, name in enumerate(NAMES):
        alone = evaluate({split: of_label(t, column) for split, t in tables.items()}, CONFIG)
        point = found["operating_points"][name]
        assert point == alone["operating_point"]
        assert 0 < point["threshold"] < 0.49
        for metric in LABEL_METRICS:
            one = found["splits"]["test"]["classes"][name][metric]
            other = alone["splits"]["test"]["metrics"][metric]
            assert one["value"] == pytest.approx(other["value"])
            if missing == 0:  # the same units, so the same draws of both splits
                assert one == other
        counts = alone["splits"]["test"]["decisions"]
        (spared, alarms), (missed, hits) = found["splits"]["test"]["confusion_at_thresholds"][
            column
        ]
        assert counts == {
            "true_positives": hits,
            "false_negatives": missed,
            "false_positives": alarms,
            "true_negatives": spared,
        }
        curve = alone["splits"]["test"]["decision_curve"]
        assert found["splits"]["test"]["decision_curves"][name] == curve


def test_the_threshold_is_drawn_again_with_validation():
    """With the threshold as it is, specificity would be sure by far more than it is."""
    small, tables = table("val").select(np.arange(24)), {"test": table("test", n=2000)}
    widths = []
    for val in (small, table("val", n=4000)):
        of = evaluate(tables | {"val": val}, CONFIG)["splits"]["test"]["classes"]["effusion"]
        widths.append(np.diff([of["specificity_at_threshold"][end] for end in ("low", "high")])[0])
    assert widths[0] > 2 * widths[1]


def test_published_numbers_stay_at_one_half():
    tables = both(missing=0.1)
    test = tables["test"]
    found = evaluate(tables, CONFIG)["splits"]["test"]
    assert found["metrics"]["accuracy"]["value"] == accuracy(test.label, test.prob, test.task)
    known = ~np.isnan(test.label)
    right = np.where(known, (test.prob > 0.5) == test.label, True).all(axis=1)
    exact = right[known.any(axis=1)].mean()
    assert found["metrics"]["exact_match"]["value"] == pytest.approx(exact)
    assert found["classes"]["effusion"]["recall"]["value"] == 0
    assert found["confusion"][0][1][1] == 0
    assert found["confusion_at_thresholds"][0][1][1] > 10


@pytest.mark.parametrize(("only", "what"), [(1.0, "negatives"), (0.0, "positives")])
def test_a_label_that_validation_does_not_know_both_ways_is_decided_at_one_half(only, what):
    tables = both()
    tables["val"].label[:, 1] = only
    tables["val"].label[:3, 1] = np.nan
    tables["test"].prob[:4, 1] = 0.6
    found = evaluate(tables, CONFIG)
    point, said = found["operating_points"]["nodule"], f"no threshold, because val has no {what}"
    assert (point["threshold"], point["reason"]) == (None, said)
    test = found["splits"]["test"]
    for metric in LABEL_METRICS:
        number = test["classes"]["nodule"][metric]
        assert (number["value"], number["reason"]) == (None, said)
    assert test["confusion_at_thresholds"][1] == test["confusion"][1]
    assert test["confusion_at_thresholds"][1][1][1] == 1
    assert test["classes"]["effusion"]["sensitivity_at_specificity"]["value"] > 0


def test_a_label_alone_keeps_its_log_odds():
    odds = np.array([[-40.0, 3.0], [40.0, 1.0], [50.0, 0.0]])
    label = [[0, 1], [1, np.nan], [1, 0]]
    whole = predictions_of("multi-label", label, 1 / (1 + np.exp(-odds)), log_odds=odds)
    assert of_label(whole, 0).log_odds.tolist() == [[40, -40], [-40, 40], [-50, 50]]
    assert of_label(whole, 1).log_odds.tolist() == [[-3, 3], [0, 0]]


def test_without_validation_no_label_has_a_threshold():
    found = evaluate({"test": table("test")}, CONFIG)
    reasons = {point["reason"] for point in found["operating_points"].values()}
    assert reasons == {"no threshold, because no validation split was scored"}
    assert "operating_points" not in evaluate(
        {"test": of_label(table("test"), 0)}, EvaluationConfig(draws=100)
    )


def test_new_images_are_answered_at_the_thresholds_of_validation():
    tables = both()
    points = evaluate(tables, CONFIG)["operating_points"]
    thresholds = {name: point["threshold"] for name, point in points.items()}
    names = tuple(tables["val"].id.tolist())
    prob = tables["val"].prob
    odds = np.log(prob / (1 - prob))
    at_half = Answers("multi-label", NAMES, names, prob, odds).predicted
    assert set(at_half) == {""}
    predicted = Answers("multi-label", NAMES, names, prob, odds, thresholds=thresholds).predicted
    assert set(predicted) == {"", "effusion", "nodule", "effusion|nodule"}
    for column, name in enumerate(NAMES):
        called = np.array([name in answer.split("|") for answer in predicted])
        absent = tables["val"].label[:, column] == 0
        assert (~called[absent]).mean() >= 0.9
    alone = Answers("multi-label", NAMES, names, prob, odds, thresholds={"nodule": 0.0}).predicted
    assert set(alone) == {"nodule"}  # effusion, without one, is decided at 0.5


def test_a_changed_threshold_does_not_agree_with_the_predictions():
    tables = both(missing=0.2)
    content, every = evaluate(tables, CONFIG), join(list(tables.values()))
    assert differences(EvaluationRecord.model_validate(content), every) == []
    content["operating_points"]["nodule"]["threshold"] += 0.01
    content["splits"]["test"]["classes"]["effusion"]["ppv"]["value"] = 0.123
    found = differences(EvaluationRecord.model_validate(content), every)
    keys = {"operating_points/nodule/threshold", "test/class/effusion/ppv"}
    assert {each.key for each in found} == keys


def test_a_comparison_has_each_label_at_the_threshold_of_its_own_run(run_folder):
    """Half of the probabilities give half of the threshold and the same decisions."""
    tables = both()
    halved = {split: replace(t, prob=t.prob / 2) for split, t in tables.items()}
    runs = [
        run_folder("a", tables),
        run_folder("b", halved, label="half", identity="2"),
    ]
    found = compare(runs)
    own = evaluate(tables, EvaluationConfig(draws=200))["splits"]["test"]["classes"]
    for metric in ("sensitivity_at_specificity", "specificity_at_threshold"):
        rows = [row for row in found["classes"] if row["metric"] == metric]
        assert [row["class"] for row in rows] == [*NAMES[:1] * 2, *NAMES[1:] * 2]
        for row in rows:
            wanted = own[row["class"]][metric]
            assert (row["mean"], row["low"]) == (wanted["value"], wanted["low"])
    assert found["degenerate"] == []  # at 0.5 neither run would find a single one


def test_decisions_of_folds_take_the_place_of_thresholds():
    tables = both(missing=0.2)
    called = table("test").prob > [0.3, 0.05]
    decided = replace(tables["test"], decision=called)
    found = evaluate({"test": decided}, CONFIG)["splits"]["test"]
    for column, name in enumerate(NAMES):
        label = decided.label[:, column]
        hits, spared = called[label == 1, column], ~called[label == 0, column]
        of = found["classes"][name]
        assert of["sensitivity_at_specificity"]["value"] == pytest.approx(hits.mean())
        assert of["specificity_at_threshold"]["value"] == pytest.approx(spared.mean())
        assert found["confusion_at_thresholds"][column][1][1] == hits.sum()


def test_the_page_decides_at_the_thresholds_and_says_what_does_not():
    tables = both()
    tables["val"].label[:, 1] = 0
    scored = EvaluationRecord.model_validate(evaluate(tables, CONFIG))
    split = scored.splits["test"]
    page = Section("", "", "")
    page.add(*operating(scored, split), *benefit(split))
    said = " ".join(block.text for block in page.of(Paragraph))
    assert "specificity of at least 90%" in said
    assert "exact match, F1, recall and precision are at 0.5" in said
    (worth,) = page.tables
    assert [row.heading for row in worth.rows] == list(NAMES)
    sensitivity = split.classes["effusion"].metrics["sensitivity_at_specificity"]
    assert worth.rows[0].cells[1].estimate.mean == sensitivity.value
    assert any("val has no positives" in text for _, text in worth.footnotes)
    cells = [cell.content for cell in label_table(split, NAMES).rows[0].cells]
    (spared, alarms), (missed, hits) = split.confusion_at_thresholds[0]
    assert cells == [hits, missed, alarms, spared]
    keys = classes(scored).tables[0].columns
    assert "Recall (%)" in keys
    assert "PPV (%)" not in keys


def test_an_evaluation_from_before_thresholds_is_still_said_to_decide_at_one_half():
    content = evaluate(both(), CONFIG)
    del content["operating_points"]
    for split in content["splits"].values():
        del split["confusion_at_thresholds"], split["decision_curves"]
        for of in split["classes"].values():
            for metric in LABEL_METRICS:
                del of[metric]
    scored = EvaluationRecord.model_validate(content)
    page = Section("", "", "")
    page.add(*operating(scored, scored.splits["test"]), *benefit(scored.splits["test"]))
    assert page.blocks == []
    assert "probability threshold of 0.5" in label_table(scored.splits["test"], NAMES).caption
    assert not any("own threshold" in block.text for block in classes(scored).of(Paragraph))
    every = join(list(both().values()))
    assert differences(scored, every) == []
