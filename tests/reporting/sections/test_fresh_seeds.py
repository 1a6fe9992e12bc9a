"""Seeds that chose a setting get no p and no mark; where there are fresh seeds, these are shown."""

from dataclasses import replace

import pytest

from medldr.evaluation.setting_choice import Trial, choose
from medldr.folders.choices_record import read_choices, write_choices
from medldr.folders.sweep_record import read_sweep, write_sweep
from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.read.sweep import read_study
from medldr.reporting.results.comparisons import columns
from medldr.reporting.results.grid import make_grid
from medldr.reporting.sections.selection import selection
from medldr.reporting.sections.sweep.common import results_of
from medldr.reporting.sections.sweep.verdict import sweep_verdict

DRAWS = ("d00", "d01")
VAL = {"d00": 0.7, "d01": 0.8}
CHOSE, FRESH = (0, 1, 2), (3, 4, 5)
FAVOUR = "their means favour methods with more settings"


@pytest.fixture
def searched(held_sweep):
    """A sweep of an unsearched reference and two searched methods, with or without fresh seeds.

    Validation prefers d01. Runs of fresh seeds are those of d00 for ERM, and of d01 for the others.
    """

    def write(fresh=FRESH, *, choices=True, without=(), **layout):
        rows = ["erm, d00", *(f"{m}, {d}" for m in ("mixup", "coral") for d in DRAWS)]
        chosen = {"erm, d00", "mixup, d01", "coral, d01"}

        def reached(row):
            def at(domains, seed):
                made = seed in CHOSE or (choices and fresh and row in chosen)
                return 0.5 + seed / 100 if made and (row, seed) not in without else None

            return at

        def curve(row, domains, seed):
            return [{"step": 100, "val/domain_accuracy": VAL[row.split(", ")[1]] + seed / 100}]

        folder = held_sweep(
            {row: reached(row) for row in rows}, [("photo",)], (*CHOSE, *fresh),
            curve=curve, axes=("algorithm", "draw"), plans=False,
            algorithms={row: {"name": row.split(", ")[0]} for row in rows},
            layout={"rows": "algorithm", "search": ("draw",), "fresh_seeds": tuple(fresh),
                    "reference": "erm", **layout},
        )  # fmt: skip
        sweep = read_sweep(folder)
        kept = [m for m in sweep.members if m.seed in CHOSE or (choices and m.row in chosen)]
        write_sweep(folder, replace(sweep, members=tuple(kept)))
        if fresh and choices:
            cells = {}
            for member in sweep.searching.members:
                row, draw = member.row.split(", ")
                log = [{"val/domain_accuracy": VAL[draw] + member.seed / 100}]
                trial = Trial(member.run, (draw,), member.seed, {"lr": draw}, log)
                cells.setdefault((row, member.column), []).append(trial)
            write_choices(folder, "rule", tuple(choose(*cell, of) for cell, of in cells.items()))
        return folder

    return write


def p_of(column):
    """The p of each row's accuracy against the reference, on the whole test split."""
    place = ("reference", "accuracy", "test", None)
    return {
        d.method: d.p
        for d in column.comparison.differences
        if (d.family, d.metric, d.split, d.domain) == place
    }


def test_without_fresh_seeds_searched_rows_have_no_p_and_no_row_a_mark(searched):
    folder = searched(fresh=())
    study = read_study(folder)
    assert (study.untested, study.fresh) == ({"Mixup", "CORAL"}, False)
    found = columns(study)
    for column in found:
        for difference in column.comparison.differences:
            assert difference.p is None
            assert difference.p_holm is None
        grid = make_grid(study, found, "accuracy", "test", averaged=False)
        assert not any(cell.marks for cells in grid.cells.values() for cell in cells if cell)
    page = sweep_page(folder).document
    assert page.verdict.word == "not compared"
    assert "runs that chose their own settings" in page.verdict.text
    assert FAVOUR in str(page.section("choice").blocks)
    (table, *_) = page.section("result").tables
    assert FAVOUR in " ".join(table.notes)
    texts = {row.heading: [dict(table.footnotes)[s] for s in row.mark.split(",") if s]
             for row in table.rows if row.style != "chance"}  # fmt: skip
    assert texts["ERM"] == ["A single setting."]
    assert texts["Mixup"] == ["Chosen among 2 settings by these runs themselves."]


def test_unsearched_rows_of_a_search_keep_their_p(searched):
    study = read_study(searched(fresh=()))
    (column,) = columns(replace(study, untested=frozenset({"CORAL"})))
    assert p_of(column) == {"Mixup": 1.0, "CORAL": None}


def test_tables_hold_the_fresh_seeds_alone_and_these_have_a_p(searched):
    folder = searched()
    study = read_study(folder)
    assert (study.untested, study.fresh) == (frozenset(), True)
    assert study.rows == ["ERM", "Mixup", "CORAL"]
    assert {entry.member.seed for entry in study.entries} == set(FRESH)
    assert {(e.member.row, e.setting) for e in study.entries} == {
        ("ERM", ("d00",)), ("Mixup", ("d01",)), ("CORAL", ("d01",)),
    }  # fmt: skip
    (column,) = columns(study)
    assert column.difference("test", "accuracy", "Mixup").p == 1.0
    assert column.planned == {"ERM": 3, "Mixup": 3, "CORAL": 3}
    text = str(sweep_page(folder).document.section("choice").blocks)
    assert "seeds 3, 4, 5, which chose nothing" in text
    assert FAVOUR not in text


def test_what_was_chosen_stays_though_a_log_says_otherwise(searched):
    folder = searched()
    for member in read_sweep(folder).members:
        if "d00" in member.row:
            folder.run(member.run).metrics.write_text('{"step": 1, "val/domain_accuracy": 0.99}\n')
    study = read_study(folder)
    assert {e.setting for e in study.of("Mixup")} == {("d01",)}
    table = selection(study).tables[1]
    means = {row.heading: row.cells[0].estimate.mean for row in table.rows}
    assert means["Mixup, d00"] == pytest.approx(0.71)
    assert means["Mixup, d01"] == pytest.approx(0.81)
    assert table.rows[1].cells[0].estimate.sd == pytest.approx(0.01)


def test_before_the_choice_the_seeds_that_will_choose_are_shown_without_a_p(searched):
    study = read_study(searched(choices=False))
    assert (study.untested, study.fresh) == ({"Mixup", "CORAL"}, False)
    assert {entry.member.seed for entry in study.entries} == set(CHOSE)


def test_a_fresh_seed_that_never_ran_is_a_run_without_a_result(searched):
    folder = searched(without=[("mixup, d01", 4)])
    sweep = read_sweep(folder)
    write_sweep(folder, sweep.searching)  # killed after the choice, before its runs were planned
    study = read_study(folder)
    assert {e.state for e in study.of("Mixup")} == {"not run"}
    write_sweep(folder, sweep)
    (column,) = columns(read_study(folder))
    assert (column.planned["Mixup"], dict(column.missing["Mixup"])) == (3, {"not run": 1})


def test_a_method_without_a_whole_setting_has_a_row_that_says_so(searched):
    folder = searched()
    choices = read_choices(folder)
    lost = [c if c.row != "mixup" else replace(c, setting=None, seed=None) for c in choices]
    write_choices(folder, "rule", tuple(lost))
    study = read_study(folder)
    assert study.rows == ["ERM", "Mixup", "CORAL"]
    assert {e.run for e in study.of("Mixup")} == {None}


def test_a_published_protocol_keeps_its_rows_and_fresh_seeds_stand_beside_them(searched):
    study = read_study(searched(as_published=True))
    rows = ["ERM", "ERM, fresh seeds", "Mixup", "Mixup, fresh seeds", "CORAL", "CORAL, fresh seeds"]
    assert study.rows == rows
    assert study.reference == "ERM, fresh seeds"
    assert study.untested == {"Mixup", "CORAL"}
    seeds = {row: {e.member.seed for e in study.of(row)} for row in rows}
    assert [seeds[row] for row in rows] == [set(CHOSE), set(FRESH)] * 3
    (column,) = columns(study)
    assert (column.problem, len(column.comparison.methods)) == ("", 6)
    p = p_of(column)
    assert (p["Mixup"], p["Mixup, fresh seeds"]) == (None, 1.0)
    tests = {d.method for d in column.comparison.differences if d.p_holm is not None}
    assert tests == {"ERM", "Mixup, fresh seeds", "CORAL, fresh seeds"}
    text = sweep_verdict(results_of(study)[0]).text
    assert "from ERM, fresh seeds" in text
    assert "Mixup, fresh seeds" in text
    assert "Mixup, accuracy" not in text
