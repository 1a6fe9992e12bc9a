"""Non-inferiority: judged by the whole interval, in the metric's unit and direction."""

import json

import numpy as np
import pytest

from medldr.errors import InputError
from medldr.evaluation import compare, predictions_of
from medldr.evaluation.comparison.findings import margin_of, verdict
from medldr.evaluation.intervals.estimate import Estimate
from medldr.metrics import metric_facts

ACCURACY, NLL = metric_facts("accuracy"), metric_facts("nll")


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-0.019, 0.05, "non-inferior"),
        (0.01, 0.05, "non-inferior"),
        (-0.019, -0.001, "non-inferior"),  # clearly worse, but by less than the margin
        (-0.021, 0.05, "cannot tell"),
        (-0.02, 0.05, "cannot tell"),
        (-0.05, -0.019, "cannot tell"),
        (-0.05, -0.021, "inferior"),
        (None, None, None),
    ],
)
def test_the_whole_interval_decides_whichever_direction_is_better(low, high, said):
    assert verdict(Estimate(low=low, high=high), 0.02, ACCURACY) == said
    turned = Estimate() if low is None else Estimate(low=-high, high=-low)
    assert verdict(turned, 0.02, NLL) == said


def test_a_margin_is_in_the_unit_in_which_the_metric_is_printed():
    assert margin_of("accuracy", 2.5) == 0.025
    assert margin_of("auc", 0.03) == 0.03
    assert margin_of("mae", 1.5) == 1.5


@pytest.mark.parametrize(
    ("metric", "margin", "said"),
    [
        ("accuracy", 0, "above 0 and below 100, in percentage points, but is 0"),
        ("accuracy", -2, "but is -2"),
        ("accuracy", float("nan"), "but is nan"),
        ("accuracy", 100, "below 100"),
        ("auc", 2, "below 1, in the unit of AUC, but is 2. For example: margin=0.02"),
        ("mae", 0, "should be above 0, in the unit"),
    ],
)
def test_a_margin_that_judges_nothing_is_refused(metric, margin, said):
    with pytest.raises(InputError, match="margin") as error:
        margin_of(metric, margin)
    assert said in str(error.value)


def table(right, split="test"):
    """Predictions of 200 items, of which these share is right."""
    label = np.arange(200) % 2
    hit = np.arange(200) < right
    prob = np.where((label == 1) == hit, 0.8, 0.2)
    return predictions_of("binary", label, np.stack([1 - prob, prob], 1), split=split)


@pytest.fixture(scope="module")
def study(kept_run_folder):
    """A reference, a method much like it, a worse one, and one that was selected on the test."""
    made = []
    for label, right, seeds, oracle in (
        ("erm", 160, 3, False), ("same", 159, 3, False), ("worse", 100, 3, False),
        ("single", 161, 1, False), ("two", 161, 2, False), ("best", 180, 3, True),
    ):  # fmt: skip
        for seed in range(seeds):
            selection = {"rule": "last", "oracle": oracle}
            made.append(
                kept_run_folder(f"{label}-{seed}", {"test": table(right + seed)}, label=label,
                                identity=label, seed=seed, selection=selection)
            )  # fmt: skip
    return made


def verdicts(result, metric):
    return {
        row["method"]: row["difference"].get("non_inferiority", "absent")
        for row in result["rows"]
        if row["metric"] == metric and row["difference"] is not None
    }


def test_each_method_is_judged_but_no_oracle(study):
    found = compare(study, margin=4, metric="accuracy")
    json.dumps(found, allow_nan=False)
    assert found["margin"] == {"metric": "accuracy", "value": 0.04}
    assert verdicts(found, "accuracy") == {
        "same": "non-inferior", "worse": "inferior", "single": "cannot tell", "two": "cannot tell",
        "best (oracle)": None,
    }  # fmt: skip
    for row in found["rows"]:
        judged = row["metric"] == "accuracy" and row["difference"] is not None
        if judged and row["method"] not in ("single", "two"):  # three seeds make a test
            ends = Estimate(low=row["difference"]["low"], high=row["difference"]["high"])
            assert row["difference"]["non_inferiority"] in (None, verdict(ends, 0.04, ACCURACY))
    assert set(verdicts(found, "nll").values()) == {"absent"}


def test_an_oracle_as_reference_judges_nothing(study):
    found = compare(study, reference="best (oracle)", margin=4)
    assert set(verdicts(found, "accuracy").values()) == {None}


def test_a_metric_that_is_not_there_is_named(study):
    with pytest.raises(InputError, match=r"no metric 'acuracy'\. Did you mean 'accuracy'"):
        compare(study, margin=2, metric="acuracy")
