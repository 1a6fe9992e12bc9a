"""The files of a sweep's report, and the command and function that write them."""

import json

import pytest

import medldr
from medldr.api import report
from medldr.cli import app
from medldr.errors import InputError
from medldr.folders.sweep_record import read_sweep
from medldr.reporting import SweepReport, report_folder, write_sweep_report

FILES = ("report.html", "report.md", "report.csv", "table.tex", "report.tex")


def test_rows_that_differ_in_precision_carry_a_footnote_in_every_format(sweep):
    folder = sweep({"erm": 1.0, "mixup": 1.0}, ("octmnist",), n=20)
    member = next(m for m in read_sweep(folder).members if m.row == "mixup")
    files = folder.run(member.run).run
    changed = {"precision": "bfloat16", "data_hash": "0123abcd" * 8}
    files.write_text(json.dumps(json.loads(files.read_text()) | changed))
    written = write_sweep_report(folder)
    for path in written.files[:2] + written.files[3:4]:
        assert "precision differs" in path.read_text()
    text = folder.markdown.read_text()
    assert f"data\\_hash differs: {member.run}".replace("_mixup", "\\_mixup") in text
    assert "has 0123abcd;" in text


def test_the_command_writes_every_file_and_prints_the_grid(sweep, capsys):
    folder = sweep({"erm": 1.0, "latentdr_pool": 2.0}, ("octmnist", "dermamnist"), n=20)
    code = app(["report", str(folder.path)], standalone_mode=False)
    said = capsys.readouterr().out
    assert code == 0
    assert "Accuracy (%): Test" in said
    for name in FILES:
        assert (folder.path / name).stat().st_size > 500
    assert said.splitlines()[-1] == f"page: {folder.report}"
    first = [(folder.path / name).read_bytes() for name in FILES]
    assert report(folder.path) == folder.report
    assert [(folder.path / name).read_bytes() for name in FILES] == first
    assert medldr.report is report


def test_an_unreadable_run_is_named_left_out_and_changes_the_exit_code(sweep, capsys):
    folder = sweep({"erm": 1.0, "mixup": 1.0}, ("octmnist",), n=20)
    member = read_sweep(folder).members[0]
    folder.run(member.run).evaluation.write_text("{")
    assert app(["report", str(folder.path)], standalone_mode=False) == 3
    assert f"unreadable: {member.run}" in " ".join(capsys.readouterr().out.split())
    assert member.run in folder.markdown.read_text().replace("\\_", "_")


def test_a_run_folder_a_folder_of_runs_and_neither(run_folder, tmp_path, capsys):
    files = run_folder("S/fracturemnist3d_erm-aaaaaaaa-s0")
    run_folder("S/fracturemnist3d_latentdr_pool-bbbbbbbb-s0", seed=1)
    assert report_folder(files.path) == files.report
    written = report_folder(tmp_path / "S")
    assert isinstance(written, SweepReport)
    assert written.sweep.complete
    assert written.sweep.results.study.rows == ["ERM", "LatentDR (Pool)"]
    assert [c.name for c in written.sweep.results.columns] == ["fracturemnist3d (medmnist-28)"]
    (tmp_path / "S" / "broken").mkdir()
    (tmp_path / "S" / "broken" / "run.json").write_text("{")
    assert app(["report", str(tmp_path / "S")], standalone_mode=False) == 3
    assert "broken is left out: its files cannot be read." in capsys.readouterr().out
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="not a run folder and contains neither"):
        report_folder(tmp_path / "empty")
