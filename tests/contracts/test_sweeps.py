"""Every packaged sweep, found by its file: it expands, and no two of its runs are confused."""

import re

import pytest

from medldr.config import packaged_configs, packaged_names, run_name
from medldr.folders.sweep_record import SweepFolder, joined, read_sweep, write_sweep
from medldr.sweeps.plan.expand import as_record

NAMES = packaged_names("sweep")


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_sweep_expands_to_runs_of_different_labels_at_different_places(name, tmp_path, planned):
    sweep, runs = planned(name)
    members = [p.member for p in runs]
    assert len(members) > 1
    assert sweep.notes == ()
    assert len({(m.label, m.seed) for m in members}) == len(members)
    assert len({(m.row, m.column, m.seed) for m in members}) == len(members)
    assert [m.run for m in members] == [run_name(p.config) for p in runs]
    record = as_record(sweep, runs)
    # Once a report has chosen among settings, a row is what is left without them.
    settings = record.layout.search
    of_methods = [{k: v for k, v in m.row_values.items() if k not in settings} for m in members]
    rows = {m.row for m in members} | set(map(joined, of_methods))
    columns = {m.column for m in members}
    named = {record.layout.reference, *record.layout.controls, *sum(record.layout.contrasts, ())}
    assert named - {None} <= rows
    values = {v for m in members for v in (*m.row_values.values(), *m.column_values.values())}
    assert set(record.layout.titles) <= rows | columns | values
    write_sweep(SweepFolder(tmp_path), record)
    assert read_sweep(SweepFolder(tmp_path)) == record


@pytest.mark.parametrize("name", NAMES)
def test_a_sweep_begins_with_what_it_is_and_names_its_source(name):
    lines = (packaged_configs() / "sweep" / f"{name}.yaml").read_text().splitlines()
    assert re.fullmatch(r"# .{10,96}\.", lines[0]), lines[0]
    assert "Source:" in " ".join(line for line in lines if line.startswith("#"))
    assert max(map(len, lines)) <= 100


def test_a_sweep_is_listed_with_its_first_line(medldr):
    ended = medldr("list", "sweeps")
    assert ended.code == 0
    for name in NAMES:
        assert name in ended.out
    assert medldr("list", "sweep").err.count("Did you mean 'sweeps'?") == 1
