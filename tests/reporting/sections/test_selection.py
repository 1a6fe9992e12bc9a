"""The section on choice shows what each rule chose; main tables show one setting per method."""

import itertools
import json

import pytest

from medldr.config.yaml import plain, read_yaml
from medldr.config.yaml_text import write_yaml
from medldr.errors import InputError
from medldr.evaluation.setting_selection import CROSS, ORACLE_ANY, ORACLE_LAST, RULES, VALIDATION
from medldr.folders.sweep_record import read_sweep
from medldr.reporting.document import Bullets, Paragraph
from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.read.sweep import read_study
from medldr.reporting.results.held_out import held_out_sets
from medldr.reporting.sections.selection import candidates, selection
from medldr.reporting.writers.cells import printed
from medldr.sweeps.plan.file import load_sweep

ALONE = [("photo",), ("sketch",)]
PAIRS = [tuple(sorted(p)) for p in itertools.combinations(
    ("art_painting", "cartoon", "photo", "sketch"), 2)]  # fmt: skip
SETTINGS = ("lr-0.1", "lr-0.2")
VAL = {"lr-0.1": (0.6, 0.9), "lr-0.2": (0.8, 0.7)}
"""Validation accuracy at both evaluations."""
INSIDE = {"lr-0.1": (0.5, 0.3), "lr-0.2": (0.4, 0.6)}
"""Accuracy on each held-out domain's target_in; target_out is 0.05 higher."""


def curve(row, domains, seed):
    setting = row.split(", ")[1] if ", " in row else SETTINGS[0]
    records = []
    for number, (val, inside) in enumerate(zip(VAL[setting], INSIDE[setting], strict=True)):
        record = {"step": 100 * (number + 1), "val/domain_accuracy": val + 0.01 * seed}
        for domain in domains:
            record[f"held_out/{domain}/target_in/accuracy"] = inside
            record[f"held_out/{domain}/target_out/accuracy"] = inside + 0.05
            record[f"held_out/{domain}/accuracy"] = inside
        records.append(record)
    return records


def searched(held_sweep, held=ALONE, seeds=(0,), rows=SETTINGS, gone=(), staged=curve, **more):
    """A sweep of one method in two settings."""
    reach = {
        f"erm, {s}": lambda domains, seed, s=s: None if (s, domains, seed) in gone else INSIDE[s][1]
        for s in rows
    }  # fmt: skip
    layout = {"rows": "algorithm", "search": ("training.lr",)}
    axes = ("algorithm", "training.lr")
    algorithms = {f"erm, {s}": {"name": "erm", "lr_scale": n + 1.0} for n, s in enumerate(SETTINGS)}
    return held_sweep(
        reach, held, seeds, layout=layout, axes=axes, curve=staged, algorithms=algorithms, **more
    )


def rows_of(table):
    return {row.heading: dict(zip(table.columns[1:], row.cells, strict=True)) for row in table.rows}


def test_main_tables_show_the_setting_that_validation_chose(held_sweep):
    study = read_study(searched(held_sweep, seeds=(0, 1)))
    assert study.rows == ["ERM"]
    assert {(p.column, p.setting, p.settings) for p in study.picks} == {
        ("held_out-photo", ("lr-0.1",), 2), ("held_out-sketch", ("lr-0.1",), 2),
    }  # fmt: skip
    assert {entry.setting for entry in study.entries} == {("lr-0.1",)}
    assert {entry.setting for entry in study.others} == {("lr-0.2",)}
    assert len(study.every) == 8
    (found,) = held_out_sets(study)
    assert found.values("ERM", "photo", "target_in", "accuracy") == {0: 0.3, 1: 0.3}


CRT = {"training": {"stages": [{"name": "retrain_head", "epochs": 1}]}}


def staged_curve(row, domains, seed):
    """A first stage far better than the second, whose evaluations are those of `curve`."""
    second = curve(row, domains, seed)
    first = [dict.fromkeys(record, 0.99) | {"step": 1 + n} for n, record in enumerate(second)]
    if "lr-0.1" in row:  # the setting whose second stage is best has the worse first stage
        first = [record | {"val/domain_accuracy": 0.95} for record in first]
    return [r | {"stage": stage} for stage, rows in ((1, first), (2, second)) for r in rows]


def test_only_the_last_stage_chooses_settings_and_steps(held_sweep):
    study = read_study(
        searched(held_sweep, held=[*ALONE, *PAIRS], staged=staged_curve, config=CRT, plans=False)
    )
    assert {pick.setting for pick in study.picks} == {("lr-0.1",)}
    (found,) = candidates(study)
    steps = {point.step for run in found.runs for point in run.evaluated}
    assert steps == {16, 100, 200}  # 16: the weights that were scored at the end
    *_, table = selection(study).tables
    cells = rows_of(table)["ERM, photo"]
    assert (cells[VALIDATION].estimate.mean, cells[VALIDATION].detail) == (0.3, "lr-0.1, step 200")
    assert (cells[ORACLE_ANY].estimate.mean, cells[ORACLE_ANY].detail) == (0.6, "lr-0.2, step 200")


def test_a_classifier_retrained_on_averaged_weights_is_of_one_step(held_sweep):
    training = {"averaging": {"name": "swad", "compat": True}}
    averaged = searched(held_sweep, config={"training": training})
    assert candidates(read_study(averaged)) == []
    for entry in averaged.path.glob("*/config.yaml"):
        changed = plain(read_yaml(entry).values) | {"training": training | CRT["training"]}
        entry.write_text(write_yaml(changed))
    (found,) = candidates(read_study(averaged))
    assert found.targets == ("photo", "sketch")


def test_a_setting_that_lacks_a_run_is_no_candidate_and_is_named(held_sweep):
    gone = [("lr-0.1", ("photo",), 1)]
    study = read_study(searched(held_sweep, seeds=(0, 1), gone=gone))
    picks = {p.column: p for p in study.picks}
    assert picks["held_out-photo"].setting == ("lr-0.2",)
    assert picks["held_out-sketch"].setting == ("lr-0.1",)
    assert picks["held_out-photo"].incomplete == (("lr-0.1",),)
    table = selection(study).tables[0]
    assert [cell.content for cell in table.rows[0].cells] == ["lr-0.2", "lr-0.1"]
    assert dict(table.footnotes)["a"] == "Not considered because a run is missing: lr-0.1."


def test_runs_of_settings_that_were_not_chosen_are_counted_and_told_to_be_missing(held_sweep):
    gone = [("lr-0.2", ("photo",), 0)]
    page = sweep_page(searched(held_sweep, gone=gone))
    assert "3 of 4 runs with results" in page.document.subtitle
    (row,) = page.document.section("missing").tables[0].rows
    assert (row.heading, row.cells[0].content) == ("1 run", "not run")
    tables = page.document.section("result").tables
    assert {row.heading for table in tables for row in table.rows if row.style != "chance"} == {
        "ERM"
    }


def test_each_rule_s_choice_stands_with_its_setting_step_and_number(held_sweep):
    held = [*ALONE, ("art_painting",), ("cartoon",), *PAIRS]
    study = read_study(searched(held_sweep, held=held, plans=False))
    assert study.columns == [f"held_out-{domains[0]}" for domains in held[:4]]
    *_, table = selection(study).tables
    assert table.columns == ["Method, held out", *RULES]
    cells = rows_of(table)["ERM, photo"]
    assert (cells[VALIDATION].estimate.mean, cells[VALIDATION].detail) == (0.3, "lr-0.1, step 200")
    for rule in (CROSS, ORACLE_LAST, ORACLE_ANY):
        assert (cells[rule].estimate.mean, cells[rule].detail) == (0.6, "lr-0.2, step 200"), rule
    assert rows_of(table)["ERM, mean of 4"][CROSS].estimate.mean == pytest.approx(0.6)
    assert table.footnotes == []


def test_the_last_weights_as_scored_choose_where_the_rule_last_was_asked_for(held_sweep):
    folder = searched(held_sweep)
    for member in read_sweep(folder).members:
        files = folder.run(member.run)
        scored = json.loads(files.evaluation.read_text())
        reached = 0.75 if "lr-0.1" in member.run else 0.25
        for part in ("target_in", "target_out"):
            scored["splits"]["test"]["parts"][part]["metrics"]["accuracy"]["value"] = reached
        chosen = {"rule": "last", "step": 300, "split": "", "value": None, "oracle": False}
        files.evaluation_of("last").parent.mkdir(parents=True)
        files.evaluation_of("last").write_text(json.dumps({**scored, "selection": chosen}))
        run = json.loads(files.run.read_text())
        files.run.write_text(json.dumps(run | {"selections": {"last": chosen}}))
    *_, table = selection(read_study(folder)).tables
    cell = rows_of(table)["ERM, sketch"][ORACLE_LAST]
    assert (cell.estimate.mean, cell.detail) == (0.75, "lr-0.1, step 300")


def test_one_setting_with_curves_compares_the_rules_and_without_them_has_no_section(held_sweep):
    rows = {"erm": lambda *_: 0.5}
    study = read_study(held_sweep(rows, ALONE, (0,), curve=curve))
    section = selection(study)
    (table,) = section.tables
    cells = rows_of(table)["ERM, photo"]
    assert (cells[VALIDATION].detail, cells[ORACLE_ANY].detail) == ("step 200", "step 100")
    assert cells[ORACLE_ANY].estimate.mean == 0.5
    assert section.of(Bullets) == []
    assert any("optimistic" in paragraph.text for paragraph in section.of(Paragraph))


def test_the_oracle_of_any_step_is_none_where_two_rules_alone_were_scored(held_sweep):
    def logged(row, domains, seed):
        return [{"step": s, "val/domain_accuracy": 0.5 + s / 1000} for s in (8, 16, 24)]

    folder = held_sweep({"erm": lambda *_: 0.5}, ALONE, (0,), curve=logged)
    for rule in ("last", "oracle_out_accuracy"):
        for member in read_sweep(folder).members:
            files = folder.run(member.run)
            chosen = {"rule": rule, "step": 24, "split": "", "value": None, "oracle": False}
            files.evaluation_of(rule).parent.mkdir(parents=True)
            scored = json.loads(files.evaluation.read_text())
            files.evaluation_of(rule).write_text(json.dumps({**scored, "selection": chosen}))
            run = json.loads(files.run.read_text())
            run["selections"] = {**run.get("selections", {}), rule: chosen}
            files.run.write_text(json.dumps(run))
        (table,) = selection(read_study(folder)).tables
        cell = rows_of(table)["ERM, photo"][ORACLE_ANY]
        assert printed(cell).text == ("–" if rule == "last" else "50.0")
    assert rows_of(table)["ERM, photo"][ORACLE_LAST].detail == "step 24"


SEARCH = {
    "common": {"extends": "run/retinamnist_erm"},
    "axes": {"algorithm": ["erm", "latentdr_pool"], "training.lr": [0.01, 0.1]},
    "table": {"search": "training.lr", "reference": "erm", "controls": ["latentdr_pool"]},
}


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ({"search": ["training.rl"]}, "'training.rl' is not an axis of this sweep. Did you mean"),
        ({"search": ["lr"]}, "Did you mean 'training.lr'?"),
        ({"search": "training.lr", "columns": "training.lr"}, "'training.lr' appears twice"),
        ({"search": ["training.lr", "training.lr"]}, "appears twice"),
        ({"search": "training.lr", "reference": "erm, lr-0.1"}, "is not a row of this sweep"),
    ],
)
def test_a_faulty_search_is_told_before_anything_starts(table, said):
    with pytest.raises(InputError, match="table") as error:
        load_sweep({**SEARCH, "table": table})
    assert said in str(error.value)
