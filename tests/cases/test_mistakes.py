"""What people mistype and misplace in their first hour: one short message that says what to do.

Each row is what is typed, how it ends, and what is said. A refusal is one message of at most ten
lines, and writes nothing; what works after all says what it made of the mistake.
"""

import io
import shlex
import shutil
import sys
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pytest
from own_scans import dicom_files, nifti, noise, picture

import medldr as package
from medldr import cli

FROZEN = Path(__file__).parents[1] / "frozen"
HEADER = ["image", "diagnosis", "hospital", "patient"]
HOSPITALS = ("hospital_a", "hospital_b")
RUN = """\
extends: [recipe/own_2d, data/table, algorithm/erm]
data: {file: FILE, path: image, label: diagnosis, domain: hospital, group: patient, size: 8}
"""
QUICK = [
    *("training.epochs=1", "model.width=0.0625", "evaluation.draws=100", "data.cache=off"),
    *("machine.report=false", "machine.device=cpu", "training.precision=float32"),
]
RECORD = {"config.yaml", "owner.json", "run.json"}
"""What a run that began leaves, so that it can be seen why it failed."""


def rows(**changed):
    """24 pictures of 12 patients in two hospitals; a changed column is a function of the number."""
    made = []
    for n in range(24):
        patient = n // 2
        cells = f"scans/{n}.png", ("well", "sick")[n % 2], HOSPITALS[patient % 2], f"p{patient}"
        row = dict(zip(HEADER, cells, strict=True))
        made.append([*(row | {key: of(n) for key, of in changed.items()}).values()])
    return made


def table(file, lines, *, header=HEADER, separator=",", encoding="utf-8"):
    file.write_text("".join(f"{separator.join(row)}\n" for row in [header, *lines]), encoding)


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """A desk: a study with its pictures, a sweep, trained runs, and what lies about besides."""
    here = tmp_path_factory.mktemp("desk")
    for n in range(24):
        of_scanner, of_hospital = f"excel/img/scanner_{n % 2}", f"deep/img/hospital_{n % 4}"
        for name in ("scans", "many", of_scanner, of_hospital, f"centers/c{n % 4}"):
            picture(here / name / f"{n}.png", n)
    table(here / "table.csv", rows())
    table(here / "one_class.csv", rows(diagnosis=lambda n: "rare" if n == 5 else "ab"[n % 2]))
    table(here / "ages.csv", rows(diagnosis=lambda n: f"{30 + 1.7 * n:.1f}"))
    table(here / "nopatient.csv", [row[:3] for row in rows()], header=HEADER[:3])
    table(here / "german.csv", rows(diagnosis=lambda n: f"{n},5"), separator=";")
    table(here / "nan.csv", rows(diagnosis=lambda n: ("NaN", "well", "sick")[n % 3]))
    table(here / "twice.csv", rows(), header=["image", "diagnosis", "diagnosis", "patient"])
    table(here / "blank_lines.csv", [*rows(), [""] * 4, [""]])
    table(here / "utf16.csv", rows(), separator="\t", encoding="utf-16")
    table(here / "spelled.csv", rows(diagnosis=lambda n: ("Sick", "sick ", "well", "sick")[n % 4]))
    table(here / "windows.csv", rows(image=lambda n: rf"C:\Users\me\scans\{n}.png"))
    table(here / "no_header.csv", rows()[1:], header=rows()[0])
    table(here / "semicolons.csv", rows(), separator=";")
    for name in "abcdefgh":
        lines = [[f"{n}.png", "xy"[n % 2]] for n in range(24)]
        table(here / "many" / f"{name}.csv", lines, header=["image", "label"])
    picture(here / "far" / "store" / "0.png", 0)
    table(here / "far" / "moved.csv", rows(image=lambda n: f"{n}.png"))
    book = openpyxl.Workbook()
    book.active.append(["image", "label"])
    for n in range(24):
        book.active.append([f"img/scanner_{n % 2}/{n}.png", "xy"[n // 2 % 2]])
    book.save(here / "excel" / "table.xlsx")
    (here / "excel" / "~$table.xlsx").write_bytes(b"\5me")
    for number in range(3):
        scan = noise(number).astype(np.int16)
        dicom_files.series(here / "series" / f"scan{number}", scan, np.eye(4))
    nifti(here / "scan.nii.gz", noise(0))
    for name in ("new", "empty"):
        (here / name).mkdir()
    for file, text in {
        "run.yaml": RUN.replace("FILE", "table.csv"),
        "run_windows.yaml": RUN.replace("FILE", "windows.csv"),
        "parts.yaml": "extends: [recipe/medmnst, data/retinamnist]\n",
        "tab.yaml": "seed: 1\ntraining:\n\tepochs: 5\n",
        "colon.yaml": "seed: 1\ntraining\n  epochs: 5\n",
        "future.yaml": "config_version: 7\nextends: recipe/medmnist\ngalaxy: {depth: 2}\n",
        "keys.yaml": "seed: 1\nlabel: a\nseed: 2\n",
        "file": "",
    }.items():
        (here / file).write_text(text)
    with zipfile.ZipFile(here / "scans.zip", "w") as archive:
        archive.write(here / "scans" / "0.png")
    shutil.copytree(FROZEN / "leave_one_out" / "folder", here / "sweep")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(here)
        patch.setenv("MEDLDR_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(sys, "argv", ["medldr", "new", "table.csv", "--yes"])
        assert cli._run() == 0
        for name, changed in {
            "real": ["data.held_out=hospital_b"],
            "other": ["data.file=nopatient.csv", "data.group=null"],
        }.items():
            Path(package.train("run.yaml", [*QUICK, *changed], "made").folder).rename(here / name)
    (here / "made").rmdir()
    shutil.copytree(here / "real", here / "edited")
    config = here / "edited" / "config.yaml"
    config.write_text(config.read_text().replace("epochs: 1", "epochs: 50"))
    return here


RUNS = "coral_photo-a94593c0-s0, coral_photo-a94593c0-s1, coral_sketch-579a81b4-s0 and 20 more"
PAIR = ("sweep/erm_photo-21b39731-s0", "sweep/coral_photo-a94593c0-s0")
MISTAKES = [
    # A study or a sweep where a run or a data set is wanted
    ("train study.yaml", 2, ["a sweep of 24 runs", "medldr sweep study.yaml", "--run=NAME"]),
    ("data split study.yaml --out splits.json", 0, ["splits.json written"]),
    ("data stats study.yaml", 0, ["24 training images"]),
    ("predict sweep scan.nii.gz", 2, [RUNS, "--run NAME", "--ensemble"]),
    ("evaluate sweep", 2, [RUNS, "--run NAME"]),
    ("sweep status study.yaml", 2, ["study.yaml is a file", "runs/study"]),
    ("sweep status sweeep", 2, ["does not exist", "'sweep'"]),
    ("train sweep", 2, ["no run folder with a config.yaml"]),
    ("train medmnist_table", 2, ["is a sweep of", "medldr sweep medmnist_table"]),
    ("train study.yaml --run erm_d", 2, ["no such run", "Runs: erm_hospital_a-s0", "more"]),
    ("train study.yaml --run erm_hospital_a", 2, ["3 runs of study.yaml", "erm_hospital_a-s0"]),
    ("train retinamnist_erm --run erm", 2, ["leave out --run"]),
    ("predict sweep scan.nii.gz --run erm_photo", 2, ["erm_photo-s0, erm_photo-s1. Name one"]),
    ("predict study.yaml scan.nii.gz", 2, ["runs/study"]),
    ("export sweep --format onnx", 2, [RUNS, "--run NAME"]),
    ("validate sweep table.csv", 2, [RUNS, "--run NAME"]),
    ("compare sweep", 2, [RUNS, "medldr report"]),
    ("analyze study.yaml", 2, ["runs/study"]),
    ("report study.yaml", 2, ["runs/study"]),
    ("verify study.yaml", 2, ["runs/study"]),
    ("data stats retinamnst", 2, ["'retinamnist'", "medldr data list"]),
    ("sweep run.yaml --dry-run", 2, ["one run is for `medldr train`"]),
    ("train real/run.json", 2, ["problems in the configuration real/run.json", "more"]),
    # Scans that no study knows yet
    ("data check scans", 2, ["scans is a folder", "medldr new scans"]),
    ("train table.csv", 2, ["table.csv is a table", "medldr new table.csv"]),
    ("data check table.csv", 2, ["table.csv is a table", "medldr new table.csv"]),
    ("validate real scans", 2, ["scans is a folder", "a table", "data.label=diagnosis"]),
    ("validate real new", 2, ["new is a folder", "a table"]),
    # `medldr new` on folders and tables that may mean several things
    ("new excel --out e.yaml", 0, ["2 classes", "x (12), y (12)"]),
    ("new excel/img --out e.yaml", 2, ["table.xlsx lists scans in excel/img", "--folders"]),
    ("new deep --out e.yaml", 2, ["4 folders", "classes or hospitals", "--folders label"]),
    ("new series --out e.yaml", 2, ["3 folders that are one DICOM series", "label"]),
    ("new many --out e.yaml --yes", 2, ["Which of 8 tables", "--table NAME", "a.csv"]),
    ("new one_class.csv --out e.yaml", 2, ["no image of rare (1 image)", "Join them"]),
    ("new ages.csv --out e.yaml", 2, ["'diagnosis'", "an id or a measurement", "classes"]),
    ("new nopatient.csv --out e.yaml", 0, ["No patients are named", "data.group"]),
    ("new nan.csv --out e.yaml", 2, ["like a missing label: NaN", "cells blank"]),
    ("new table.csv --group hospital --out e.yaml", 2, ["no image is left to test", "--group"]),
    ("new table.csv --split hospital --out e.yaml", 2, ["data.split", "'hospital_a' is no split"]),
    ("new centers --out e.yaml", 2, ["4 folders", "classes or hospitals", "--folders label"]),
    ("new spelled.csv --out e.yaml", 2, ["'Sick' in line 2", "'sick' in line 3", "alike"]),
    ("new german.csv --out e.yaml", 2, ["24 different values", "0,5", "a measurement"]),
    ("new semicolons.csv --out e.yaml", 0, ["24 pictures, 2 classes, 2 domains"]),
    ("new utf16.csv --out e.yaml", 0, ["24 pictures, 2 classes, 2 domains"]),
    ("new blank_lines.csv --out e.yaml", 0, ["24 pictures, 2 classes, 2 domains"]),
    ("new twice.csv --out e.yaml", 2, ["'diagnosis' appears twice", "Rename"]),
    ("new no_header.csv --out e.yaml", 2, ["--label COLUMN", "scans/0.png"]),
    ("new windows.csv --out e.yaml", 2, ["windows.csv", "relative to the table's folder"]),
    ("new study.yaml --out e.yaml", 2, ["no table", "medldr sweep study.yaml"]),
    ("new scans.zip --out e.yaml", 2, ["a zip archive", "unpack"]),
    ("new 'excel/~$table.xlsx' --out e.yaml", 2, ["has the workbook open", "name table.xlsx"]),
    ("new empty --out e.yaml", 2, ["empty holds no table", "no scans"]),
    ("new scans. --out e.yaml", 2, ["there is no scans.", "'scans'"]),
    (r"new '.\scans' --out e.yaml", 2, [r"there is no .\scans", "'scans'", "parted by /"]),
    ("new my scans --out e.yaml", 2, ["a name with blanks is put in quotes"]),
    ("new table.csv --label diagnosis hospital", 2, ["joined by commas"]),
    ("new table.csv --out e.yaml --label Diagnose", 2, ["Did you mean 'diagnosis'?"]),
    ("new table.csv --out e.yaml --path 'image, adc'", 2, ["no column 'adc'"]),
    ("new table.csv --out e.yaml --positive sick,well", 2, ["no class 'sick,well'", "sick, well"]),
    ("new table.csv", 2, ["study.yaml exists", "--out", "--force"]),
    ("new table.csv --out study", 2, ["should end in .yaml"]),
    # Keys and values of a configuration
    ("train run.yaml --seed 1", 2, ["No such option: --seed", "write seed=1"]),
    ("sweep study.yaml --seed 1", 2, ["No such option: --seed", "write seeds=[1]"]),
    ("train run.yaml training.lrr=1", 2, ["Did you mean training.lr?", "more"]),
    ("sweep study.yaml axes.algorithm=erm,coral --dry-run", 2, ["Several are a list: [erm,coral]"]),
    ("sweep study.yaml seeds=3 --dry-run", 0, ["seed 3 alone", "seeds=[0, 1, 2]"]),
    ("sweep study.yaml seeds=0,1,2 --dry-run", 0, ["24 runs"]),
    ("train parts.yaml", 2, ["'recipe/medmnist'?", "medldr list parts"]),
    ("train retinamnist_emr", 2, ["Did you mean 'retinamnist_erm'?"]),
    ("train retinamnist_erm training.epoch=5", 2, ["Did you mean training.epochs?", "more"]),
    ("train retinamnist_erm training.epochs=five", 2, ["'five'", "a whole number"]),
    ("train retinamnist_erm algorithm=latentrd", 2, ["no such part or algorithm", "latentdr"]),
    ("train retinamnist_erm algorithm=latentdr", 2, ["say which: latentdr_sa, latentdr_pool"]),
    ("train run.yaml training.epochs = 5", 2, ["'='", "KEY=VALUE without blanks"]),
    ("train run.yaml training.lr=0,001", 2, ["'0,001'", "with a point: 0.001"]),
    ("train run.yaml machine.device=gpu", 2, ["'gpu'", "Did you mean 'cuda'?"]),
    ("train run.yaml data.test_fraction=20", 2, ["less than 1"]),
    (
        "train future.yaml",
        2,
        ["1 problem", "config_version = 7 (future.yaml:1)", "another version"],
    ),
    ("train tab.yaml", 2, ["tab.yaml:3", "blanks, not tabs"]),
    ("train colon.yaml", 2, ["colon.yaml:3", "':'"]),
    ("train keys.yaml", 2, ["keys.yaml:3", "'seed' appears twice", "line 1"]),
    # Data that is not as the configuration says
    ("train retinamnist_erm data.root=/nowhere", 2, ["/nowhere, for there is no such folder"]),
    ("train retinamnist_erm data.root=empty", 2, ["https://", "MD5", "data.download=true"]),
    ("train run.yaml data.label=diagnose", 2, ["Did you mean 'diagnosis'?", "Columns: image"]),
    ("data check stud.yaml", 2, ["Did you mean 'study.yaml'?"]),
    ("train run.yaml data.held_out=Hospital_A", 2, ["Did you mean 'hospital_a'?"]),
    ("train run.yaml data.held_out=hospital_a,hospital_b", 2, ["=[hospital_a,hospital_b]"]),
    ("train run.yaml data.held_out=hospital_a algorithm=coral", 2, ["at least two", "erm"]),
    ("train run_windows.yaml", 2, ["24 rows have no file", "and 18 more"]),
    # Runs and places
    ("predict real missing.png", 2, ["missing.png: there is no such file"]),
    ("predict real scan.nii.gz", 2, ["scan.nii.gz", "pictures have one"]),
    ("predict real far/moved.csv --path image", 2, ["far/store there is", "relative to the"]),
    ("open sweeep", 2, ["sweeep is no folder", "'sweep'"]),
    ("predict real empty", 2, ["empty holds no scan"]),
    ("predict real-s0 scans", 2, ["does not exist. Did you mean 'real'?"]),
    ("export real --format tflite", 2, ["onnx, torch, bundle"]),
    ("report nowhere", 2, ["the folder nowhere does not exist"]),
    ("report edited", 2, ["edited/config.yaml was changed", "Restore"]),
    ("evaluate edited", 2, ["edited/config.yaml was changed", "Restore"]),
    ("compare real other", 2, ["cannot be compared", "12 and 4 items", "same dataset"]),
    ("compare real real", 2, ["given more than once"]),
    ("compare real", 2, ["two runs or more", "medldr report real"]),
    (f"compare {' '.join(PAIR)} --margin 0.02", 2, ["Is it 2 percentage points? Then give 2"]),
    ("train run.yaml --out file", 2, ["cannot write file/", "--out"]),
    ("new table.csv --yes --out /proc/x.yaml", 2, ["cannot write /proc/x.yaml", "--out"]),
    ("schema --out /proc/x.json", 2, ["cannot write /proc/x.json"]),
    (f"compare {' '.join(PAIR)} --out /proc/x.html", 2, ["cannot write /proc/x.html"]),
    ("plan --patients 240 --accuracy 0.75", 2, ["percentage", "not 0.75"]),
    # Names of files and commands
    ("train study.yml", 2, ["no file study.yml", "Did you mean 'study.yaml'?"]),
    ("train “study.yaml”", 2, ["Did you mean 'study.yaml'?"]),
    ("sweep stud.yaml", 2, ["Did you mean 'study.yaml'?"]),
    ("trian run.yaml", 2, ["Did you mean 'train'?"]),
    ("train run.yaml --hlep", 2, ["--help"]),
    ("list algoritms", 2, ["Did you mean 'algorithms'?"]),
]


@pytest.mark.parametrize(("typed", "code", "said"), MISTAKES, ids=[row[0] for row in MISTAKES])
def test_a_mistake_is_told_with_its_cure(typed, code, said, here, medldr, monkeypatch):
    monkeypatch.chdir(here)
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    before = set(here.rglob("*"))
    ended = medldr(*shlex.split(typed))
    made = set(here.rglob("*")) - before
    for path in sorted(made, reverse=True):
        path.unlink() if path.is_file() else path.rmdir()
    told = " ".join(f"{ended.out} {ended.err}".split())
    assert ended.code == code, told
    assert [words for words in said if words not in told] == [], told
    assert "Traceback" not in told
    if code:
        assert len(ended.err.splitlines()) <= 10
        left = {path.name for path in made if path.suffix}
        assert left <= (RECORD if typed.startswith("train") else set())


def test_a_full_disk_is_one_message(here, medldr, monkeypatch, full_disk):
    monkeypatch.chdir(here)
    with full_disk() as fill:
        fill(0)
        ended = medldr("new", "table.csv", "--yes", "--out", "full.yaml")
    assert (ended.code, "no space left to write full.yaml" in ended.err) == (2, True)
    assert not (here / "full.yaml").exists()


@pytest.mark.slow
def test_latents_of_other_data_are_described_and_not_compared(here, medldr, monkeypatch, tmp_path):
    monkeypatch.chdir(here)
    ended = medldr("analyze", "real", "other", "--out", tmp_path / "analysis")
    assert ended.code == 0
    assert "Runs on different data sets" in ended.out
