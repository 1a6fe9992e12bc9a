"""The page and the files of a sweep, and the command and function that write them."""

import json

import pytest

import medldr
from medldr.api import report
from medldr.cli import app
from medldr.errors import InputError
from medldr.folders.sweep_record import read_sweep
from medldr.reporting import SweepReport, report_folder, write_sweep_report
from medldr.reporting.pages.sweep import sweep_content
from medldr.reporting.pages.sweep_report import sweep_page

FILES = ("report.html", "report.md", "report.csv", "table.tex", "report.tex")


@pytest.fixture
def page(whole, read, tmp_path):
    path = tmp_path / "page.html"
    path.write_text(sweep_page(whole), encoding="utf-8")
    return read(path)


def test_the_page_is_whole_loads_nothing_and_has_every_section(page, whole):
    assert page.errors == []
    assert page.sections == [
        "result", "missing", "differences", "classes", "calibration", "published", "curves",
        "runs", "glossary",
    ]  # fmt: skip
    assert [url for url in page.urls if not url.startswith(("#", "data:"))] == []
    assert len(set(page.ids)) == len(page.ids)
    assert page.banners[0] == "A demonstration."
    assert any(text.startswith("ORACLE SELECTION in Mixup") for text in page.banners)
    assert any("3 of 20 runs without a result: " in text for text in page.banners)
    assert "single seed" in page.text
    assert "Two <sets> & 100 %" in page.text
    assert page.figures == page.captions == page.svgs == 4 + 2 * 4
    assert len(page.tables) == sum(len(section.tables) for section in whole.sections)


def test_the_page_shows_the_numbers_of_the_grid_and_names_nobody(page, whole):
    for grid in whole.grids:
        for row in grid.rows:
            for cell in row.cells:
                assert cell.mean is None or cell.mean in page.values
    rows = {row[0]: row[1:] for row in page.table("Method", "Derma_1")}
    assert rows["ERM, half the ratea control"][1] == "not run"  # a is the sign of a footnote
    assert rows["ERM reference"][1].endswith("n 2")
    for name in ("DOE_JANE", "MRN-"):
        assert name not in page.text


def test_rows_that_differ_in_precision_carry_a_footnote_in_every_format(sweep, quick):
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


@pytest.mark.usefixtures("quick")
def test_the_command_writes_every_file_and_prints_the_grid(sweep, capsys):
    folder = sweep({"erm": 1.0, "latentdr_pool": 2.0}, ("octmnist", "dermamnist"), n=20)
    code = app(["report", str(folder.path)], standalone_mode=False)
    said = capsys.readouterr().out
    assert code == 0
    assert "Accuracy (%): Test" in said
    for name in FILES:
        assert (folder.path / name).stat().st_size > 500
        assert str(folder.path / name) in said
    first = [(folder.path / name).read_bytes() for name in FILES]
    assert report(folder.path) == folder.report
    assert [(folder.path / name).read_bytes() for name in FILES] == first
    assert medldr.report is report


@pytest.mark.usefixtures("quick")
def test_an_unreadable_run_is_named_left_out_and_changes_the_exit_code(sweep, capsys):
    folder = sweep({"erm": 1.0, "mixup": 1.0}, ("octmnist",), n=20)
    member = read_sweep(folder).members[0]
    folder.run(member.run).evaluation.write_text("{")
    assert app(["report", str(folder.path)], standalone_mode=False) == 3
    assert f"unreadable: {member.run}" in " ".join(capsys.readouterr().out.split())
    assert member.run in folder.markdown.read_text().replace("\\_", "_")


@pytest.mark.usefixtures("quick")
def test_a_run_folder_a_folder_of_runs_and_neither(run_folder, tmp_path, capsys):
    files = run_folder("S/fracturemnist3d_erm-aaaaaaaa-s0")
    run_folder("S/fracturemnist3d_latentdr_pool-bbbbbbbb-s0", seed=1)
    assert report_folder(files.path) == files.report
    written = report_folder(tmp_path / "S")
    assert isinstance(written, SweepReport)
    assert written.complete
    assert written.content.study.rows == ["ERM", "LatentDR (Pool)"]
    assert [c.name for c in written.content.columns] == ["fracturemnist3d (medmnist-28)"]
    (tmp_path / "S" / "broken").mkdir()
    (tmp_path / "S" / "broken" / "run.json").write_text("{")
    assert app(["report", str(tmp_path / "S")], standalone_mode=False) == 3
    assert "broken is left out: its files cannot be read." in capsys.readouterr().out
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="not a run folder and contains neither"):
        report_folder(tmp_path / "empty")


@pytest.mark.usefixtures("quick")
def test_a_sweep_that_has_not_begun_says_so(sweep):
    gone = {("erm", "octmnist", seed) for seed in (0, 1)}
    folder = sweep({"erm": 1.0}, ("octmnist",), without=gone)
    content = sweep_content(folder)
    assert content.section("result").leads == ["No run has a result yet."]
    assert content.grids == []
    written = write_sweep_report(folder)
    assert "No run has a result yet." in written.page.read_text()


@pytest.mark.usefixtures("quick")
def test_a_measure_that_does_not_exist_is_told_and_the_others_are_shown(sweep):
    layout = {"metrics": ("acuracy", "acc", "test/auc")}
    content = sweep_content(sweep({"erm": 1.0}, ("octmnist",), n=20, layout=layout))
    assert content.metrics == ["accuracy", "auc"]
    (note,) = [n for n in content.section("notes").leads if "acuracy" in n]
    assert "Did you mean 'accuracy'?" in note
