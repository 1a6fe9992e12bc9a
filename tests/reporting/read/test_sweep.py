"""What became of each run of a sweep: nothing is fatal, nothing is hidden, no patient is named."""

import json
import sys
from collections import Counter
from pathlib import Path

import pytest

from medldr.errors import InputError
from medldr.folders.files import RunFolder
from medldr.folders.owner import owned
from medldr.folders.privacy import hide_names
from medldr.folders.sweep_record import Layout, Member, Sweep, SweepFolder, write_sweep
from medldr.reporting.pages.sweep import sweep_page
from medldr.reporting.read.sweep import read_study
from medldr.reporting.sections.sweep.csv_lines import csv_lines


@pytest.fixture
def folder(tmp_path):
    """A sweep of nine runs that never ran, to be filled by a test."""
    folder = SweepFolder(tmp_path / "S")
    folder.logs.mkdir(parents=True)
    members = tuple(Member(f"a-00000000-s{n}", "a", n, "erm", "octmnist") for n in range(9))
    write_sweep(folder, Sweep("x", Layout("X"), members))
    return folder


def record(folder, name, **facts):
    files = folder.run(name)
    files.path.mkdir(exist_ok=True)
    files.run.write_text(json.dumps(facts))
    return files


def end(folder, name, code, error, starts=0):
    facts = {"code": code, "error": error, "starts": starts}
    folder.ending(name).write_text(json.dumps(facts))


def test_every_state_is_told(folder, run_folder):
    name = "a-00000000-s{}".format
    run_folder("S/" + name(0))
    record(folder, name(1), status="failed", error="ValueError: no")
    running = record(folder, name(2), status="running")
    record(folder, name(3), status="running")
    end(folder, name(4), -9, "killed by SIGKILL")
    folder.run(name(5)).path.mkdir()
    folder.run(name(5)).run.write_text("{broken")
    record(folder, name(6), status="done")
    record(folder, name(7), status="interrupted", times={"starts": 2})
    end(folder, name(7), -11, "killed by SIGSEGV", starts=2)
    with owned(RunFolder(running.path)):
        study = read_study(folder)
    found = [(entry.state, entry.error.split(";")[0]) for entry in study.entries]
    assert found[:5] == [
        ("done", ""),
        ("failed", "ValueError: no"),
        ("running", ""),
        ("interrupted", ""),
        ("failed", "killed by SIGKILL"),
    ]
    assert found[5][0] == "unreadable"
    assert "run.json is not readable JSON" in found[5][1] or "hidden" in found[5][1]
    assert found[6][0] == "no result"
    assert found[7] == ("failed", "killed by SIGSEGV")
    assert found[8] == ("not run", "")
    assert study.entries[0].run is not None
    assert study.entries[0].files is not None


def test_a_damaged_run_costs_only_itself(folder, run_folder):
    run_folder("S/a-00000000-s0")
    files = run_folder("S/a-00000000-s1", seed=1)
    files.predictions.write_text("id,split\nx,test\n")
    record(folder, "a-00000000-s2", no_status=True)
    states = [entry.state for entry in read_study(folder).entries[:3]]
    assert states == ["done", "unreadable", "unreadable"]


def test_errors_name_no_patient(folder, run_folder):
    run_folder("S/a-00000000-s0")
    said = "OSError: cannot read item MRN-77test00003 of group PATIENT in DOE_JANE_test_0001.nii.gz"
    record(folder, "a-00000000-s1", status="failed", error=f"{said} (training.batch_size 12)")
    splits = {"splits": {"train": ["SMITH JOHN", "BAKER"]}}
    folder.run("a-00000000-s1").splits.write_text(json.dumps(splits))
    record(folder, "a-00000000-s2", status="failed", error="ValueError: BAKER; see SMITH JOHN")
    first, second = (read_study(folder).entries[n].error for n in (1, 2))
    for hidden in ("MRN", "DOE", "SMITH", "BAKER"):
        assert hidden not in first + second
    assert first.startswith("OSError: cannot read item")
    assert "training.batch_size 12" in first


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("CUDA out of memory. Tried to allocate 2.00 GiB", True),
        ("InputError: training.lr is -1; did you mean model.width?", True),
        ("bfloat16 is not float32 on resnet18", True),
        ("see evaluation.json and run.json", True),
        ("broken: /data/hospital/anna", False),
        ("broken: C:\\scans\\anna", False),
        ("broken: anna.dcm", False),
        ("broken: 20261128", False),
        ("broken: p0012", False),
        ("stopped in epoch 4/100", True),
        ("model.name=resnet152 and data.download=true do not go together", True),
        ("broken: model.name=resnet152 and data.root=/data/hospital/anna", False),
        ("broken: training.init_from=anna.pt is no folder", False),
        ("see https://download.pytorch.org/models/resnet18-f37072fd.pth", True),
        ("broken: see https://pacs.example.org/patients/12345678", False),
        ("broken: see https://pacs.example.org/anna.dcm", False),
        ("broken: see https://zenodo.org.example.org/records/12345678", False),
        ("broken: " + "123f" * 8, False),
    ],
)
def test_what_helps_is_kept_and_what_may_name_somebody_goes(text, kept):
    assert (hide_names(text, ()) == text) is kept
    assert hide_names(text, ()).startswith(text.split(":")[0])


def test_the_cure_of_a_missing_file_stays_readable():
    cure = (
        "Set data.root to the folder that has it, or download it by hand from "
        "https://zenodo.org/records/10519652/files/retinamnist.npz?download=1 "
        f"(MD5 {'bd4c' * 8}) into that folder, or allow the download with data.download=true."
    )
    text = f"InputError: retinamnist.npz is not in /home/anna/data. {cure}"
    wanted = f"InputError: retinamnist.npz is not in [hidden name]. {cure}"
    assert hide_names(text, ()) == wanted
    sums = f"wrong checksum. MD5 expected {'a1' * 16}, found {'b2' * 16}."
    assert hide_names(f"/home/anna/octmnist_224.npz: {sums}", ()) == f".../octmnist_224.npz: {sums}"
    hidden = hide_names("/data/anna/octmnist_224.npz", {"octmnist_224.npz"})
    assert hidden == "[hidden id]"


def test_the_empty_group_of_items_without_groups_hides_nothing():
    assert hide_names("their items differ: anna", {"", "anna"}) == "their items differ: [hidden id]"


def test_rows_and_columns_go_by_their_titles(tmp_path):
    folder = SweepFolder(tmp_path)
    rows = ("erm", "latentdr_sa", "own", "latentdr_sa, big", "twin")
    members = tuple(
        Member(f"{n}-00000000-s0", str(n), 0, row, "octmnist", row_values=dict(enumerate(parts)))
        for n, row in enumerate(rows)
        for parts in [row.split(", ")]
    )
    titles = {"octmnist": "OCT", "big": "large", "twin": "ERM"}
    layout = Layout(
        "X", controls=("own",), contrasts=(("own", "erm"), ("gone", "erm")), titles=titles
    )
    write_sweep(folder, Sweep("x", layout, members))
    study = read_study(folder)
    assert study.rows == ["ERM [erm]", "LatentDR (SA)", "LatentDR (SA), large", "ERM [twin]", "own"]
    assert study.columns == ["OCT"]
    assert study.layout.controls == ("own",)
    assert study.layout.contrasts == (("own", "ERM [erm]"),)
    assert study.reference == "ERM [erm]"
    assert study.keys["LatentDR (SA), large"] == "latentdr_sa, big"
    assert study.notes == ("The sweep file names a row 'gone' that matches no run.",)


def test_configurations_that_share_a_cell_are_rows_of_their_own(tmp_path):
    folder = SweepFolder(tmp_path)
    names = ("a_12-00000000-s0", "a_12-00000000-s1", "a_24-11111111-s0")
    members = tuple(
        Member(name, name[:4], int(name[-1]), "a", column)
        for name in names
        for column in ("x", "y")
        if column == "x" or name == names[0]
    )
    write_sweep(folder, Sweep("x", Layout("X"), members))
    assert read_study(folder).rows == ["a (a_12)", "a (a_24)"]


def test_a_sweep_without_runs_is_an_input_error(tmp_path):
    folder = SweepFolder(tmp_path)
    write_sweep(folder, Sweep("x", Layout("X"), ()))
    with pytest.raises(InputError, match="names no run"):
        read_study(folder)


OPENED, HOOKED = Counter(), []


@pytest.fixture
def opened():
    """How often each file of a run was opened since the test began."""
    if not HOOKED:
        sys.addaudithook(_count)  # for good
        HOOKED.append(True)
    OPENED.clear()
    return OPENED


NAMES = ("run.json", "evaluation.json", "predictions.csv", "metrics.jsonl", "config.yaml")


def _count(event, args):
    if event == "open" and str(args[0]).endswith(NAMES):
        OPENED[Path(args[0])] += 1


@pytest.mark.parametrize("loose", [False, True])
def test_every_file_of_every_run_is_opened_once_for_a_whole_report(sweep, opened, loose):
    folder = sweep({"erm": 1.0, "mixup": 1.5}, ("octmnist",), further={"last": 0.5})
    if loose:
        folder.sweep.unlink()
    opened.clear()
    page = sweep_page(folder)
    list(csv_lines(page.results))
    counts = {path: count for path, count in opened.items() if folder.path in path.parents}
    assert set(counts.values()) == {1}
    runs = [entry.member.run for entry in page.results.study.entries]
    wanted = {folder.path / run / name for run in runs for name in NAMES}
    further = {folder.run(run).evaluation_of("last") for run in runs}
    assert len(wanted) == 30
    # Runs that differ in their seed alone have one configuration, which is read of one of them.
    spared = set() if loose else {folder.run(run).config for run in runs if run[-3:] != "-s0"}
    assert set(counts) == (wanted | further) - spared
