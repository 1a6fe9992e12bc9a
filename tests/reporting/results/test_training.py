"""How runs were trained, beside what else they are."""

import pytest

from medldr.evaluation.comparison.comparison import Comparison, Method
from medldr.folders.run_record import RunRecord
from medldr.reporting.read.run import RunFiles, rate_of
from medldr.reporting.sections.comparison.tables import runs_table

PLAIN = {"batch_size": 32, "steps": 168, "sampler": "shuffle", "stopped_early": False}


def source(run, scale=1.0, lr=0.002):
    config = {"algorithm": {"name": "x", "lr_scale": scale}, "training": {"lr": lr}}
    return RunFiles("r", config, RunRecord(status="done", **run))


def test_the_rate_used_is_the_recipes_times_the_methods_factor():
    assert rate_of(source(PLAIN, 0.25, 0.4)) == pytest.approx(0.1)
    assert rate_of(None) is None
    assert rate_of(RunFiles("r", {})) is None


def test_the_table_of_runs_has_the_span_over_seeds_of_those_that_are_known():
    methods = [Method("ERM", runs=("a", "b")), Method("Half", runs=("c",)),
               Method("Gone", runs=("d",))]  # fmt: skip
    files = {"a": source(PLAIN), "b": source({**PLAIN, "steps": 140}), "c": source(PLAIN, 0.5)}
    table = runs_table(Comparison("binary", "ERM", tuple(methods), {}), files)
    names = ("Learning rate", "Images per step", "Steps", "Sampler")
    places = [table.columns.index(name) - 1 for name in names]
    texts = {row.heading: [row.cells[n].content for n in places] for row in table.rows}
    assert texts == {
        "ERM": ["0.002", "32", "140 to 168", "shuffle"],
        "Half": ["0.001", "32", "168", "shuffle"],
        "Gone": ["–", "–", "–", "–"],
    }
