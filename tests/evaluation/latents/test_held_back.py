"""Which images are asked what they tell of their domain, and what a run keeps of the answers."""

from types import SimpleNamespace

import numpy as np
import pytest

from medldr.evaluation.latents import held_back as module
from medldr.evaluation.latents.held_back import held_back


def data_of(domain, group, *, multi_label=False, seen=("a", "b"), **rows):
    """Rows of a table that splits name."""
    domains, groups = np.array(domain), np.array(group)
    labels = np.arange(len(domains)) % 2
    return SimpleNamespace(
        table=SimpleNamespace(domains=domains, groups=groups, labels=labels),
        rows={k: np.asarray(v) for k, v in rows.items()},
        spec=SimpleNamespace(train_domains=seen, multi_label=multi_label),
    )


def test_patients_are_never_in_both_parts():
    group = ["p", "q", "r", "s", "p", "t", "u", "v", "w", "q"]
    data = data_of(list("ababaabbab"), group, train=[0, 1, 2, 3], id_val=[4, 5, 6, 7, 8, 9])
    fitted, asked = held_back(data)
    assert fitted.tolist() == [0, 1, 2, 3]
    assert asked.tolist() == [5, 6, 7, 8]  # 4 and 9 are of training patients


def test_without_other_patients_in_validation_some_of_training_are_kept_from_the_probe(
    monkeypatch,
):
    domain, group = np.repeat(list("ab"), 60), np.repeat([f"p{n}" for n in range(24)], 5)
    data = data_of(domain, group, train=range(0, 120, 2), id_val=range(1, 120, 2))
    fitted, asked = held_back(data)
    assert sorted([*fitted, *asked]) == list(range(0, 120, 2))
    assert not {*group[fitted]} & {*group[asked]}
    assert len({*group[asked]}) == 8
    assert {*domain[fitted]} == {*domain[asked]} == {"a", "b"}
    monkeypatch.setattr(module, "MOST", 16)
    fitted, asked = held_back(data)
    assert (len(fitted), (domain[fitted] == "a").sum()) == (16, pytest.approx(8, abs=2))
    assert not {*group[fitted]} & {*group[asked]}


def test_only_training_domains_with_two_held_back_patients_count():
    domain = list("abcabcabcabcx")
    group = [f"p{n}" for n in range(13)]
    group[11] = "p8"  # both held-back images of c are of one patient
    data = data_of(
        domain, group, seen=("a", "b", "c"), train=range(6), id_val=range(6, 12), val=[12]
    )
    assert [set(np.array(domain)[rows]) for rows in held_back(data)] == [{"a", "b"}] * 2
    for splits in ({"val": [2, 3]}, {"test": [2, 3]}):
        for names in ("aaaa", "abab"):
            parts = held_back(data_of(list(names), [""] * 4, train=[0, 1], **splits))
            assert [len(rows) for rows in parts] == [0, 0]


def test_images_of_unseen_domains_and_of_test_splits_are_left_alone():
    domain = list("ab" * 6 + "cdcd" + "abab")
    data = data_of(
        domain, [""] * 20, train=range(4), id_val=range(4, 8), val=range(12, 16),
        id_test=range(8, 12), test=range(16, 20),
    )  # fmt: skip
    assert [rows.tolist() for rows in held_back(data)] == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_of_many_images_as_many_as_are_allowed_are_drawn_evenly(monkeypatch):
    monkeypatch.setattr(module, "MOST", 40)
    n = 1200
    domain = np.where(np.arange(n) % 4 == 0, "a", "b")
    data = data_of(domain, [""] * n, train=range(800), val=range(800, n))
    parts = held_back(data)
    for rows, again, training in zip(parts, held_back(data), (True, False), strict=True):
        assert len(np.unique(rows)) == 40
        assert ((rows < 800) == training).all()
        assert (domain[rows] == "a").sum() == pytest.approx(10, abs=1)
        np.testing.assert_array_equal(rows, again)


def test_it_can_be_left_out():
    config = SimpleNamespace(evaluation=SimpleNamespace(leaks=False))
    data = data_of(list("abababab"), [""] * 8, train=range(4), val=range(4, 8))
    assert module.leaks_of(config, data, None, None) == {}
