"""The flat table, read back by pandas, holds what `compare` found and what never came."""

import io

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from scipy.special import expit, logit

from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.sections.sweep.csv_lines import FIELDS, csv_fields, csv_lines
from medldr.reporting.writers.csv import csv_text


@pytest.fixture(scope="module")
def text(whole):
    return csv_text(csv_fields(whole.results), csv_lines(whole.results))


@pytest.fixture(scope="module")
def table(text):
    return pd.read_csv(io.StringIO(text), keep_default_na=False, na_values=[""])


def test_every_result_is_a_line_with_its_numbers(whole, table):
    assert tuple(table.columns) == FIELDS
    for column in whole.results.columns:
        lines = table[(table["column_title"] == column.name) & (table["kind"] == "result")]
        plain = lines[lines["class"].isna() & (lines["runs"] > 0)].reset_index()
        assert len(plain) == len(column.comparison.scores) > 0
        found = plain.to_dict("records")
        for score, line in zip(column.comparison.scores, found, strict=True):
            assert (line["title"], line["metric"]) == (score.method, score.metric)
            for key in ("mean", "sd", "low", "high"):
                number = getattr(score.estimate, key)
                assert line[key] == pytest.approx(number, nan_ok=True) or number is None
            minus = column.difference(score.split, score.metric, score.method, score.domain)
            if minus:
                assert line["difference"] == minus.estimate.mean
                p = minus.p_holm
                assert line["p_holm"] == p or (p is None and pd.isna(line["p_holm"]))
                assert line["compared_with"] == "erm"
        classes = lines[lines["class"].notna()]
        assert len(classes) == len(column.comparison.classes)
        assert set(classes["metric"]) == {"recall"}


def test_names_are_those_of_the_sweep_file_and_flags_are_true_or_false(table):
    assert set(table["column"]) == {"dermamnist", "octmnist"}
    rows = table[table["kind"] != "majority"]["row"]
    assert set(rows) == {"erm", "mixup", "latentdr_sa", "latentdr_pool", "erm_half_lr"}
    assert set(table[table["row"] == "mixup"]["oracle"].astype(str).str.lower()) == {"true"}
    assert set(table[table["row"] == "erm"]["oracle"].astype(str).str.lower()) == {"false"}
    control = table["row"] == "erm_half_lr"
    assert set(table[control]["control"].astype(str).str.lower()) == {"true"}


def test_images_groups_and_what_ran_have_columns(sweep):
    run = {"device": "cuda", "provenance": {
        "packages": {"medldr": "0.1.0", "torch": "2.8"}, "hardware": {"gpus": ["H100"]},
        "git": {"commit": "0123456789", "changed": True},
    }}  # fmt: skip
    folder = sweep({"erm": 1.0}, ("octmnist",), n=40, run=run)
    results = sweep_page(folder).results
    lines = pd.read_csv(io.StringIO(csv_text(csv_fields(results), csv_lines(results))))
    result = lines[lines["kind"] == "result"]
    whole_split = result[result["class"].isna()]
    assert set(whole_split["images"]) == {40}
    assert set(whole_split["groups"]) == {20}  # two images of each patient
    facts = ["medldr_version", "git", "torch", "device"]
    assert set(result[facts].astype(str).itertuples(index=False, name=None)) == {
        ("0.1.0", "01234567 with uncommitted changes", "2.8", "H100")
    }
    label = results.study.entries[0].run.predictions["test"].label
    level = lines[(lines["kind"] == "majority") & (lines["metric"] == "accuracy")]
    assert list(level["mean"]) == [pytest.approx(np.bincount(label).max() / 40)]
    assert level["row"].isna().all()
    assert level["low"].isna().all()


def test_what_is_missing_has_lines_too(table):
    there = table[(table["row"] == "erm_half_lr") & (table["column"] == "octmnist")]
    assert list(there["metric"]) == ["accuracy", "auc"]
    assert set(there["status"]) == {"not run"}
    assert set(there["runs"]) == {0}
    assert there["mean"].isna().all()
    partly = table[(table["row"] == "mixup") & (table["column"] == "octmnist")]
    assert set(partly["status"]) == {"partly: failed"}
    assert (partly["planned"] == 3).all()


def test_pairs_and_published_numbers_have_their_own_fields(whole, table):
    pairs = table[table["kind"] == "contrast"]
    found = [d for c in whole.results.columns for d in c.comparison.differences]
    assert len(pairs) == sum(d.family == "asked" for d in found)
    assert set(pairs["compared_with"]) == {"erm_half_lr", "latentdr_sa"}
    assert pairs["mean"].isna().all()
    found = table[(table["row"] == "erm") & (table["metric"] == "accuracy") & table["class"].isna()]
    derma = found[found["column"] == "dermamnist"].iloc[0]
    assert derma["published"] == 0.758  # the paper's, at 224 pixels
    assert (derma["protocol"], derma["published_protocol"]) == ("medmnist-28", "medmnist-224up")
    assert str(derma["same_protocol"]).lower() == "false"


def test_the_flat_table_names_nobody(text):
    assert "DOE_JANE" not in text
    assert "MRN-" not in text


def test_sources_of_the_variance_add_up_and_have_intervals_of_their_own(whole, table):
    """Written out in NumPy and SciPy, on the logit scale: these networks, and these patients."""
    (column,) = (c for c in whole.results.columns if c.name == "OCT")
    lines = table[(table["row"] == "erm") & (table["metric"] == "accuracy") & table["class"].isna()]
    line = lines[(lines["column"] == "octmnist") & (lines["split"] == "test")].iloc[0]
    score = column.comparison.score("test", "accuracy", line["title"])
    variance, k = score.estimate.variance, score.runs
    assert k > 1
    assert line["var_units"] + line["var_seeds"] == pytest.approx(variance.total, rel=1e-12)
    between = np.var(score.values, ddof=1) / k
    assert line["var_seeds"] == pytest.approx(max(0, between - line["var_run_unit"]), rel=1e-9)
    mean = np.mean(score.values)
    for name, part, df in (
        ("these_seeds", line["var_units"], variance.units[0].df),
        ("these_patients", between, k - 1),
    ):
        half = stats.t(df).ppf(0.975) * part**0.5 / (mean * (1 - mean))
        ends = expit(logit(mean) + half * np.array([-1, 1]))
        assert [line[f"low_{name}"], line[f"high_{name}"]] == pytest.approx(ends, rel=1e-9)


def test_a_single_network_has_no_sources_of_a_variance(sweep):
    results = sweep_page(sweep({"erm": 1.0}, ("octmnist",), n=40, seeds=(0,))).results
    lines = pd.read_csv(io.StringIO(csv_text(csv_fields(results), csv_lines(results))))
    found = lines[(lines["kind"] == "result") & (lines["metric"] == "accuracy")]
    assert found["low"].notna().all()
    assert found[["var_units", "low_these_seeds", "low_these_patients"]].isna().all(axis=None)
