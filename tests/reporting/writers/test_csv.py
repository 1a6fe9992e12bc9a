"""The flat table, read back by pandas, holds what `compare` found and what never came."""

import io

import pandas as pd
import pytest

from medldr.reporting.writers.csv import FIELDS, tidy_csv


@pytest.fixture(scope="module")
def table(whole):
    return pd.read_csv(io.StringIO(tidy_csv(whole)), keep_default_na=False, na_values=[""])


def test_every_result_is_a_line_with_its_numbers(whole, table):
    assert tuple(table.columns) == FIELDS
    for column in whole.columns:
        lines = table[(table["column_title"] == column.name) & (table["kind"] == "result")]
        plain = lines[lines["class"].isna() & (lines["runs"] > 0)].reset_index()
        assert len(plain) == len(column.result["rows"])
        for row, line in zip(column.result["rows"], plain.to_dict("records"), strict=True):
            assert (line["title"], line["metric"]) == (row["method"], row["metric"])
            for key in ("mean", "sd", "low", "high"):
                assert line[key] == pytest.approx(row[key], nan_ok=True) or row[key] is None
            if row["difference"]:
                assert line["difference"] == row["difference"]["value"]
                assert line["p_holm"] == row["difference"]["p_holm"]
                assert line["compared_with"] == "erm"
        classes = lines[lines["class"].notna()]
        assert len(classes) == len(column.result["classes"])
        assert set(classes["metric"]) == {"recall"}


def test_names_are_those_of_the_sweep_file_and_flags_are_true_or_false(table):
    assert set(table["column"]) == {"dermamnist", "octmnist"}
    assert set(table["row"]) == {"erm", "mixup", "latentdr_sa", "latentdr_pool", "erm_half_lr"}
    assert set(table[table["row"] == "mixup"]["oracle"].astype(str).str.lower()) == {"true"}
    assert set(table[table["row"] == "erm"]["oracle"].astype(str).str.lower()) == {"false"}
    control = table["row"] == "erm_half_lr"
    assert set(table[control]["control"].astype(str).str.lower()) == {"true"}


def test_what_is_missing_has_lines_too(table):
    there = table[(table["row"] == "erm_half_lr") & (table["column"] == "octmnist")]
    assert list(there["metric"]) == ["accuracy", "auc"]
    assert set(there["status"]) == {"not run"}
    assert set(there["runs"]) == {0}
    assert there["mean"].isna().all()
    partly = table[(table["row"] == "mixup") & (table["column"] == "octmnist")]
    assert set(partly["status"]) == {"partly: failed"}
    assert (partly["planned"] == 2).all()


def test_pairs_and_published_numbers_have_their_own_fields(whole, table):
    pairs = table[table["kind"] == "contrast"]
    assert len(pairs) == sum(len(c.result["contrasts"]) for c in whole.columns)
    assert set(pairs["compared_with"]) == {"erm_half_lr", "latentdr_sa"}
    assert pairs["mean"].isna().all()
    found = table[(table["row"] == "erm") & (table["metric"] == "accuracy") & table["class"].isna()]
    derma = found[found["column"] == "dermamnist"].iloc[0]
    assert derma["published"] == 0.735  # MedMNIST, ResNet-18 at 28 pixels
    assert derma["published_protocol"] == derma["protocol"] == "medmnist-28"
    assert str(derma["same_protocol"]).lower() == "true"


def test_the_flat_table_names_nobody(whole):
    text = tidy_csv(whole)
    assert "DOE_JANE" not in text
    assert "MRN-" not in text
