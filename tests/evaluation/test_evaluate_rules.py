"""Splits whose groups also trained are found from the rows themselves."""

from types import SimpleNamespace

import numpy as np

from medldr.evaluation.evaluate_rules import with_training_groups


def data_of(groups, **rows):
    table = SimpleNamespace(groups=np.array(groups))
    return SimpleNamespace(table=table, rows={k: np.array(v) for k, v in rows.items()})


def test_a_split_counts_once_it_holds_one_group_that_trained():
    data = data_of(list("aabbcd"), train=[0, 2], id_val=[3, 4], val=[4], test=[5])
    assert with_training_groups(data, data) == ["id_val"]


def test_items_without_a_group_share_none():
    data = data_of(["", "", ""], train=[0], id_val=[1], test=[2])
    assert with_training_groups(data, data) == []
    assert with_training_groups(data, data_of(["", "", ""], train=[0, 1], test=[2])) == ["id_val"]
