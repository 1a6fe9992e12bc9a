"""How the rows of a sweep were trained."""

import pytest

from medldr.folders.run_record import RunRecord
from medldr.folders.sweep_record import Layout, Member
from medldr.reporting.read.run import RunFiles, rate_of
from medldr.reporting.read.study import Entry, Study
from medldr.reporting.results.comparisons import Column
from medldr.reporting.sections.training import training_table
from medldr.reporting.writers.cells import printed

PLAIN = {"batch_size": 32, "steps": 168, "sampler": "shuffle", "stopped_early": False}


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


def test_the_rate_used_is_the_recipes_times_the_methods_factor():
    assert rate_of(source(PLAIN, 0.25, 0.4)) == pytest.approx(0.1)
    assert rate_of(None) is None
    assert rate_of(RunFiles("r", {})) is None


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
