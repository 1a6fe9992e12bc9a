"""Rules keep the first of the best finite values; unknown, absent and forbidden ones are named."""

import math
import re

import pytest

from medldr.errors import InputError
from medldr.folders.files import RunFolder, checksum
from medldr.training.weights.selection import Selector, parse_rules, scored_splits

ALL = {"train", "val", "id_val", "test", "target_in", "target_out"}


def choose(name, values, splits=ALL):
    [rule] = parse_rules([name], splits, oracle=True)
    selector = Selector([rule])
    for epoch, value in enumerate(values, start=1):
        row = {"epoch": epoch, "step": 10 * epoch}
        selector.offer(row | ({rule.column: value} if rule.column else {}))
    return selector.chosen()[name], selector


@pytest.mark.parametrize(
    ("name", "values", "epoch"),
    [
        ("val_auc", [0.5, 0.7, 0.7, 0.6], 2),
        ("val_loss", [0.5, 0.4, 0.4, 0.6], 2),
        ("val_accuracy", [0.9, 0.1], 1),
        ("last", [0, 0, 0], 3),
        ("val_auc", [math.nan, 0.1, 0.05], 2),
        ("val_auc", [None, 0.0], 2),
        ("val_auc", [0.3, math.nan, None, 0.2], 1),
        ("val_loss", [math.nan, 9.0, math.inf, 8.0], 4),
        ("oracle_auc", [0.2, 0.4], 2),
        ("id_val_balanced_accuracy", [0.2, 0.4, 0.3], 2),
        ("val_domain_loss", [0.5, 0.6, 0.4], 3),
        ("val_quadratic_kappa", [-0.1, 0.3, 0.3, 0.1], 2),
        ("val_mae", [1.2, 0.4, 0.4, 0.9], 2),
        ("id_val_mae", [None, 0.4, 0.0], 3),
        ("oracle_out_accuracy", [0.2, 0.4, 0.4], 2),
    ],
)
def test_the_first_of_the_best_finite_values_is_kept(name, values, epoch):
    selection, _ = choose(name, values)
    assert (selection.epoch, selection.step) == (epoch, 10 * epoch)
    value = None if name == "last" else values[epoch - 1]
    finite = value is not None and math.isfinite(value)
    assert selection.value == (value if finite else None)
    assert selection.oracle == name.startswith("oracle")


def test_val_reads_the_split_that_selects_and_each_rule_its_own_column():
    assert choose("val_auc", [0.5], {"train", "id_val"})[0].split == "id_val"
    rules = parse_rules(["last", "val_auc", "id_val_auc", "oracle_auc"], ALL, oracle=True)
    assert scored_splits(rules, ALL) == {"val": "val", "id_val": "id_val", "oracle": "test"}
    assert scored_splits(rules[:1], {"train", "test"}) == {}
    assert scored_splits(rules[:1], ALL) == {"val": "val"}


def test_waiting_counts_evaluations_since_the_first_rule_improved():
    _, selector = choose("val_auc", [0.5, 0.4, 0.6, 0.6, 0.1])
    assert selector.waited == 2


def test_waiting_counts_from_the_lowest_where_lower_is_better():
    assert choose("val_mae", [0.9, 0.5, 0.6, 0.5])[1].waited == 2
    assert choose("val_mae", [0.9, 0.8, 0.7])[1].waited == 0


def test_a_metric_of_other_labels_is_refused_before_training():
    for name in ("val_mae", "val_quadratic_kappa"):
        with pytest.raises(InputError, match=rf"{name} is of ordinal labels.*data\.ordinal: true"):
            parse_rules([name], ALL, task="multi-class")
        assert parse_rules([name], ALL, task="ordinal")[0].column == name.replace("_", "/", 1)
    assert parse_rules(["val_loss", "val_domain_loss"], ALL, task="multi-label")


def test_state_survives_a_checkpoint():
    selection, selector = choose("val_auc", [0.5, 0.7, 0.2])
    other = Selector(selector.rules)
    other.load_state_dict(selector.state_dict())
    assert other.chosen()["val_auc"] == selection
    assert other.waited == 1


def test_weights_that_changed_after_they_were_written_are_refused(tmp_path):
    folder, selector = RunFolder(tmp_path), choose("val_auc", [0.5])[1]
    path = folder.selected("val_auc")
    path.parent.mkdir()
    path.write_bytes(b"weights")
    selector.wrote("val_auc", checksum(path))
    again = Selector(selector.rules)
    again.load_state_dict(selector.state_dict())
    again.expect_written(folder)
    path.write_bytes(b"weighty")
    with pytest.raises(InputError, match=re.escape(str(path))):
        again.expect_written(folder)


def test_an_unknown_rule_is_named_with_the_nearest():
    with pytest.raises(InputError, match=r"rule 'val_acuracy'.*Did you mean 'val_accuracy'"):
        parse_rules(["val_acuracy"], ALL)


def test_an_oracle_needs_the_key_that_allows_it():
    with pytest.raises(InputError, match=r"oracle_auc reads the test split.*evaluation\.oracle"):
        parse_rules(["val_auc", "oracle_auc"], ALL)
    assert parse_rules(["oracle_auc"], ALL, oracle=True)[0].split == "test"


def test_the_oracle_of_the_part_held_back_reads_that_part_alone():
    rules = parse_rules(["oracle_out_accuracy", "oracle_accuracy"], ALL, oracle=True)
    assert [(rule.split, rule.column) for rule in rules] == [
        ("target_out", "oracle_out/accuracy"),
        ("test", "oracle/accuracy"),
    ]
    assert all(rule.oracle for rule in rules)
    assert scored_splits(rules[:1], ALL) == {"val": "val", "oracle_out": "target_out"}
    with pytest.raises(InputError, match=r"oracle_out_accuracy reads the test.*evaluation\.oracle"):
        parse_rules(["oracle_out_accuracy"], ALL)
    with pytest.raises(InputError, match=r"oracle_out_accuracy needs 'target_out', but the data"):
        parse_rules(["oracle_out_accuracy"], {"train", "val", "test"}, oracle=True)


def test_a_rule_without_its_split_is_refused():
    with pytest.raises(InputError, match=r"val_auc needs 'id_val'.*\[last\]"):
        parse_rules(["val_auc"], {"train", "test"})
    with pytest.raises(InputError, match="id_val_auc needs 'id_val'"):
        parse_rules(["id_val_auc"], {"train", "val"})


def test_undefined_throughout_is_noted():
    _, selector = choose("val_auc", [None, None])
    assert selector.notes() == [
        "val_auc was undefined at every evaluation; the weights of the first were kept"
    ]
    assert choose("val_auc", [None, 0.2])[1].notes() == []
