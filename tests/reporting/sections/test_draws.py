"""Draws of a random search: the report shows those that validation chose, and what was drawn."""

import json
from dataclasses import replace

import pytest

from medldr.config.yaml import plain, read_yaml
from medldr.config.yaml_text import write_yaml
from medldr.evaluation.setting_selection import RULES, VALIDATION
from medldr.folders.sweep_record import read_sweep, write_sweep
from medldr.reporting.document import Paragraph
from medldr.reporting.read.sweep import read_study
from medldr.reporting.results.comparisons import columns
from medldr.reporting.results.held_out import held_out_sets
from medldr.reporting.sections.selection import selection
from medldr.reporting.sections.sweep.common import results_of
from medldr.reporting.sections.sweep.verdict import sweep_verdict

DRAWS = ("d00", "d01", "d02")
VAL = {0: (0.7, 0.9, 0.6), 1: (0.8, 0.5, 0.75)}
"""Validation accuracy of each draw, by seed: the best are d01 and d00; over both, d00."""
INSIDE = {0: (0.10, 0.20, 0.30), 1: (0.40, 0.50, 0.60)}
"""Accuracy on target_in."""
RATE = {"d00": 0.002, "d01": 1.5e-05, "d02": 0.001}


def drawn_sweep(held_sweep, seeds=(0, 1), *, per_seed=False, methods=("erm",)):
    def at(table, row, seed):
        return table[seed][DRAWS.index(row.split(", ")[1])]

    def curve(row, domains, seed):
        inside = {f"held_out/{domains[0]}/target_in/accuracy": at(INSIDE, row, seed),
                  f"held_out/{domains[0]}/target_out/accuracy": at(INSIDE, row, seed)}  # fmt: skip
        return [{"step": 100, "val/domain_accuracy": at(VAL, row, seed), **inside}]

    rows = [f"{method}, {draw}" for method in methods for draw in DRAWS]
    folder = held_sweep(
        {row: lambda domains, seed, row=row: at(INSIDE, row, seed) for row in rows},
        [("photo",), ("sketch",)], seeds, curve=curve, axes=("algorithm", "draw"),
        algorithms={row: {"name": row.split(", ")[0]} for row in rows},
        layout={"rows": "algorithm", "search": ("draw",), "search_per_seed": per_seed},
    )  # fmt: skip
    sweep = read_sweep(folder)
    members = []
    for member in sweep.members:
        method, draw = member.row.split(", ")
        own = member.seed if per_seed and draw != "d00" else 0
        values = {"training.lr": RATE[draw] * (1 + own), "model.dropout": 0.1}
        extra = {"algorithm.weight": None} if method == "dann" else {}
        members.append(replace(member, drawn=values | extra))
    write_sweep(folder, replace(sweep, members=tuple(members)))
    return folder


def rows_of(table):
    return {row.heading: dict(zip(table.columns[1:], row.cells, strict=True)) for row in table.rows}


def test_one_draw_is_chosen_for_all_seeds_and_stands_with_its_values(held_sweep):
    study = read_study(drawn_sweep(held_sweep))
    assert study.rows == ["ERM"]
    assert {(pick.setting, pick.settings, pick.seed) for pick in study.picks} == {
        (("d00",), 3, None)
    }
    (found,) = held_out_sets(study)
    assert found.values("ERM", "photo", "target_in", "accuracy") == {0: 0.10, 1: 0.40}
    cell = selection(study).tables[0].rows[0].cells[0]
    assert (cell.content, cell.detail) == ("d00", "training.lr 0.002, model.dropout 0.1")


def test_where_each_seed_has_its_draws_one_is_chosen_for_each(held_sweep):
    study = read_study(drawn_sweep(held_sweep, per_seed=True))
    assert {(p.column, p.setting, p.seed) for p in study.picks} == {
        (f"held_out-{domain}", setting, seed)
        for domain in ("photo", "sketch")
        for setting, seed in ((("d01",), 0), (("d00",), 1))
    }
    (found,) = held_out_sets(study)
    assert found.values("ERM", "photo", "target_in", "accuracy") == {0: 0.20, 1: 0.40}
    assert len(study.others) == 8
    made = selection(study)
    picks, _, rules = made.tables
    assert picks.rows[0].cells[0].content == "d01 (seed 0), d00 (seed 1)"
    cell = rows_of(rules)["ERM, photo"][VALIDATION]
    assert cell.estimate.mean == pytest.approx(0.3)
    assert cell.detail == "d01 / d00, step 100"
    assert rows_of(rules)["ERM, photo"][RULES[2]].estimate.mean == pytest.approx((0.3 + 0.6) / 2)
    words = " ".join(block.text for block in made.blocks if isinstance(block, Paragraph))
    assert "Each seed has settings of its own" in words
    assert "one setting is chosen for all" not in words


def test_seeds_of_different_draws_are_one_method_of_the_main_tables(held_sweep):
    study = read_study(drawn_sweep(held_sweep, per_seed=True, methods=("erm", "mixup")))
    column, _ = columns(study)
    assert (column.problem, column.missing["ERM"].total(), column.planned["ERM"]) == ("", 0, 2)
    assert {method.name: method.seeds for method in column.comparison.methods} == {
        "ERM": (0, 1), "Mixup": (0, 1),
    }  # fmt: skip


def test_rates_that_were_drawn_are_no_difference_that_a_control_would_have_to_explain(held_sweep):
    folder = drawn_sweep(held_sweep, methods=("erm", "mixup"))
    for member in read_sweep(folder).members:
        files, rate = folder.run(member.run), 0.1 if "mixup" in member.row else 0.2
        config = plain(read_yaml(files.config).values)
        files.config.write_text(write_yaml(config | {"training": {"lr": rate}}))
        files.run.write_text(json.dumps(json.loads(files.run.read_text()) | {"lr": rate}))

    def said(study):
        study = replace(study, untested=frozenset())  # as where fresh seeds are reported
        notes = {text for column in columns(study) for text in column.footnotes("Mixup")}
        return notes, " ".join(sweep_verdict(results_of(study)[0]).more)

    notes, text = said(read_study(folder))
    assert notes == set()
    assert "Mixup vs ERM: the learning rate of each was drawn at random" in text
    assert "No control row shows" not in text
    sweep = read_sweep(folder)
    write_sweep(folder, replace(sweep, members=tuple(replace(m, drawn={}) for m in sweep.members)))
    notes, text = said(read_study(folder))
    assert all("learning rate 0.1 (0.2)" in text for text in notes)
    assert notes
    assert "No control row shows" in text
