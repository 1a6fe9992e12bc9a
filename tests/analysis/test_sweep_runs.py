"""Of a sweep, the finished runs of one column are analysed, one of each method in detail."""

import json

import pytest

from medldr.analysis.plan import MOST_ROWS, runs_of_sweep
from medldr.errors import InputError
from medldr.folders.sweep_record import Layout, Member, Sweep, SweepFolder, write_sweep


@pytest.fixture
def sweep(tmp_path):
    """Write a sweep of methods x columns x seeds; some runs done, some with latents."""

    def build(rows, columns=("photo", "sketch"), seeds=(0, 1), *, undone=(), kept=(), **layout):
        members = []
        for row in rows:
            for column in columns:
                for seed in seeds:
                    name = f"{row}-{column}-s{seed}"
                    members.append(Member(name, row, seed, row, column))
                    folder = tmp_path / name
                    folder.mkdir()
                    status = "running" if name in undone else "done"
                    (folder / "run.json").write_text(json.dumps({"status": status}))
                    for file in ("evaluation.json", "model.safetensors"):
                        (folder / file).touch()
                    if name in kept:
                        (folder / "latents.safetensors").touch()
        write_sweep(SweepFolder(tmp_path), Sweep("s", Layout("S", **layout), tuple(members)))
        return tmp_path

    return build


def names(rows):
    return {row: [path.name for path in folders] for row, folders in rows.items()}


def test_every_seed_of_the_first_column_the_reference_first(sweep):
    found = runs_of_sweep(
        sweep(["mixup", "erm"], seeds=(1, 0), reference="erm", titles={"mixup": "Plain Mixup"})
    )
    assert list(names(found.rows).items()) == [
        ("ERM", ["erm-photo-s0", "erm-photo-s1"]),
        ("Plain Mixup", ["mixup-photo-s0", "mixup-photo-s1"]),
    ]
    assert found.notes == ("the sweep has 2 columns; the latents are of one, photo",)


def test_runs_that_kept_latents_are_those_that_were_meant(sweep):
    folder = sweep(["erm", "mixup"], kept=["erm-sketch-s1", "mixup-sketch-s1"])
    found = runs_of_sweep(folder)
    assert names(found.rows) == {"ERM": ["erm-sketch-s1"], "Mixup": ["mixup-sketch-s1"]}
    assert found.notes[0].startswith("2 of 8 finished runs kept their latents")


def test_unfinished_runs_are_left_out(sweep):
    folder = sweep(["erm"], ["photo"], undone=["erm-photo-s0"])
    assert names(runs_of_sweep(folder).rows) == {"ERM": ["erm-photo-s1"]}


def test_methods_are_shown_by_a_seed_that_all_have(sweep):
    found = runs_of_sweep(sweep(["erm", "mixup"], ["photo"], undone=["erm-photo-s0"]))
    assert names(found.rows) == {
        "ERM": ["erm-photo-s1"],
        "Mixup": ["mixup-photo-s1", "mixup-photo-s0"],
    }


def test_without_a_shared_seed_or_the_reference_the_page_says_so(sweep):
    undone = ["erm-photo-s0", "mixup-photo-s1"]
    folder = sweep(["erm", "mixup"], ["photo"], undone=undone, reference="coral")
    assert runs_of_sweep(folder).notes == (
        "the reference of the sweep, coral, is not among these runs",
        "no seed has finished with every method, so methods are shown by others",
    )


def test_a_sweep_without_a_finished_run_is_refused(sweep):
    with pytest.raises(InputError, match=r"no run of .* has finished yet"):
        runs_of_sweep(sweep(["erm"], ["photo"], [0], undone=["erm-photo-s0"]))


def test_more_methods_than_a_page_can_hold_are_said(sweep):
    found = runs_of_sweep(sweep([f"m{i}" for i in range(MOST_ROWS + 2)], ["photo"], [0]))
    assert len(found.rows) == MOST_ROWS
    assert found.notes == (
        f"latents of the first {MOST_ROWS} of {MOST_ROWS + 2} methods are analysed",
    )
