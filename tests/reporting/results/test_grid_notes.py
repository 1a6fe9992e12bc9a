"""Every table of a sweep says which rule chose the weights behind it."""

from types import SimpleNamespace

import pytest
from medldr.reporting.results.grid_notes import rules_text

from medldr.folders.run_record import Selection
from medldr.reporting.pages.sweep import sweep_content
from medldr.reporting.results.grid import grid_table
from medldr.reporting.writers.latex import latex_table


def study_of(**rules):
    """A study of one column; a rule is its name and the split that it read, None no result."""

    def entries(row, column):
        rule = rules[row]
        if rule is None:
            return [SimpleNamespace(run=None)]
        selection = Selection(**dict(zip(("rule", "split"), rule, strict=True)))
        judged = SimpleNamespace(selection=selection)
        return [SimpleNamespace(run=SimpleNamespace(evaluation=judged))]

    return SimpleNamespace(rows=list(rules), of=entries), [SimpleNamespace(name="x")]


def test_one_rule_is_one_sentence_whatever_has_no_result():
    rule = ("val_accuracy", "val")
    found = rules_text(*study_of(erm=rule, mixup=None, fish=rule))
    assert found == ["Weights chosen by val_accuracy."]
    assert rules_text(*study_of(erm=None)) == []


def test_different_rules_are_named_with_their_rows():
    found = rules_text(*study_of(erm=("val_auc", "val"), fish=("oracle_auc", "test")))
    assert found == ["Weights were chosen by different rules: erm: val_auc; fish: oracle_auc."]


def test_a_rule_that_fell_back_to_the_seen_domains_says_so():
    assert rules_text(*study_of(erm=("val_auc", "id_val"))) == [
        "Weights chosen by val_auc (on id_val)."
    ]


@pytest.mark.usefixtures("quick")
def test_the_rule_stands_below_every_grid_and_in_latex(sweep):
    content = sweep_content(sweep({"erm": 0.5, "mixup": 1.0}, ("octmnist",), (0,), n=30))
    tables = [grid_table(grid) for grid in content.grids]
    assert tables
    for table in tables:
        assert "Weights chosen by val_auc." in table.notes
        assert r"Weights chosen by val\_auc." in latex_table(table, "x")
