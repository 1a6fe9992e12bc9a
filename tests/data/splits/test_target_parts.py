"""The test rows of held-out domains are divided in two, whatever the dataset."""

import numpy as np
import pytest

from medldr.data import build_data
from medldr.data.splits.target_parts import PARTS, target_parts
from medldr.datasets.base import DatasetConfig
from medldr.errors import InputError


def parts_of(table, held_out, test=None, **keys):
    config = DatasetConfig(name="toy", held_out=held_out, **keys)
    rows = np.flatnonzero(np.isin(table.domains, held_out)) if test is None else test
    return target_parts(table, rows, config)


@pytest.fixture
def table(make_table):
    """Three sites of 50 rows each; class 1 is every fifth row."""
    labels = [int(n % 5 == 0) for n in range(150)]
    return make_table(labels, domains=["x"] * 50 + ["y"] * 50 + ["z"] * 50)


def test_without_held_out_domains_there_are_none(table):
    assert parts_of(table, [], np.arange(10)) == {}


def test_four_fifths_of_each_class_of_each_domain_are_in(table):
    parts = parts_of(table, ["x", "z"])
    assert tuple(parts) == PARTS
    for name, per_class in (("target_in", [32, 8]), ("target_out", [8, 2])):
        for domain in "xz":
            rows = parts[name][table.domains[parts[name]] == domain]
            assert np.bincount(table.labels[rows]).tolist() == per_class
    both = np.concatenate(list(parts.values()))
    assert sorted(both) == [*range(50), *range(100, 150)]
    assert all((np.diff(rows) > 0).all() for rows in parts.values())


def test_the_split_seed_alone_decides_whichever_domains_are_held_out(table):
    alone, pair = parts_of(table, ["x"]), parts_of(table, ["x", "y"])
    for name in PARTS:
        of_pair = pair[name][table.domains[pair[name]] == "x"]
        assert alone[name].tolist() == of_pair.tolist()
    other = parts_of(table, ["x"], split_seed=1)
    assert other["target_out"].tolist() != alone["target_out"].tolist()
    again = parts_of(table, ["x"], val_fraction=0.3, train_fraction=0.5)
    assert again["target_out"].tolist() == alone["target_out"].tolist()


def test_groups_stay_whole_also_over_two_held_out_domains(make_table):
    generator = np.random.default_rng(0)
    patients = [f"p{g}" for g in generator.integers(0, 30, 200)]
    table = make_table(
        generator.integers(0, 3, 200), domains=["x"] * 100 + ["y"] * 100, groups=patients
    )
    for held_out in (["x"], ["x", "y"]):
        parts = parts_of(table, held_out)
        groups = [set(table.groups[parts[name]]) for name in PARTS]
        assert not groups[0] & groups[1]
        rows = sum(map(len, parts.values()))
        assert abs(len(parts["target_out"]) / rows - 0.2) < 0.05


def test_only_rows_that_are_tested_on_are_divided(make_table, make_run):
    splits = (["train"] * 6 + ["test"] * 4) * 2
    table = make_table([0, 1] * 10, domains=["x"] * 10 + ["y"] * 10, splits=splits)
    data = build_data(make_run(table, data={"held_out": ["y"]}))
    assert data.rows["test"].tolist() == [16, 17, 18, 19]
    assert sorted(np.concatenate(list(data.parts.values()))) == [16, 17, 18, 19]
    assert build_data(make_run(table)).parts == {}


def test_a_single_row_is_in(make_table):
    parts = parts_of(make_table([0, 1, 0], domains=["x", "x", "y"]), ["y"])
    assert {name: rows.tolist() for name, rows in parts.items()} == {"target_in": [2]}


def test_parts_follow_the_seed_of_the_run_where_the_splits_do(table, make_run):
    section = {"held_out": ["x"], "split_seed": "seed"}
    found = [build_data(make_run(table, data=section, seed=seed)).parts for seed in (0, 3)]
    fixed = parts_of(table, ["x"], split_seed=3)
    assert found[1]["target_out"].tolist() == fixed["target_out"].tolist()
    assert found[0]["target_out"].tolist() != fixed["target_out"].tolist()


def test_a_part_and_one_domain_of_it_can_be_loaded(table, make_run):
    run = make_run(table, data={"held_out": ["x", "z"]})
    data = build_data(run)

    def rows(split, **keys):
        loader = data.eval_loader(split, run, device="cpu", **keys)
        return [row for batch in loader for row in batch.index.tolist()]

    assert rows("target_out") == data.parts["target_out"].tolist()
    of_z = [row for row in data.parts["target_in"].tolist() if row >= 100]
    assert rows("target_in", domain="z") == of_z
    halves = [rows("target_in", domain="z", rank=rank, world=2) for rank in (0, 1)]
    assert halves[0] + halves[1] == of_z
    with pytest.raises(InputError, match=r"no split 'target_ot'.*Did you mean 'target_out'"):
        rows("target_ot")
    with pytest.raises(InputError, match=r"test of toy has no domain 'y'\..*Domains: x, z"):
        rows("test", domain="y")
