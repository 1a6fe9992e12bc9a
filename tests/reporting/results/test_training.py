"""How a row was trained: every difference from the reference is reported, and nothing else."""

import pytest

from medldr.folders.run_record import RunRecord
from medldr.folders.sweep_record import Layout, Member
from medldr.reporting.read.run import RunFiles
from medldr.reporting.read.study import Entry, Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.results.grid import make_grid
from medldr.reporting.results.training import rate_of
from medldr.reporting.sections.sweep.grid import grid_table
from medldr.reporting.sections.training import differing, training_table
from medldr.reporting.table import Cell, Row, Table, side_by_side
from medldr.reporting.writers.cells import printed

PLAIN = {"batch_size": 32, "steps": 168, "sampler": "shuffle", "stopped_early": False}
BLOCKS = {"batch_size": 30, "steps": 180, "sampler": "domains", "stopped_early": False}


def source(run, scale=1.0, lr=0.002):
    config = {"algorithm": {"name": "x", "lr_scale": scale}, "training": {"lr": lr}}
    return RunFiles("r", config, RunRecord(status="done", **run))


def build(rows, controls=()):
    """``rows[row][column]`` is a list of run folders, one per seed; None where there is no run."""
    entries = tuple(
        Entry(Member(f"{row}{column}{seed}", row, seed, row, column), "done", files=found)
        for row, columns in rows.items()
        for column, several in columns.items()
        for seed, found in enumerate(several)
    )
    layout = Layout("T", reference="ERM", controls=controls)
    return Study("t", layout, entries, {row: row for row in rows}, {})


def test_a_sampler_of_the_methods_own_and_what_follows_from_it_are_told():
    rows = {"ERM": {"A": [source(PLAIN)]}, "Cross": {"A": [source(BLOCKS)]}}
    study = build(rows)
    assert differing(study, "Cross", ["A"]) == [
        "trained differently from ERM (its value in parentheses): 30 images per step (32), "
        "180 steps (168), "
        "sampler domains (shuffle)."
    ]
    assert differing(study, "ERM", ["A"]) == []


def test_the_rate_used_is_the_recipes_times_the_methods_factor():
    study = build({"ERM": {"A": [source(PLAIN)]}, "Pool": {"A": [source(PLAIN, 0.5)]}})
    (text,) = differing(study, "Pool", ["A"])
    assert text.endswith("learning rate 0.001 (0.002).")
    assert rate_of(source(PLAIN, 0.25, 0.4)) == pytest.approx(0.1)
    assert rate_of(None) is None
    assert rate_of(RunFiles("r", {})) is None


def test_nothing_is_told_where_nothing_differs_is_known_or_was_decided_by_early_stopping():
    early = {**PLAIN, "steps": 90, "stopped_early": True}
    rows = {
        "ERM": {"A": [source(PLAIN)], "B": []},
        "Same": {"A": [source(PLAIN)]},
        "Early": {"A": [source(early)]},
        "Old": {"A": [source({})]},
        "Alone": {"B": [source(BLOCKS)]},
        "Gone": {"A": [None]},
    }
    study = build(rows)
    for row in rows:
        assert differing(study, row, ["A", "B"]) == []


def test_a_protocol_of_which_something_was_changed_is_told():
    own, other = (source({**PLAIN, "protocol": name}) for name in ("p+modified", "p"))
    study = build({"ERM": {"A": [other]}, "Odd": {"A": [own]}})
    assert differing(study, "Odd", ["A"])[0].endswith(": protocol p+modified (p).")


def test_another_protocol_altogether_is_left_to_the_comparisons_own_footnote():
    names = ("camelyon17-fish", "camelyon17-wilds")
    own, other = (source({**PLAIN, "protocol": name}) for name in names)
    study = build({"ERM": {"A": [other]}, "Odd": {"A": [own]}})
    assert differing(study, "Odd", ["A"]) == []


def test_sets_are_named_only_where_they_do_not_agree():
    rows = {
        "ERM": {"A": [source(PLAIN)], "B": [source(PLAIN, lr=0.1)], "C": [source(PLAIN)]},
        "Pool": {"A": [source(PLAIN, 0.5)], "B": [source(PLAIN, 0.5, 0.1)], "C": [None]},
        "Odd": {"A": [source(PLAIN)], "B": [source(BLOCKS, lr=0.1)]},
    }
    study = build(rows)
    one, other = differing(study, "Pool", ["A", "B", "C"])
    assert one.startswith("A: trained differently")
    assert one.endswith("rate 0.001 (0.002).")
    assert other.startswith("B: trained differently")
    assert other.endswith("rate 0.05 (0.1).")
    assert [t[:3] for t in differing(study, "Odd", ["A", "B", "C"])] == ["B: "]


def test_the_table_has_every_row_with_a_run_and_the_span_over_its_seeds():
    rows = {
        "ERM": {"A": [source(PLAIN), source({**PLAIN, "steps": 140})]},
        "Half": {"A": [source(PLAIN, 0.5)]},
        "Old": {"A": [source({})]},
        "Gone": {"A": [None]},
    }
    study = build(rows, controls=("Half",))
    table = training_table(study, Column("A", None, {}, {}))
    assert [row.heading for row in table.rows] == ["ERM", "Old", "Half"]
    texts = {row.heading: [printed(cell).text for cell in row.cells] for row in table.rows}
    assert texts["ERM"] == ["0.002", "32", "140 to 168", "shuffle"]
    assert texts["Half"] == ["0.001", "32", "168", "shuffle"]
    assert texts["Old"] == ["0.002", "–", "–", "–"]
    assert [row.apart for row in table.rows] == [False, False, True]
    assert training_table(build({"ERM": {"A": [None]}}), Column("A", None, {}, {})) is None


def test_the_grid_prints_it_as_a_footnote_of_the_row(whole):
    study, columns = whole.results.study, whole.results.columns
    grid = make_grid(study, columns, "accuracy", "test", averaged=True)
    table = grid_table(study, grid)
    marks = {row.heading: row.mark for row in table.rows if row.style != "chance"}
    assert marks == {
        "ERM": "", "Mixup (oracle)": "", "LatentDR (SA)": "a", "LatentDR (Pool)": "a",
        "ERM, half the rate": "a",
    }  # fmt: skip
    assert table.footnotes[0] == (
        "a",
        "trained differently from ERM (its value in parentheses): learning rate 0.0005 (0.001).",
    )  # fmt: skip


def test_footnotes_of_rows_stay_theirs_where_tables_are_put_side_by_side():
    parts = []
    for notes in (("cell", "row"), ("row", "cell")):
        part = Table("t", ["Method", "x"])
        signs = {note: part.sign(note) for note in notes}
        part.rows.append(Row("a", [Cell("1", mark=signs["cell"])], mark=signs["row"]))
        parts.append(("head", part))
    table = side_by_side("both", parts)
    (row,) = table.rows
    texts = dict(table.footnotes)
    assert texts[row.mark] == "row"
    assert [texts[cell.mark] for cell in row.cells] == ["cell", "cell"]
    assert len(texts) == 2
