"""Another site's numbers: equal to those of whoever has the pictures, and nothing else leaves."""

import csv
import json
import shutil

import pytest


@pytest.fixture
def site(lab, tmp_path):
    """A table with the rows of a run's test split, as another site would have them."""

    def write(run, **renamed):
        ids = json.loads((run / "splits.json").read_text())["splits"]["test"]
        with (lab.volume_files / "t.csv").open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["path"] in ids]
        folder = tmp_path / "ward_of_zoe"
        folder.mkdir(exist_ok=True)
        for row in rows:
            shutil.copy(lab.volume_files / row["path"], folder)
        header = [renamed.get(name, name) for name in rows[0]]
        with (folder / "ours.csv").open("w", newline="") as file:
            csv.writer(file).writerows([header, *(row.values() for row in rows)])
        return folder / "ours.csv"

    return write


def _numbers(value):
    """A record without what names domains, splits' sources and notes."""
    if isinstance(value, dict):
        return {k: _numbers(v) for k, v in value.items() if k not in ("domains", "worst_domain")}
    return [_numbers(one) for one in value] if isinstance(value, list) else value


def _close(one, other, path=""):
    if isinstance(one, dict):
        assert one.keys() == other.keys(), path
        for key in one:
            _close(one[key], other[key], f"{path}.{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), path
        for place, (a, b) in enumerate(zip(one, other, strict=True)):
            _close(a, b, f"{path}[{place}]")
    elif isinstance(one, float):
        assert one == pytest.approx(other, abs=1e-9), path
    else:
        assert one == other, path


def test_numbers_are_those_of_an_evaluation_with_the_pictures(lab, medldr, site, tmp_path):
    run = lab.volumes[0]
    out = tmp_path / "out"
    ended = medldr("validate", run, site(run), "--out", out, "--site", "Ward 7")
    assert ended.code == 0, ended.err
    ours = json.loads((run / "evaluation.json").read_text())
    theirs = json.loads((out / "evaluation.json").read_text())
    for split in ("id_val", "val", "test"):
        if split in theirs["splits"]:
            _close(_numbers(ours["splits"][split]), _numbers(theirs["splits"][split]), split)
    assert theirs["operating_point"] == ours["operating_point"]
    assert set(theirs["splits"]["test"]["domains"]) == {"Ward 7"}
    ended = medldr("verify", out)
    assert ended.code == 0, ended.out
    assert "none" in ended.out


@pytest.mark.parametrize("name", ["predictions.csv", "run.json", "config.yaml"])
def test_a_folder_of_a_site_that_was_changed_is_refused(lab, medldr, site, tmp_path, name):
    out = tmp_path / "out"
    assert medldr("validate", lab.volumes[0], site(lab.volumes[0]), "--out", out).code == 0
    path = out / name
    text = path.read_text()
    changed = {"run.json": ("0.1.0", "0.1.1"), "config.yaml": ("seed: 0", "seed: 4")}
    path.write_text(text.replace(*changed.get(name, ("well", "wall"))))
    assert path.read_text() != text
    ended = medldr("report", out)
    assert ended.code == 2
    assert f"{path} was changed" in ended.err
    if name != "config.yaml":
        assert "medldr validate" in ended.err


def test_nothing_that_leaves_names_a_file_a_patient_or_a_path(lab, medldr, site, tmp_path):
    run = lab.volumes[0]
    table = site(run)
    out = tmp_path / "out"
    assert medldr("validate", run, table, "--out", out).code == 0
    with (lab.volume_files / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    names = {row["path"] for row in rows} | {"anna_", "ours.csv", "ward_of_zoe", str(tmp_path)}
    names |= {str(lab.volume_files), lab.volume_files.name, ".nii"}
    for path in out.rglob("*"):
        content = path.read_bytes()
        for name in names:
            assert name.encode() not in content, (path.name, name)
    found = {path.name for path in out.iterdir()}
    assert found == {
        "config.yaml", "run.json", "evaluation.json", "predictions.csv", "preprocessing.json",
        "splits.json", "report.html", "checklist.html",
    }  # fmt: skip
    patients = {row["patient"] for row in rows}
    with (out / "predictions.csv").open(newline="") as file:
        assert patients.isdisjoint(cell for row in csv.reader(file) for cell in row)


def test_folders_of_a_site_are_compared_and_reported(lab, medldr, site, tmp_path):
    table = site(lab.volumes[0])
    folders = []
    for number, run in enumerate(lab.volumes):
        for name in ("north", "south"):
            out = tmp_path / "came" / f"{name}{number}"
            assert medldr("validate", run, table, "--out", out, "--site", name).code == 0
            folders.append(out)
    ended = medldr("compare", folders[0], folders[2], "--out", tmp_path / "c.html")
    assert ended.code == 0, ended.err
    ended = medldr("report", tmp_path / "came")
    assert ended.code == 0, ended.err
    page = (tmp_path / "came" / "report.html").read_text("utf-8")
    assert "north" in page
    assert "south" in page


def test_columns_of_other_names_are_said_and_can_be_given(lab, medldr, site, tmp_path):
    run = lab.volumes[0]
    table = site(run, label="finding", path="scan")
    out = tmp_path / "out"
    ended = medldr("validate", run, table, "--out", out)
    assert ended.code == 2
    assert "finding" in ended.err
    assert not out.exists()
    given = ("data.label=finding", "data.path=scan")
    assert medldr("validate", run, table, *given, "--out", out).code == 0
    ended = medldr("validate", run, table, *given, "--out", out)
    assert ended.code == 2
    assert "holds earlier results of a validation" in ended.err
    assert medldr("validate", run, table, *given, "--out", out, "--force").code == 0
    ended = medldr("validate", run, table, "data.file=other.csv", "--out", tmp_path / "b")
    assert ended.code == 2
    assert "the table is the argument after the run" in ended.err


def test_a_class_the_run_does_not_know_is_an_error(lab, medldr, site, tmp_path):
    run = lab.volumes[0]
    table = site(run)
    table.write_text(table.read_text().replace(",ill,", ",worse,"))
    ended = medldr("validate", run, table, "--out", tmp_path / "out")
    assert ended.code == 2
    assert "worse" in ended.err
    assert not (tmp_path / "out").exists()


def test_a_folder_in_place_of_a_table_is_told_with_the_columns(lab, medldr, site, tmp_path):
    ended = medldr("validate", lab.volumes[0], tmp_path, "--out", tmp_path / "out")
    assert ended.code == 2
    for said in (f"{tmp_path} is a folder", "a row per scan", "data.label="):
        assert said in ended.err


def test_scans_that_cannot_be_read_stay_named_at_the_site_alone(lab, medldr, site, tmp_path):
    run = lab.volumes[0]
    table = site(run)
    broken = next(iter(sorted(table.parent.glob("*.nii.gz"))))
    broken.write_bytes(broken.read_bytes()[:100])
    ended = medldr("validate", run, table, "--out", tmp_path / "out")
    assert ended.code == 3, ended.err
    with (tmp_path / "out_unreadable.csv").open(newline="") as file:
        assert [row["path"] for row in csv.DictReader(file)] == [broken.name]
    assert "1 scan could not be read" in ended.out
    for path in (tmp_path / "out").iterdir():
        assert broken.name.encode() not in path.read_bytes()


def test_only_an_earlier_validation_is_replaced(lab, medldr, site, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(lab.volumes[0], run)
    table = site(lab.volumes[0])
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "data.txt").write_text("mine")
    for place in (run, tmp_path / "precious", table):
        ended = medldr("validate", lab.volumes[0], table, "--out", place, "--force")
        assert ended.code == 2, ended.err
    assert (run / "model.safetensors").exists()
    assert (tmp_path / "precious" / "data.txt").read_text() == "mine"
    assert medldr("validate", lab.volumes[0], table, "--out", tmp_path / "ok").code == 0
    ended = medldr("predict", tmp_path / "ok", table, "--out", tmp_path / "p.csv")
    assert ended.code == 2
    assert "is the validation of a run at another site" in ended.err


def test_missing_files_and_repeated_rows_are_told(lab, medldr, site, tmp_path):
    run = lab.volumes[0]
    table = site(run)
    lines = table.read_text().splitlines()
    lines.append(lines[1])
    table.write_text("\n".join([*lines, "gone.nii.gz,ill,p99"]))
    ended = medldr("validate", run, table, "--out", tmp_path / "out")
    assert ended.code == 3, ended.err
    assert "gone.nii.gz" in (tmp_path / "out_unreadable.csv").read_text()
    notes = json.loads((tmp_path / "out" / "evaluation.json").read_text())["notes"]
    assert any("could not be read and were left out: 1" in note for note in notes)
    assert len(notes) >= 3  # and what was done to the repeated row
    shutil.rmtree(tmp_path / "out")
    ended = medldr("validate", run, table, "--out", tmp_path / "out")
    assert ended.code == 2
    assert "out_unreadable.csv exists" in ended.err
